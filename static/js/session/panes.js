/* On narrow screens the page shows either the problem or the other pane, the conversation or the review; two buttons
   switch. Wide screens show both. */

/** Bind the buttons in `group`; return a function that shows the pane with this name. */
export function bindPaneSwitch(workspace, group) {
  const buttons = group.querySelectorAll("[data-show-pane]");

  function show(name) {
    workspace.dataset.pane = name;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.showPane === name));
  }

  for (const button of buttons) button.addEventListener("click", () => show(button.dataset.showPane));
  group.hidden = false;
  show("conversation");
  return show;
}
