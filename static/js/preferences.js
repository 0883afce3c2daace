/* Applies what this browser remembers of the look of pages: the theme, and the width of the problem in a session or a review.

   This script blocks the first paint, so that no page changes its colours or columns after it is shown. */

{
  const root = document.documentElement;

  const stored = (name) => {
    try {
      return localStorage.getItem(`hintbench.${name}`);
    } catch {
      return null; // the browser forbids storage
    }
  };

  const store = (name, value) => {
    try {
      localStorage.setItem(`hintbench.${name}`, value);
    } catch {
      // the browser forbids storage
    }
  };

  /* Any other value, and none, follows the system. */
  const applyTheme = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };

  applyTheme(stored("theme"));
  for (const name of ["split", "review-split"]) {
    const split = Number(stored(name));
    if (split) root.style.setProperty(`--${name}`, split);
  }

  document.addEventListener("DOMContentLoaded", () => {
    const choice = document.getElementById("theme");
    choice.value = root.dataset.theme ?? "system";
    choice.closest("label").hidden = false;
    choice.addEventListener("change", () => {
      applyTheme(choice.value);
      store("theme", choice.value);
    });
    addEventListener("storage", ({ key, newValue }) => {
      if (key !== "hintbench.theme") return;
      applyTheme(newValue);
      choice.value = root.dataset.theme ?? "system";
    });
  });
}
