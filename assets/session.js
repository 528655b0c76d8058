"use strict";
/* The Session view: opening and closing it, what it asks of the server, what is selected, and its part of the address.
 *
 *   session_chart.js  ubatches over time     session_detail.js  the selected one in words and numbers
 *   session_plans.js  worst case and plan in force   session_panes.js  advice, reservations, pipeline, pools
 *
 * A session is an opened file whose runs are the graphs that were split or planned in it; `page.opened.life` says so. The graph
 * of a ubatch is shown by going to its run. Without a session the view offers some. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state } = page;
  const FIELDS = ["view", "ubatch", "lview", "lpane", "lscale"];
  let chart = null;
  let scene = null;
  let shown = "";    // the session whose scene is on the screen
  let of = "";       // the file that the selection belongs to
  let turn = 0;      // of two askings the later one counts
  let addressed = false;
  let details = new Map();

  const isLife = () => Boolean(page.opened?.life);
  const active = () => state.view === "session" && !page.open.isSet(page.opened);
  const base = () => `/life/${encodeURIComponent(state.session)}`;

  async function get(where) {
    let response;
    try {
      response = await fetch(where);
    } catch {
      return { error: "The server does not answer: is galloscope still running?" };
    }
    if (response.status === 404) { shown = ""; page.open.again(); return null; }
    const body = await response.json().catch(() => ({}));
    return response.ok || body.error ? body : { error: `The server answered ${response.status}.` };
  }

  async function ask() {
    const mine = ++turn;
    $("life").dataset.state = "loading";
    const body = await get(`${base()}.json`);
    if (mine !== turn || !body) return;
    if (body.error) { fail(body.error); return; }
    scene = body;
    shown = state.session;
    details = new Map();
    chart.load(scene);
    if (state.lview) chart.setView(state.lview);
    paint();
  }

  function fail(words) {
    shown = "";
    $("life").dataset.state = "failed";
    $("life-headline").replaceChildren(words);
    $("life-headline").classList.add("gs-plan-failed");
  }

  function paint() {
    const box = $("life-headline");
    box.classList.remove("gs-plan-failed");
    box.replaceChildren(...scene.answers.map((answer, k) => page.element("span", k ? "gs-time-more" : "gs-time-first", page.life.parts(answer))));
    $("life-about").replaceChildren(...[["strong", scene.name], ["span", scene.model], ["span", scene.settings], ["span", scene.about]].map(([tag, text]) => (text ? page.element(tag, "", text) : "")).filter(Boolean));
    legend();
    page.life.panes.paint(scene);
    choose(state.ubatch < 0 || state.ubatch >= scene.ubatches.n ? start() : state.ubatch);
    $("life").dataset.state = "ready";
  }

  /* Without a choice: the first one that was planned anew or worse, as that is what one comes for. */
  function start() {
    const { kind } = chart.model.of, bad = kind.findIndex((one) => one >= 2), built = kind.findIndex((one, i) => i > 0 && one >= 1);
    return bad > 0 ? bad : built > 0 ? built : chart.model.n ? 0 : -1;
  }

  function legend() {
    const found = new Set(chart.model.of.kind), marks = new Set(chart.model.marks.kind);
    const chip = (sign, words, told = "") => page.element("span", "gs-time-chip", [page.element("i", sign), words], { title: told });
    const kinds = galloscope.life.KINDS.filter((_, k) => found.has(k)).map(([key, words, told]) => chip(`gs-life-mark-${key}`, words, told));
    const flags = galloscope.life.MARKS.filter((_, k) => marks.has(k)).map(([key, words]) => chip(`gs-life-flag gs-life-flag-${key}`, words));
    $("life-legend").replaceChildren(...kinds, ...flags);
  }

  /* The detail of a ubatch; held keys ask only for where they stop. */
  async function choose(number) {
    const before = state.ubatch, session = state.session;
    page.look({ ubatch: number });
    chart.select(number);
    $("life").dataset.ubatch = number;
    if (number < 0) { page.life.detail.paint(null, scene); page.life.plans.paint(null); return; }
    if (before !== number) chart.reveal(number);
    if (!details.has(number)) {
      await new Promise((resolve) => { setTimeout(resolve, 40); });
      if (state.ubatch !== number || session !== state.session) return;
      const body = await get(`${base()}/${number}.json`);
      if (!body || session !== state.session) return;
      if (body.error) { fail(body.error); return; }
      if (details.size > 500) details.clear();
      details.set(number, body);
    }
    if (state.ubatch !== number || !active()) return;
    page.life.detail.paint(details.get(number), scene);
    page.life.plans.paint(details.get(number));
  }

  const step = (by) => { if (chart.model?.n) choose(Math.min(chart.model.n - 1, Math.max(0, state.ubatch + by))); };
  const built = (by) => { const next = chart.model ? galloscope.life.nextBuilt(chart.model, state.ubatch, by) : -1; if (next >= 0) choose(next); };

  function show() {
    const open = active(), ready = isLife();
    $("life").hidden = !open;
    $("life-button").setAttribute("aria-expanded", open);
    $("page").dataset.life = ready;
    if (!open) { turn += 1; return; }
    $("page").dataset.view = "session";
    $("life-work").hidden = !ready;
    $("life-empty").hidden = ready;
    page.life.offers.paint();
    if (!ready) {
      $("life-headline").replaceChildren(page.element("span", "gs-time-first", "What happens from batch to batch: what is re-used, what is rebuilt, and why?"));
      $("life-about").replaceChildren();
      $("life").dataset.state = "empty";
      return;
    }
    if (shown === state.session) { chart.setView(state.lview); paint(); } else ask();
  }

  /* Left, the graph on the screen is that of the selected ubatch. */
  function toggle(open = !active()) {
    if (!page.opened || page.open.isSet(page.opened)) return null;
    const run = !open && isLife() && shown === state.session && state.ubatch >= 0 ? chart.model.of.run[state.ubatch] : -1;
    if (run >= 0 && run !== state.run) return graph(run);
    state.view = open ? "session" : page.life.plain();
    page.url.push();
    page.planners.show();
    page.timeline.show();
    show();
    if (!open && page.scene) requestAnimationFrame(() => requestAnimationFrame(() => page.reveal("panels")));
    return null;
  }

  /* A graph of this session, in the page's own pictures; until it is loaded the view stays, and can be used. */
  function graph(run) {
    if (run < 0) return null;
    if (run !== state.run) return page.open.run(run, "graph");
    state.view = "graph";
    page.url.push();
    page.planners.show();
    show();
    return null;
  }

  page.life = {
    active, show, toggle, choose, graph, isLife,
    chart: () => chart,
    scene: () => scene,
    details: () => details.get(state.ubatch),

    /* Which view the graph is: of a session it has a name, as the session comes first. */
    plain: (opened = page.opened) => (opened?.life ? "graph" : ""),

    /* Pieces of a sentence as elements. */
    parts: (answer) => answer.map(([text, style]) => {
      const bound = text.replaceAll(/(?<=\d) (?=%|[KMGT]?i?B\b)/g, "\u00a0");
      return style === "strong" ? page.element("strong", "", bound) : style === "name" ? page.element("span", "gs-mono", bound) : bound;
    }),

    apply(wanted) {
      for (const key of FIELDS) state[key] = wanted[key];
      addressed = true;
    },

    /* Another file or graph is on the screen. A session opens in its own view, whatever else in the graph. */
    load() {
      if (!addressed && of !== state.session) Object.assign(state, { ubatch: -1, lview: "" });
      of = state.session;
      addressed = false;
      show();
    },

    /* Before a file is shown, the view that fits it; `told`: an address says which. */
    arrange(before, opened, told) {
      const other = !told && before?.session !== opened.session;
      if (opened.life) state.view = other ? "session" : state.view || "session";
      else if (state.view === "graph" || (state.view === "session" && before?.life && other)) state.view = "";
    },

    /* Go to the graph and then do something there, unless that was cancelled or failed. */
    async leave(then) {
      await toggle(false);
      if (!active()) then();
    },

    /* Keys while the view is open. */
    keys: {
      ArrowLeft: () => step(-1),
      ArrowRight: () => step(1),
      ",": () => step(-1),
      ".": () => step(1),
      Home: () => step(-Infinity),
      End: () => step(Infinity),
      n: () => built(1),
      b: () => built(-1),
      "]": () => built(1),
      "[": () => built(-1),
      "+": () => { if (chart.model) chart.zoom(0.7, middle()); },
      "=": () => { if (chart.model) chart.zoom(0.7, middle()); },
      "-": () => { if (chart.model) chart.zoom(1 / 0.7, middle()); },
      f: () => chart.fit(),
      g: () => { graph(page.life.details()?.run ?? -1); },
      w: () => { graph(page.life.details()?.worst?.run ?? -1); },
      1: () => page.life.leave(() => page.panels.maximise("dag")),
      2: () => page.life.leave(() => page.panels.maximise("strip")),
      3: () => page.life.leave(() => page.panels.maximise("table")),
      4: () => page.planners.toggle(true),
      5: () => page.timeline.toggle(true),
      x: () => page.running.toggle(true),
      t: () => {}, p: () => {}, c: () => {}, i: () => {}, o: () => {},
    },

    /* Undo the last mode; false when there is none left. */
    escape() {
      if (isLife() && chart.model && !chart.fitted()) { chart.fit(); return true; }
      toggle(false);
      return true;
    },

    start() {
      chart = new galloscope.LifeChart($("life-chart"), {
        onSelect: (number) => { if (number >= 0) choose(number); },
        onView: (view) => { if (active()) page.look({ lview: view }); },
      });
      page.life.plans.start();
      page.life.panes.start();
      page.life.offers.start();
      $("life").addEventListener("click", (event) => {
        const hit = event.target.closest("[data-life-run], [data-life-ubatch], [data-life-go]");
        if (!hit) return;
        if (hit.dataset.lifeRun) graph(Number(hit.dataset.lifeRun));
        else if (hit.dataset.lifeUbatch) choose(Number(hit.dataset.lifeUbatch));
        else built(Number(hit.dataset.lifeGo));
      });
    },
  };

  /* Zooming by key goes to the selected ubatch. */
  function middle() {
    const { at, view } = chart, chosen = state.ubatch >= view.x0 && state.ubatch < view.x1;
    return chosen ? galloscope.life.X(chart, state.ubatch + 0.5) : (at.left + at.right) / 2;
  }
})();
