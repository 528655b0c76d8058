"use strict";
/* How a plan comes about, stage by stage: the order of the steps, the intervals, the interference graph or its cliques, and the
 * placement, which can be replayed in the charts. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { state } = page;
  const { element } = page;
  const STAGES = [["order", "1 Order"], ["intervals", "2 Intervals"], ["interference", "3 Interference"], ["places", "4 Placement"]];
  const BECAUSE = ["", "view of", "in place of"];
  const MOST_STEPS = 400;
  const CELL = 260; // px of the matrix
  let asked = "", known = "", data = [null, null]; // of the plans above and below
  let at = -1;      // buffers placed, -1 for all
  let playing = 0;

  const now = () => page.planners.now;
  const tensorName = (id) => page.scene?.tensors.name[id] ?? "";
  const stage = () => { const key = state.pane.split(":")[1]; return Object.hasOwn(BODY, key) ? key : "order"; };
  const text = (kind, words) => element("p", kind, words);
  const stepText = (k) => page.planners.panes.stepText(k);
  const goStep = (k, words) => page.button("gs-link gs-plan-step gs-number", words, "Go there", { data: { step: k } });

  /* The two plans that the charts show, and of what. */
  const question = () => [...page.planners.strips.shown(), state.session, state.run, state.buffer, state.inplace, state.order].join("|");
  const fresh = () => Boolean(known) && known === question() && !now().stale;

  async function load() {
    const wanted = question();
    if (wanted === asked) return;
    asked = wanted;
    const found = await Promise.all(now().pair.map((name) => page.planners.get("stages", { planner: name })));
    if (asked !== wanted || !found.every(Boolean)) return;
    [data, known, at] = [found, wanted, -1];
    page.planners.panes.paint();
  }

  function order() {
    const nodes = galloscope.format.column(data[0].order.node, "int32");
    if (!nodes.length) return [text("gs-muted", "A buffer set comes with its steps: there is no graph to order.")];
    const words = { ggml: "in the order of the graph as ggml sees it, copies before each split", kahn: "breadth first: whatever waits for nothing more", dfs: "depth first: right after all that it waits for" };
    return [
      text("gs-plan-line", `${galloscope.format.plural(nodes.length, "step")}, ${words[data[0].order.rule] || ""}. Splits keep their order.`),
      element("div", "gs-plan-list", Array.from(nodes.subarray(0, MOST_STEPS), (node, k) => element("div", "gs-plan-item", [
        goStep(k, String(k)), element("span", "gs-muted gs-plan-op", page.scene.tensors.op[node]), element("span", "gs-mono", galloscope.format.tail(tensorName(node), 40), { title: tensorName(node) }),
      ]))),
      nodes.length > MOST_STEPS ? text("gs-muted", `and ${galloscope.format.count(nodes.length - MOST_STEPS)} more`) : "",
    ];
  }

  function intervals() {
    const { rows, all, tensors } = data[0].intervals, n = now().set.n_steps, { moments } = now().set;
    const column = moments ? galloscope.format.column(moments, "float64") : null;
    const place = (step) => (column ? column.indexOf(step) : step);
    const lines = rows.map(([id, birth, death, because, of]) => {
      const bar = element("span", `gs-plan-life gs-plan-because-${because}`);
      bar.style.left = `${(100 * place(birth)) / n}%`;
      bar.style.width = `max(2px, ${(100 * (place(death) - place(birth))) / n}%)`;
      const name = tensors ? tensorName(id) : now().set.tensors.name[id];
      const why = because ? `${BECAUSE[because]} ${tensorName(of)}` : "";
      return element("div", "gs-plan-interval", [element("span", "gs-mono", galloscope.format.tail(name, 24), { title: name }), element("span", "gs-plan-lane", bar)], { title: `${name}: [${birth}, ${death})${why ? `, ${why}` : ""}` });
    });
    const key = tensors ? element("p", "gs-plan-keyline gs-muted", BECAUSE.map((words, k) => element("span", "", [element("i", `gs-plan-because-${k}`), words || "bytes of its own"]))) : "";
    return [text("gs-plan-line", data[0].told.intervals), key, element("div", "gs-plan-intervals", lines), all > rows.length ? text("gs-muted", `the ${rows.length} largest of ${galloscope.format.count(all)}`) : ""];
  }

  /* Few pairs: every buffer against every other. */
  function matrix(pairs) {
    const { set } = now(), n = set.n, canvas = element("canvas", "gs-plan-matrix"), theme = galloscope.format.theme(document.getElementById("planners"));
    const dpr = window.devicePixelRatio || 1, cell = CELL / n;
    canvas.width = canvas.height = CELL * dpr;
    canvas.style.width = canvas.style.height = `${CELL}px`;
    const g = canvas.getContext("2d");
    g.scale(dpr, dpr);
    g.fillStyle = theme.line;
    for (let k = 0; k < n; k++) g.fillRect(k * cell, k * cell, cell, cell);
    g.fillStyle = theme.accent;
    for (const [a, b] of pairs) for (const [x, y] of [[a, b], [b, a]]) g.fillRect(x * cell, y * cell, Math.max(1, cell - 0.5), Math.max(1, cell - 0.5));
    canvas.addEventListener("mousemove", (event) => {
      const [x, y] = [event.offsetX, event.offsetY].map((v) => Math.min(n - 1, Math.max(0, Math.floor(v / cell))));
      const meet = x === y || pairs.some(([a, b]) => (a === x && b === y) || (a === y && b === x));
      canvas.title = x === y ? set.tensors.name[x] : `${set.tensors.name[x]} and ${set.tensors.name[y]} ${meet ? "are needed together" : "may share bytes"}`;
    });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${pairs.length} pairs of ${n} buffers are needed together`);
    return canvas;
  }

  /* Cliques over the steps, as high as they are heavy: the heaviest is the bound. */
  function cliques() {
    const { rows, all } = data[0].cliques, { set } = now();
    const most = Math.max(1, ...rows.map((row) => row[3]));
    const picture = element("div", "gs-plan-cliques", rows.map(([k, first, last, bytes, size]) => {
      const made = page.button(bytes === most ? "gs-plan-clique gs-plan-heaviest" : "gs-plan-clique", "", `clique ${k}: ${galloscope.format.plural(size, "buffer")}, ${galloscope.format.bytes(bytes)}, from step ${stepText(first)}`, { data: { step: first }, tabIndex: -1 });
      made.style.left = `${(100 * first) / set.n_steps}%`;
      made.style.width = `max(2px, calc(${(100 * (last - first)) / set.n_steps}% - 1px))`;
      made.style.height = `${Math.max(2, (100 * bytes) / most)}%`;
      return made;
    }));
    const heaviest = rows.find((row) => row[3] === most);
    const listed = heaviest && heaviest[5].length ? element("p", "gs-names", heaviest[5].slice(0, 24).map((block) => page.planners.panes.link(block, 28))) : "";
    return [picture, text("gs-muted", `${galloscope.format.plural(all, "clique")}${all > rows.length ? `, the ${rows.length} heaviest shown` : ""}; the heaviest, from step ${heaviest ? stepText(heaviest[1]) : 0}:`), listed];
  }

  function interference() {
    const { pairs } = data[0], { set } = now();
    const told = text("gs-plan-line", data[0].told.interference);
    const small = pairs && set.n <= CELL;
    return [told, ...cliques(), small && pairs.length ? page.planners.panes.head("Who may not share bytes", `${galloscope.format.count(pairs.length)} pairs`) : "", small && pairs.length ? matrix(pairs) : ""];
  }

  /* --- the placement, replayed ------------------------------------------------------------------------------------------ */

  function total() { return now().set.n; }

  /* Both charts show the first `count` buffers that each planner placed. */
  function replay(count) {
    if (!fresh()) return;
    at = count >= total() ? -1 : Math.max(0, count);
    page.planners.strips.charts().forEach((chart, slot) => {
      if (!chart.model) return;
      if (at < 0 || !data[slot]) { chart.only(null); return; }
      const placed = galloscope.format.column(data[slot].placed.buffer, "int32");
      const there = new Uint8Array(total());
      for (let k = 0; k < at; k++) there[placed[k]] = 1;
      chart.only(there);
    });
    describe();
  }

  function describe() {
    const range = document.getElementById("plan-replay"), told = document.getElementById("plan-replay-told");
    if (!range || !fresh()) return;
    const count = at < 0 ? total() : at;
    range.value = count;
    const { hex, bytes } = galloscope.format, charts = page.planners.strips.charts();
    told.replaceChildren(...[0, 1].filter((slot) => !slot || now().pair[0] !== now().pair[1]).map((slot) => {
      const placed = galloscope.format.column(data[slot].placed.buffer, "int32"), block = placed[Math.max(0, count - 1)];
      const { model } = charts[slot], rect = model.rectOf[block];
      if (block === undefined || rect < 0 || count === 0) return text("gs-plan-line", [element("strong", "", "AB"[slot]), " nothing yet"]);
      const on = data[slot].placed.on[count - 1] || [];
      return text("gs-plan-line", [
        element("strong", "", "AB"[slot]), " ", page.planners.panes.link(block), ` · ${bytes(model.y1[rect] - model.y0[rect])} at `, element("span", "gs-mono", hex(model.y0[rect])),
        ...(on.length ? [", on ", ...on.flatMap((one, k) => [k ? ", " : "", page.planners.panes.link(one, 24)])] : [", on the ground or in a gap"]),
      ]);
    }));
  }

  function play() {
    clearInterval(playing);
    if (playing) { playing = 0; return; }
    const beat = Math.max(1, Math.ceil(total() / 200));
    if (at < 0) at = 0;
    playing = setInterval(() => {
      if (!fresh()) { page.planners.stages.close(); return; }
      replay((at < 0 ? total() : at) + beat);
      if (at < 0) { clearInterval(playing); playing = 0; }
    }, 60);
  }

  function places() {
    const range = element("input", "gs-plan-replay", [], { id: "plan-replay", type: "range", min: 0, max: total(), value: at < 0 ? total() : at });
    range.setAttribute("aria-label", "Buffers placed");
    range.addEventListener("input", () => replay(Number(range.value)));
    const button = page.button("gs-switch", "play", "Place one buffer after the other");
    button.addEventListener("click", play);
    const told = element("div", "", [], { id: "plan-replay-told" });
    requestAnimationFrame(describe);
    return [text("gs-plan-line", "Drag to see the buffers placed one after the other, by each planner in its own order."), element("div", "gs-plan-replay-line", [button, range]), told];
  }

  const BODY = { order, intervals, interference, places };

  page.planners.stages = {
    pane() {
      page.planners.guarded(load);
      const tabs = element("div", "gs-plan-stages", STAGES.map(([key, words]) => {
        const made = page.button("gs-segment", words, "", { data: { pane: `stages:${key}` } });
        made.setAttribute("aria-pressed", stage() === key);
        return made;
      }));
      if (stage() !== "places") this.close();
      return [tabs, ...(fresh() ? BODY[stage()]() : [text("gs-muted", "…")])].filter((one) => one !== "");
    },

    /* The charts show everything again. */
    close() {
      clearInterval(playing);
      playing = 0;
      if (at >= 0) { at = -1; for (const chart of page.planners.strips.charts()) chart.only?.(null); }
    },
  };
})();
