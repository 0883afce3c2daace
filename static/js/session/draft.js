/* The draft: stored in this browser at once, and saved on the server after a pause. */

const SAVE_DELAY = 1000; // milliseconds without typing before the draft is saved on the server
const RETRY_DELAY = 5000; // milliseconds before a failed save is retried

/**
 * Keep the text of `field` as a draft. `name` is that of its copy in this browser, unique among drafts and accounts.
 * `revision` is an input with the revision of the server's text that this page has.
 *
 * `save(text, revision)` saves the text and resolves to the server's answer: `accepted` with the new `revision`, or the
 * `draft` that another page has saved since then. `other` shows that draft beside the field, and saving pauses until
 * the person has resolved the conflict.
 *
 * Without `revision`, the last save wins.
 *
 * When the page opens, a copy stored in this browser replaces the server's text if the server does not have it, or if
 * the page is older than the copy: rendered before another tab saved its last text or sent it. If the copy is based on
 * another text than the server's, `other` shows the server's.
 */
export function keepDraft({ field, revision, other, name, save }) {
  const key = `hintbench.draft.${name}`;
  const otherText = other.querySelector("pre");
  const versioned = revision !== undefined;
  revision ??= { value: "" };
  let timer;
  let saving = Promise.resolve();
  let base = field.value; // the server's text on which the text of the field is based
  let conflict = null; // the server's text and its revision until the conflict is resolved
  let readOnly = false; // another tab writes and owns the copy in this browser

  const copy = readCopy();
  const unanswered = copy?.unanswered ?? []; // texts without an answer, which the server may have saved
  if (copy !== null) restore(base, copy.revision - revision.value);

  /* `pageText` is the server's text on the page; the copy is `ahead` revisions newer. Sending a message leaves its
     revision empty, so of two texts with the same revision the empty one is newer. */
  function restore(pageText, ahead) {
    if (copy.saved && (ahead < 0 || (ahead === 0 && copy.text !== ""))) return;
    if (ahead > 0) revision.value = copy.revision;
    field.value = copy.text;
    if (copy.saved) return;
    const follows = versioned ? ahead >= 0 : copy.base === pageText;
    if (copy.text === pageText) markSaved();
    else if (follows || pageText === "" || unanswered.includes(pageText)) scheduleSave();
    else {
      base = copy.base;
      showConflict(pageText, revision.value);
    }
  }

  field.addEventListener("input", () => {
    storeCopy();
    scheduleSave();
  });
  addEventListener("pagehide", () => {
    if (timer) saveNow();
  });
  other.querySelector("[data-swap]").addEventListener("click", () => {
    [field.value, otherText.textContent] = [otherText.textContent, field.value];
    other.hidden = otherText.textContent === "";
    resolveConflict();
  });
  other.querySelector("[data-drop]").addEventListener("click", () => {
    other.hidden = true;
    resolveConflict();
  });

  function readCopy() {
    return JSON.parse(tryStorage(() => localStorage.getItem(key)) ?? "null");
  }

  function storeCopy(saved = false) {
    if (readOnly) return;
    const stored = { text: field.value, revision: revision.value, base, unanswered, saved };
    tryStorage(() => localStorage.setItem(key, JSON.stringify(stored)));
  }

  /* The server has the text. */
  function markSaved() {
    if (revision.value !== "") storeCopy(true);
    else tryStorage(() => localStorage.removeItem(key));
  }

  function scheduleSave() {
    clearTimeout(timer);
    timer = conflict === null && !readOnly ? setTimeout(saveNow, SAVE_DELAY) : undefined;
  }

  /* Saves run one after the other, because each replaces the revision of the previous one. */
  function saveNow() {
    clearTimeout(timer);
    timer = undefined;
    saving = saving.then(async () => {
      const text = field.value;
      if (!unanswered.includes(text)) unanswered.push(text);
      storeCopy();
      const answer = await save(text, revision.value);
      if (readOnly) return;
      if (!answer.certain || answer.loggedOut) timer ??= setTimeout(saveNow, RETRY_DELAY);
      if (!answer.certain) return;
      if (answer.accepted) base = text;
      const own = unanswered.includes(answer.draft?.text);
      unanswered.length = 0;
      if (answer.accepted || own) revision.value = answer.revision ?? answer.draft?.revision ?? "";
      else if (answer.draft) showConflict(answer.draft.text, answer.draft.revision);
      if (answer.accepted && field.value === text) markSaved();
      else storeCopy();
      if (own) scheduleSave();
    });
  }

  function showConflict(text, itsRevision) {
    otherText.textContent = text;
    other.hidden = false;
    conflict = { text, revision: itsRevision };
  }

  function resolveConflict() {
    if (conflict !== null) {
      base = conflict.text;
      revision.value = conflict.revision;
    }
    conflict = null;
    field.dispatchEvent(new Event("input"));
    field.focus();
  }

  return {
    /** Cancel the scheduled save and wait for the running one, because a save after the message would restore the draft. */
    async finishSaving() {
      clearTimeout(timer);
      timer = undefined;
      await saving;
    },

    /** Stop saving, because another tab writes now and has read the copy. */
    stopSaving() {
      clearTimeout(timer);
      timer = undefined;
      readOnly = true;
    },

    /** Save the text again if the server does not have it. */
    retry() {
      if (readCopy()?.saved === false) scheduleSave();
    },

    /** Remove `sent`, which is a message now, from the field. Text typed after it stays. */
    markSent(sent) {
      if (field.value === sent) {
        field.value = "";
        markSaved();
        return;
      }
      if (field.value.startsWith(sent)) field.value = field.value.slice(sent.length).trimStart();
      field.dispatchEvent(new Event("input"));
    },
  };
}

/** Return the text of the copy that another tab has stored, from a storage event; null if it was removed. */
export function storedText({ newValue }) {
  return JSON.parse(newValue)?.text ?? null;
}

/* The browser may forbid storage; then only the server has the draft. */
function tryStorage(action) {
  try {
    return action() ?? null;
  } catch {
    return null;
  }
}
