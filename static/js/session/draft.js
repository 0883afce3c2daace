/* What is typed and not sent: kept in this browser at once, on the server a second later. */

const PAUSE = 1000; // milliseconds without a key before the draft goes to the server

/**
 * Keeps the text of `field`. `save(text)` sends it to the server and promises whether it arrived.
 *
 * A copy in this browser exists only while the server does not have the text; it wins when the page opens.
 */
export function keepDraft(field, session, save) {
  const key = `hintbench.draft.${session}`;
  let timer;
  let saving = Promise.resolve();

  const unsaved = stored(() => localStorage.getItem(key));
  if (unsaved !== null && unsaved !== field.value) {
    field.value = unsaved;
    later();
  }

  field.addEventListener("input", () => {
    stored(() => localStorage.setItem(key, field.value));
    later();
  });
  addEventListener("pagehide", () => {
    if (timer) now();
  });

  function later() {
    clearTimeout(timer);
    timer = setTimeout(now, PAUSE);
  }

  function now() {
    clearTimeout(timer);
    timer = undefined;
    const text = field.value;
    saving = save(text).then((arrived) => {
      if (arrived && field.value === text) stored(() => localStorage.removeItem(key));
    });
  }

  return {
    /** Waits until no draft is on its way, so that none can arrive after the message it became. */
    async settle() {
      clearTimeout(timer);
      timer = undefined;
      await saving;
    },

    /** Another tab writes now: it has found what is kept in this browser. */
    leave() {
      clearTimeout(timer);
      timer = undefined;
    },

    /** The server can be reached again: it gets what it does not have. */
    again() {
      if (stored(() => localStorage.getItem(key)) !== null) later();
    },

    /** The text `sent` is a message now: forget it, unless more has been typed meanwhile. */
    sent(sent) {
      if (field.value !== sent) {
        later();
        return;
      }
      field.value = "";
      stored(() => localStorage.removeItem(key));
    },
  };
}

/* Storage may be forbidden; then the server alone keeps the draft. */
function stored(action) {
  try {
    return action() ?? null;
  } catch {
    return null;
  }
}
