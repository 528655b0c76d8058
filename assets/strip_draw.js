/* The base canvas: lanes, rectangles, holes, views, chains, split lines and peaks. It is redrawn when the view, the colours
 * or the size change, never for hovering or selecting. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});
  const MANY = 20000;
  const THIN = 0.7;
  const LABEL_WIDTH = 46;
  const LABEL_HEIGHT = 13;

  strip.draw = function (chart) {
    const { g, at, theme, model, dpr } = chart;
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    g.clearRect(0, 0, chart.width, chart.height);
    const samples = sampling(chart);
    chart.samples = samples;
    model.lanes.forEach((lane) => background(chart, lane.index));
    if (chart.shown.holes && !chart.flags) holes(chart);
    const marks = samples ? sampled(chart, samples) : full(chart);
    if (chart.shown.views) views(chart);
    if (chart.shown.chains) chains(chart);
    strip.drawOverlaps(chart);
    strip.marked?.(chart);
    splitLines(chart);
    model.lanes.forEach((lane) => peak(chart, lane));
    strip.drawLabels(chart, marks.big);
    g.strokeStyle = theme.line;
    for (const place of at.lanes) g.strokeRect(at.left - 0.5, place.top - 0.5, at.width + 1, place.h + 1);
    return marks.drawn;
  };

  /* Snaps to device pixels: rectangles keep crisp edges and even gaps. */
  strip.snap = (chart, v) => Math.round(v * chart.dpr) / chart.dpr;

  /* A rectangle of steps and lane coordinates as pixels, cut to its lane; null outside the view. */
  strip.box = function (chart, lane, x0, x1, y0, y1) {
    const { view, at } = chart;
    const range = view.lanes[lane];
    if (x1 <= view.x0 || x0 >= view.x1 || y1 < range.y0 || y0 > range.y1) return null;
    const place = at.lanes[lane];
    const a = Math.max(at.left, strip.snap(chart, strip.X(chart, x0)));
    const b = Math.min(at.right, strip.snap(chart, strip.X(chart, x1)));
    const top = Math.max(place.top, strip.snap(chart, strip.YV(chart, lane, y1)));
    const end = Math.min(place.top + place.h, strip.snap(chart, strip.YV(chart, lane, y0)));
    const w = Math.max(1, b - a);
    const h = Math.max(1, end - top);
    return { x: Math.min(a, at.right - 1), y: Math.min(top, place.top + place.h - 1), w, h };
  };

  strip.rectBox = function (chart, i) {
    const { model, geo } = chart;
    return strip.box(chart, model.lane[i], model.x0[i], model.x1[i], geo.rects.y0[i], geo.rects.y1[i]);
  };
  strip.viewBox = function (chart, i) {
    const { views, lane } = chart.model;
    return strip.box(chart, lane[views.rect[i]], views.x0[i], views.x1[i], chart.geo.views.y0[i], chart.geo.views.y1[i]);
  };

  /* When steps are finer than pixels, and rectangles too many or too thin, each pixel column shows one step only: the one
   * at which its lane is fullest. So a column is always a true picture of one moment. Returns steps per lane and column. */
  function sampling(chart) {
    const { model, view, at } = chart;
    const perStep = at.width / (view.x1 - view.x0);
    if (perStep >= 1 || (model.n <= MANY && model.meanLife * perStep >= THIN)) return null;
    const columns = Math.ceil(at.width);
    return model.lanes.map((lane) => {
      const steps = new Int32Array(columns);
      for (let c = 0; c < columns; c++) {
        const first = Math.min(model.nSteps - 1, Math.floor(view.x0 + c / perStep));
        const end = Math.min(model.nSteps, Math.max(first + 1, Math.floor(view.x0 + (c + 1) / perStep)));
        let best = first;
        for (let s = first + 1; s < end; s++) if (lane.bytesAt[s] > lane.bytesAt[best]) best = s;
        steps[c] = best;
      }
      return steps;
    });
  }

  /* Calls fill(i, x, y, w, h, clipped) for every visible rectangle, colour by colour. */
  function sweep(chart, fill) {
    const { g, model, color, theme } = chart;
    let last = -1;
    let drawn = 0;
    for (let k = 0; k < model.n; k++) {
      const i = chart.order[k];
      const entry = color.of[model.id[i]];
      if (chart.flags && !chart.flags[model.id[i]]) continue;
      if (entry !== last) {
        last = entry;
        g.fillStyle = theme.pick(color.palette[entry]);
      }
      if (fill(i, color.palette[entry])) drawn += 1;
    }
    return drawn;
  }

  function full(chart) {
    const { g, model, view, at } = chart;
    const { KIND } = strip;
    const big = [];
    const hatched = [];
    const dotted = [];
    const drawn = sweep(chart, (i, entry) => {
      if (model.x1[i] <= view.x0 || model.x0[i] >= view.x1 || model.y1[i] <= model.y0[i]) return false;
      const box = strip.rectBox(chart, i);
      if (!box) return false;
      const { x, y, w, h } = box;
      // The gap is what outlines a rectangle; where there is no room for it, the fill is worth more.
      const gx = w > 3 && x + w < at.right ? 1 : 0;
      const gy = h > 3 ? 1 : 0;
      g.fillRect(x, y + gy, w - gx, h - gy);
      const named = w > LABEL_WIDTH && h > LABEL_HEIGHT;
      if (w > 2) {
        if (model.kind[i] & KIND.COPY || entry.pattern === "hatch") hatched.push(box);
        else if (entry.pattern === "dots") dotted.push(box);
      }
      if (named || (model.kind[i] & KIND.KEPT && w > 14 && h > 13)) big.push({ i, entry, box, named });
      return true;
    });
    pattern(chart, hatched, "hatch");
    pattern(chart, dotted, "dots");
    return { drawn, big };
  }

  function sampled(chart, samples) {
    const { g, model, view, at } = chart;
    const perStep = at.width / (view.x1 - view.x0);
    const columns = samples.length ? samples[0].length : 0;
    const hatched = [];
    const drawn = sweep(chart, (i, entry) => {
      if (model.x1[i] <= view.x0 || model.x0[i] >= view.x1) return false;
      const steps = samples[model.lane[i]];
      let a = Math.max(0, Math.floor((model.x0[i] - view.x0) * perStep));
      let b = Math.min(columns - 1, Math.floor((model.x1[i] - view.x0) * perStep));
      while (a <= b && steps[a] < model.x0[i]) a += 1;
      while (b >= a && steps[b] >= model.x1[i]) b -= 1;
      if (b < a) return false;
      const box = strip.rectBox(chart, i);
      if (!box) return false;
      const gap = box.h > 3 ? 1 : 0;
      Object.assign(box, { x: at.left + a, w: b - a + 1 });
      g.fillRect(box.x, box.y + gap, box.w, box.h - gap);
      if (b - a > 3 && (model.kind[i] & strip.KIND.COPY || entry.pattern === "hatch")) hatched.push(box);
      return true;
    });
    pattern(chart, hatched, "hatch");
    return { drawn, big: [] };
  }

  /* A lane's ground: the surface, a breath of the colour of the split's device, lines at the address ticks. */
  function background(chart, lane) {
    const { g, at, view, theme, model } = chart;
    const place = at.lanes[lane];
    g.fillStyle = theme.surface;
    g.fillRect(at.left, place.top, at.width, place.h);
    const faint = theme.dark ? 0.09 : 0.06;
    model.splits.forEach((split, k) => {
      if (split.x1 <= view.x0 || split.x0 >= view.x1) return;
      g.globalAlpha = k === chart.split ? 4 * faint : faint; // the selected one, under the rectangles: their hues stay
      const a = Math.max(at.left, strip.snap(chart, strip.X(chart, split.x0)));
      const b = Math.min(at.right, strip.snap(chart, strip.X(chart, split.x1)));
      g.fillStyle = theme.pick(model.devices[split.device]);
      g.fillRect(a, place.top, b - a, place.h);
    });
    g.globalAlpha = 1;
    g.fillStyle = theme.line;
    if (at.compact) return;
    for (const { y } of strip.addressTicks(chart, lane)) {
      g.fillRect(at.left, strip.snap(chart, strip.Y(chart, lane, y)), at.width, 1);
    }
  }

  /* A brush of stripes or dots, one tile for all that are painted with it. */
  strip.brush = function (chart, name, color, alpha) {
    const { g, dpr } = chart;
    const size = 6 * Math.max(1, Math.round(dpr));
    const tile = document.createElement("canvas");
    tile.width = tile.height = size;
    const t = tile.getContext("2d");
    t.strokeStyle = t.fillStyle = color;
    t.globalAlpha = alpha;
    if (name === "hatch") {
      t.lineWidth = size / 4;
      for (const shift of [-size, 0, size]) {
        t.beginPath();
        t.moveTo(shift - 1, size + 1);
        t.lineTo(shift + size + 1, -1);
        t.stroke();
      }
    } else {
      t.beginPath();
      t.arc(size / 2, size / 2, size / 5, 0, 7);
      t.fill();
    }
    const brush = g.createPattern(tile, "repeat");
    brush.setTransform(new DOMMatrix().scale(1 / Math.max(1, Math.round(dpr))));
    return brush;
  };

  /* For rectangles with a pattern: the ground on top of the fill. */
  function pattern(chart, boxes, name) {
    if (!boxes.length) return;
    const { g, theme } = chart;
    g.fillStyle = strip.brush(chart, name, theme.surface, 0.5);
    for (const { x, y, w, h } of boxes) g.fillRect(x, y + (h > 3 ? 1 : 0), w - (w > 3 ? 1 : 0), h - (h > 3 ? 1 : 0));
  }

  function holes(chart) {
    const { g, theme, model, geo } = chart;
    const { holes: table } = model;
    g.strokeStyle = theme.muted;
    g.globalAlpha = 0.55;
    g.setLineDash([3, 3]);
    for (let i = 0; i < table.n; i++) {
      // The free end of a chunk is not a hole: nothing lies behind it.
      if (table.y1[i] >= model.lanes[table.lane[i]].size) continue;
      const box = strip.box(chart, table.lane[i], table.x0[i], table.x1[i], geo.holes.y0[i], geo.holes.y1[i]);
      if (box && box.w > 4 && box.h > 4) g.strokeRect(box.x + 1.5, box.y + 2.5, box.w - 4, box.h - 4);
    }
    g.setLineDash([]);
    g.globalAlpha = 1;
  }

  function views(chart) {
    const { g, theme, model, color } = chart;
    g.setLineDash([1, 2]);
    for (let i = 0; i < model.views.n; i++) {
      const box = strip.viewBox(chart, i);
      g.strokeStyle = galloscope.format.ink(theme.pick(color.palette[color.of[model.id[model.views.rect[i]]]]));
      if (box && box.w > 4 && box.h > 4) g.strokeRect(box.x + 1.5, box.y + 2.5, box.w - 4, box.h - 4);
    }
    g.setLineDash([]);
  }

  /* In place: a line from the middle of the parent through the moment the memory changes its owner, below the names. A parent
   * without a width of its own, such as an input that is taken over at once, leaves a mark at the child's left edge. */
  function chains(chart) {
    const { g, theme, model } = chart;
    for (let i = 0; i < model.n; i++) {
      if (model.parent[i] < 0) continue;
      const from = strip.rectBox(chart, model.parent[i]);
      const to = strip.rectBox(chart, i);
      if (!to || to.h < 4 || (!from && model.x0[i] < chart.view.x0)) continue;
      const y = to.h > 44 ? to.y + to.h - 7 : to.y + to.h / 2;
      const [start, end] = from ? [from.x + from.w / 2, to.x + to.w / 2] : [to.x, to.x + Math.min(10, to.w / 2)];
      for (const [color, width] of [[theme.surface, 3], [theme.text, 1.25]]) {
        g.strokeStyle = g.fillStyle = color;
        g.lineWidth = width;
        g.beginPath();
        g.moveTo(start, y);
        g.lineTo(end, y);
        g.stroke();
        g.beginPath();
        g.arc(to.x, y, width === 3 ? 3 : 2, 0, 7);
        g.fill();
      }
    }
    g.lineWidth = 1;
  }

  /* The boundaries, through all lanes, in the colour of the device that begins; fainter the closer they stand. */
  function splitLines(chart) {
    const { g, at, view, theme, model } = chart;
    const { splits } = model;
    if (!at.lanes.length) return;
    const perStep = at.width / (view.x1 - view.x0);
    for (let k = 1; k < splits.length; k++) {
      const split = splits[k];
      if (split.x0 <= view.x0 || split.x0 >= view.x1) continue;
      const apart = Math.min(split.x1 - split.x0, split.x0 - splits[k - 1].x0) * perStep;
      const same = split.device === splits[k - 1].device;
      const alpha = Math.min(0.9, apart / 40) * (same ? 0.6 : 1);
      if (apart < 3) continue;
      const x = strip.snap(chart, strip.X(chart, split.x0));
      const fill = theme.pick(model.devices[split.device]);
      const column = (left, w, color, strength) => {
        g.fillStyle = color;
        g.globalAlpha = strength;
        if (apart > 24 && !at.compact) g.fillRect(left, at.lanes[0].head - 4, w, at.bottom - at.lanes[0].head + 4);
        else for (const place of at.lanes) g.fillRect(left, place.top, w, place.h);
      };
      if (apart > 24) column(x - 1, 3, theme.surface, 0.75);
      column(x, 1, fill, alpha);
    }
    g.globalAlpha = 1;
  }

  /* The capacity of the chunk, the bound of all plans where there is one, the highest byte ever used, and the step with the most
   * bytes alive. */
  function peak(chart, lane) {
    const { g, at, theme, view } = chart;
    const place = at.lanes[lane.index];
    const line = (address, color, dash) => {
      const y = strip.snap(chart, strip.Y(chart, lane.index, address)) - 0.5;
      if (y < place.top || y > place.top + place.h) return;
      g.strokeStyle = color;
      g.setLineDash(dash);
      g.beginPath();
      g.moveTo(at.left, y);
      g.lineTo(at.right, y);
      g.stroke();
      g.setLineDash([]);
    };
    if (lane.size !== lane.peak) line(lane.size, theme.muted, []);
    if (lane.bound) line(lane.bound, theme.good, []);
    if (lane.peak !== lane.bound) line(lane.peak, theme.peak, [6, 4]);
    if (lane.peak_step < view.x0 - 1 || lane.peak_step >= view.x1) return;
    const x = Math.min(at.right - 5, Math.max(at.left + 5, strip.X(chart, lane.peak_step + 0.5)));
    const tip = place.top + Math.min(7, place.h);
    g.fillStyle = theme.peak;
    g.beginPath();
    g.moveTo(x - 5, place.top - 1);
    g.lineTo(x + 5, place.top - 1);
    g.lineTo(x, tip);
    g.fill();
  }
})();
