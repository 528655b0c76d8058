"use strict";
/* What is looked at, taken from one graph to another of the same model: prefill to decode, or one option to the next. Ids and
 * steps differ between two graphs, so everything goes by name. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { state } = page;
  const NEAR = 64; // steps
  const nameOf = (id) => (id >= 0 ? page.scene.tensors.name[id] : "");
  const idOf = (name) => (name ? page.scene.tensors.name.indexOf(name) : -1);
  const lanes = () => page.scene.strip.lanes.map((lane) => `${lane.buffer}/${lane.chunk}/${lane.size}`).join();

  /* A place on the step axis: the tensors that are computed from there on (`way` 1) or up to there (-1), since the first of them
   * may be a copy that the other graph does without, and how far into its step the place is. */
  function place(x, way) {
    const n = page.scene.strip.n_steps, step = Math.min(n - 1, Math.max(0, Math.floor(x))), names = [];
    for (let k = step; k >= 0 && k < n && names.length < NEAR; k += way) names.push(nameOf(page.strip.model.tensorOfStep[k]));
    return { names, rest: x - step, end: x >= n, start: x <= 0 };
  }

  function stepOf({ names, rest, end, start }) {
    if (start) return 0;
    if (end) return page.scene.strip.n_steps;
    for (const name of names) {
      const id = idOf(name), step = id < 0 ? -1 : page.strip.model.stepOf[id];
      if (step >= 0) return step + rest;
    }
    return -1;
  }

  /* Everything by name, while the old scene is still there; null when there is none. */
  function take() {
    if (!page.scene || !page.strip.model) return null;
    const [x] = state.strip.split(";"), range = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(x);
    const { pass, step } = page.momentOf(state.tick);
    const nodes = state.nodes ? state.nodes.split("-").map((node) => nameOf(page.dag.model.nodes[node])) : null;
    return {
      tensor: nameOf(state.tensor), split: state.split, splits: page.scene.splits.length, nodes, listed: state.listed,
      pass: pass >= 0 ? page.scene.passes[pass].name : "",
      step: step >= 0 ? nameOf(page.strip.model.tensorOfStep[step]) : "",
      from: range && place(Number(range[1]), 1), to: range && place(Number(range[2]), -1),
      lanes: lanes(), rows: state.strip.split(";").filter((part) => part.includes("=")),
      dag: state.dag, layers: page.scene.dag.layers.length, count: page.count(page.scene),
    };
  }

  /* The same in the scene that is there now; call it when the pictures have loaded. */
  function give(old) {
    const found = { tensor: idOf(old.tensor), listed: old.listed, strip: "", dag: "", nodes: "", split: -1, tick: -1 };
    if (old.split >= 0 && old.splits === page.scene.splits.length) found.split = old.split;
    if (old.pass) found.tick = page.scene.passes.find((one) => one.name === old.pass)?.tick ?? -1;
    if (old.step) found.tick = page.scene.step_tick[page.strip.model.stepOf[idOf(old.step)]] ?? -1;
    if (old.nodes) {
      const [first, last] = old.nodes.map((name) => page.dag.model.nodeOf[idOf(name)]);
      if (first >= 0 && first <= last) found.nodes = `${first}-${last}`;
    }
    const view = [];
    if (old.from) {
      const [a, b] = [stepOf(old.from), stepOf(old.to)].map((x) => Math.round(x * 100) / 100);
      if (a >= 0 && b > a) view.push(`${a}-${b}`);
    }
    if (old.lanes === lanes()) view.push(...old.rows);
    found.strip = view.join(";");
    if (old.layers === page.scene.dag.layers.length) found.dag = old.count === page.count(page.scene) ? old.dag : old.dag.split("@")[0];
    return found;
  }

  page.carry = { take, give };
})();
