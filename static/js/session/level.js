/* The choice of the level of help of a message. Where the protocol requires a level, the field opens after the choice. */

/**
 * Bind the choice `group` (a fieldset of radio buttons, or null) to the message `field`. `hint` shows the definition of
 * the chosen level. Digits choose a level while the group has the focus.
 */
export function levelChoice(group, field, hint) {
  if (!group) return { reset() {}, focus: () => false };
  const required = group.dataset.ask === "required";
  const placeholder = field.placeholder;

  function update() {
    const chosen = group.querySelector("input:checked");
    field.readOnly = required && !chosen;
    field.placeholder = field.readOnly ? "Choose the level of help first" : placeholder;
    hint.textContent = chosen?.parentElement.title ?? "";
    hint.hidden = !hint.textContent;
    field.dispatchEvent(new CustomEvent("levelchange"));
  }

  group.addEventListener("change", update);
  group.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const input = /^[0-9]$/.test(event.key) && group.querySelector(`input[value="${event.key}"]`);
    if (!input) return;
    event.preventDefault();
    input.checked = true;
    update();
    field.focus();
  });
  update();

  return {
    /** Choose no level, for the next message. */
    reset() {
      for (const input of group.querySelectorAll("input")) input.checked = !required && input.value === "";
      update();
    },

    /** Move the focus to the choice; returns false if it is not shown. */
    focus() {
      if (!group.checkVisibility()) return false;
      (group.querySelector("input:checked") ?? group.querySelector("input")).focus();
      return true;
    },
  };
}
