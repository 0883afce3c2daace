/* Saves the private note on a problem after a pause in the typing. Without this script, the form has a button. */

import { send } from "./session/commands.js";
import { keepDraft } from "./session/draft.js";

const form = document.getElementById("note-form");
const field = document.getElementById("note");
const state = document.getElementById("note-state");
const token = form.elements.csrfmiddlewaretoken.value;

keepDraft({
  field,
  other: document.getElementById("other-note"),
  name: field.dataset.copy, // with the account, because several people may use this browser
  async save(text) {
    const answer = await send(form.action, { csrfmiddlewaretoken: token, text });
    state.textContent = answer.accepted ? "Saved." : `Your notes are kept in this browser only. ${answer.message}`;
    return answer;
  },
});
// Elsewhere on the page of a session, Ctrl+Enter sends the message.
field.addEventListener("keydown", (event) => event.key === "Enter" && event.stopPropagation());
field.addEventListener("input", () => (state.textContent = ""));
form.querySelector(".without-script").hidden = true;
