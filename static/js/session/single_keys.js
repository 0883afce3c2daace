/* The switch of the shortcuts that are single keys, in the dialog #keys-dialog. This browser remembers it for all pages.

   Speech input and slips of the hand press such keys unintentionally. */

const STORAGE_KEY = "hintbench.single-keys";
const box = document.getElementById("single-keys");

try {
  box.checked = localStorage.getItem(STORAGE_KEY) !== "off";
} catch {
  // the browser forbids storage, so the shortcuts are on until they are switched off on this page
}

box.addEventListener("change", () => {
  try {
    localStorage.setItem(STORAGE_KEY, box.checked ? "on" : "off");
  } catch {
    // the browser forbids storage
  }
});

/** Return whether single keys are shortcuts. */
export const singleKeys = () => box.checked;
