/* Opens and closes dialogs by the attributes `command` and `commandfor` of buttons in browsers that do not know these. */

if (!("commandForElement" in HTMLButtonElement.prototype)) {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("button[commandfor]");
    if (!button) return;
    const dialog = document.getElementById(button.getAttribute("commandfor"));
    if (!dialog.dispatchEvent(new Event("command", { cancelable: true }))) return;
    if (button.getAttribute("command") === "show-modal") dialog.showModal();
    else dialog.close();
  });
}
