/* Selection of a passage of a message: with the mouse, or sentence by sentence with the keyboard. */

const text = (item) => item.querySelector("[data-text]");

/** Return start and end of every sentence, in UTF-16 units. */
function findSentences(content) {
  const found = [];
  for (const match of content.matchAll(/[^.!?\n]+(?:[.!?]+(?=\s|$)|[.!?]|\n|$)+/g)) {
    const start = match.index + match[0].length - match[0].trimStart().length;
    const end = match.index + match[0].trimEnd().length;
    if (end > start) found.push({ start, end });
  }
  return found;
}

/** Return start and end of the selection in the text of this message, in UTF-16 units; null without one. */
function selectedRange(item) {
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
  range.setStart(...textPosition(text(item), start));
  range.setEnd(...textPosition(text(item), end));
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}

/** Return the text node and the offset in it for an offset in the whole text. */
function textPosition(box, offset) {
  const nodes = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  let left = offset;
  let node = nodes.nextNode();
  while (node && left > node.length) {
    left -= node.length;
    node = nodes.nextNode();
  }
  return [node, left];
}

/** Select the next (1) or previous (-1) sentence of the message; `extend` adds it to the selection. */
export function selectSentence(item, step, extend = false) {
  const all = findSentences(text(item).textContent);
  if (!all.length) return;
  const range = selectedRange(item);
  let index = step > 0 ? 0 : all.length - 1;
  if (range) {
    const current = all.findIndex(({ end }) => end >= range.end);
    index = Math.min(all.length - 1, Math.max(0, current + step));
  }
  select(item, extend && range ? range.start : all[index].start, all[index].end);
}

/** Clear the selection. */
export function clearSelection() {
  getSelection().removeAllRanges();
}

/** Clear the selection in this message and return it in code points; null without one. */
export function takeSelection(item) {
  const range = selectedRange(item);
  if (!range) return null;
  const content = text(item).textContent;
  const points = (end) => [...content.slice(0, end)].length;
  clearSelection();
  return { start: points(range.start), end: points(range.end) };
}
