/* The review page: labels by keyboard, quotes, and a draft of the form.

   Every label is a field of one form. This script moves the focus, toggles the fields and submits the form. */

import { removeQuotes, renderQuotes, toggleQuote } from "./review/quotes.js";
import { clearSelection, selectSentence, takeSelection } from "./review/sentences.js";
import { send } from "./session/commands.js";
import { addDivider } from "./session/divider.js";
import { keepDraft, storedText } from "./session/draft.js";
import { bindPaneSwitch } from "./session/panes.js";
import { singleKeys } from "./session/single_keys.js";

const byId = (id) => document.getElementById(id);
const page = byId("main");
const form = byId("review-form");
const items = [...form.querySelectorAll(".labelled")];
const showPane = bindPaneSwitch(page, byId("pane-switch"));
addDivider(page, byId("problem"), { name: "review-split", initial: 36 });

form.classList.add("live");

/* ---- The draft: the form as one text ---- */

const storageKey = `hintbench.draft.review-${form.dataset.review}`; // the key that keepDraft uses
const UNSAVED = new Set(["csrfmiddlewaretoken", "command", "origin"]);

/** Return the fields in the form in which the server shows a saved draft: equal drafts have equal texts. */
function savedFields() {
  const fields = [...new FormData(form)].filter(([name]) => !UNSAVED.has(name));
  return fields.map(([name, value]) => [name, name.startsWith("quote-") ? JSON.stringify(JSON.parse(value)) : value.trim()]);
}

const formAsField = {
  get value() {
    return new URLSearchParams(savedFields()).toString();
  },
  set value(text) {
    fill(new URLSearchParams(text));
  },
  addEventListener: (name, listener) => form.addEventListener(name, listener),
  dispatchEvent: (event) => form.dispatchEvent(event),
  focus: () => (current ?? items[0])?.focus(),
};

function fill(fields) {
  for (const item of items) {
    removeQuotes(item);
    for (const quote of fields.getAll(`quote-${item.dataset.seq}`)) toggleQuote(item, JSON.parse(quote));
  }
  for (const control of form.elements) {
    if (control.type === "checkbox" || control.type === "radio") {
      control.checked = fields.getAll(control.name).includes(control.value);
    } else if (control.tagName === "TEXTAREA") {
      control.value = fields.get(control.name) ?? "";
    }
  }
  items.forEach(refresh);
}

function notifyDraft() {
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

/* ---- The current message ---- */

let current = null;

function setCurrent(item) {
  if (item === current) return;
  current?.classList.remove("current");
  current = item;
  current?.classList.add("current");
}

function focusMessage(item) {
  if (!item) return;
  showPane("conversation");
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "start", behavior: "instant" }); // smooth scrolling is too slow for repeated keys
}

/** Return the first field of the message that lacks a required reason. Only adjudications have such fields. */
function missingReason(item) {
  return [...item.querySelectorAll("textarea[data-required]")].find((field) => !field.value.trim());
}

const isChosen = (item, clause) => item.querySelector(`[name^=clause-][value="${clause}"]`).checked;

const isComplete = (item) =>
  item.querySelector("[name^=clause-]:checked") && item.querySelector("[name^=level-]:checked") && !missingReason(item);

function refresh(item) {
  for (const part of item.querySelectorAll(".reason-field")) {
    const field = part.querySelector("textarea");
    field.disabled = part.hidden = !("required" in field.dataset) && !isChosen(item, part.dataset.clause);
  }
  item.classList.toggle("complete", Boolean(isComplete(item)));
  renderQuotes(item);
  const done = items.filter(isComplete).length;
  byId("labelled-count").textContent = `${done} of ${items.length} messages labelled`;
}

form.addEventListener("focusin", ({ target }) => {
  const item = target.closest(".labelled");
  if (item) setCurrent(item);
});
form.addEventListener("change", ({ target }) => {
  const item = target.closest(".labelled");
  if (item && target.name.startsWith("clause-")) updateQuotes(item, target);
  if (item) refresh(item);
  notifyDraft();
});

/** Quote the selected passage for a checked clause; remove the quotes of an unchecked clause. */
function updateQuotes(item, box) {
  if (!box.checked) {
    removeQuotes(item, box.value);
    return;
  }
  const passage = takeSelection(item);
  if (passage) toggleQuote(item, { clause: box.value, ...passage });
}

form.addEventListener("click", ({ target }) => {
  const button = target.closest("button.unquote");
  if (!button) return;
  const item = button.closest(".labelled");
  button.closest("li").remove();
  refresh(item);
  notifyDraft();
  item.focus();
});

/* ---- Keyboard shortcuts ---- */

const shortcuts = {
  j: () => focusMessage(items[current ? items.indexOf(current) + 1 : 0] ?? current),
  k: () => focusMessage(items[Math.max(0, items.indexOf(current) - 1)]),
  n: () => {
    const next = items.find((item) => !isComplete(item));
    if (next) focusMessage(next);
    else focusField(form.elements.verdict[0]);
  },
  l: () => current && selectSentence(current, 1),
  h: () => current && selectSentence(current, -1),
  L: () => current && selectSentence(current, 1, true),
  N: () => current?.querySelector("[name^=note-]").focus(),
  R: () => focusReason(items.find(missingReason)),
  P: () => {
    showPane("problem");
    (byId("problem").querySelector("[role=tab][aria-selected=true]") ?? byId("problem")).focus();
  },
  V: () => focusField(form.querySelector("[name=verdict]:checked") ?? form.elements.verdict[0]),
  C: () => focusField(byId("comment")),
  "?": () => byId("keys-dialog").showModal(),
};

function focusField(field) {
  showPane("conversation");
  field.focus();
}

function focusReason(item) {
  if (!item) return;
  focusMessage(item); // only the current message shows its empty fields
  missingReason(item).focus();
}

/** Press the control as its key does: a second press takes the choice back, except the verdict, which is required. */
function toggle(control) {
  const selected = control.type === "radio" && control.checked && control.name !== "verdict";
  control.checked = selected ? false : control.type === "radio" || !control.checked;
  control.dispatchEvent(new Event("change", { bubbles: true }));
}

function controlFor(key, target) {
  if (target.name === "verdict") return form.elements.verdict[Number(key) - 1];
  return current && [...current.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (document.querySelector("dialog[open]")) return;
  if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    byId("to-submit").click();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = target.matches("textarea, input:not([type=radio], [type=checkbox]), select");
  if (key === "Escape") {
    if (typing) (target.closest(".labelled") ?? current ?? items[0])?.focus();
    else clearSelection();
    return;
  }
  if (typing || !singleKeys()) return;
  const found = controlFor(key, target);
  if (found) {
    showPane("conversation");
    found.closest("fieldset").scrollIntoView({ block: "nearest", behavior: "instant" }); // show the field that changes
    toggle(found);
    if (found.name === "verdict") found.focus(); // the arrow keys continue from the chosen verdict
  } else if (Object.hasOwn(shortcuts, key)) shortcuts[key]();
  else return;
  event.preventDefault();
});

/* ---- Saving and submitting ---- */

/** Return a message with a forbidden clause if the verdict needs a worst message and none of these is chosen. */
function needsWorst() {
  const verdict = form.elements.verdict.value;
  if (!verdict || verdict === "compliant") return null;
  const breaking = items.filter((item) => item.querySelector(".chip.forbidden [name^=clause-]:checked"));
  return breaking.some((item) => item.querySelector("[name=worst]").checked) ? null : breaking[0];
}

// What can be seen to be missing is reported before the confirmation; the server checks everything again.
byId("submit-dialog").addEventListener("command", (event) => {
  const unreasoned = items.find(missingReason);
  const worst = needsWorst();
  showRefusal("");
  if (unreasoned) {
    showRefusal(`Message ${unreasoned.dataset.seq} needs a reason for each clause on which the reviews differ.`);
    focusReason(unreasoned);
  } else if (worst) {
    showRefusal(form.dataset.worstMissing);
    focusMessage(worst);
    worst.querySelector("[name=worst]").focus();
  } else return;
  event.preventDefault();
});

items.forEach(refresh); // before the draft, because it disables the fields that do not count
const draft = keepDraft({
  field: formAsField,
  other: byId("other-review"),
  name: `review-${form.dataset.review}`,
  save: saveDraft,
});

async function saveDraft() {
  const fields = new FormData(form);
  fields.set("command", crypto.randomUUID());
  const answer = await send(form.dataset.draftUrl, fields);
  const state = byId("draft-state");
  const sentence = answer.accepted ? "Saved" : `Not saved on the server. ${answer.message}`;
  // Setting the same sentence makes screen readers read it again.
  if (state.textContent !== sentence) state.textContent = sentence;
  state.className = answer.accepted ? "small soft" : "message warning";
  return answer;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  showRefusal("");
  await draft.finishSaving();
  // Enter on a choice in the dialog presses the first button of the form, which is “Save”.
  if (event.submitter === byId("save") && !byId("submit-dialog").open) {
    await saveDraft();
    return;
  }
  const fields = new FormData(form);
  const answer = await send(form.action, fields);
  byId("submit-dialog").close();
  if (answer.accepted) {
    removeStoredDraft();
    location.assign(answer.address);
    return;
  }
  if (answer.certain) form.elements.command.value = crypto.randomUUID();
  showRefusal(answer.message);
  focusMessage(items.find((item) => !isComplete(item)));
});

/* Keep tabs with the same review in sync: each shows the draft that another one stores. */
addEventListener("storage", (event) => {
  const text = event.key === storageKey ? storedText(event) : null;
  if (text !== null) formAsField.value = text;
});

function removeStoredDraft() {
  try {
    localStorage.removeItem(storageKey);
  } catch {
    // the browser forbids storage, so there is no stored draft
  }
}

function showRefusal(sentence) {
  byId("refusal").textContent = sentence;
  byId("refusal").hidden = !sentence;
}

for (const text of form.querySelectorAll("[data-text]")) {
  if (text.scrollHeight > text.clientHeight) text.tabIndex = 0; // a scrolling text needs the focus to scroll by keyboard
}
if (!location.hash) items.find((item) => !isComplete(item))?.focus({ preventScroll: true });
