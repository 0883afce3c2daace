/* The divider between the problem and the other pane: dragged with the pointer or moved with the arrow keys, and remembered.

   preferences.js applies the remembered width before the page is shown. */

const MINIMUM = 25; // per cent of the width of the workspace
const MAXIMUM = 75;
const STEP = 2;

/** Add a divider after `side`, the left part of `workspace`, whose width in per cent is the CSS property `--name`. */
export function addDivider(workspace, side, { name, initial }) {
  const root = document.documentElement;
  const divider = document.createElement("div");
  let width = Number(root.style.getPropertyValue(`--${name}`)) || initial;
  divider.className = "divider";
  divider.tabIndex = 0;
  divider.setAttribute("role", "separator");
  divider.setAttribute("aria-orientation", "vertical");
  divider.setAttribute("aria-label", "Width of the problem in per cent");
  divider.setAttribute("aria-controls", side.id);
  divider.setAttribute("aria-valuemin", MINIMUM);
  divider.setAttribute("aria-valuemax", MAXIMUM);
  divider.title = "Drag, or use the arrow keys; double-click for the initial width";

  function move(wanted) {
    width = Math.min(Math.max(wanted, MINIMUM), MAXIMUM);
    root.style.setProperty(`--${name}`, width);
    divider.setAttribute("aria-valuenow", Math.round(width));
  }

  function remember() {
    try {
      localStorage.setItem(`hintbench.${name}`, width);
    } catch {
      // the browser forbids storage
    }
  }

  divider.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // selects no text
    divider.focus();
    divider.setPointerCapture(event.pointerId);
  });
  divider.addEventListener("pointermove", (event) => {
    if (!divider.hasPointerCapture(event.pointerId)) return;
    const { left, width: whole } = workspace.getBoundingClientRect();
    move(((event.clientX - left) / whole) * 100);
  });
  divider.addEventListener("lostpointercapture", remember);
  divider.addEventListener("dblclick", () => {
    move(initial);
    remember();
  });
  divider.addEventListener("keydown", ({ key }) => {
    const wanted = { ArrowLeft: width - STEP, ArrowRight: width + STEP, Home: MINIMUM, End: MAXIMUM }[key];
    if (wanted === undefined) return;
    move(wanted);
    remember();
  });

  move(width);
  side.after(divider);
}
