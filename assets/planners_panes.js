"use strict";
/* What there is to read about the two plans: the selected buffer, who is alive at the peak or at a step, holes, in-place chains. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state } = page;
  const MOST = 60;
  const LETTERS = ["A", "B"];
  const now = () => page.planners.now;
  const { element } = page;
  const text = (kind, words) => element("p", kind, words);
  const number = (n) => element("span", "gs-number", galloscope.format.bytes(n), { title: galloscope.format.exact(n) });
  const stepText = (position) => {
    const { moments } = now().set;
    return galloscope.format.count(moments ? galloscope.format.column(moments, "float64")[position] : position);
  };
  const span = (first, end) => (end - first === 1 ? `step ${stepText(first)}` : `steps ${stepText(first)} – ${stepText(end - 1)}`);
  const nameOf = (block) => now().set.tensors.name[block];
  const link = (block, most = 44) => page.button("gs-name", galloscope.format.tail(nameOf(block), most), nameOf(block), { data: { block } });
  const head = (words, note) => element("div", "gs-plan-heading", [element("h3", "", words), note ? element("span", "gs-muted", note) : ""]);

  /* Rows of [bytes, block], the largest first, with a bar to compare them. */
  function sized(rows) {
    return element("div", "gs-plan-list", rows.map(([bytes, block]) => {
      const bar = element("span", "gs-plan-share");
      bar.style.width = `${(100 * bytes) / rows[0][0]}%`;
      const row = element("div", "gs-plan-item", [number(bytes), element("span", "gs-plan-shares", bar), link(block)]);
      row.classList.toggle("gs-plan-chosen", block === state.block);
      return row;
    }));
  }

  function aliveAt(step) {
    const { model } = page.planners.strips.charts()[0], found = [];
    if (!model) return found;
    for (let i = 0; i < model.n; i++) if (model.x0[i] <= step && step < model.x1[i]) found.push([model.y1[i] - model.y0[i], model.id[i]]);
    return found.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  }

  const plural = (n) => galloscope.format.plural(n, "buffer");

  /* What makes a plan higher than the bound. */
  function above(slot) {
    const plan = page.planners.strips.plan(slot), { pair, set, rows } = now();
    const row = rows.find((one) => one.planner === pair[slot]);
    if (!plan || !row || plan.top.buffer < 0 || (slot && pair[0] === pair[1])) return "";
    const { bytes } = galloscope.format, lead = element("strong", "", `${LETTERS[slot]} · ${pair[slot]}`);
    if (row.peak === set.bound) return text("gs-plan-line", [lead, ` needs ${bytes(row.peak)}, as much as is alive at once: no plan can need less.`]);
    return text("gs-plan-line", [
      lead, ` reaches ${bytes(row.peak)} with `, link(plan.top.buffer), `. In its life at most ${bytes(plan.top.live)} are alive, at `,
      page.button("gs-link gs-plan-step", `step ${stepText(plan.top.step)}`, "Go there", { data: { step: plan.top.step } }),
      `: ${bytes(row.peak - plan.top.live)} below its end lie idle then.`,
    ]);
  }

  function peakPane() {
    const { set } = now(), shown = page.planners.strips.stepShown(), step = shown >= 0 ? shown : set.bound_step;
    const alive = aliveAt(step), total = alive.reduce((sum, [bytes]) => sum + bytes, 0);
    const title = step === set.bound_step ? `Most alive at once, step ${stepText(step)}` : `Alive at step ${stepText(step)}`;
    const more = alive.length - MOST;
    return [
      ...(shown < 0 ? [above(0), above(1)] : []),
      head(title, `${galloscope.format.bytes(total)} in ${plural(alive.length)}`),
      sized(alive.slice(0, MOST)),
      more > 0 ? text("gs-muted", `and ${galloscope.format.count(more)} more`) : "",
    ];
  }

  function holesPane() {
    const { pair } = now(), { bytes, hex } = galloscope.format;
    const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
    return [0, 1].filter((slot) => !slot || pair[0] !== pair[1]).flatMap((slot) => {
      const plan = page.planners.strips.plan(slot);
      if (!plan) return [];
      const { used, holes, above: free } = plan.use;
      const list = plan.holes.map((hole, k) => {
        const [, first, last, start, end] = hole;
        return page.button("gs-plan-hole", [number(end - start), element("span", "", `× ${galloscope.format.plural(last - first, "step")}`), element("span", "gs-muted", span(first, last)), element("span", "gs-mono gs-muted", hex(start))],
          `Show it: ${bytes(end - start)} free`, { data: { hole: k, slot } });
      });
      return [
        head(`${LETTERS[slot]} · ${pair[slot]}`, `of bytes × steps: ${percent(used)} used, ${percent(holes)} holes, ${percent(free)} free above`),
        element("div", "gs-plan-list", list.length ? list : text("gs-muted", "No holes: whatever is free lies above everything.")),
      ];
    });
  }

  function chainsPane() {
    const { set, board } = now();
    if (!board.graph) return [text("gs-muted", "A buffer set comes without a graph, so nothing is known about in-place.")];
    if (state.inplace === "off") return [text("gs-muted", "Without in-place every tensor has bytes of its own. Press i to compare.")];
    if (!set.chains.length) return [text("gs-muted", "No two tensors of this buffer share their bytes.")];
    const names = page.scene.tensors.name;
    return [
      head("One rectangle, several tensors", `${plural(set.chains.length)}${set.chains.length === 40 ? " or more" : ""}: in-place heirs and views`),
      ...set.chains.map(([block, ...tensors]) => element("div", "gs-plan-chain", [
        element("div", "gs-plan-item", [number(galloscope.format.column(set.tensors.bytes, "float64")[block]), link(block)]),
        element("div", "gs-names", tensors.slice(1, 13).map((id) => page.button("gs-name", galloscope.format.tail(names[id], 28), `${names[id]}: show in the graph`, { data: { graphTensor: id } }))),
        tensors.length > 13 ? text("gs-muted", `and ${tensors.length - 13} more`) : "",
      ])),
    ];
  }

  /* Where the selected buffer lies in both plans. */
  function card() {
    const { set, pair, board } = now(), block = state.block, charts = page.planners.strips.charts();
    const rect = charts[0].model?.rectOf[block];
    if (rect === undefined || rect < 0) return "";
    const { hex, bytes, exact } = galloscope.format, model = charts[0].model;
    const size = model.y1[rect] - model.y0[rect];
    const places = [0, 1].filter((slot) => !slot || pair[0] !== pair[1]).map((slot) => {
      const other = charts[slot].model, at = other.rectOf[block], lane = other.lanes.length > 1 ? ` of chunk ${other.lane[at]}` : "";
      return element("span", "", [element("strong", "", LETTERS[slot]), " ", element("span", "gs-mono", hex(other.y0[at])), lane]);
    });
    const facts = (set.tensors.facts[block] || []).map(([key, told]) => element("span", "", `${key} ${told}`));
    const owner = board.graph ? galloscope.format.column(set.tensors.owner, "int32")[block] : -1;
    const show = owner >= 0 ? page.button("gs-switch gs-plan-show", "show in the graph", "Select it in the graph and close this view", { data: { graphTensor: owner } }) : "";
    return element("section", "gs-plan-card", [
      element("div", "gs-why-line", [element("span", "gs-plan-title", nameOf(block)), show]),
      element("div", "gs-facts", [element("span", "", bytes(size), { title: exact(size) }), element("span", "", span(model.x0[rect], model.x1[rect])), ...places, ...facts]),
    ]);
  }

  const PANES = { "": peakPane, holes: holesPane, chains: chainsPane, stages: () => page.planners.stages.pane() };

  function paint() {
    const wanted = state.pane.split(":")[0], key = Object.hasOwn(PANES, wanted) ? wanted : "";
    for (const tab of document.querySelectorAll("[data-pane]")) tab.setAttribute("aria-selected", tab.dataset.pane === (key || "peak"));
    const box = $("plan-pane");
    if (page.planners.strips.bare()) { box.replaceChildren(text("gs-muted", "No planner has a plan: the table says why.")); return; }
    if (now().stale) return; // the old text stays until the new pictures are there
    const top = box.scrollTop, same = paint.key === key, focused = box.contains(document.activeElement) ? document.activeElement : null;
    paint.key = key;
    if (key !== "stages") page.planners.stages.close();
    box.replaceChildren(...[state.block >= 0 ? card() : "", ...PANES[key]()].filter((one) => one !== ""));
    box.scrollTop = same ? top : 0;
    if (focused?.id) document.getElementById(focused.id)?.focus({ preventScroll: true });
    else if (focused?.dataset.pane) box.querySelector(`[data-pane="${focused.dataset.pane}"]`)?.focus({ preventScroll: true });
  }

  function follow(event) {
    const hit = event.target.closest("[data-pane], [data-block], [data-step], [data-hole], [data-graph-tensor]");
    if (!hit || hit.id === "planners" || !hit.matches("button")) return;
    if (hit.dataset.pane) { page.look({ pane: hit.dataset.pane === "peak" ? "" : hit.dataset.pane }); paint(); }
    else if (hit.dataset.graphTensor) page.planners.leave(() => page.select({ tensor: Number(hit.dataset.graphTensor) }, "planners"));
    else if (hit.dataset.block) page.planners.strips.select(Number(hit.dataset.block));
    else if (hit.dataset.step) page.planners.strips.goStep(Number(hit.dataset.step));
    else if (hit.dataset.hole) page.planners.strips.hole(Number(hit.dataset.slot), page.planners.strips.plan(Number(hit.dataset.slot)).holes[Number(hit.dataset.hole)]);
  }

  page.planners.panes = {
    paint, link, stepText, head, number,

    /* The buffer that holds a tensor of the graph, -1 for none. */
    bufferOf(tensor) {
      const { set } = now(), owner = galloscope.format.column(set.tensors.owner, "int32").indexOf(tensor);
      if (owner >= 0) return owner;
      const chain = set.chains.find(([, ...tensors]) => tensors.includes(tensor));
      return chain ? chain[0] : -1;
    },

    start() { $("planners").addEventListener("click", follow); },
  };
})();
