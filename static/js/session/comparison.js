/* Shows the difference between two programs of the session in its place. Without this script, it is a page. */

document.addEventListener(
  "submit",
  async (event) => {
    const form = event.target;
    if (form.id !== "comparison-form") return;
    event.preventDefault();
    event.stopPropagation(); // other forms of the page are commands
    const shown = document.getElementById("comparison");
    try {
      const response = await fetch(`${form.action}?${new URLSearchParams(new FormData(form))}`, { redirect: "error" });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      shown.replaceChildren(...page.getElementById("comparison").childNodes);
    } catch {
      shown.textContent = "The difference cannot be loaded now. Try again in a moment.";
    }
  },
  true,
);
