"use strict";
/* Running the graph on the screen: the bar with its choices, the work on the server, and what came out laid over the scene.
 *
 *   run_marks.js   values that are no numbers, in both pictures
 *
 * The server keeps the last run of each graph, so its colours are there again after a reload. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state, tell } = page;
  const HEADERS = { "X-Galloscope": "1", "Content-Type": "application/json" };
  const COLORS = ["time", "values"];        // scene.colors of a run
  const KINDS = { seconds: "float64", low: "float64", high: "float64", mean: "float64", nans: "float64", infs: "float64" };
  const USUAL = ["device", "op", "layer", "cause", "size"];
  let turn = 0;          // of two askings the later one counts
  let job = "";          // under way on the server
  let stopping = false;  // it was asked to stop, which it does when its node is done
  let board = null;      // what can be run here
  let done = null;       // the run on the screen
  let numbers = null;    // its columns

  const shown = () => (done ? COLORS.filter((key) => Object.hasOwn(done.colors, key)) : []);
  const base = () => `/runs/${encodeURIComponent(state.session)}/${state.run}`;
  const drop = (key) => { if (key) fetch(`/runs/cancel/${key}`, { method: "POST", headers: HEADERS, keepalive: true }).catch(() => {}); };

  async function request(where, options) {
    let response;
    try {
      response = await fetch(where, options);
    } catch {
      throw new page.open.Told("The server does not answer: is galloscope still running?");
    }
    const body = await response.json().catch(() => ({}));
    if (response.status === 404) { page.open.again(); return null; }
    if (!response.ok || body.error) throw new page.open.Told(body.error || `The server answered ${response.status}.`);
    return body;
  }

  /* What goes wrong is told in the bar; a bug is a bug. */
  async function guarded(work) {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof page.open.Told)) throw error;
      idle();
      trouble(error.message);
    }
  }

  /* --- numbers ---------------------------------------------------------------------------------------------------------- */

  /* Three significant digits, as app/figures/run_words.py has it. */
  function seconds(value) {
    const [size, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]].find(([one]) => value >= one * 0.9995) || [1e-6, "µs"];
    const shown = value / size;
    if (!shown || shown >= 999.5) return `${galloscope.format.count(Math.round(shown))} ${unit}`;
    return `${shown.toFixed(Math.max(0, 2 - Math.floor(Math.log10(shown) + 1e-12)))} ${unit}`;
  }

  /* Four significant digits. */
  function number(value) {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "inf" : "-inf";
    const size = Math.abs(value);
    if (!size) return "0";
    if (size < 1e-4 || size >= 1e6) return value.toExponential(3).replace(/\.?0*e\+?/, "e");
    const text = value.toFixed(Math.max(0, 3 - Math.floor(Math.log10(size))));
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }

  const wrong = (id) => [[numbers.nans[id], "NaN"], [numbers.infs[id], "infinite"]].filter(([n]) => n).map(([n, what]) => `${galloscope.format.count(n)} ${what}`).join(", ");

  /* What the floating cards say about a tensor. */
  function facts(id) {
    if (!(numbers.seconds[id] >= 0)) return [];
    const rows = done.backend === "digest" ? [] : [["took", seconds(numbers.seconds[id])]], bad = wrong(id);
    if (!Number.isNaN(numbers.low[id])) rows.push(["values", `${number(numbers.low[id])} to ${number(numbers.high[id])}, mean ${number(numbers.mean[id])}`]);
    if (bad) rows.push(["no numbers", bad, "gs-run-bad"]);
    rows.push(["", done.filled, "gs-muted"]);
    return rows;
  }

  /* --- the bar ---------------------------------------------------------------------------------------------------------- */

  const text = (part) => part.replaceAll(/(?<=\d) (?=%|\w*B\b|µ?m?s\b)/g, "\u00a0");

  /* A cell for each sentence, as the opening answers are: the key words large, the rest beside them. */
  function answer({ topic, parts, tensor, alarm, text: whole }) {
    const at = parts.findIndex(([, style]) => style === "strong"), key = at === 0 ? parts[0][0] : "";
    const words = parts.slice(at === 0 ? 1 : 0).map(([part, style], k) => {
      if (style === "strong") return page.element("strong", "", text(part));
      if (style !== "name") return text(k === 0 ? part.replace(/^[ ,:.]+/, "") : part);
      const id = page.scene.tensors.name.indexOf(part);
      return id < 0 ? page.element("span", "gs-mono", part) : page.button("gs-name", part, "", { data: { tensor: id } });
    });
    const made = page.element("div", alarm ? "gs-answer gs-alarm" : "gs-answer", [page.element("div", "gs-answer-key", text(key)), page.element("div", "gs-answer-text", words)],
      { title: whole, data: tensor >= 0 ? { topic, tensor } : { topic } });
    if (tensor >= 0) { made.setAttribute("role", "button"); made.tabIndex = 0; }
    return made;
  }

  function paint() {
    const open = state.exec === "open";
    $("run-bar").hidden = !open;
    $("run-button").setAttribute("aria-expanded", open);
    $("run-own-box").hidden = !board?.own;
    const own = board?.own && $("run-filled").value === "own";
    $("run-seed-box").hidden = own;
    $("run-answers").hidden = !done;
    $("run-answers").replaceChildren(...(done ? done.answers.map(answer) : []));
    $("run-clear").hidden = !done;
    $("run-go").textContent = done ? "Run again" : "Run";
  }

  function idle() {
    job = "";
    stopping = false;
    $("run-go").hidden = false;
    for (const id of ["run-cancel", "run-stage"]) $(id).hidden = true;
    $("run-bar").dataset.job = "";
  }

  function busy(told) {
    job = told.job;
    $("run-go").hidden = true;
    for (const id of ["run-cancel", "run-stage"]) $(id).hidden = false;
    $("run-cancel").disabled = stopping;
    $("run-stage").textContent = `${stopping ? "stops after this node" : told.stage} · ${told.seconds.toFixed(1)} s`;
    $("run-bar").dataset.job = job;
  }

  /* Ask the server to stop; false when there is nothing to stop any more. */
  function stop() {
    if (!job || stopping) return false;
    drop(job);
    stopping = true;
    $("run-cancel").disabled = true;
    $("run-stage").textContent = "stops after this node";
    return true;
  }

  /* What went wrong, in red, or why the wish is not granted; perhaps with the way out. */
  function trouble(words, { digest = false, failed = true } = {}) {
    $("run-trouble").hidden = !words;
    $("run-trouble").classList.toggle("gs-run-failed", failed);
    $("run-trouble-text").textContent = words;
    $("run-digest").hidden = !digest;
  }

  /* --- what came out ---------------------------------------------------------------------------------------------------- */

  /* Lay a run over the scene, or take it away. */
  function lay(result) {
    const { scene } = page;
    done = result;
    numbers = result && Object.fromEntries(Object.entries(KINDS).map(([key, kind]) => [key, galloscope.format.column(result.columns[key], kind)]));
    for (const key of COLORS) delete scene.colors[key];
    Object.assign(scene.colors, result?.colors);
    scene.tensors.facts = result ? Object.fromEntries(scene.tensors.name.map((_, id) => [id, facts(id)])) : undefined;
    page.strip.wrong = page.dag.wrong = new Set(result ? result.wrong : []);
    $("page").dataset.ran = result ? result.about : "";
    tell("color", { data: [...USUAL, ...shown()] });
    paint();
    if (COLORS.includes(state.by) && !shown().includes(state.by)) page.look({ by: "" });
    page.setColor(state.by);
    page.table.measured();
    page.told("run");
  }

  async function run(wish) {
    const mine = ++turn, late = () => mine !== turn;
    drop(job);
    stopping = false;
    trouble("");
    busy({ job: "", stage: "starting", seconds: 0 });
    await guarded(async () => {
      let told = await request(`${base()}/run`, { method: "POST", headers: HEADERS, body: JSON.stringify(wish) });
      for (;;) {
        if (!told) return;
        if (late()) { drop(told.job); return; }
        if (told.refused) { idle(); trouble(told.refused, told); return; }
        if (!told.job) break;
        busy(told);
        told = await request(`${base()}/job.json?job=${told.job}&backend=${wish.backend}`);
      }
      idle();
      if (told.cancelled) return;
      const result = await request(`${base()}/result.json`);
      if (!result || late()) return;
      const first = !done && !state.by;
      lay(result);
      if (first && shown().includes("values")) page.setColor("time"); // nobody has chosen another
    });
  }

  function wish() {
    const pressed = (id) => $(id).getAttribute("aria-pressed") === "true";
    const own = Boolean(board?.own) && $("run-filled").value === "own";
    return { own, seed: $("run-seed").value.trim(), backend: $("run-backend").value, poison: pressed("run-poison"), guard: pressed("run-guard") };
  }

  /* In another view the bar is out of sight, so it is shown beside the graph. */
  function toggle(open = state.exec !== "open" || Boolean($("page").dataset.view)) {
    if (!page.scene) return;
    if (open && page.life.active()) { page.life.leave(() => toggle(true)); return; }
    if (open && $("page").dataset.view) page.act($("page").dataset.view);
    page.look({ exec: open ? "open" : "" });
    paint();
    if (open) { ask(); $("run-go").focus(); } else if (document.activeElement?.closest?.("#run-bar")) document.activeElement.blur();
  }

  /* What can be run here. */
  function ask() {
    if (board || !page.scene) return;
    const mine = turn;
    guarded(async () => {
      const told = await request(`${base()}/board.json`);
      if (!told || mine !== turn) return;
      board = told;
      if (board.own && !done) $("run-filled").value = "own";
      $("run-go").disabled = Boolean(board.why);
      if (board.why) trouble(board.why, { failed: false });
      paint();
    });
  }

  page.running = {
    colors: COLORS,
    shown,
    seconds, number, wrong, toggle,
    columns: () => numbers,

    apply(wanted) {
      state.exec = wanted.exec;
      if (!page.scene) return;
      paint();
      if (state.exec) ask();
    },

    /* Another graph is on the screen: what is known of an earlier run of it comes after the pictures. */
    load() {
      const mine = ++turn;
      drop(job);
      Object.assign(page.strip, { wrong: new Set() });
      Object.assign(page.dag, { wrong: new Set() });
      [board, done, numbers] = [null, null, null];
      tell("color", { data: USUAL });
      idle();
      trouble("");
      paint();
      if (state.exec) ask();
      guarded(async () => {
        const result = await request(`${base()}/result.json`);
        if (!result || mine !== turn) return;
        if (!result.none) lay(result);
        else if (COLORS.includes(state.by)) page.notice.say([[`by=${state.by}`, "this graph has not been run yet: x opens the bar that runs it"]]);
      });
    },

    stop,

    /* Undo the last mode; false when there is none left. */
    escape() {
      if (state.exec !== "open") return false;
      toggle(false);
      return true;
    },

    start() {
      const place = $("run-seed-place");
      place.replaceChildren(page.element("input", "gs-plan-input gs-run-seed", [], { id: "run-seed", type: "text", inputMode: "numeric", value: place.dataset.seed, autocomplete: "off" }));
      $("run-form").addEventListener("submit", (event) => { event.preventDefault(); if (!job) run(wish()); });
      $("run-filled").addEventListener("change", paint);
      $("run-form").addEventListener("keydown", (event) => { if (event.key === "Escape") event.target.blur(); });
      for (const id of ["run-poison", "run-guard"]) $(id).addEventListener("click", () => { const on = $(id).getAttribute("aria-pressed") === "true"; $(id).setAttribute("aria-pressed", !on); });
      $("run-cancel").addEventListener("click", stop);
      // Fingerprints by themselves prove nothing: it is the guard that looks at whose bytes they are.
      $("run-digest").addEventListener("click", () => { $("run-backend").value = "digest"; $("run-guard").setAttribute("aria-pressed", true); run(wish()); });
      $("run-clear").addEventListener("click", () => guarded(async () => {
        const mine = ++turn;
        if (!await request(`${base()}/clear`, { method: "POST", headers: HEADERS, body: "{}" }) || mine !== turn) return;
        if (state.tsource) page.look({ tsource: "" }); // there is nothing measured any more
        lay(null);
      }));
      addEventListener("pagehide", () => drop(job));
    },
  };
})();
