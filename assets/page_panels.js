"use strict";
/* Sizes, tabs and maximised panels. A divider's place is a share of the space in percent, so that it survives a new window. */
(() => {
  const page = window.galloscope.page;
  const { $, state } = page;
  const LIMITS = { top: [15, 80], side: [30, 85] };
  const STRIP = ["holes", "chains", "views", "even"];

  function paint() {
    const work = $("work"), shell = $("page");
    for (const name of ["top", "side"]) {
      if (state[name]) work.style.setProperty(`--gs-${name}`, `${state[name]}%`);
      else work.style.removeProperty(`--gs-${name}`);
    }
    shell.dataset.max = state.max;
    shell.dataset.tab = state.tab;
    $("dag").hidden = state.tab !== "dag";
    $("table-box").hidden = state.tab !== "table";
    for (const tab of document.querySelectorAll("[data-tab]:not(main)")) tab.setAttribute("aria-selected", tab.dataset.tab === state.tab);
    if (state.tab === "table") page.table.fill();
    page.params.paint();
    page.scrub.show();
  }

  function clamp(name, share) {
    const [low, high] = LIMITS[name];
    return String(Math.round(Math.min(high, Math.max(low, share)) * 10) / 10);
  }

  function listen(divider) {
    const name = divider.dataset.divider;
    divider.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      divider.setPointerCapture(event.pointerId);
      const box = (name === "top" ? $("work") : divider.parentElement).getBoundingClientRect();
      const move = (at) => {
        const share = name === "top" ? (at.clientY - box.top) / box.height : (at.clientX - box.left) / box.width;
        page.look({ [name]: clamp(name, share * 100) });
        paint();
      };
      divider.addEventListener("pointermove", move);
      divider.addEventListener("pointerup", () => divider.removeEventListener("pointermove", move), { once: true });
    });
    divider.addEventListener("dblclick", () => { page.look({ [name]: "" }); paint(); });
    divider.addEventListener("keydown", (event) => {
      const way = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
      if (!way) return;
      event.preventDefault();
      page.look({ [name]: clamp(name, Number(state[name] || (name === "top" ? 44 : 68)) + 2 * way) });
      paint();
    });
  }

  function maximise(what) {
    const max = state.max === what ? "" : what;
    page.look(what === "dag" || what === "table" ? { max, tab: what } : { max });
    paint();
    // What was selected while a picture was hidden could not be shown in it.
    if (!max && page.scene) requestAnimationFrame(() => requestAnimationFrame(() => page.reveal("panels")));
  }

  function applySwitches() {
    const on = state.show.split(".");
    const shown = Object.fromEntries(STRIP.map((key) => [key, on.includes(key)]));
    if (!shown.even) shown.even = null; // null: only where the plain scale would hide nearly everything
    page.strip.show(shown);
    for (const button of document.querySelectorAll("[data-show]")) button.setAttribute("aria-pressed", on.includes(button.dataset.show));
  }

  page.panels = {
    maximise, applySwitches,
    tab: (tab) => { page.look(state.max === "dag" || state.max === "table" ? { tab, max: tab } : { tab }); paint(); },
    apply: ({ tab, max, top, side, params }) => {
      const number = (text, name) => (Number(text) > 0 ? clamp(name, Number(text)) : "");
      const known = ["dag", "table", "strip", "why"].includes(max) ? max : "";
      Object.assign(state, { tab: tab === "table" ? tab : "dag", max: known, top: number(top, "top"), side: number(side, "side"), params });
      paint();
    },
    start() {
      document.querySelectorAll("[data-divider]").forEach(listen);
      document.addEventListener("click", (event) => {
        const tab = event.target.closest("button[data-tab]"), shown = event.target.closest("[data-show]");
        if (tab) page.panels.tab(tab.dataset.tab);
        if (shown) {
          const on = new Set(state.show.split(".").filter(Boolean)), key = shown.dataset.show;
          if (!on.delete(key)) on.add(key);
          page.look({ show: [...on].join(".") });
          applySwitches();
        }
      });
      paint();
    },
  };
})();
