/* A copy button for every program and sample (figures of the classes "code" and "sample-text"), and the focus for those
   that must be scrolled. */

const SHOWN_FOR = 1600; // milliseconds the button says what happened

/* What is wider than its place is scrolled by keyboard too, so it must take the focus. */
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

/** Gives each figure below `root` its button. Safe to call again. */
export function addCopyButtons(root) {
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
    sizes.observe(figure.querySelector("pre"));
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy");
  if (!button) return;
  button.textContent = (await copied(button.closest("figure").querySelector("pre"))) ? "Copied" : "Press Ctrl+C";
  setTimeout(() => (button.textContent = "Copy"), SHOWN_FOR);
});

/** Whether the text reached the clipboard; where the browser refuses, the text is selected instead. */
async function copied(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return false;
  }
}

addCopyButtons(document);
