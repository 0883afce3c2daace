/* Keyboard shortcuts of the session page, which the dialog #keys-dialog lists. */

import { singleKeys } from "./single_keys.js";

const byId = (id) => document.getElementById(id);

/**
 * Bind the shortcuts. `message` is the message field; `send(mode)` sends it; `draft()` puts the model draft into the field or
 * moves the focus to the button that requests one; `stop()` stops the reply and returns false if there is none; `focusLevel()` moves the focus to the choice of the level of help and returns false if there is none; `scrollToEnd()` scrolls to the latest message; `showPane(name)` shows a part of a narrow page.
 */
export function bindShortcuts(page, { message, focusLevel, send, draft, stop, scrollToEnd, showPane }) {
  const conversation = byId("conversation");

  function focusEvent(step) {
    showPane("conversation");
    const items = [...byId("events").children];
    const current = items.indexOf(document.activeElement.closest?.("#events > li"));
    const next = current < 0 ? items.length - 1 : Math.min(Math.max(current + step, 0), items.length - 1);
    items[next].tabIndex = -1;
    items[next].focus();
  }

  function openTab(tab) {
    showPane("problem");
    tab?.click();
    tab?.focus();
  }

  function clickVisible(selector) {
    const button = page.querySelector(selector);
    if (button.checkVisibility()) button.click();
  }

  const shortcuts = {
    m: () => {
      showPane("conversation");
      const opens = message.checkVisibility() && !message.readOnly;
      if (opens || !focusLevel()) (message.checkVisibility() ? message : conversation).focus();
    },
    h: () => {
      showPane("conversation");
      focusLevel();
    },
    d: draft,
    j: () => focusEvent(1),
    k: () => focusEvent(-1),
    l: () => {
      showPane("conversation");
      scrollToEnd();
      conversation.focus();
    },
    n: () => {
      openTab(byId("notes-tab"));
      byId("note").focus();
    },
    p: () => openTab(byId("program-tab")),
    c: () => page.querySelector("#program-text button.copy")?.click(),
    r: () => page.querySelector("details.rules > summary").click(),
    e: () => clickVisible("[data-may=execute]"),
    x: () => clickVisible("[data-may=close]"),
    "?": () => byId("keys-dialog").showModal(),
  };

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (document.querySelector("dialog[open]")) return;
    const typing = target.matches("textarea, input, select");
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) send(event.shiftKey ? "code" : "talk");
    else if (key === "Escape") {
      if (!stop() && typing) conversation.focus();
      return;
    } else if (typing || !singleKeys() || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (/^[1-9]$/.test(key)) openTab(page.querySelectorAll("[role=tab]")[key - 1]);
    else if (Object.hasOwn(shortcuts, key)) shortcuts[key]();
    else return;
    event.preventDefault();
  });
}
