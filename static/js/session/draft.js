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
 * A copy in this browser wins when the page opens, while the server does not have its text. Where revisions are
 * counted it also wins over a page that is older than it: made before another tab had its last words saved, or sent.
 */
export function keepDraft({ field, revision = { value: "" }, other, session, save }) {
  const key = `hintbench.draft.${session}`;
  const otherText = other?.querySelector("pre");
  let timer;
  let saving = Promise.resolve();
  let undecided = null; // the revision of the other text, until the tutor has chosen
  let left = false; // another tab writes: what is kept in this browser is its own

  const copy = read();
  const unanswered = copy?.unanswered ?? []; // what may have arrived although no answer came: it is no other's text
  if (copy !== null) open(field.value, copy.revision - revision.value);

  /* `here` is the page's text, and the copy is so many revisions ahead of it. A message that is sent leaves its revision
     empty: of two texts with the same number the empty one is the newer. */
  function open(here, ahead) {
    if (copy.saved && (ahead < 0 || (ahead === 0 && copy.text !== ""))) return;
    if (ahead > 0) revision.value = copy.revision;
    field.value = copy.text;
    if (copy.saved) return;
    if (copy.text === here) forget();
    else if (ahead >= 0 || here === "" || unanswered.includes(here)) later();
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

  function read() {
    return JSON.parse(stored(() => localStorage.getItem(key)) ?? "null");
  }

  function keep(saved = false) {
    const kept = { text: field.value, revision: revision.value, unanswered, saved };
    stored(() => localStorage.setItem(key, JSON.stringify(kept)));
  }

  /* The server has the text. */
  function forget() {
    if (revision.value !== "") keep(true);
    else stored(() => localStorage.removeItem(key));
  }

  function later() {
    clearTimeout(timer);
    timer = undecided === null && !left ? setTimeout(now, PAUSE) : undefined;
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
      if (left) return;
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

    /** Another tab writes now: it has found what is kept in this browser. This one saves nothing any more. */
    leave() {
      clearTimeout(timer);
      timer = undefined;
      left = true;
    },

    /** The server can be reached again: it gets what it does not have. */
    again() {
      if (read()?.saved === false) later();
    },

    /** The text `sent` is a message now: only what was typed after it meanwhile stays. */
    sent(sent) {
      if (field.value === sent) {
        field.value = "";
        forget();
        return;
      }
      if (field.value.startsWith(sent)) field.value = field.value.slice(sent.length).trimStart();
      field.dispatchEvent(new Event("input"));
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
