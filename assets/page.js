"use strict";
/* The page's one state and the bus between its parts. Everything that can be selected or looked at is a field of `state`;
 * every change goes through `select`, `look` or `show`, which tell the pictures, Dash and the address. Dash is told by
 * set_props, and answers with the small texts; the pictures get the scene straight from a route.
 *
 *   page_url.js     state <-> address         page_open.js    opening files, errors, progress
 *   page_keys.js    keyboard                  page_panels.js  sizes, tabs, maximised panels
 *   page_search.js  finding tensors           page_legend.js  colours and scheduler passes
 *   page_table.js   the table's rows          page_scrub.js   the time axis
 *   page_reveal.js  evidence into view        page_notice.js  what an address asks in vain
 *   page_params.js  a model's options         page_changes.js what they changed
 *   page_carry.js   from graph to graph       page_progress.js waiting
 *   page_gguf.js    a file's header           page_element.js making elements
 *   planners.js     the Planners view and the parts it is made of
 *   timeline.js     the Timeline view and the parts it is made of
 *   session.js      the Session view and the parts it is made of
 *   run.js          running the graph, and what came out
 */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const NOTHING = { tensor: -1, split: -1, tick: -1, nodes: "", listed: "" };
  const page = (galloscope.page = {
    state: {
      source: "", options: "", session: "", run: 0, ...NOTHING,
      by: "", strip: "", dag: "", show: "", tab: "dag", max: "", top: "", side: "", sort: "", params: "", exec: "",
      view: "", buffer: -1, inplace: "", order: "", plans: "", pane: "", psort: "", pby: "", pview: "", pshow: "", block: -1,
      batches: 1, cost: "", tsource: "", tview: "", tpath: "",
      ubatch: -1, lview: "", lpane: "", lscale: "",
    },
    opened: null,  // what the server said about the file
    scene: null,   // of the run on the screen
    past: [],      // selected tensors, for [ and ]
    future: [],
    $: (id) => document.getElementById(id),
    tell: (id, props) => window.dash_clientside.set_props(id, props),
  });
  const { $, tell, state } = page;

  /* Select something; what is left out stays, but a tensor, a split and a group of nodes exclude each other. `from` names the
   * picture that knows already. */
  page.select = (what, from = "page", { keep = false } = {}) => {
    const before = state.tensor;
    const next = { ...what };
    if (next.tensor >= 0 && next.split === undefined) next.split = -1;
    if (next.split >= 0 && next.tensor === undefined) next.tensor = -1;
    if (next.tensor >= 0 || next.nodes) next.listed = next.listed ?? "";
    if (next.tensor >= 0 || next.split >= 0) next.nodes = next.nodes ?? "";
    if (next.nodes || next.listed) Object.assign(next, { tensor: next.tensor ?? -1, split: next.split ?? -1 });
    if (next.tensor >= 0 && next.tick === undefined && page.momentOf(state.tick).step >= 0) next.tick = -1;
    if (Object.keys(next).every((key) => state[key] === next[key])) return;
    Object.assign(state, next);
    if (!keep && state.tensor !== before && state.tensor >= 0) {
      if (before >= 0) page.past.push(before);
      page.future = [];
    }
    page.showSelection(from);
    page.url.push();
  };

  /* Tell every part what is selected. Components fire no callbacks for this, so nothing comes back. */
  page.showSelection = (from) => {
    const { tensor, split, tick, nodes, listed } = state;
    const { step } = page.momentOf(tick);
    for (const picture of [page.strip, page.dag]) {
      picture.select(tensor);
      picture.selectSplit(split);
    }
    if (nodes) page.dag.selectNodes(...nodes.split("-").map(Number));
    page.strip.setStep(step);
    page.dag.hoverTensor(step >= 0 ? page.strip.model.tensorOfStep[step] : -1);
    page.reveal(from);
    page.legend.showPass();
    page.scrub.show();
    page.table.select(tensor);
    page.planners.follow(tensor);
    page.timeline.follow();
    page.told(from);
    $("page").dataset.selected = tensor;
    $("page").dataset.split = split;
    $("page").dataset.tick = tick;
    $("page").dataset.nodes = nodes;
  };

  /* The texts are made on the server; asked again, they may have more to say. */
  page.told = (source) => {
    const { tensor, split, tick, nodes, listed } = state;
    tell("selection", { data: { tensor, split, tick, nodes, listed, source } });
  };

  /* A tick is a moment: the end of a scheduler pass, or a step of the allocator. */
  page.momentOf = (tick) => {
    if (tick < 0 || !page.scene) return { pass: -1, step: -1 };
    const pass = page.scene.passes.findIndex((one) => one.tick === tick);
    return { pass, step: pass >= 0 ? -1 : page.stepOfTick.get(tick) ?? -1 };
  };

  /* Nothing is selected any more; a chosen pass may stay, as the background of the pictures is clicked while looking at it. */
  page.clear = (from, keepPass = false) => {
    const tick = keepPass && page.momentOf(state.tick).pass >= 0 ? state.tick : -1;
    page.select({ ...NOTHING, tick }, from);
  };

  page.selectStep = (step, from) => page.select({ tick: step < 0 ? -1 : page.scene.step_tick[step] }, from);

  /* Back and forth through what was selected. */
  page.walk = (from, to) => {
    if (!from.length) return;
    if (state.tensor >= 0) to.push(state.tensor);
    page.select({ tensor: from.pop() }, "history", { keep: true });
  };

  /* Colours, views, panels: looked at, not selected, so the address changes without a new entry. */
  page.look = (what) => {
    if (Object.keys(what).every((key) => state[key] === what[key])) return;
    Object.assign(state, what);
    page.url.replace();
  };

  /* With one device its colour says nothing, so until somebody chooses the families of ops are shown. */
  page.by = () => (Object.hasOwn(page.scene.colors, state.by) ? state.by : page.scene.devices.length > 1 ? "device" : "op");

  page.setColor = (by) => {
    page.look({ by });
    tell("color", { value: page.by() });
    page.legend.paint();
  };

  page.peak = (buffer = null) => {
    const { lanes } = page.scene.strip;
    const candidates = lanes.filter((lane) => buffer === null || lane.buffer === buffer);
    if (!candidates.length) return;
    const found = candidates.reduce((a, b) => (b.live > a.live ? b : a));
    page.strip.peak(lanes.indexOf(found));
    page.select({ ...NOTHING, tick: page.scene.step_tick[found.peak_step] ?? -1 }, "peak");
    page.strip.setStep(found.peak_step);
    page.dag.focus(page.strip.model.tensorOfStep[found.peak_step]);
  };

  /* A scene is here: show it in the pictures, then tell Dash, so that the texts change together with them. `keep` answers what is
   * selected and looked at, once the pictures know the scene. */
  page.show = (scene, keep) => {
    page.scene = scene;
    page.stepOfTick = new Map();
    scene.step_tick.forEach((tick, step) => { if (tick >= 0) page.stepOfTick.set(tick, step); });
    page.past = [];
    page.future = [];
    page.strip.load(scene);
    page.dag.load(scene);
    page.legend.load();
    page.search.load();
    page.table.load();
    page.scrub.load();
    const kept = keep();
    Object.assign(state, NOTHING, { strip: "", dag: "" }, kept);
    page.legend.paint();
    tell("color", { value: page.by() });
    tell("opened", { data: { key: state.session, run: state.run } });
    page.showSelection("load");
    for (const picture of ["strip", "dag"]) if (kept[picture]) state[picture] = kept[picture]; // showing the selection has moved them
    page.applyViews();
    if (kept.dag) for (const id of ["answers", "devices"]) onceTold(id, () => { state.dag = kept.dag; page.applyViews(); });
    $("page").dataset.state = "ready";
    $("page").dataset.run = state.run;
    $("page").dataset.session = state.session;
    page.planners.load();
    page.timeline.load();
    page.life.load();
    page.running.load();
  };

  /* A buffer set is here: there is no graph, and nothing to show but how it can be planned. */
  page.showBuffers = () => {
    page.scene = null;
    Object.assign(state, NOTHING, { strip: "", dag: "", view: "planners" });
    Object.assign($("page").dataset, { state: "ready", run: 0, session: state.session });
    page.planners.load();
    page.timeline.load();
    page.life.load();
  };

  /* Without a view in the address the pictures show everything, or what is selected. */
  page.applyViews = () => {
    if (state.strip || state.tensor + state.split === -2) page.strip.setView(state.strip);
    if (state.dag) page.dag.setView(state.dag);
    page.panels.applySwitches();
  };

  /* The answers and the devices take room when they come, and a picture that changes its size moves its middle. */
  function onceTold(id, then) {
    const watching = new MutationObserver(() => { watching.disconnect(); requestAnimationFrame(() => requestAnimationFrame(then)); });
    watching.observe($(id), { childList: true });
  }

  function connect() {
    const said = (name) => (id) => (id < 0 ? page.clear(name, true) : page.select({ tensor: id }, name));
    const cut = (name) => (k) => (k < 0 ? page.clear(name, true) : page.select({ split: k, listed: "" }, name));
    page.strip = new galloscope.Strip($("strip"), {
      onSelect: said("strip"), onSplit: cut("strip"),
      onHover: (id) => page.dag.hoverTensor(id),
      onView: (view) => page.look({ strip: view }),
    });
    page.dag = new galloscope.Dag($("dag"), {
      onSelect: said("dag"), onSplit: cut("dag"),
      onHover: (id) => page.strip.hoverTensor(id),
      onLayer: (first, last) => page.select({ nodes: `${first}-${last}`, tick: -1 }, "dag"),
      onView: (view) => page.scene && page.look({ dag: view }),
    });
  }

  const number = (element, key) => (element.dataset[key] === undefined ? undefined : Number(element.dataset[key]));

  /* Anything with data-tensor or data-split selects it, whoever made it. */
  function follow(event) {
    const hit = event.target.closest("[data-tensor],[data-split],[data-row-split],[data-list],[data-peak],[data-copy],[data-action]");
    // The pictures and the page say with the same attributes what is selected in them: those are no links.
    if (!hit || hit.matches("#page, .gs-component") || (!page.scene && !hit.dataset.action)) return;
    if (hit.dataset.action) page.act(hit.dataset.action);
    else if (hit.dataset.copy !== undefined) navigator.clipboard?.writeText(hit.dataset.copy).catch(() => {});
    else if (hit.dataset.peak !== undefined) page.peak(Number(hit.dataset.peak));
    else if (hit.dataset.rowSplit !== undefined) page.select({ split: number(hit, "rowSplit") }, "page"); // the list stays
    else if (hit.dataset.list) page.select({ ...NOTHING, listed: hit.dataset.list }, "page");
    else page.select({ nodes: "", listed: "", tensor: number(hit, "tensor") ?? -1, split: number(hit, "split") ?? -1 }, "page");
  }

  const ACTIONS = {
    open: () => page.open.dialog(true),
    upload: () => $("upload-input").click(),
    help: () => tell("help-dialog", { opened: true }),
    back: () => page.walk(page.past, page.future),
    forward: () => page.walk(page.future, page.past),
    peak: () => page.peak(),
    "dag-all": () => page.dag.expand("all"),
    "dag-none": () => page.dag.expand("none"),
    "dag-fit": () => page.dag.fit(),
    "strip-fit": () => page.strip.fit(),
    params: () => page.params.toggle(),
    planners: () => page.planners.toggle(),
    timeline: () => page.timeline.toggle(),
    "time-fit": () => page.timeline.chart.fit(),
    session: () => page.life.toggle(),
    "life-fit": () => page.life.chart().fit(),
    run: () => page.running.toggle(),
    "plan-peak": () => page.planners.strips.peak(),
    "plan-fit": () => page.planners.strips.fit(),
    defaults: () => page.params.defaults(),
    before: () => page.changes.back(),
    cancel: () => page.progress.cancel(),
    "max-upper": () => page.panels.maximise(state.tab),
    "max-strip": () => page.panels.maximise("strip"),
    "max-why": () => page.panels.maximise("why"),
    events: () => $("events").classList.toggle("gs-events-open"),
  };
  page.act = (name) => ACTIONS[name]?.();

  /* Dash builds the page after its scripts ran: wait for it, once. */
  function boot() {
    if (!$("strip") || !$("dag") || !window.dash_clientside?.set_props) { requestAnimationFrame(boot); return; }
    connect();
    for (const part of ["params", "panels", "search", "scrub", "keys", "open", "table", "planners", "timeline", "life", "running"]) page[part].start();
    document.addEventListener("click", follow);
    page.url.start();
  }

  /* Called by Dash when a control changes. */
  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.galloscope = {
    chooseColor: (by) => { if (page.scene && by && by !== page.by()) page.setColor(by); return window.dash_clientside.no_update; },
    reopen: (opened) => { if (page.scene && !opened && !page.progress.running) page.open.again(); return window.dash_clientside.no_update; },
    chooseRun: (run) => { if (page.scene && run !== null && Number(run) !== state.run) page.open.run(Number(run)); return window.dash_clientside.no_update; },
  };

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", boot);
  else boot();
})();
