"use strict";
/* Finding a tensor: every word has to be in its name or op; names that begin with the first word come first. */
(() => {
  const page = window.galloscope.page;
  const { $ } = page;
  const MOST = 14;
  let names = [], found = [], at = 0;

  function matches(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean), rows = [];
    if (!words.length || !page.scene) return rows;
    const { op } = page.scene.tensors;
    for (let id = 0; id < names.length; id++) {
      const name = names[id];
      if (!words.every((word) => name.includes(word) || op[id].toLowerCase().includes(word))) continue;
      const score = (name === words[0] ? 0 : name.startsWith(words[0]) ? 1 : name.includes(words[0]) ? 2 : 3);
      rows.push([score + (op[id] === "NONE" ? 0.5 : 0), id]);
    }
    return rows.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, id]) => id);
  }

  function row(id, k) {
    const { tensors, devices } = page.scene, device = devices[page.device[id]];
    const element = document.createElement("button"), swatch = document.createElement("span");
    Object.assign(element, { type: "button", className: "gs-search-row", tabIndex: -1 });
    element.setAttribute("role", "option");
    element.setAttribute("aria-selected", k === at);
    element.dataset.found = id;
    swatch.className = "gs-swatch gs-hue";
    if (device) for (const theme of ["light", "dark"]) swatch.style.setProperty(`--${theme}`, device[theme]);
    element.append(swatch, text("gs-mono", tensors.name[id]), text("gs-muted", tensors.op[id] === "NONE" ? "" : tensors.op[id]), text("gs-muted", tensors.ne[id]));
    return element;
  }

  function text(className, words) {
    const element = document.createElement("span");
    element.className = className;
    element.textContent = words;
    return element;
  }

  function paint() {
    const list = $("search-list"), typed = $("search").value;
    list.hidden = !typed.trim() || document.activeElement !== $("search");
    if (list.hidden) return;
    const rows = found.slice(0, MOST).map(row);
    if (found.length > MOST) rows.push(text("gs-search-more", `${galloscope.format.count(found.length - MOST)} more`));
    if (!found.length) rows.push(text("gs-search-more", `nothing is named ${page.short(typed.trim(), 60)}`));
    list.replaceChildren(...rows);
    list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }

  function choose(id) {
    $("search-list").hidden = true;
    page.tell("search", { value: "" });
    $("search").blur();
    if (id !== undefined) page.select({ tensor: id }, "search");
  }

  page.search = {
    load() {
      names = page.scene.tensors.name.map((name) => name.toLowerCase());
      page.device = galloscope.format.column(page.scene.tensors.device, "int8");
    },
    start() {
      const input = $("search");
      input.autocomplete = "off";
      input.addEventListener("input", () => { found = matches(input.value); at = 0; paint(); });
      input.addEventListener("focus", () => { found = matches(input.value); paint(); });
      input.addEventListener("blur", () => setTimeout(() => { $("search-list").hidden = true; }, 150));
      input.addEventListener("keydown", (event) => {
        const shown = Math.min(found.length, MOST);
        if (event.key === "ArrowDown" || event.key === "ArrowUp") at = (at + (event.key === "ArrowDown" ? 1 : shown - 1)) % Math.max(1, shown);
        else if (event.key === "Enter" && (found.length || !input.value.trim())) choose(found[at]);
        else if (event.key === "Enter") { /* the list says that nothing has this name */ }
        else if (event.key === "Escape") choose();
        else return;
        event.preventDefault();
        event.stopPropagation();
        paint();
      });
      $("search-list").addEventListener("pointerdown", (event) => {
        const hit = event.target.closest("[data-found]");
        event.preventDefault();
        if (hit) choose(Number(hit.dataset.found));
      });
    },
  };
})();
