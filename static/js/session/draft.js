/* What is typed and not sent: kept in this browser at once, on the server a second later. */

const PAUSE = 1000; // milliseconds without a key before the draft goes to the server
const AGAIN = 5000; // milliseconds until a server that could not take it is asked again

/**
 * Keeps the text of `field`. `revision` is the input that says which of the server's texts this page has read.
 *
 * `save(text, revision)` sends the text and promises the answer: `accepted` with the new `revision`, or with the
 * `draft` that was written elsewhere meanwhile. That one is shown in `other`, beside the field, and nothing is saved
 * over it until the tutor has decided.
 *
 * Without `revision` and `other` the text that is saved last stays.
 *
 * A copy in this browser exists only while the server does not have the text; it wins when the page opens.
 */
export function keepDraft({ field, revision = { value: "" }, other, session, save }) {
  const key = `hintbench.draft.${session}`;
  const otherText = other?.querySelector("pre");
  let timer;
  let saving = Promise.resolve();
  let undecided = null; // the revision of the other text, until the tutor has chosen

  const copy = JSON.parse(stored(() => localStorage.getItem(key)) ?? "null");
  const unanswered = copy?.unanswered ?? []; // what may have arrived although no answer came: it is no other's text
  if (copy?.text === field.value) forget();
  else if (copy !== null) {
    const here = field.value;
    field.value = copy.text;
    if (here === "" || copy.revision === revision.value || unanswered.includes(here)) later();
    else differ(here, revision.value);
  }

  field.addEventListener("input", () => {
    keep();
    later();
  });
  addEventListener("pagehide", () => {
    if (timer) now();
  });
  other?.querySelector("[data-swap]").addEventListener("click", () => {
    [field.value, otherText.textContent] = [otherText.textContent, field.value];
    other.hidden = otherText.textContent === "";
    decide();
  });
  other?.querySelector("[data-drop]").addEventListener("click", () => {
    other.hidden = true;
    decide();
  });

  function keep() {
    const kept = { text: field.value, revision: revision.value, unanswered };
    stored(() => localStorage.setItem(key, JSON.stringify(kept)));
  }

  function forget() {
    stored(() => localStorage.removeItem(key));
  }

  function later() {
    clearTimeout(timer);
    timer = undecided === null ? setTimeout(now, PAUSE) : undefined;
  }

  /* One after the other: a text is saved over the one that was saved before it. */
  function now() {
    clearTimeout(timer);
    timer = undefined;
    saving = saving.then(async () => {
      const text = field.value;
      unanswered.push(text);
      keep();
      const answer = await save(text, revision.value);
      if (!answer.accepted && !answer.draft) timer ??= setTimeout(now, AGAIN);
      if (!answer.certain) return;
      const own = unanswered.includes(answer.draft?.text);
      unanswered.length = 0;
      if (answer.accepted || own) revision.value = answer.revision ?? answer.draft?.revision ?? "";
      else if (answer.draft) differ(answer.draft.text, answer.draft.revision);
      if (answer.accepted && field.value === text) forget();
      else keep();
      if (own) later();
    });
  }

  function differ(text, itsRevision) {
    otherText.textContent = text;
    other.hidden = false;
    undecided = itsRevision;
  }

  function decide() {
    if (undecided !== null) revision.value = undecided;
    undecided = null;
    field.dispatchEvent(new Event("input"));
    field.focus();
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
      forget();
    },
  };
}

/** The text of a copy that another tab has put into this browser, from the event that tells of it. */
export function textOf({ newValue }) {
  return JSON.parse(newValue)?.text ?? null;
}

/* Storage may be forbidden; then the server alone keeps the draft. */
function stored(action) {
  try {
    return action() ?? null;
  } catch {
    return null;
  }
}
