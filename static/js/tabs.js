/* Turns the sections of every [data-tabs] element into tabs. Without this file they are read one below the other.

   The open tab is remembered under the element's data-tabs name, so the next problem opens on the same one. */

for (const tabs of document.querySelectorAll("[data-tabs]")) build(tabs);

function build(tabs) {
  const panels = [...tabs.querySelectorAll(":scope > [data-tab]")];
  const memory = `hintbench.tab.${tabs.dataset.tabs}`;
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
      remember(memory, panel.id);
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
    const here = buttons.indexOf(document.activeElement);
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined || here < 0) return;
    event.preventDefault();
    const button = buttons.at(next % buttons.length);
    button.focus();
    button.click();
  });

  tabs.prepend(list);
  tabs.classList.add("live");
  const wanted = location.hash.slice(1) || recall(memory);
  open(panels.find((panel) => panel.id === wanted) ?? panels[0]);
}

function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // storage may be forbidden; the first tab is good enough
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // as above
  }
}
