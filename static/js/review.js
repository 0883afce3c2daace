/* The review page: labels by keyboard, quoted passages, and a draft that survives whatever happens.

   Every label is a field of one form. This file moves the focus, presses the fields, and sends the form. */

import { showQuotes, toggleQuote, withoutQuotes } from "./review/quotes.js";
import { chooseSentence, dropChoice, takeChoice } from "./review/sentences.js";
import { send } from "./session/commands.js";
import { keepDraft, textOf } from "./session/draft.js";

const byId = (id) => document.getElementById(id);
const form = byId("review-form");
const items = [...form.querySelectorAll(".labelled")];

form.classList.add("live");

/* ---- The draft: the whole form as one text ---- */

const memory = `hintbench.draft.review-${form.dataset.review}`; // where keepDraft puts it in this browser
const transient = new Set(["csrfmiddlewaretoken", "command"]);
const all = () => [...new FormData(form)].filter(([name]) => !transient.has(name));

const asField = {
  get value() {
    return new URLSearchParams(all()).toString();
  },
  set value(text) {
    fill(new URLSearchParams(text));
  },
  addEventListener: (name, listener) => form.addEventListener(name, listener),
};

function fill(fields) {
  for (const item of items) {
    withoutQuotes(item);
    for (const quote of fields.getAll(`quote-${item.dataset.seq}`)) toggleQuote(item, JSON.parse(quote));
  }
  for (const control of form.elements) {
    if (control.type === "checkbox" || control.type === "radio") {
      control.checked = fields.getAll(control.name).includes(control.value);
    } else if (control.tagName === "TEXTAREA") {
      control.value = fields.get(control.name) ?? "";
    }
  }
  items.forEach(show);
}

function post(address) {
  const fields = new FormData(form);
  fields.set("command", crypto.randomUUID());
  return send(address, fields);
}

function changed() {
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

/* ---- Where the reviewer is ---- */

let current = null;

function enter(item) {
  if (item === current) return;
  current?.classList.remove("current");
  current = item;
  current?.classList.add("current");
}

function go(item) {
  if (!item) return;
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "start", behavior: "instant" }); // smooth scrolling would lag behind the keys
}

const complete = (item) => item.querySelector("[name^=clause-]:checked") && item.querySelector("[name^=level-]:checked");

function show(item) {
  item.classList.toggle("complete", Boolean(complete(item)));
  showQuotes(item);
  const done = items.filter(complete).length;
  byId("labelled-count").textContent = `${done} of ${items.length} messages labelled`;
}

form.addEventListener("focusin", ({ target }) => {
  const item = target.closest(".labelled");
  if (item) enter(item);
});
form.addEventListener("change", ({ target }) => {
  const item = target.closest(".labelled");
  if (item && target.name.startsWith("clause-")) quoteOrForget(item, target);
  if (item) show(item);
  changed();
});

/** A clause that is chosen quotes the chosen passage; one that is taken back takes its quotes with it. */
function quoteOrForget(item, box) {
  if (!box.checked) {
    withoutQuotes(item, box.value);
    return;
  }
  const choice = takeChoice(item);
  if (choice) toggleQuote(item, { clause: box.value, ...choice });
}

form.addEventListener("click", ({ target }) => {
  const button = target.closest("button.unquote");
  if (!button) return;
  const item = button.closest(".labelled");
  button.closest("li").remove();
  show(item);
  changed();
  item.focus();
});

/* ---- Keys ---- */

const moves = {
  j: () => go(items[current ? items.indexOf(current) + 1 : 0] ?? current),
  k: () => go(items[Math.max(0, items.indexOf(current) - 1)]),
  n: () => {
    const next = items.find((item) => !complete(item));
    if (next) go(next);
    else form.elements.verdict[0].focus();
  },
  l: () => current && chooseSentence(current, 1),
  h: () => current && chooseSentence(current, -1),
  L: () => current && chooseSentence(current, 1, true),
  N: () => current?.querySelector("textarea").focus(),
  V: () => (form.querySelector("[name=verdict]:checked") ?? form.elements.verdict[0]).focus(),
  C: () => byId("comment").focus(),
  "?": () => byId("keys-dialog").showModal(),
};

function press(control) {
  const chosen = control.type === "radio" && control.checked;
  control.checked = chosen ? false : control.type === "radio" || !control.checked;
  control.dispatchEvent(new Event("change", { bubbles: true }));
}

function control(key, target) {
  if (target.name === "verdict") return form.elements.verdict[Number(key) - 1];
  return current && [...current.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (document.querySelector("dialog[open]")) return;
  if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    byId("submit-dialog").showModal();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const writing = target.matches("textarea, input:not([type=radio], [type=checkbox]), select");
  if (key === "Escape") {
    if (writing) (target.closest(".labelled") ?? current ?? items[0])?.focus();
    else dropChoice();
    return;
  }
  if (writing) return;
  const found = control(key, target);
  if (found) {
    found.closest(".labelled, .verdicts").scrollIntoView({ block: "nearest", behavior: "instant" }); // nothing is labelled unseen
    press(found);
  }
  else if (moves[key]) moves[key]();
  else return;
  event.preventDefault();
});

/* ---- Saving and submitting ---- */

const draft = keepDraft({
  field: asField,
  session: `review-${form.dataset.review}`,
  async save() {
    const answer = await post(form.dataset.draftUrl);
    byId("draft-state").textContent = answer.accepted ? "Saved" : "Not saved on the server yet";
    if (!answer.accepted) say(answer.message);
    return answer;
  },
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  say("");
  await draft.settle();
  if (event.submitter === byId("save")) {
    const saved = await post(form.dataset.draftUrl);
    byId("draft-state").textContent = saved.accepted ? "Saved" : "";
    if (!saved.accepted) say(saved.message);
    return;
  }
  const fields = new FormData(form);
  const answer = await send(form.action, fields);
  byId("submit-dialog").close();
  if (answer.accepted) {
    forget();
    location.assign(answer.address);
    return;
  }
  if (answer.certain) form.elements.command.value = crypto.randomUUID();
  say(answer.message);
  go(items.find((item) => !complete(item)));
});

/* Two tabs with the same review stay in step: each takes over what the other writes down. */
addEventListener("storage", (event) => {
  const text = event.key === memory ? textOf(event) : null;
  if (text !== null) asField.value = text;
});

function forget() {
  try {
    localStorage.removeItem(memory);
  } catch {
    // storage may be forbidden; then nothing is there to forget
  }
}

function say(sentence) {
  byId("refusal").textContent = sentence;
  byId("refusal").hidden = !sentence;
}

items.forEach(show);
for (const text of form.querySelectorAll("[data-text]")) {
  if (text.scrollHeight > text.clientHeight) text.tabIndex = 0; // so that it can be scrolled without a mouse
}
if (!location.hash) items.find((item) => !complete(item))?.focus({ preventScroll: true });
