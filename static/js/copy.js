/* Copy buttons for programs and samples (figures of the classes "code" and "sample-text", and the samples within a
   statement), and line numbers of programs. Figures and tables that scroll can receive the focus. */

import { addLineNumbers } from "./line_numbers.js";

const FEEDBACK_DURATION = 1600; // milliseconds the button shows the result

/* What is wider than its place needs the focus to scroll by keyboard. Its width is unknown while it is hidden. */
const overflowObserver = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (!target.clientWidth) continue;
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

/** Add copy buttons and line numbers to the figures below `root` that have none, and make what scrolls focusable. */
export function addCopyButtons(root) {
  addLineNumbers(root);
  for (const sample of root.querySelectorAll(".prose > pre.sample")) {
    const figure = document.createElement("figure");
    figure.className = "sample-text";
    sample.replaceWith(figure);
    figure.append(sample);
  }
  for (const figure of root.querySelectorAll("figure.code, figure.sample-text")) {
    if (figure.querySelector("button.copy") || !figure.querySelector("pre")) continue;
    let caption = figure.querySelector("figcaption");
    if (!caption) {
      caption = document.createElement("figcaption");
      figure.prepend(caption);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy quiet small";
    button.textContent = "Copy";
    caption.append(button);
  }
  for (const wide of root.querySelectorAll("figure:is(.code, .sample-text) > pre, .prose table")) {
    wide.tabIndex = 0; // until its width is known
    overflowObserver.observe(wide);
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy");
  if (!button) return;
  button.textContent = (await copyText(button.closest("figure").querySelector("pre"))) ? "Copied" : "Press Ctrl+C";
  setTimeout(() => (button.textContent = "Copy"), FEEDBACK_DURATION);
});

/** Copy the text of `source` to the clipboard and return true. If the browser refuses, select the text and return false. */
async function copyText(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return false;
  }
}

addCopyButtons(document);
