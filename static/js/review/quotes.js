/* Quotes of a message: hidden fields of the form, a visible list, and marks in the text.

   Offsets count code points, as on the server. Offsets in DOM texts count UTF-16 units. */

const list = (item) => item.querySelector(".quotes");
const text = (item) => item.querySelector("[data-text]");

/** Return the quotes of a message: [{clause, start, end}]. */
function quotesOf(item) {
  return [...list(item).querySelectorAll("input")].map((field) => JSON.parse(field.value));
}

/** Add a quote, or remove it if the message has it already. */
export function toggleQuote(item, { clause, start, end }) {
  const value = JSON.stringify({ clause, start, end });
  const same = [...list(item).querySelectorAll("input")].find(
    (field) => JSON.stringify(JSON.parse(field.value)) === value,
  );
  if (same) {
    same.closest("li").remove();
    return;
  }
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name: `quote-${item.dataset.seq}`, value });
  const entry = document.createElement("li");
  entry.append(field);
  list(item).append(entry);
}

/** Remove the quotes of one clause, or all quotes without `clause`. */
export function removeQuotes(item, clause) {
  for (const field of list(item).querySelectorAll("input")) {
    if (!clause || JSON.parse(field.value).clause === clause) field.closest("li").remove();
  }
}

/** Render the quotes in the text and in the list. */
export function renderQuotes(item) {
  const points = [...text(item).textContent];
  const quotes = quotesOf(item);
  for (const entry of list(item).children) renderEntry(entry, points);
  const bounds = [...new Set([0, points.length, ...quotes.flatMap(({ start, end }) => [start, end])])];
  bounds.sort((a, b) => a - b);
  const segments = bounds.slice(1).map((end, index) => segment(points, bounds[index], end, quotes));
  text(item).replaceChildren(...segments);
}

function renderEntry(entry, points) {
  const field = entry.querySelector("input");
  const { clause, start, end } = JSON.parse(field.value);
  const label = document.createElement("span");
  label.textContent = `${clause}: “${points.slice(start, end).join("")}” `;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "unquote quiet small", textContent: "Remove" });
  button.setAttribute("aria-label", `Remove this quote for ${clause}`);
  entry.replaceChildren(field, label, button);
}

function segment(points, start, end, quotes) {
  const content = points.slice(start, end).join("");
  const clauses = new Set(quotes.filter((one) => one.start <= start && end <= one.end).map((one) => one.clause));
  if (!clauses.size) return document.createTextNode(content);
  const mark = document.createElement("mark");
  mark.dataset.clauses = [...clauses].join(" ");
  mark.textContent = content;
  return mark;
}
