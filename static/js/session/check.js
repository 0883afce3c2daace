/* Compares the draft with the rules while the tutor pauses, underlines what may break them and says why.

   It never stands in the way: without an answer nothing is marked, and sending does not wait for it. */

const PAUSE = 400; // milliseconds without a key before the draft is checked
const PATIENCE = 5000; // milliseconds until an answer counts as missing

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
let asking = null; // the AbortController of the request under way

field.addEventListener("input", () => {
  underline([]); // the places have moved
  later();
});
field.addEventListener("scroll", () => {
  underlines.scrollTop = field.scrollTop;
});
document.addEventListener("submit", (event) => {
  if (event.target === form) forget();
});
if (field.value.trim()) later();

function later() {
  clearTimeout(timer);
  asking?.abort();
  timer = setTimeout(check, PAUSE);
}

/** A sent message needs no check: an answer that comes now would speak of a text that is gone. */
function forget() {
  clearTimeout(timer);
  asking?.abort();
  show("", []);
}

async function check() {
  const text = field.value;
  if (!text.trim()) {
    show(text, []);
    return;
  }
  const mine = new AbortController();
  asking = mine;
  const patience = setTimeout(() => mine.abort(), PATIENCE);
  try {
    const response = await fetch(box.dataset.checkUrl, {
      method: "POST",
      body: new URLSearchParams({ csrfmiddlewaretoken: form.elements.csrfmiddlewaretoken.value, text }),
      headers: { Accept: "application/json" },
      redirect: "error",
      signal: mine.signal,
    });
    const answer = response.ok ? await response.json() : { findings: [] };
    if (asking === mine && field.value === text) show(text, answer.findings);
  } catch {
    if (asking === mine) show(text, []); // no answer: the message can be sent unchecked
  } finally {
    clearTimeout(patience);
  }
}

function show(text, findings) {
  underline(findings);
  const warnings = findings.filter(({ severity }) => severity === "warning").length;
  const said = [count(warnings, "warning"), count(findings.length - warnings, "notice")].filter(Boolean).join(", ");
  const sentence = said && `The rules may not allow this: ${said}.`;
  // The same sentence again would be read out again.
  if (summary.textContent !== sentence) summary.textContent = sentence;
  list.replaceChildren(...findings.map((finding) => item(text, finding)));
  box.hidden = findings.length === 0;
}

function count(number, word) {
  return number && `${number} ${word}${number === 1 ? "" : "s"}`;
}

function item(text, { clause, title, start, end, explanation, severity }) {
  const entry = document.createElement("li");
  const place = document.createElement("button");
  const badge = document.createElement("span");
  const quote = text.slice(start, end);
  badge.className = severity === "warning" ? "badge warn" : "badge";
  badge.textContent = `${severity} ${clause}`;
  badge.title = title;
  place.type = "button";
  place.className = "quiet";
  place.textContent = `“${quote.length > 60 ? `${quote.slice(0, 60)}…` : quote}”`;
  place.ariaLabel = `Select ${place.textContent} in the text`;
  place.addEventListener("click", () => {
    field.focus();
    field.setSelectionRange(start, end);
  });
  entry.append(badge, " ", place, ` ${explanation}`);
  return entry;
}

/** Writes the draft behind the field with its places marked; where two overlap, the first is marked. */
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
