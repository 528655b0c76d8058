"use strict";
/* Keys that work anywhere on the page. They are caught on the way down, so that the page knows what a picture would do. */
(() => {
  const page = window.galloscope.page;
  const { $, state } = page;
  const COLORS = ["device", "op", "layer", "cause", "size"];
  const typing = (element) => element?.closest?.("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]");
  const dialogOpen = () => document.querySelector(".gs-dialog [role=dialog]");

  /* The relative that a reader most likely means: what an op computes on, not its weights. */
  function relative(kind) {
    if (state.tensor < 0) return;
    const found = page.dag[kind](state.tensor);
    const own = found.filter((id) => page.scene.tensors.op[id] !== "NONE");
    const next = (own.length ? own : found)[0];
    if (next !== undefined) page.select({ tensor: next }, "keys");
  }

  function pass(by) {
    const { passes } = page.scene;
    if (!passes.length) return;
    const now = page.momentOf(state.tick).pass;
    const next = now < 0 ? (by > 0 ? 0 : passes.length - 1) : now + by;
    page.select({ tick: next < 0 || next >= passes.length ? -1 : passes[next].tick }, "keys");
  }

  function step(by) {
    const n = page.scene.strip.n_steps, now = page.momentOf(state.tick).step;
    const next = now >= 0 ? now + by : Math.max(0, page.stepOf(state.tensor)); // the first press goes to where the selected tensor is
    if (n) page.selectStep(Math.min(n - 1, Math.max(0, next)), "keys");
  }

  const selected = () => state.tick >= 0 || state.tensor >= 0 || state.split >= 0 || state.nodes || state.listed;

  /* An error over what is on the screen. */
  function hideTrouble() {
    if ($("trouble").hidden || !page.opened) return false;
    $("trouble").hidden = true;
    return true;
  }

  /* Undo the last mode; false when there is none left. A selection goes as a whole, with the focus on what selected it. */
  function escape() {
    if (page.progress.running) page.progress.cancel();
    else if (page.running.stop()) return true;
    else if ($("events").classList.contains("gs-events-open")) $("events").classList.remove("gs-events-open");
    else if (page.planners.active()) return page.planners.escape() || hideTrouble();
    else if (page.timeline.active()) return page.timeline.escape();
    else if (page.life.active()) return hideTrouble() || page.life.escape();
    else if (selected()) page.clear("keys");
    else if (state.max) page.panels.maximise(state.max);
    else if (hideTrouble()) return true;
    else if (state.params) page.params.open(false);
    else return page.running.escape();
    if (document.activeElement?.closest?.(".gs-answer, .gs-devices, .gs-passes, .gs-why")) document.activeElement.blur();
    return true;
  }

  /* A dialog may be gone by the time a key reaches the page: this listener, made before any dialog, saw it open. */
  const inDialog = new WeakSet();
  addEventListener("keydown", (event) => {
    if (!dialogOpen()) return;
    inDialog.add(event);
    // A dialog that has only just opened does not listen yet.
    if (event.key === "Escape") for (const id of ["help-dialog", "open-dialog"]) page.tell(id, { opened: false });
  }, true);

  const KEYS = {
    "/": () => $("search").focus(),
    i: () => relative("producers"),
    o: () => relative("consumers"),
    n: () => pass(1),
    b: () => pass(-1),
    ",": () => step(-1),
    ".": () => step(1),
    p: () => page.peak(),
    f: () => { page.dag.fit(); page.strip.fit(); },
    c: () => { const all = [...COLORS, ...page.running.shown()]; page.setColor(all[(all.indexOf(page.by()) + 1) % all.length]); },
    t: () => page.panels.tab(state.tab === "table" ? "dag" : "table"),
    1: () => page.panels.maximise("dag"),
    2: () => page.panels.maximise("strip"),
    3: () => page.panels.maximise("table"),
    4: () => page.planners.toggle(),
    5: () => page.timeline.toggle(),
    6: () => page.life.toggle(),
    "[": () => page.walk(page.past, page.future),
    "]": () => page.walk(page.future, page.past),
    m: () => page.params.toggle(),
    x: () => page.running.toggle(),
    u: () => page.changes.back(),
    r: () => { if (page.opened.runs.length > 1) page.open.run((state.run + 1) % page.opened.runs.length); },
    "?": () => page.tell("help-dialog", { opened: true }),
  };

  page.keys = {
    start() {
      document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || inDialog.has(event) || dialogOpen()) return;
        if (event.target.getAttribute?.("role") === "button" && (event.key === "Enter" || event.key === " ")) {
          event.preventDefault();
          event.target.click();
          return;
        }
        const view = [page.planners, page.timeline, page.life].find((one) => one.active())?.keys[event.key];
        const action = event.key === "Escape" ? escape : view || KEYS[event.key];
        if (!action || (!page.scene && !view && !["?", "Escape"].includes(event.key)) || action() === false) return;
        event.preventDefault();
        event.stopPropagation();
      }, true);
    },
  };
})();
