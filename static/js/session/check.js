/* Checks the draft against the rules when the tutor pauses, underlines possible violations and lists the reasons.

   Without an answer of the server nothing is underlined. Sending does not wait for the check. */

const CHECK_DELAY = 400; // milliseconds without typing before the draft is checked
const TIMEOUT = 5000; // milliseconds

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
field.addEventListener("focus", () => request("").catch(() => {}), { once: true });
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
    const response = await request(text, controller.signal);
    if (!response.ok) throw new Error(`status ${response.status}`);
    const answer = await response.json();
    if (pending === controller && field.value === text) show(text, answer.findings);
  } catch {
    if (pending === controller) hide(); // without an answer the message can be sent unchecked
  } finally {
    clearTimeout(timeout);
  }
}

function request(text, signal) {
  return fetch(box.dataset.checkUrl, {
    method: "POST",
    body: new URLSearchParams({
      csrfmiddlewaretoken: form.elements.csrfmiddlewaretoken.value,
      text,
      level: form.elements.level?.value ?? "",
    }),
    headers: { Accept: "application/json" },
    redirect: "error",
    signal,
  });
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

function item(text, { clause, title, start, end, explanation, severity }) {
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
  return entry;
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
