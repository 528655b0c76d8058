"use strict";
/* Evidence comes into view: what is selected is shown in both pictures, large enough to be seen and with its surroundings. */
(() => {
  const page = window.galloscope.page;
  const { state } = page;
  const THIN = 12;    // px: narrower than this is only a line
  const WIDTH = 40;   // px it is given then
  const MARGIN = 0.1; // of the view, kept free beside a moving cursor

  const view = () => page.strip.target || page.strip.view;
  const pixels = (steps) => (page.strip.at ? (steps * page.strip.at.width) / (view().x1 - view().x0) : Infinity);

  /* Zoom the steps [a, b) to `WIDTH`, in the middle. */
  function widen(a, b) {
    const half = ((b - a) * page.strip.at.width) / WIDTH / 2, middle = (a + b) / 2;
    page.strip.go({ ...view(), x0: middle - half, x1: middle + half });
  }

  /* The steps at which a tensor is on the chart: its memory's life, that of the memory it looks at, else its own step. */
  function stepsOf(id) {
    const { model } = page.strip, rect = model.rectOf[id], row = model.viewOf[id], step = model.stepOf[id];
    if (rect >= 0) return [model.x0[rect], model.x1[rect]];
    if (row >= 0) return [model.views.x0[row], model.views.x1[row]];
    return step >= 0 ? [step, step + 1] : null;
  }

  function tensorInStrip(id) {
    const steps = stepsOf(id), thin = steps && pixels(steps[1] - steps[0]) < THIN;
    page.strip.focus(id);
    if (thin && pixels(steps[1] - steps[0]) < WIDTH) widen(...steps);
  }

  function splitInStrip(k) {
    const { x0, x1 } = page.scene.splits[k], now = view();
    if (pixels(x1 - x0) < WIDTH) widen(x0, x1);
    else if (x0 >= now.x1 || x1 <= now.x0) page.strip.go({ ...now, ...around(x0, x1) });
  }

  function around(a, b) {
    const pad = Math.max(0.5, (b - a) * 0.03);
    return { x0: a - pad, x1: b + pad };
  }

  const firstOf = (k) => page.dag.model.nodes[page.scene.splits[k].start];

  /* `from` names the picture in which it was chosen: that one stays as it is. */
  page.reveal = (from) => {
    const { tensor, split, nodes, tick } = state;
    const inStrip = from !== "strip" && page.strip.host.clientWidth > 0, inDag = from !== "dag";
    if (tensor >= 0) {
      if (inStrip) tensorInStrip(tensor);
      if (inDag) page.dag.focus(tensor);
    } else if (split >= 0) {
      if (inStrip) splitInStrip(split);
      if (inDag && firstOf(split) !== undefined) page.dag.focus(firstOf(split));
    } else if (nodes) {
      const [first, last] = nodes.split("-").map((node) => stepsOf(page.dag.model.nodes[node]));
      if (inStrip && first && last && (last[0] < view().x0 || first[0] > view().x1)) page.strip.go({ ...view(), ...around(first[0], last[0] + 1) });
    }
    const { step } = page.momentOf(tick);
    if (step >= 0 && from !== "strip" && from !== "peak") page.revealStep(step);
  };

  /* The least move that keeps the step's cursor in sight. */
  page.revealStep = (step) => {
    if (!page.strip.host.clientWidth) return;
    const { x0, x1 } = view(), span = x1 - x0, free = span * MARGIN;
    if (step < x0) page.strip.go({ ...view(), x0: step - free, x1: step - free + span });
    else if (step + 1 > x1) page.strip.go({ ...view(), x0: step + 1 + free - span, x1: step + 1 + free });
  };

  /* The step that a tensor stands for: where it is computed, else where its memory begins. */
  page.stepOf = (id) => (id < 0 || !page.strip.model ? -1 : page.strip.model.stepOf[id] >= 0 ? page.strip.model.stepOf[id] : (stepsOf(id) || [-1])[0]);
})();
