/* Turns the sections of every [data-tabs] element into tabs. Without this script, the sections are shown one below the other.

   The open tab is stored under the value of data-tabs, so the next problem opens with the same tab. */

for (const tabs of document.querySelectorAll("[data-tabs]")) buildTabs(tabs);

function buildTabs(tabs) {
  const panels = [...tabs.querySelectorAll(":scope > [data-tab]")];
  const storageKey = `hintbench.tab.${tabs.dataset.tabs}`;
  const list = document.createElement("div");
  list.className = "tab-list";
  list.setAttribute("role", "tablist");
  const buttons = panels.map((panel) => {
    const button = document.createElement("button");
    button.type = "button";
    button.id = `${panel.id}-tab`;
    button.textContent = panel.dataset.tab;
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    panel.tabIndex = 0;
    button.addEventListener("click", () => {
      open(panel);
      remember(storageKey, panel.id);
    });
    list.append(button);
    return button;
  });

  function open(chosen) {
    panels.forEach((panel, index) => {
      const isOpen = panel === chosen;
      panel.hidden = !isOpen;
      buttons[index].setAttribute("aria-selected", String(isOpen));
      buttons[index].tabIndex = isOpen ? 0 : -1;
    });
  }

  list.addEventListener("keydown", (event) => {
    const current = buttons.indexOf(document.activeElement);
    const next = { ArrowRight: current + 1, ArrowLeft: current - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined || current < 0) return;
    event.preventDefault();
    const button = buttons.at(next % buttons.length);
    button.focus();
    button.click();
  });

  tabs.prepend(list);
  tabs.classList.add("live");
  const wanted = location.hash.slice(1) || recall(storageKey);
  open(panels.find((panel) => panel.id === wanted) ?? panels[0]);
}

function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // the browser forbids storage
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // the browser forbids storage
  }
}
