/* Quoted passages of a message: hidden fields of the form, a list to read, and marks in the text.

   Offsets count code points, as the server does; the text on the page counts in UTF-16 units. */

const list = (item) => item.querySelector(".quotes");
const text = (item) => item.querySelector("[data-text]");

/** The quotes of a message, as the form sends them. */
function quotesOf(item) {
  return [...list(item).querySelectorAll("input")].map((field) => JSON.parse(field.value));
}

/** Adds a quote ({clause, start, end}), or takes the same one away. */
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

/** Takes the quotes of one clause away, or all of them. */
export function withoutQuotes(item, clause) {
  for (const field of list(item).querySelectorAll("input")) {
    if (!clause || JSON.parse(field.value).clause === clause) field.closest("li").remove();
  }
}

/** Draws the marks in the text and the words in the list. */
export function showQuotes(item) {
  const points = [...text(item).textContent];
  const quotes = quotesOf(item);
  for (const entry of list(item).children) describe(entry, points);
  const cuts = [...new Set([0, points.length, ...quotes.flatMap(({ start, end }) => [start, end])])];
  cuts.sort((a, b) => a - b);
  const pieces = cuts.slice(1).map((end, index) => piece(points, cuts[index], end, quotes));
  text(item).replaceChildren(...pieces);
}

function describe(entry, points) {
  const field = entry.querySelector("input");
  const { clause, start, end } = JSON.parse(field.value);
  const words = document.createElement("span");
  words.textContent = `${clause}: “${points.slice(start, end).join("")}” `;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "unquote quiet small", textContent: "Remove" });
  button.setAttribute("aria-label", `Remove this quote for ${clause}`);
  entry.replaceChildren(field, words, button);
}

function piece(points, start, end, quotes) {
  const content = points.slice(start, end).join("");
  const clauses = new Set(quotes.filter((one) => one.start <= start && end <= one.end).map((one) => one.clause));
  if (!clauses.size) return document.createTextNode(content);
  const mark = document.createElement("mark");
  mark.dataset.clauses = [...clauses].join(" ");
  mark.textContent = content;
  return mark;
}
