"use strict";
/* The Planners view: opening and closing it, what it asks of the server, and its part of the address.
 *
 *   planners_table.js   planners side by side     planners_strips.js  two plans, zoomed and pointed at together
 *   planners_curve.js   live bytes over time      planners_panes.js   peak, holes, in-place chains
 *   planners_stages.js  how a plan comes about    planners_head.js    the sentence, buffers, choices
 *
 * The server keeps every answer, so the view asks again whenever it is in doubt. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state } = page;
  const HEADERS = { "X-Galloscope": "1", "Content-Type": "application/json" };
  const FIELDS = ["view", "buffer", "inplace", "order", "plans", "pane", "psort", "pby", "pview", "pshow", "block"];
  let turn = 0;            // of two askings the later one counts
  let loaded = "";         // session/run of what is shown
  let addressed = false;   // the address has just said what to show
  let failed = "";         // why there is nothing to plan
  let asking = false;      // the first answer to the question has not come yet

  const now = { board: null, rows: [], pair: ["", ""], set: null, job: "", running: "", stage: "", seconds: 0, limit: 0, stale: true };

  const isSet = () => page.open.isSet(page.opened);
  const active = () => (state.view === "planners" || isSet());
  const base = () => `/planners/${encodeURIComponent(state.session)}/${state.run}`;
  const inPlace = () => (state.inplace === "off" ? "0" : "1");
  const query = (more = {}) => new URLSearchParams({ buffer: Math.max(0, state.buffer), in_place: inPlace(), order: state.order || "ggml", ...more });
  const question = () => [loaded, state.buffer, state.inplace, state.order].join("|");

  async function request(where, options) {
    let response;
    try {
      response = await fetch(where, options);
    } catch {
      throw new page.open.Told("The server does not answer: is galloscope still running?");
    }
    const body = await response.json().catch(() => ({}));
    if (response.status === 404) { show.asked = ""; page.open.again(); return null; }
    if (!response.ok || body.error) throw new page.open.Told(body.error || `The server answered ${response.status}.`);
    return body;
  }

  const get = (what, more) => request(`${base()}/${what}.json?${query(more)}`);
  const drop = (job) => { if (job) fetch(`/planners/cancel/${job}`, { method: "POST", headers: HEADERS, keepalive: true }).catch(() => {}); };

  /* What goes wrong is told in the view; a bug is a bug. */
  async function guarded(work) {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof page.open.Told)) throw error;
      failed = error.message;
      Object.assign(now, { job: "", running: "", stage: "" });
      page.planners.head.paint();
    }
  }

  /* Everything for the question that the state asks. */
  async function ask() {
    const mine = ++turn, late = () => mine !== turn || !active();
    drop(now.job);
    failed = "";
    asking = true;
    Object.assign(now, { job: "", running: "", stage: "", stale: true });
    await guarded(async () => {
      const board = await get("board");
      if (!board || late()) return;
      if (state.buffer < 0 || state.buffer >= board.buffers.length) { page.look({ buffer: worst(board) }); show.asked = question(); }
      now.board = board;
      now.limit = now.limit || board.limit;
      page.planners.head.paint();
      const set = await get("set");
      if (!set || late()) return;
      now.set = set;
      now.rows = [];
      page.planners.strips.forget();
      page.planners.curve.paint();
      await run([], late);
    });
  }

  /* The buffer with most to gain; where ggml's plan is not known or is the best, the largest. */
  function worst({ buffers }) {
    const gap = ({ ggml, bound }) => (ggml === null ? 0 : ggml - bound);
    const order = buffers.map((_, k) => k).sort((a, b) => gap(buffers[b]) - gap(buffers[a]) || buffers[b].bound - buffers[a].bound);
    return order[0];
  }

  /* Ask planners, by default all that were not asked, and show their answers as they come. */
  async function run(names, late) {
    const wish = { ...Object.fromEntries(query()), names, limit: now.limit };
    let told = await request(`${base()}/run`, { method: "POST", headers: HEADERS, body: JSON.stringify(wish) });
    for (;;) {
      if (!told) return;
      if (late()) { drop(told.job); return; }
      take(told);
      if (!told.job) return;
      told = await get("rows", { job: told.job });
    }
  }

  function take(told) {
    asking = false;
    Object.assign(now, {
      rows: told.rows, headline: told.headline, best: told.pair, job: told.job,
      running: told.job ? told.planner : "", stage: told.stage || "", seconds: told.seconds || 0, trouble: told.trouble || "",
    });
    choose();
    paint();
  }

  /* The two plans that are shown: those of the address where they have one, else what the server proposes. */
  function choose() {
    if (asking) return;
    const has = (name) => now.rows.some((row) => row.planner === name && row.peak !== undefined);
    const wanted = state.plans ? state.plans.split(",") : ["", ""];
    now.pair = [0, 1].map((k) => (has(wanted[k]) ? wanted[k] : now.best[k]));
  }

  function paint() {
    page.planners.head.paint();
    page.planners.table.paint();
    if (!asking) guarded(() => page.planners.strips.paint());
  }

  /* Planners again: those named, or all that a longer limit may help. */
  function again(names) {
    if (asking) { ask(); return; } // there is nothing yet that could be asked again
    const mine = ++turn;
    drop(now.job);
    guarded(() => run(names, () => mine !== turn || !active()));
  }

  function show() {
    const open = active();
    $("page").dataset.view = open ? "planners" : state.view === "graph" ? "" : state.view;
    $("page").dataset.kind = isSet() ? "buffers" : "graph";
    $("planners").hidden = !open;
    $("planners-button").setAttribute("aria-expanded", open);
    $("plan-back").hidden = isSet();
    if (!open) {
      turn += 1;
      drop(now.job);
      Object.assign(now, { job: "", running: "" });
      if (asking) show.asked = ""; // its answer will be dropped
      return;
    }
    if (!page.opened) return;
    const wanted = `${state.session}/${state.run}`;
    if (wanted !== loaded) {
      loaded = wanted;
      Object.assign(now, { board: null, set: null, rows: [], headline: null });
      page.planners.table.paint();
    }
    if (show.asked !== question() || failed) { show.asked = question(); ask(); } else { choose(); paint(); if (!now.job && !asking) again([]); }
    page.planners.panes.paint();
  }

  function toggle(open = !active()) {
    if (!page.opened || isSet()) return;
    state.view = open ? "planners" : page.life.plain();
    page.url.push();
    show();
    page.timeline.show();
    page.life.show();
    if (!open) requestAnimationFrame(() => requestAnimationFrame(() => page.reveal("panels")));
  }

  /* Another question, or another way to look at the answers. */
  function look(what) {
    const before = question();
    page.look(what);
    if (question() !== before) { Object.assign(state, { block: -1, pview: "" }); show(); }
  }

  page.planners = {
    now, get, guarded, show, toggle, look, again, active, failed: () => failed,

    /* Which two plans: `slot` 0 is above, 1 below. */
    pick(slot, name) {
      const pair = [...now.pair];
      pair[slot] = name;
      look({ plans: pair.join(",") });
      choose();
      paint();
    },

    /* The next planner with a plan, in the order of the table. */
    step(slot, by) {
      const names = page.planners.table.names();
      if (names.length) page.planners.pick(slot, names[(names.indexOf(now.pair[slot]) + by + names.length) % names.length]);
    },

    cancel() { drop(now.job); },

    apply(wanted) {
      for (const key of FIELDS) state[key] = wanted[key];
      addressed = true;
    },

    /* Another file or run is on the screen. */
    load() {
      if (!addressed && `${state.session}/${state.run}` !== loaded) Object.assign(state, { block: -1, pview: "", buffer: -1 });
      addressed = false;
      show();
    },

    /* A tensor was selected elsewhere: the buffer that holds it is marked. */
    follow(tensor) {
      if (!active() || tensor < 0 || !now.set) return;
      const block = page.planners.panes.bufferOf(tensor);
      if (block >= 0) page.planners.strips.select(block);
    },

    /* Keys while the view is open; false lets the page's own meaning stand. */
    keys: {
      i: () => { if (now.board?.graph) look({ inplace: state.inplace ? "" : "off" }); },
      a: () => page.planners.step(0, 1),
      A: () => page.planners.step(0, -1),
      b: () => page.planners.step(1, 1),
      B: () => page.planners.step(1, -1),
      p: () => page.planners.strips.peak(),
      f: () => page.planners.strips.fit(),
      c: () => page.planners.strips.nextColor(),
      ",": () => page.planners.strips.step(-1),
      ".": () => page.planners.strips.step(1),
      5: () => page.timeline.toggle(true),
      6: () => page.life.toggle(true),
      1: () => page.planners.leave(() => page.panels.maximise("dag")),
      2: () => page.planners.leave(() => page.panels.maximise("strip")),
      3: () => page.planners.leave(() => page.panels.maximise("table")),
      t: () => {}, o: () => {}, n: () => {}, "[": () => {}, "]": () => {},
    },

    leave(then) {
      if (isSet()) return;
      toggle(false);
      then();
    },

    /* Undo the last mode; false when there is none left. */
    escape() {
      if (!active()) return false;
      if (page.planners.strips.clear()) return true;
      if (isSet()) return false;
      toggle(false);
      return true;
    },

    start() {
      for (const part of ["head", "table", "strips", "panes"]) page.planners[part].start();
      addEventListener("pagehide", () => drop(now.job));
    },
  };
})();
