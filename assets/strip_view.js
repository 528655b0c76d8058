/* The view: which steps and, per lane, which addresses are shown; its text form for a URL; the moves that lead to a new one.
 * A view is {x0, x1, lanes: [{y0, y1}]}, with y in lane coordinates (see strip_scale.js). Views are never changed in place. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});
  const HEADROOM = 1.04; // the peak line must not stick to the edge
  const LEAST_STEPS = 3;
  const LEAST_BYTES = 64;
  const AROUND_PEAK = 48; // steps

  const fullRange = (lane) => ({ y0: 0, y1: Math.max(1, lane.range) * HEADROOM });
  strip.fitView = (model) => ({ x0: 0, x1: Math.max(1, model.nSteps), lanes: model.lanes.map(fullRange) });

  /* A view is never empty and never leaves the data. */
  strip.clampView = function (model, view) {
    const all = Math.max(1, model.nSteps);
    const [x0, x1] = clampRange(view.x0, view.x1, Math.min(LEAST_STEPS, all), all);
    return {
      x0, x1,
      lanes: view.lanes.map((range, i) => {
        const full = fullRange(model.lanes[i]).y1;
        const [y0, y1] = clampRange(range.y0, range.y1, Math.min(LEAST_BYTES, full), full);
        return { y0, y1 };
      }),
    };
  };

  function clampRange(a, b, least, most) {
    let span = Math.min(Math.max(b - a, least), most);
    if (!(span > 0)) span = most;
    const start = Math.min(Math.max(b - a < least ? (a + b - span) / 2 : a, 0), most - span);
    return [start, start + span];
  }

  /* "12.5-400;2=0-1048576": the steps, then the addresses of the lanes that are zoomed. The fitted view is the empty text. */
  strip.viewText = function (chart, view) {
    const near = (a, b) => Math.abs(a - b) < 1e-6 * Math.max(1, Math.abs(b));
    const fit = strip.fitView(chart.model);
    const parts = [];
    const step = (x) => Number(x.toFixed(2));
    if (!near(view.x0, fit.x0) || !near(view.x1, fit.x1)) parts.push(`${step(view.x0)}-${step(view.x1)}`);
    view.lanes.forEach((range, i) => {
      if (near(range.y0, fit.lanes[i].y0) && near(range.y1, fit.lanes[i].y1)) return;
      const { from } = chart.scales[i];
      parts.push(`${i}=${Math.round(from(range.y0))}-${Math.round(from(range.y1))}`);
    });
    return parts.join(";");
  };

  /* Text from a URL: whatever does not parse is left at its fitted value. */
  strip.parseView = function (chart, text) {
    const view = strip.fitView(chart.model);
    for (const part of String(text || "").split(";")) {
      const match = /^(?:(\d+)=)?(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(part);
      if (!match || Number(match[3]) <= Number(match[2])) continue;
      const [a, b] = [Number(match[2]), Number(match[3])];
      const scale = chart.scales[match[1]];
      if (match[1] === undefined) Object.assign(view, { x0: a, x1: b });
      else if (scale) view.lanes[match[1]] = { y0: scale.to(a), y1: scale.to(b) };
    }
    return strip.clampView(chart.model, view);
  };

  strip.withLane = (view, lane, range) => ({ ...view, lanes: view.lanes.map((old, i) => (i === lane ? range : old)) });

  /* Zoomed by a factor about a pixel; axes is "x", "y" (in the lane there) or "both". */
  strip.zoomed = function (chart, factor, x, y, axes) {
    const { at } = chart;
    let { view } = chart;
    if (axes !== "y") {
      const step = strip.step(chart, Math.min(at.right, Math.max(at.left, x)));
      view = { ...view, x0: step - (step - view.x0) * factor, x1: step + (view.x1 - step) * factor };
    }
    const { lane } = strip.partAt(chart, x, y);
    if (axes === "x" || lane < 0) return view;
    const range = view.lanes[lane];
    const v = strip.V(chart, lane, y);
    return strip.withLane(view, lane, { y0: v - (v - range.y0) * factor, y1: v + (range.y1 - v) * factor });
  };

  /* Moved by pixels from `view`; a lane only moves when it is given. */
  strip.panned = function (chart, view, dx, dy, lane) {
    const shift = (dx * (view.x1 - view.x0)) / chart.at.width;
    const moved = { ...view, x0: view.x0 + shift, x1: view.x1 + shift };
    if (lane < 0 || !dy) return moved;
    const range = view.lanes[lane];
    const up = (-dy * (range.y1 - range.y0)) / chart.at.lanes[lane].h;
    return strip.withLane(moved, lane, { y0: range.y0 + up, y1: range.y1 + up });
  };

  /* Around the step at which a lane has the most bytes alive. */
  strip.peakView = function (chart, lane) {
    const half = Math.min(chart.model.nSteps, AROUND_PEAK) / 2;
    const middle = lane.peak_step + 0.5;
    return strip.withLane({ ...chart.view, x0: middle - half, x1: middle + half }, lane.index, fullRange(lane));
  };

  strip.splitView = function (chart, split) {
    const pad = Math.max(0.5, (split.x1 - split.x0) * 0.03);
    return strip.clampView(chart.model, { ...chart.view, x0: split.x0 - pad, x1: split.x1 + pad });
  };

  /* The least move that brings a tensor into view: its rectangle, else the view it is, else its step. */
  strip.focusView = function (chart, id) {
    const { model, view, geo } = chart;
    const rect = model.rectOf[id];
    const row = model.viewOf[id];
    const i = rect >= 0 ? rect : row;
    const [table, y] = rect >= 0 ? [model, geo.rects] : [model.views, geo.views];
    const [a, b] = i >= 0 ? [table.x0[i], table.x1[i]] : [model.stepOf[id], model.stepOf[id] + 1];
    if (a < 0) return view;
    let next = view;
    // A long life may stay partly outside: only what cannot be seen or aimed at is worth a move.
    if (b <= view.x0 || a >= view.x1 || (b - a) * (chart.at.width / (view.x1 - view.x0)) < 3) {
      const span = Math.min(view.x1 - view.x0, Math.max(40, (b - a) * 4));
      next = { ...view, x0: (a + b - span) / 2, x1: (a + b + span) / 2 };
    }
    if (i < 0) return next;
    const lane = model.lane[rect >= 0 ? rect : model.views.rect[row]];
    const range = view.lanes[lane];
    return y.y1[i] <= range.y0 || y.y0[i] >= range.y1 ? strip.withLane(next, lane, fullRange(model.lanes[lane])) : next;
  };

  /* A rectangle with some air around it, so that its neighbours can be read too. */
  strip.rectView = function (chart, rect) {
    const { model, geo } = chart;
    const half = Math.max(8, (model.x1[rect] - model.x0[rect]) * 1.3) / 2;
    const middle = (model.x0[rect] + model.x1[rect]) / 2;
    const tall = (geo.rects.y1[rect] - geo.rects.y0[rect]) * 1.5;
    const center = (geo.rects.y0[rect] + geo.rects.y1[rect]) / 2;
    const around = { ...chart.view, x0: middle - half, x1: middle + half };
    return strip.withLane(around, model.lane[rect], { y0: center - tall, y1: center + tall });
  };
})();
