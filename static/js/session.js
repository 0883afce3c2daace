/* The live session page: shows the events of the server and sends commands. */

import { showElapsed, showLocalTimes } from "./clock.js";
import { addCopyButtons } from "./copy.js";
import { autoscroll } from "./session/autoscroll.js";
import { LOGGED_OUT, send } from "./session/commands.js";
import "./session/comparison.js";
import { connect } from "./session/connection.js";
import { addDivider } from "./session/divider.js";
import { keepDraft } from "./session/draft.js";
import { levelChoice } from "./session/level.js";
import { bindPaneSwitch } from "./session/panes.js";
import { bindShortcuts } from "./session/shortcuts.js";
import { replyStream } from "./session/stream.js";
import { lockWriting } from "./session/tab_lock.js";
import { replyWait } from "./session/waiting.js";

const byId = (id) => document.getElementById(id);
const page = document.querySelector("main.workspace");
const events = byId("events");
const active = byId("active-reply");
const stream = replyStream(byId("stream"), byId("stream-rest"));
const waiting = replyWait(byId("reply-wait"));
const message = byId("message");
const stopForm = byId("stop-form");
const level = levelChoice(byId("level-choice"), message, byId("level-definition"));
const showPane = bindPaneSwitch(page, byId("pane-switch"));
const scroller = autoscroll(byId("conversation"), byId("jump"));

/* ---- Messages of the server ---- */

let lastSeq = Number(page.dataset.lastSeq);
let isWriter = true; // false while another tab writes
let statusFollows = false; // events have arrived, and the status that enables the controls has not
let sendsAfterStatus = null; // the button of a message that was sent by a shortcut meanwhile

addDivider(page, byId("problem"), { name: "split", initial: 50 });
showLocalTimes(page);
showElapsed(byId("elapsed"), () => page.dataset.state === "closed");

const sendToSocket = connect(`/ws/sessions/${page.dataset.session}/`, {
  open() {
    showNotice("connection", "");
    sync();
    draft.retry();
  },
  lost() {
    sendsAfterStatus = null; // the status may come much later
    showNotice("connection", "Connection lost; reconnecting… Your text is kept.");
  },
  loggedOut: showLoggedOut,
  refused: (sentence) => showNotice("connection", sentence),
  message: (received) => handlers[received.type]?.(received),
});

/** Request everything after the last event on this page, and the whole text of the active reply. */
function sync() {
  sendToSocket({ op: "sync", after: lastSeq });
}

const handlers = {
  events(received) {
    showNotice("storage-notice", "");
    statusFollows = true;
    scroller.update(() => {
      let successor;
      for (const { seq, kind, html } of received.events) {
        lastSeq = Math.max(lastSeq, seq);
        if (byId(`event-${seq}`)) continue;
        const item = fragment(html).firstElementChild;
        if (kind === "reply") successor = stream.moveInto(item.querySelector(".prose"));
        if (kind === "reply" || kind === "reply_failed") clearActive();
        insert(item, seq);
      }
      return successor;
    });
  },

  snapshot({ reply, attempt, seq, text, blocks, length }) {
    Object.assign(active.dataset, { reply, attempt, seq });
    stopForm.elements.reply.value = reply;
    scroller.update(() => {
      stream.start(text, blocks, length);
      addCopyButtons(active);
      active.hidden = false;
    });
    waiting.progress(text.length);
  },

  blocks({ reply, attempt, first, blocks, length }) {
    const shown = active.dataset;
    if (active.hidden || Number(shown.reply) !== reply || Number(shown.attempt) !== attempt) return;
    scroller.update(() => {
      stream.show(first, blocks, length);
      addCopyButtons(active);
    });
  },

  /* The next event or text chunk hides this notice. */
  waiting: () => showNotice("storage-notice", "The server cannot store data now. The reply is kept and continues automatically."),

  delta({ reply, attempt, seq, text }) {
    showNotice("storage-notice", "");
    const shown = active.dataset;
    const same = !active.hidden && Number(shown.reply) === reply && Number(shown.attempt) === attempt;
    if (same && seq <= Number(shown.seq)) return;
    if (!same || seq !== Number(shown.seq) + 1) {
      sync();
      return;
    }
    shown.seq = seq;
    scroller.update(() => stream.append(text));
    waiting.progress(stream.length());
  },

  status({ html, may, state, active_reply, wait, outage }) {
    waiting.update(wait);
    active.querySelector(".writing").hidden = outage;
    scroller.update(() => {
      for (const part of fragment(html).children) replacePart(part);
      for (const control of page.querySelectorAll("[data-may]")) control.disabled = !may[control.dataset.may];
      for (const control of page.querySelectorAll("[data-shown]")) control.hidden = !may[control.dataset.shown];
      if (active_reply === null) clearActive();
      const closes = page.dataset.state !== state && state === "closed";
      if (page.dataset.state !== state) delete page.dataset.composing;
      page.dataset.state = state;
      showControls();
      if (closes) keepFocus();
    });
    statusFollows = false;
    if (sendsAfterStatus && !sendsAfterStatus.disabled) message.form.requestSubmit(sendsAfterStatus);
    sendsAfterStatus = null;
  },
};

/** Show the message field in the tab that writes, while the session is open or in a debrief the tutor has started. */
function showControls() {
  const { state } = page.dataset;
  const composing = state === "open" || (state === "closed" && "composing" in page.dataset);
  byId("open-controls").hidden = !composing || !isWriter;
  byId("closed-controls").hidden = state !== "closed";
  const fresh = !events.querySelector("[data-kind=message]"); // then code comes first
  byId("send").classList.toggle("primary", !fresh);
  byId("ask-for-code").classList.toggle("primary", fresh);
  byId("debrief")?.toggleAttribute("hidden", composing || byId("send").disabled);
  for (const control of page.querySelectorAll("[data-open-only]")) control.hidden = state === "closed";
}

/** Focus the conversation of a closed session if the focus has disappeared with the controls of an open one. */
function keepFocus() {
  const { activeElement } = document;
  const lost = activeElement === document.body || !activeElement.checkVisibility();
  if (page.dataset.state === "closed" && lost) byId("conversation").focus();
}

for (const dialog of page.querySelectorAll("dialog")) dialog.addEventListener("close", keepFocus);

function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html.trim();
  return template.content;
}

function insert(item, seq) {
  const next = [...events.children].find((other) => Number(other.dataset.seq) > seq);
  events.insertBefore(item, next ?? null);
  addCopyButtons(item);
  showLocalTimes(item);
}

function clearActive() {
  active.hidden = true;
  stream.clear();
  Object.assign(active.dataset, { reply: "", attempt: 0, seq: 0 });
}

const renderedParts = new Map();

/** Replace the content of the element with the id of `part` if it has changed. */
function replacePart(part) {
  if (renderedParts.get(part.id) === part.innerHTML) return;
  renderedParts.set(part.id, part.innerHTML);
  const element = byId(part.id);
  element.replaceChildren(...part.childNodes);
  addCopyButtons(element);
  showLocalTimes(element);
}

/* ---- Commands of the tutor ---- */

const token = stopForm.elements.csrfmiddlewaretoken.value;
const revision = message.form.elements.draft;
const draft = keepDraft({
  field: message,
  revision,
  other: byId("other-draft"),
  name: page.dataset.session,
  async save(text, revision) {
    const answer = await send(message.dataset.draftUrl, { csrfmiddlewaretoken: token, text, revision });
    const known = answer.accepted || answer.draft || answer.loggedOut;
    if (answer.loggedOut) showLoggedOut();
    showNotice("draft-notice", known ? "" : `Your text is kept in this browser only. ${answer.message}`);
    return answer;
  },
});

const pendingForms = new Set();
let unconfirmed = null; // a message without an answer, which must be sent again with the same command id

page.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const allowed = isWriter || form.closest("#report-dialog"); // every tab can report a problem
  if (!allowed || pendingForms.has(form)) return;
  pendingForms.add(form);
  showNotice("refusal", "");
  showNotice("command-notice", "");
  try {
    const fields = new FormData(form, event.submitter);
    if (form === message.form) await sendMessage(form, fields);
    else if (await sendCommand(form, fields)) insertDraft(event.submitter);
  } finally {
    pendingForms.delete(form);
  }
});

async function sendMessage(form, fields) {
  if (!fields.get("text").trim()) fields.delete("level"); // a message without a text has no level
  const content = `${fields.get("mode")} ${fields.get("level") ?? ""} ${fields.get("text")}`;
  fields.set("command", unconfirmed?.content === content ? unconfirmed.command : crypto.randomUUID());
  const text = message.value;
  scroller.scrollToEnd(); // before the answer, because the reader may scroll up meanwhile
  await draft.finishSaving();
  fields.set("draft", revision.value);
  const answer = await send(form.action, fields);
  unconfirmed = answer.certain ? null : { content, command: fields.get("command") };
  if (answer.accepted) {
    draft.markSent(text);
    level.reset();
  } else {
    showRefusal(answer);
    draft.retry();
  }
  message.focus();
}

async function sendCommand(form, fields) {
  const answer = await send(form.action, fields);
  if (answer.certain) form.elements.command.value = crypto.randomUUID();
  form.closest("dialog")?.close();
  if (answer.accepted) form.reset();
  if (answer.accepted) showNotice("command-notice", answer.message ?? "");
  else showRefusal(answer);
  return answer.accepted;
}

/** Put the model draft beside this button into the message field, below the text that is there. */
function insertDraft(button) {
  if (!button?.matches("[data-insert-draft]")) return;
  const text = button.closest("li").querySelector(".draft-text").textContent;
  message.value = message.value.trim() ? `${message.value.trimEnd()}\n\n${text}` : text;
  message.dispatchEvent(new Event("input", { bubbles: true }));
  message.focus();
}

function showRefusal({ loggedOut, message }) {
  if (loggedOut) showLoggedOut();
  else showNotice("refusal", message ?? "");
}

/** Say once that the login has ended, whichever part of the page notices it. */
function showLoggedOut() {
  for (const other of ["connection", "draft-notice", "refusal"]) showNotice(other, "");
  if (byId("login-notice").hidden) showNotice("login-notice", LOGGED_OUT);
}

bindShortcuts(page, {
  message,
  focusLevel: level.focus,
  showPane,
  scrollToEnd: scroller.scrollToEnd,
  send(mode) {
    const button = byId(mode === "code" ? "ask-for-code" : "send");
    if (!button.checkVisibility()) return;
    if (!button.disabled) message.form.requestSubmit(button);
    else if (statusFollows) sendsAfterStatus = button;
  },
  draft() {
    const offered = [...events.querySelectorAll("[data-insert-draft]")].find((one) => one.checkVisibility());
    if (offered) offered.click();
    else byId("request-draft")?.focus(); // a request spends one of the drafts, so Enter confirms it
  },
  stop() {
    if (stopForm.hidden || !isWriter) return false;
    stopForm.requestSubmit();
    return true;
  },
});

lockWriting(page.dataset.session, byId("take-over"), () => {
  isWriter = false;
  page.dataset.readOnly = "";
  for (const dialog of page.querySelectorAll("dialog[open]")) dialog.close();
  draft.stopSaving();
  byId("read-only").hidden = false;
  showControls();
});

// On a screen that is too low for both, the composer comes first and the header scrolls away.
if (matchMedia("(width < 60rem) and (height < 30rem)").matches) {
  history.scrollRestoration = "manual";
  addEventListener("load", () => byId("open-controls").scrollIntoView({ block: "end", behavior: "instant" }));
}

/** Show a sentence in the notice with this id, or hide the notice if the sentence is empty. */
function showNotice(id, sentence) {
  byId(id).textContent = sentence;
  byId(id).hidden = !sentence;
}
