/* Line numbers beside programs (figures of the class "code"). They are not part of the text that is selected or copied. */

/** Add line numbers to each program below `root` that has none. */
export function addLineNumbers(root) {
  for (const program of root.querySelectorAll("figure.code > pre")) {
    if (program.previousElementSibling?.matches(".line-numbers")) continue;
    const lines = program.textContent.replace(/\n$/, "").split("\n").length;
    if (lines < 2) continue;
    const numbers = document.createElement("div");
    numbers.className = "line-numbers";
    numbers.ariaHidden = "true";
    numbers.textContent = Array.from({ length: lines }, (_, index) => index + 1).join("\n");
    program.before(numbers);
  }
}
