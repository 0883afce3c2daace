/* Choosing a passage of a message: with the mouse, or sentence by sentence with keys. The browser's own selection shows it. */

const text = (item) => item.querySelector("[data-text]");

/** Start and end of every sentence, in UTF-16 units. */
function sentences(content) {
  const found = [];
  for (const match of content.matchAll(/[^.!?\n]+(?:[.!?]+(?=\s|$)|[.!?]|\n|$)+/g)) {
    const start = match.index + match[0].length - match[0].trimStart().length;
    const end = match.index + match[0].trimEnd().length;
    if (end > start) found.push({ start, end });
  }
  return found;
}

/** What is selected in the text of this message, in UTF-16 units; null when nothing is. */
function selected(item) {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  const box = text(item);
  if (!box.contains(range.startContainer) || !box.contains(range.endContainer)) return null;
  const before = document.createRange();
  before.selectNodeContents(box);
  before.setEnd(range.startContainer, range.startOffset);
  const start = before.toString().length;
  return { start, end: start + range.toString().length };
}

function select(item, start, end) {
  const range = document.createRange();
  range.setStart(...place(text(item), start));
  range.setEnd(...place(text(item), end));
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}

/** The text node and the offset in it that belong to an offset in the whole text. */
function place(box, offset) {
  const nodes = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  let left = offset;
  let node = nodes.nextNode();
  while (node && left > node.length) {
    left -= node.length;
    node = nodes.nextNode();
  }
  return [node, left];
}

/** Selects the next (1) or previous (-1) sentence of the message; `extend` adds it to what is selected. */
export function chooseSentence(item, step, extend = false) {
  const all = sentences(text(item).textContent);
  if (!all.length) return;
  const now = selected(item);
  let index = step > 0 ? 0 : all.length - 1;
  if (now) {
    const here = all.findIndex(({ end }) => end >= now.end);
    index = Math.min(all.length - 1, Math.max(0, here + step));
  }
  select(item, extend && now ? now.start : all[index].start, all[index].end);
}

/** Forgets the chosen passage. */
export function dropChoice() {
  getSelection().removeAllRanges();
}

/** The chosen passage of this message in code points, and forgets it; null when there is none. */
export function takeChoice(item) {
  const now = selected(item);
  if (!now) return null;
  const content = text(item).textContent;
  const points = (end) => [...content.slice(0, end)].length;
  dropChoice();
  return { start: points(now.start), end: points(now.end) };
}
