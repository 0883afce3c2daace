/* Checks the draft against the rules when the tutor pauses, underlines possible violations and lists the reasons.

   Without an answer of the server nothing is underlined. Sending does not wait for the check. If the protocol names a
   checker model, its findings are added when they come; the page asks for them for MODEL_PATIENCE at most. */

const CHECK_DELAY = 400; // milliseconds without typing before the draft is checked
const TIMEOUT = 5000; // milliseconds
const MODEL_DELAY = 600; // milliseconds after the detectors' answer before the model, which costs money, is asked
const MODEL_INTERVAL = 250; // milliseconds between two requests for its answer
const MODEL_PATIENCE = 3000; // milliseconds

const box = document.getElementById("draft-check");
const summary = document.getElementById("draft-check-summary");
const list = document.getElementById("draft-check-findings");
const field = document.getElementById("message");
const form = field.form;

const frame = document.createElement("div");
const underlines = document.createElement("div");
frame.className = "checked-field";
underlines.className = "draft-underlines";
underlines.ariaHidden = "true";
field.before(frame);
frame.append(underlines, field);

let timer;
let pending = null; // the AbortController of the running request

field.addEventListener("input", () => {
  underline([]); // the offsets are outdated
  scheduleCheck();
});
field.addEventListener("levelchange", () => {
  if (field.value.trim()) scheduleCheck();
});
field.addEventListener("scroll", () => {
  underlines.scrollTop = field.scrollTop;
});
document.addEventListener("submit", (event) => {
  if (event.target === form) cancelCheck();
});
// The first check of a problem loads the sentence encoder, so it begins before there is a draft.
field.addEventListener("focus", () => request(box.dataset.checkUrl, "").catch(() => {}), { once: true });
if (field.value.trim()) scheduleCheck();

function scheduleCheck() {
  clearTimeout(timer);
  pending?.abort();
  timer = setTimeout(check, CHECK_DELAY);
}

/** Cancel the check after sending, because its answer would refer to the sent text. */
function cancelCheck() {
  clearTimeout(timer);
  pending?.abort();
  hide();
}

async function check() {
  const text = field.value;
  if (!text.trim()) {
    hide();
    return;
  }
  const controller = new AbortController();
  pending = controller;
  const timeout = setTimeout(() => controller.abort(), TIMEOUT);
  try {
    const { findings } = await request(box.dataset.checkUrl, text, controller.signal);
    if (pending === controller && field.value === text) {
      show(text, findings);
      if (box.dataset.modelCheckUrl) timer = setTimeout(() => askModel(text, findings), MODEL_DELAY);
    }
  } catch {
    if (pending === controller) hide(); // without an answer the message can be sent unchecked
  } finally {
    clearTimeout(timeout);
  }
}

/** Add the findings of the checker model to those of the detectors. Without an answer in time these stay as they are. */
async function askModel(text, findings) {
  const controller = new AbortController();
  pending = controller;
  const timeout = setTimeout(() => controller.abort(), MODEL_PATIENCE);
  try {
    const ask = (question) => request(box.dataset.modelCheckUrl, text, controller.signal, question);
    let { findings: found, question } = await ask("");
    while (found === null) {
      await new Promise((resolve) => setTimeout(resolve, MODEL_INTERVAL));
      ({ findings: found, question } = await ask(question));
    }
    if (pending === controller && field.value === text && found.length > 0) {
      show(text, [...findings, ...found].sort((one, other) => one.start - other.start));
    }
  } catch {
    // The detectors' findings are shown already.
  } finally {
    clearTimeout(timeout);
  }
}

/** Return the `findings` of a check of the text; they are null while a model has not answered `question` yet. */
async function request(url, text, signal, question = "") {
  const response = await fetch(url, {
    method: "POST",
    body: new URLSearchParams({
      csrfmiddlewaretoken: form.elements.csrfmiddlewaretoken.value,
      text,
      level: form.elements.level?.value ?? "",
      question,
    }),
    headers: { Accept: "application/json" },
    redirect: "error",
    signal,
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

function hide() {
  underline([]);
  summary.textContent = "";
  list.replaceChildren();
  box.hidden = true;
}

function show(text, findings) {
  underline(findings);
  const warnings = findings.filter(({ severity }) => severity === "warning").length;
  const counts = [count(warnings, "warning"), count(findings.length - warnings, "notice")].filter(Boolean).join(", ");
  const sentence = counts ? `Possible rule violations: ${counts}.` : "No rule violation found.";
  // Setting the same sentence makes screen readers read it again.
  if (summary.textContent !== sentence) summary.textContent = sentence;
  list.replaceChildren(...findings.map((finding) => item(text, finding)));
  box.hidden = false;
}

function count(number, word) {
  return number && `${number} ${word}${number === 1 ? "" : "s"}`;
}

function item(text, { clause, title, start, end, explanation, severity, by_model: byModel }) {
  const entry = document.createElement("li");
  const button = document.createElement("button");
  const badge = document.createElement("span");
  const quote = text.slice(start, end);
  badge.className = severity === "warning" ? "badge warn" : "badge";
  badge.textContent = `${severity} ${clause}`;
  badge.title = title;
  button.type = "button";
  button.className = "quiet";
  button.textContent = `“${quote.length > 60 ? `${quote.slice(0, 60)}…` : quote}”`;
  button.ariaLabel = `Select ${button.textContent} in the text`;
  button.addEventListener("click", () => {
    field.focus();
    field.setSelectionRange(start, end);
  });
  entry.append(badge, " ", button, ` ${explanation}`);
  if (byModel) badge.after(" ", modelBadge());
  return entry;
}

function modelBadge() {
  const badge = document.createElement("span");
  badge.className = "badge";
  badge.textContent = "language model";
  badge.title = "Found by a language model, which may be wrong";
  return badge;
}

/** Render the draft behind the field with underlined findings. Of overlapping findings the first is underlined. */
function underline(findings) {
  if (findings.length === 0) {
    underlines.replaceChildren();
    return;
  }
  const text = field.value;
  const parts = [];
  let done = 0;
  for (const { start, end, severity } of findings) {
    if (start < done) continue;
    const mark = document.createElement("mark");
    mark.className = severity;
    mark.textContent = text.slice(start, end);
    parts.push(text.slice(done, start), mark);
    done = end;
  }
  underlines.replaceChildren(...parts, `${text.slice(done)}\n`);
  underlines.scrollTop = field.scrollTop;
}
