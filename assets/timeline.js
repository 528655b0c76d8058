"use strict";
/* The Timeline view: opening and closing it, what it asks of the server, and its part of the address.
 *
 *   timeline_chart.js  the lanes            timeline_panes.js  devices, copies, assumed numbers
 *
 * A measured run replaces the clocks where there is one: `has_measured` of the scene says so. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state } = page;
  const BATCHES = [1, 2, 4, 8];
  const FIELDS = ["view", "batches", "cost", "tsource", "tview", "tpath"];
  let chart = null;
  let turn = 0;      // of two askings the later one counts
  let shown = "";    // the question whose answer is on the screen
  let asked = "";    // the last question
  let scene = null;
  let addressed = false;

  const active = () => state.view === "timeline" && !page.open.isSet(page.opened);
  const question = () => [state.session, state.run, state.tsource, state.tsource ? "" : state.batches, state.tsource ? "" : state.cost].join("|");

  async function ask() {
    const mine = ++turn, wanted = question(), keep = shown.split("|").slice(0, 3).join() === wanted.split("|").slice(0, 3).join();
    asked = wanted;
    const query = state.tsource ? { source: state.tsource } : { batches: state.batches, cost: state.cost };
    let body;
    try {
      const response = await fetch(`/timeline/${encodeURIComponent(state.session)}/${state.run}.json?${new URLSearchParams(query)}`);
      body = await response.json().catch(() => ({}));
      if (mine !== turn) return;
      if (response.status === 404) { asked = ""; page.open.again(); return; }
      if (!response.ok && !body.error) body.error = `The server answered ${response.status}.`;
    } catch {
      if (mine !== turn) return;
      body = { error: "The server does not answer: is galloscope still running?" };
    }
    if (body.error) { fail(body.error); return; }
    scene = body;
    shown = wanted;
    chart.load(scene, page.scene.tensors, keep);
    if (state.tview) chart.setView(state.tview);
    paint();
  }

  function fail(words) {
    asked = "";
    $("timeline").dataset.state = "failed";
    const wished = state.tsource || state.cost || state.batches !== 1;
    $("time-headline").replaceChildren(words, wished ? page.button("gs-switch", "Show one micro-batch as assumed", "Without what the address asks for", { data: { usual: "" } }) : "");
    $("time-headline").classList.add("gs-plan-failed");
    if (shown.split("|").slice(0, 2).join() !== `${state.session},${state.run}`) for (const id of ["time-uses", "time-links", "time-cost", "time-note"]) $(id).replaceChildren();
  }

  function paint() {
    const box = $("time-headline");
    box.classList.remove("gs-plan-failed");
    const parts = (answer) => answer.map(([text, style]) => {
      const bound = text.replaceAll(/(?<=\d) (?=%|[mµn]?s\b|[KMGT]iB\b)/g, "\u00a0");
      return style === "strong" ? page.element("strong", "", bound) : bound;
    });
    box.replaceChildren(...scene.answers.map((answer, k) => page.element("span", k ? "gs-time-more" : "gs-time-first", parts(answer))));
    note();
    legend();
    $("time-source").hidden = !scene.has_measured;
    $("time-batches-box").hidden = scene.measured;
    for (const button of document.querySelectorAll("[data-batches]")) button.setAttribute("aria-pressed", Number(button.dataset.batches) === state.batches);
    for (const button of document.querySelectorAll("[data-time-source]")) button.setAttribute("aria-pressed", button.dataset.timeSource === state.tsource);
    const path = state.tpath === "on" && !scene.measured;
    $("time-path").hidden = scene.measured;
    $("time-path").setAttribute("aria-pressed", path);
    chart.setPath(path);
    page.timelinePanes.paint(scene);
    follow();
    Object.assign($("timeline").dataset, { state: "ready", question: shown });
  }

  function note() {
    const copies = scene.n_copies > 1 ? `${scene.n_copies} pipeline copies` : "no pipeline copies";
    const words = scene.measured
      ? "the kernels of the last run on this machine; copies are not timed"
      : `device clocks with assumed rates · ${copies}${scene.as_if ? " · the run only reserved: as if it were computed" : ""}`;
    // Where one can choose, what was chosen is already named.
    $("time-note").replaceChildren(...(scene.has_measured ? [] : [page.element("strong", "", "Simulated"), ": "]), words);
  }

  function legend() {
    const kinds = [["compute", "computes"], ["copy", "copies"], ["wait", "waits"], ["held", "host in a call"]];
    const has = new Set(chart.model.spans.kind), found = kinds.filter((_, k) => has.has(k));
    if (scene.batches > 1) found.push(["odd", "every second micro-batch"]);
    if (scene.measured) found.push(["rest", "between kernels: filling, checks"]);
    $("time-legend").replaceChildren(...found.map(([kind, words]) => page.element("span", "gs-time-chip", [page.element("i", `gs-time-mark-${kind}`), words])));
  }

  /* Something was selected, here or elsewhere. */
  function follow() {
    if (!active() || !chart?.model) return;
    chart.select({ tensor: state.tensor, split: state.split });
    const line = galloscope.timeline.selectedLine(chart), strip = $("time-selected");
    strip.hidden = state.tensor < 0 && state.split < 0;
    if (strip.hidden) return;
    const name = state.tensor >= 0 ? page.scene.tensors.name[state.tensor] : `split ${state.split}`;
    strip.replaceChildren(page.element("strong", "gs-mono", name), page.element("span", "gs-muted", line || "takes no time here"), page.button("gs-switch", [page.element("kbd", "", "5"), " show it in the graph"], "Back to the graph", { data: { action: "timeline" } }));
  }

  function show() {
    const open = active(), closed = $("timeline").hidden;
    if (open) $("page").dataset.view = "timeline";
    $("timeline").hidden = !open;
    $("timeline-button").setAttribute("aria-expanded", open);
    if (!open) { turn += 1; if (asked !== shown) asked = ""; return; }
    if (!page.scene) return;
    // Opened anew it asks again: the graph may have been run meanwhile.
    if (asked === question() && asked === shown && !closed) { paint(); chart.setView(state.tview); } else if (asked !== question() || closed) { $("timeline").dataset.state = "loading"; ask(); }
  }

  function toggle(open = !active()) {
    if (!page.scene || page.open.isSet(page.opened)) return;
    state.view = open ? "timeline" : page.life.plain();
    page.url.push();
    page.planners.show();
    show();
    page.life.show();
    if (!open) requestAnimationFrame(() => requestAnimationFrame(() => page.reveal("panels")));
  }

  function look(what) {
    const before = question();
    page.look(what);
    if (question() !== before) { page.look({ tview: "" }); show(); } else if (scene) paint();
  }

  const batches = (by) => look({ batches: BATCHES[(Math.max(0, BATCHES.indexOf(state.batches)) + by + BATCHES.length) % BATCHES.length] });

  page.timeline = {
    active, show, toggle, follow,

    apply(wanted) {
      for (const key of FIELDS) state[key] = wanted[key];
      addressed = true;
    },

    /* Another file or run is on the screen; what was run since may have been measured. */
    load() {
      if (!addressed) Object.assign(state, { tview: "", tsource: "", cost: shown.startsWith(`${state.session}|`) ? state.cost : "" });
      addressed = false;
      show();
    },

    leave(then) {
      toggle(false);
      then();
    },

    /* Keys while the view is open; false lets the page's own meaning stand. */
    keys: {
      b: () => { if (!state.tsource) batches(1); },
      B: () => { if (!state.tsource) batches(-1); },
      s: () => { if (scene?.has_measured) look({ tsource: state.tsource ? "" : "measured" }); },
      l: () => { if (!scene?.measured) look({ tpath: state.tpath ? "" : "on" }); },
      f: () => chart.fit(),
      4: () => page.planners.toggle(true),
      6: () => page.life.toggle(true),
      1: () => page.timeline.leave(() => page.panels.maximise("dag")),
      2: () => page.timeline.leave(() => page.panels.maximise("strip")),
      3: () => page.timeline.leave(() => page.panels.maximise("table")),
      x: () => page.timeline.leave(() => page.running.toggle()),
      t: () => {}, p: () => {}, c: () => {}, n: () => {}, ",": () => {}, ".": () => {},
    },

    /* Undo the last mode; false when there is none left. */
    escape() {
      if (state.tensor >= 0 || state.split >= 0) { page.clear("timeline"); return true; }
      if (chart?.model && !chart.fitted()) { chart.fit(); return true; }
      toggle(false);
      return true;
    },

    start() {
      chart = new galloscope.TimelineChart($("time-chart"), {
        onSelect: (what) => (what ? page.select({ nodes: "", listed: "", tensor: -1, split: -1, ...what }, "timeline") : page.clear("timeline")),
        onView: (view) => { if (active()) page.look({ tview: view }); },
      });
      page.timeline.chart = chart;
      $("timeline").addEventListener("click", (event) => {
        const count = event.target.closest("[data-batches]"), source = event.target.closest("[data-time-source]");
        if (count) look({ batches: Number(count.dataset.batches) });
        if (source) look({ tsource: source.dataset.timeSource });
        if (event.target.closest("#time-path")) page.timeline.keys.l();
        if (event.target.closest("#time-reset")) look({ cost: "" });
        if (event.target.closest("[data-usual='']")) look({ cost: "", batches: 1, tsource: "" });
      });
      $("time-cost").addEventListener("change", (event) => {
        const changes = event.target.dataset.cost ? page.timelinePanes.changes(event.target) : null;
        if (changes !== null) look({ cost: changes });
      });
      $("time-cost").addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !event.target.dataset.cost) return;
        page.timelinePanes.restore(event.target);
        event.target.blur();
      });
    },
  };
})();
