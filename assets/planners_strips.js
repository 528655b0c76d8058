"use strict";
/* Two plans above each other: one axis of steps, one scale of bytes; zoomed, pointed at and selected together. A buffer has the
 * same id in every plan of a set. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state } = page;
  const HOSTS = ["plan-a", "plan-b"];
  const MOST_CHIPS = 9;
  let charts = [];
  let plans = new Map();  // planner -> its picture, of the set on the screen
  let shown = ["", ""];   // what the charts have loaded
  let painting = 0;
  let step = -1;

  const now = () => page.planners.now;
  const rowOf = (name) => now().rows.find((row) => row.planner === name);
  const stamp = (name) => `${name}:${rowOf(name)?.peak}:${rowOf(name)?.seconds}`;

  /* A strip chart that tells its partner about every view, also while it is being dragged. */
  const linked = (index) => class extends galloscope.Strip {
    setRange(view) {
      super.setRange(view);
      follow(index, (other) => other.setRange(fitted(other, this.view)));
    }

    go(view, quiet) {
      super.go(view, quiet);
      follow(index, (other) => other.go(fitted(other, view), quiet));
      page.planners.curve.range(this.target || this.view);
    }
  };

  let leading = -1;
  function follow(index, move) {
    const other = charts[1 - index];
    if (leading >= 0 || !other?.model) return;
    leading = index;
    try { move(other); } finally { leading = -1; }
    page.planners.curve.range(charts[index].view);
  }

  /* The lanes are the same unless one plan has more chunks. */
  const fitted = (chart, view) => ({ ...view, lanes: chart.view.lanes.map((range, i) => view.lanes[i] || range) });

  async function picture(name) {
    const key = stamp(name);
    if (!plans.has(key)) plans.set(key, await page.planners.get("plan", { planner: name }));
    return plans.get(key);
  }

  /* One scale for both: a lane is as high as the higher of the two, and on the even scale it knows the edges of both. */
  function scenes(pair) {
    const { set } = now(), { column } = galloscope.format;
    const edges = pair.map(({ strip: own }) => {
      const lane = column(own.lane, "int16"), y0 = column(own.y0, "float64"), size = column(own.size, "float64");
      return own.lanes.map((_, c) => [...y0].flatMap((y, i) => (lane[i] === c ? [y, y + size[i]] : [])));
    });
    return pair.map((one, k) => {
      const other = pair[1 - k].strip;
      const lanes = one.strip.lanes.map((lane, c) => ({ ...lane, range: Math.max(lane.size, other.lanes[c]?.size || 0), edges: edges[1 - k][c] || [] }));
      return {
        tensors: set.tensors, devices: set.devices, splits: [],
        colors: one.pool ? { pool: one.pool, ...set.colors } : set.colors,
        strip: { ...one.strip, lanes: lanes.map((lane) => ({ ...lane, label: title(k), buft: about(k) })) },
      };
    });
  }

  /* The planner in words, unless its name says the same. */
  function about(k) {
    const name = now().pair[k], words = now().board.planners.find((one) => one.planner === name).title;
    return words === name.replaceAll("_", " ") ? title(k) : words;
  }

  const title = (k) => `${"AB"[k]} · ${now().pair[k]}`;

  /* Load what is to be shown and is not yet. */
  async function paint() {
    const { pair, set } = now();
    const wanted = pair.map((name) => (name ? stamp(name) : ""));
    if (set && !wanted.some(Boolean) && !now().job && now().rows.length) empty();
    if (!set || !wanted.every(Boolean) || wanted.join() === shown.join()) return;
    const mine = ++painting;
    const found = await Promise.all(pair.map(picture));
    if (mine !== painting || !found.every(Boolean) || set !== now().set) return;
    const first = !shown[0] && !shown[1];
    const kept = first ? state.pview : charts[0].getView();
    shown = wanted;
    $("plan-a").dataset.planner = pair[0];
    $("plan-b").dataset.planner = pair[1];
    leading = 2; // loading is no gesture
    scenes(found).forEach((scene, k) => charts[k].load(scene));
    leading = -1;
    switches();
    now().stale = false;
    colours();
    charts[0].setView(kept);
    if (state.block >= 0 && state.block < set.n) mark(state.block);
    setStep(step);
    page.planners.curve.paint();
    page.planners.panes.paint();
  }

  /* Every planner that was asked has answered, and none has a plan: the plans of another set must not stay. */
  const bare = () => charts.every((chart) => !chart.model) && now().set && !now().job && now().rows.length && !now().pair.some(Boolean);

  function empty() {
    painting += 1;
    forget();
    for (const chart of charts) {
      chart.reset();
      chart.model = null;
      chart.card.hide();
      chart.empty.replaceChildren(page.element("strong", "", "No plan"), "No planner has one.");
      chart.empty.hidden = false;
      chart.resize();
    }
    $("plan-colour").replaceChildren();
    $("plan-legend").replaceChildren();
    page.planners.curve.paint();
    page.planners.panes.paint();
  }

  /* Another set is on the screen. */
  function forget() {
    plans = new Map();
    shown = ["", ""];
    step = -1;
    for (const host of HOSTS) delete $(host).dataset.planner;
  }

  function switches() {
    const on = state.pshow.split(".");
    for (const chart of charts) chart.show({ holes: on.includes("holes"), even: on.includes("even") ? "even" : "auto" });
    for (const button of document.querySelectorAll("[data-plan-show]")) button.setAttribute("aria-pressed", on.includes(button.dataset.planShow));
  }

  /* --- colours ------------------------------------------------------------------------------------------------------- */

  const known = () => [...new Set(charts.flatMap((chart) => Object.keys(chart.model?.scene.colors || {})))];
  const by = () => (known().includes(state.pby) ? state.pby : known().includes("op") ? "op" : "time");

  function colours() {
    const select = $("plan-colour"), options = known();
    if ([...select.options].map((one) => one.value).join() !== options.join()) {
      const words = { op: "op family", time: "when born" };
      select.replaceChildren(...options.map((key) => new Option(words[key] || key, key)));
    }
    select.value = by();
    const usual = options.includes("op") ? "op" : "time";
    for (const chart of charts) {
      const colors = chart.model.scene.colors;
      chart.setColor(Object.hasOwn(colors, by()) ? by() : usual); // a plan without pools keeps the usual colours
    }
    legend();
  }

  /* A plan without pools is coloured as usual, and says so. */
  const others = () => charts.filter((chart) => !Object.hasOwn(chart.model.scene.colors, by())).map((chart) => page.element("span", "", `${"AB"[charts.indexOf(chart)]} has no pools: ${chart.color.title}`));

  function legend() {
    const question = charts.map((chart) => chart.model.scene.colors[by()]).find(Boolean);
    const of = new Set(galloscope.format.column(question.of, "uint8"));
    const used = question.palette.filter((_, i) => of.has(i));
    const swatch = (entry) => {
      const made = page.element("span", `gs-swatch gs-hue gs-pattern-${entry.pattern || "none"}`, [], { title: entry.label });
      made.style.setProperty("--light", entry.light);
      made.style.setProperty("--dark", entry.dark);
      return made;
    };
    if (used.length === 1 || (used.length <= MOST_CHIPS && by() !== "size")) {
      $("plan-legend").replaceChildren(...used.map((entry) => page.element("span", "gs-chip", [swatch(entry), entry.label], { title: entry.label })), ...others());
      return;
    }
    $("plan-legend").replaceChildren(page.element("span", "", used[0].label), page.element("span", "gs-scale", used.map(swatch)), page.element("span", "", used[used.length - 1].label), ...others());
  }

  function color(key) {
    page.look({ pby: key });
    colours();
  }

  /* --- selecting and moving -------------------------------------------------------------------------------------------- */

  function mark(id) {
    for (const chart of charts) chart.select(id);
    $("planners").dataset.block = id;
  }

  function select(id, from = null) {
    page.look({ block: id });
    for (const chart of charts) if (chart !== from) { chart.select(id); if (id >= 0 && from === null) chart.focus(id); }
    if (id >= 0) setStep(-1);
    $("planners").dataset.block = id;
    page.planners.panes.paint();
  }

  function setStep(to) {
    step = to;
    for (const chart of charts) chart.setStep(to);
    $("planners").dataset.step = to;
    page.planners.curve.cursor(to);
  }

  /* To a step, moved into sight where it is not. */
  function goStep(to) {
    if (now().stale) return; // there is no chart of this set yet
    const [chart] = charts, { x0, x1 } = chart.target || chart.view;
    if (to < x0 || to >= x1) chart.go({ ...chart.view, x0: to - (x1 - x0) / 2, x1: to + (x1 - x0) / 2 });
    if (state.block >= 0) select(-1);
    setStep(to);
    page.planners.panes.paint();
  }

  page.planners.strips = {
    paint, select, goStep, forget, bare,
    charts: () => charts,
    shown: () => shown,
    plan: (slot) => plans.get(shown[slot]),
    stepShown: () => step,

    fit: () => { if (charts[0].model) charts[0].fit(); },
    peak() {
      const { set } = now();
      if (!set || now().stale) return;
      charts[0].peak(0);
      goStep(set.bound_step);
    },
    step(by) {
      const { set } = now();
      if (set) goStep(Math.min(set.n_steps - 1, Math.max(0, (step < 0 ? set.bound_step - by : step) + by)));
    },
    nextColor() { const all = known(); if (all.length) color(all[(all.indexOf(by()) + 1) % all.length]); },

    /* A hole of one plan, with some air around it. */
    hole(slot, [lane, first, last, start, end]) {
      const chart = charts[slot], { to } = chart.scales[lane], pad = Math.max(2, (last - first) * 0.6);
      if (!state.pshow.split(".").includes("holes")) toggleShow("holes");
      const tall = to(end) - to(start);
      chart.go(galloscope.strip.withLane({ ...chart.view, x0: first - pad, x1: last + pad }, lane, { y0: to(start) - tall, y1: to(end) + tall }));
    },

    /* Take the selection or the step back; false when there is none. */
    clear() {
      if (state.block >= 0) { select(-1); return true; }
      if (step >= 0) { setStep(-1); page.planners.panes.paint(); return true; }
      return false;
    },

    start() {
      charts = HOSTS.map((host, k) => new (linked(k))($(host), {
        onSelect: (id) => select(id, charts[k]),
        onHover: (id) => charts[1 - k].hoverTensor(id),
        onView: (view) => page.look({ pview: view }),
      }));
      charts.forEach((chart, k) => chart.host.setAttribute("aria-label", `Plan ${"AB"[k]}: memory over the steps`));
      $("plan-colour").addEventListener("change", (event) => color(event.target.value));
      $("planners").addEventListener("click", (event) => {
        const hit = event.target.closest("[data-plan-show]");
        if (hit) toggleShow(hit.dataset.planShow);
      });
    },
  };

  function toggleShow(key) {
    const on = new Set(state.pshow.split(".").filter(Boolean));
    if (!on.delete(key)) on.add(key);
    page.look({ pshow: [...on].sort().join(".") });
    switches();
  }
})();
