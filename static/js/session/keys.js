/* The keys of the session page; the dialog #keys-dialog lists them. */

const byId = (id) => document.getElementById(id);

/**
 * Binds the keys. `message` is the field, `send(mode)` sends it, `stop()` stops a reply and says whether there was
 * one, `toEnd()` jumps to the latest.
 */
export function bindKeys(page, { message, send, stop, toEnd }) {
  const conversation = byId("conversation");

  function step(forward) {
    const items = [...byId("events").children];
    const here = items.indexOf(document.activeElement.closest?.("#events > li"));
    const next = here < 0 ? items.length - 1 : Math.min(Math.max(here + forward, 0), items.length - 1);
    items[next].tabIndex = -1;
    items[next].focus();
  }

  function openTab(tab) {
    tab?.click();
    tab?.focus();
  }

  const moves = {
    m: () => (message.checkVisibility() ? message : conversation).focus(),
    j: () => step(1),
    k: () => step(-1),
    l: () => {
      toEnd();
      conversation.focus();
    },
    p: () => openTab(byId("program-tab")),
    c: () => page.querySelector("#program-text button.copy")?.click(),
    r: () => page.querySelector("details.rules > summary").click(),
    e: () => page.querySelector("[data-may=execute]").click(),
    x: () => page.querySelector("[data-may=close]").click(),
    "?": () => byId("keys-dialog").showModal(),
  };

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (document.querySelector("dialog[open]")) return;
    const writing = target.matches("textarea, input, select");
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) send(event.shiftKey ? "code" : "talk");
    else if (key === "Escape") {
      if (!stop() && writing) conversation.focus();
      return;
    } else if (writing || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (/^[1-9]$/.test(key)) openTab(page.querySelectorAll("[role=tab]")[key - 1]);
    else if (Object.hasOwn(moves, key)) moves[key]();
    else return;
    event.preventDefault();
  });
}
