/* The live session page. The server's events are the truth: this page shows them, and sends commands. */

import { addCopyButtons } from "./copy.js";
import { send } from "./session/commands.js";
import { connect } from "./session/connection.js";
import { keepDraft } from "./session/draft.js";
import { writeInOneTab } from "./session/elsewhere.js";
import { followEnd } from "./session/following.js";
import { bindKeys } from "./session/keys.js";

const byId = (id) => document.getElementById(id);
const page = document.querySelector("main.workspace");
const events = byId("events");
const active = byId("active-reply");
const stream = byId("stream");
const message = byId("message");
const stopForm = byId("stop-form");
const end = followEnd(byId("conversation"), byId("jump"));

/* ---- What the server says ---- */

let lastSeq = Number(page.dataset.lastSeq);
let writing = true; // no other tab does

const sendToSocket = connect(`/ws/sessions/${page.dataset.session}/`, {
  open() {
    say("connection", "");
    sync();
    draft.again();
  },
  lost: () => say("connection", "The connection is lost; reconnecting… Nothing is lost meanwhile."),
  refused: (sentence) => say("connection", sentence),
  message: (received) => handlers[received.type]?.(received),
});

/** Asks for everything after what this page shows. */
function sync() {
  const { reply, attempt, seq } = active.dataset;
  const writing = active.hidden ? null : { id: Number(reply), attempt: Number(attempt), seq: Number(seq) };
  sendToSocket({ op: "sync", after: lastSeq, reply: writing });
}

const handlers = {
  events(received) {
    say("stored", "");
    end.grow(() => {
      for (const { seq, kind, html } of received.events) {
        lastSeq = Math.max(lastSeq, seq);
        if (byId(`event-${seq}`)) continue;
        if (kind === "reply" || kind === "reply_failed") clearActive();
        insert(fragment(html).firstElementChild, seq);
      }
    });
  },

  snapshot({ reply, attempt, seq, text }) {
    Object.assign(active.dataset, { reply, attempt, seq });
    stopForm.elements.reply.value = reply;
    end.grow(() => {
      stream.textContent = text;
      active.hidden = false;
    });
  },

  /* The server cannot store what the model says. It goes on by itself, and the next news takes this line away. */
  waiting: () => say("stored", "The server cannot store anything now. The reply waits and is not lost: it goes on by itself."),

  delta({ reply, attempt, seq, text }) {
    say("stored", "");
    const here = active.dataset;
    const same = !active.hidden && Number(here.reply) === reply && Number(here.attempt) === attempt;
    if (same && seq <= Number(here.seq)) return;
    if (!same || seq !== Number(here.seq) + 1) {
      sync();
      return;
    }
    here.seq = seq;
    end.grow(() => stream.append(text));
  },

  status({ html, may, state, active_reply }) {
    end.grow(() => {
      for (const part of fragment(html).children) replacePart(part);
      for (const control of page.querySelectorAll("[data-may]")) control.disabled = !may[control.dataset.may];
      for (const control of page.querySelectorAll("[data-shown]")) control.hidden = !may[control.dataset.shown];
      if (active_reply === null) clearActive();
      if (page.dataset.state !== state) delete page.dataset.composing;
      page.dataset.state = state;
      showControls();
    });
  },
};

/** The field is there while the session is open, in a debrief that was asked for, and in the tab that writes. */
function showControls() {
  const { state } = page.dataset;
  const composing = state === "open" || (state === "closed" && "composing" in page.dataset);
  byId("open-controls").hidden = !composing || !writing;
  byId("closed-controls").hidden = state !== "closed";
  byId("debrief")?.toggleAttribute("hidden", composing || byId("send").disabled);
  for (const control of page.querySelectorAll("[data-open-only]")) control.hidden = state === "closed";
}

function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html.trim();
  return template.content;
}

function insert(item, seq) {
  const next = [...events.children].find((other) => Number(other.dataset.seq) > seq);
  events.insertBefore(item, next ?? null);
  addCopyButtons(item);
}

function clearActive() {
  active.hidden = true;
  stream.textContent = "";
  Object.assign(active.dataset, { reply: "", attempt: 0, seq: 0 });
}

const shownParts = new Map();

/** Puts new contents into the element with the part's id, unless they are there already. */
function replacePart(part) {
  if (shownParts.get(part.id) === part.innerHTML) return;
  shownParts.set(part.id, part.innerHTML);
  const place = byId(part.id);
  place.replaceChildren(...part.childNodes);
  addCopyButtons(place);
}

/* ---- What the tutor does ---- */

const token = stopForm.elements.csrfmiddlewaretoken.value;
const revision = message.form.elements.draft;
const draft = keepDraft({
  field: message,
  revision,
  other: byId("other-draft"),
  session: page.dataset.session,
  async save(text, revision) {
    const answer = await send(message.dataset.draftUrl, { csrfmiddlewaretoken: token, text, revision });
    const known = answer.accepted || answer.draft;
    say("unsaved", known ? "" : `What you type is kept in this browser only. ${answer.message}`);
    return answer;
  },
});

const waiting = new Set(); // forms whose answer is not here yet
let uncertain = null; // a message without an answer: the same one again must keep its command id

page.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  if (waiting.has(form)) return;
  waiting.add(form);
  say("refusal", "");
  try {
    const fields = new FormData(form, event.submitter);
    if (form === message.form) await sendMessage(form, fields);
    else await carryOut(form, fields);
  } finally {
    waiting.delete(form);
  }
});

async function sendMessage(form, fields) {
  const content = `${fields.get("mode")} ${fields.get("text")}`;
  fields.set("command", uncertain?.content === content ? uncertain.command : crypto.randomUUID());
  const text = message.value;
  end.toEnd(); // now, not with the answer: by then the reader may have gone up to read something
  await draft.settle();
  fields.set("draft", revision.value);
  const answer = await send(form.action, fields);
  uncertain = answer.certain ? null : { content, command: fields.get("command") };
  if (answer.accepted) draft.sent(text);
  else {
    say("refusal", answer.message);
    draft.again();
  }
  message.focus();
}

async function carryOut(form, fields) {
  const answer = await send(form.action, fields);
  if (answer.certain) form.elements.command.value = crypto.randomUUID();
  form.closest("dialog")?.close();
  if (!answer.accepted) say("refusal", answer.message);
}

bindKeys(page, {
  message,
  toEnd: end.toEnd,
  send(mode) {
    const button = byId(mode === "code" ? "ask-for-code" : "send");
    if (button.checkVisibility() && !button.disabled) message.form.requestSubmit(button);
  },
  stop() {
    if (stopForm.hidden || !writing) return false;
    stopForm.requestSubmit();
    return true;
  },
});

writeInOneTab(page.dataset.session, byId("take-over"), () => {
  writing = false;
  draft.leave();
  byId("elsewhere").hidden = false;
  showControls();
});

/** Shows a sentence in one of the lines above the composer, or hides the line. */
function say(line, sentence) {
  byId(line).textContent = sentence;
  byId(line).hidden = !sentence;
}
