"use strict";
/* What the timeline looks like. A lane's colour is its device's: computing is full, copies are hatched, waiting is a thin line, and a
 * host inside a call is an outline. Every second micro-batch is lighter. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const timeline = (galloscope.timeline = galloscope.timeline || {});
  const GUTTER = 132;
  const RIGHT = 12;
  const TOP = 8;
  const AXIS = 24;
  const GAP = 6;
  const HEIGHTS = { compute: 3, copy: 1.2, host: 1.6 };
  const HIGHEST = { compute: 150, copy: 48, host: 64 };
  const IDLE = 0.01;   // of the time: a lane that does less need not be high
  const LOW = 1.6;
  const BETWEEN = 0.25; // how full it is between two kernels of a measured split
  const MOST_ARROWS = 80;

  /* Which pixels belong to each lane; between two devices there is more room than between the lanes of one. */
  timeline.frame = function (chart) {
    const { lanes } = chart.model, room = Math.max(1, chart.height - TOP - AXIS);
    const gaps = lanes.map((lane, i) => (i && lanes[i - 1].device !== lane.device ? 2 * GAP : i ? 2 : 0));
    const weights = lanes.map((lane) => (lane.what === "compute" && lane.used < IDLE * chart.model.total ? LOW : HEIGHTS[lane.what])), sum = weights.reduce((a, b) => a + b, 0) || 1;
    const free = Math.max(lanes.length * 4, room - gaps.reduce((a, b) => a + b, 0));
    let y = TOP;
    const places = lanes.map((lane, i) => {
      y += gaps[i];
      const h = Math.max(4, Math.min(HIGHEST[lane.what], (free * weights[i]) / sum));
      const place = { top: y, h };
      y += h;
      return place;
    });
    return { lanes: places, left: GUTTER, right: chart.width - RIGHT, width: Math.max(1, chart.width - RIGHT - GUTTER), bottom: y };
  };

  timeline.X = (chart, time) => chart.at.left + ((time - chart.view.x0) / (chart.view.x1 - chart.view.x0)) * chart.at.width;
  timeline.T = (chart, px) => chart.view.x0 + ((px - chart.at.left) / chart.at.width) * (chart.view.x1 - chart.view.x0);

  timeline.draw = function (chart) {
    const { context: c, model, at, theme } = chart;
    c.clearRect(0, 0, chart.width, chart.height);
    if (!model) return 0;
    axis(chart);
    labels(chart);
    c.save();
    c.beginPath();
    c.rect(at.left, 0, at.width, chart.height);
    c.clip();
    let drawn = 0;
    for (const lane of model.lanes) {
      const place = at.lanes[lane.index];
      c.fillStyle = theme.line;
      c.globalAlpha = 0.35;
      c.fillRect(at.left, place.top, at.width, place.h);
      c.globalAlpha = 1;
      drawn += spansOf(chart, lane, place);
    }
    arrows(chart);
    c.restore();
    return drawn;
  };

  function axis(chart) {
    const { context: c, at, theme, view } = chart;
    c.font = `11px ${theme.sans}`;
    c.textBaseline = "middle";
    c.textAlign = "center";
    for (const tick of timeline.ticks(view.x0, view.x1, at.width)) {
      const x = Math.round(timeline.X(chart, tick.at)) + 0.5;
      c.strokeStyle = theme.line;
      c.beginPath();
      c.moveTo(x, TOP);
      c.lineTo(x, at.bottom + 4);
      c.stroke();
      c.fillStyle = theme.muted;
      const half = c.measureText(tick.text).width / 2;
      c.fillText(tick.text, Math.min(Math.max(x, at.left + half), chart.width - half - 2), at.bottom + 15);
    }
  }

  function labels(chart) {
    const { context: c, model, at, theme } = chart;
    c.textAlign = "left";
    c.textBaseline = "middle";
    model.lanes.forEach((lane, i) => {
      const { top, h } = at.lanes[i], middle = top + h / 2, device = timeline.device(model, lane.device);
      c.fillStyle = theme.pick(device);
      c.fillRect(8, top, 3, h);
      if (h < 10) return;
      const own = lane.what !== "copy", two = own && lane.what !== "host" && h >= 30;
      c.font = `${own ? "600 " : ""}12px ${theme.sans}`;
      c.fillStyle = own ? theme.text : theme.muted;
      c.fillText(clipped(c, own ? device.name : "copy", GUTTER - (two ? 26 : 84)), 18, two ? middle - 8 : middle);
      c.font = `11px ${theme.sans}`;
      c.fillStyle = theme.muted;
      if (two) c.fillText(lane.busy, 18, middle + 8);
      else {
        c.textAlign = "right";
        c.fillText(lane.busy, GUTTER - 10, middle);
        c.textAlign = "left";
      }
    });
  }

  function clipped(c, text, room) {
    let shown = text;
    while (shown.length > 3 && c.measureText(shown).width > room) shown = galloscope.format.tail(text, shown.length - 1);
    return shown;
  }

  /* The spans of one lane that are in view. Of those thinner than a pixel one per column is drawn. */
  function spansOf(chart, lane, place) {
    const { model, view } = chart, { spans } = model;
    let drawn = 0, column = -1, shown = -1;
    for (let k = timeline.firstAfter(model, lane.index, view.x0); k < lane.spans.length; k++) {
      const i = lane.spans[k];
      if (spans.start[i] >= view.x1) break;
      const x0 = timeline.X(chart, spans.start[i]), x1 = timeline.X(chart, spans.end[i]), px = Math.floor(x0);
      const kind = spans.kind[i];
      if (x1 - x0 < 1 && px === column && kind >= shown) continue;
      if (spans.end[i] === spans.start[i]) continue;
      column = px;
      shown = kind;
      span(chart, lane, place, i, Math.max(chart.at.left - 2, x0), Math.min(chart.at.right + 2, x1));
      drawn += 1;
    }
    return drawn;
  }

  function span(chart, lane, place, i, x0, x1) {
    const { context: c, model, theme } = chart, { spans } = model;
    const w = Math.max(1, x1 - x0 - (x1 - x0 > 4 ? 1 : 0)), hue = theme.pick(timeline.device(model, spans.kind[i] === timeline.WAIT || spans.kind[i] === timeline.HELD ? spans.device[i] : lane.device));
    c.globalAlpha = chart.showPath && !model.path.has(i) ? 0.22 : 1;
    if (spans.kind[i] === timeline.COMPUTE) compute(chart, place, i, x0, w, hue);
    else if (spans.kind[i] === timeline.COPY) copy(chart, place, i, x0, w, hue);
    else wait(chart, place, i, x0, w, hue);
    c.globalAlpha = 1;
  }

  const shade = (chart, batch) => (batch % 2 ? 0.72 : 1);

  function compute(chart, place, i, x, w, hue) {
    const { context: c, model, theme } = chart, { spans } = model, alpha = c.globalAlpha;
    c.globalAlpha = alpha * (model.scene.measured ? BETWEEN : shade(chart, spans.batch[i]));
    c.fillStyle = hue;
    c.fillRect(x, place.top, w, place.h);
    c.globalAlpha = alpha;
    if (model.scene.measured) kernels(chart, place, i, hue);
    const perNs = chart.at.width / (chart.view.x1 - chart.view.x0), each = ((spans.end[i] - spans.start[i]) * perNs) / Math.max(1, spans.count[i]);
    if (each > 2.5 && place.h >= 10) nodesOf(chart, place, i, hue);
    else if (w > 34 && place.h >= 12) {
      const batch = model.scene.batches > 1 ? `#${spans.batch[i]}` : "", words = [`split ${spans.split[i]}${batch ? ` · ${batch}` : ""}`, `${spans.split[i]}${batch ? ` ${batch}` : ""}`, batch];
      c.font = `11px ${theme.mono}`;
      const fits = words.find((one) => c.measureText(one).width <= w - 9) || "";
      const pale = alpha < 1 || (!theme.dark && spans.batch[i] % 2);
      c.globalAlpha = Math.max(alpha, 0.6);
      label(chart, fits, x, place, w, pale ? theme.text : galloscope.format.ink(hue));
    }
  }

  /* Of a measured split only its kernels are full; between them weights are filled and values looked at. */
  function kernels(chart, place, i, hue) {
    const { context: c, model, view } = chart, { spans, nodes } = model, origin = spans.start[i], last = spans.first[i] + spans.count[i];
    c.fillStyle = hue;
    let from = NaN, to = NaN;
    const paint = () => { if (to > from) c.fillRect(from, place.top, to - from, place.h); };
    for (let row = spans.first[i]; row < last && origin + nodes.offset[row] < view.x1; row++) {
      const x0 = timeline.X(chart, origin + nodes.offset[row]), x1 = timeline.X(chart, origin + nodes.offset[row] + nodes.ns[row]);
      if (x1 < chart.at.left) continue;
      if (x0 - to < 0.25) { to = Math.max(to, x1); continue; } // so near that it is one
      paint();
      [from, to] = [Math.max(x0, chart.at.left - 2), Math.min(x1, chart.at.right + 2)];
    }
    paint();
  }

  /* Zoomed in far enough a split is its nodes. */
  function nodesOf(chart, place, i, hue) {
    const { context: c, model, view, theme } = chart, { spans, nodes } = model, alpha = c.globalAlpha;
    const origin = spans.start[i], last = spans.first[i] + spans.count[i];
    let row = Math.max(spans.first[i], timeline.rowAt(model, i, Math.max(view.x0, origin)));
    for (; row < last && origin + nodes.offset[row] < view.x1; row++) {
      if (!nodes.ns[row]) continue;
      const x0 = timeline.X(chart, origin + nodes.offset[row]), w = timeline.X(chart, origin + nodes.offset[row] + nodes.ns[row]) - x0;
      if (w < 1) continue;
      c.fillStyle = theme.surface;
      c.fillRect(x0 + w - 0.5, place.top, 0.75, place.h);
      const left = Math.max(x0, chart.at.left), seen = Math.min(x0 + w, chart.at.right) - left;
      if (seen > 56 && place.h >= 12) label(chart, chart.name(nodes.tensor[row]), left, place, seen, galloscope.format.ink(hue));
    }
    c.globalAlpha = alpha;
  }

  function copy(chart, place, i, x, w, hue) {
    const { context: c, model, theme } = chart, { spans } = model;
    c.fillStyle = theme.surface;
    c.fillRect(x, place.top, w, place.h);
    const alpha = c.globalAlpha;
    c.globalAlpha = alpha * (spans.batch[i] % 2 ? 0.6 : 0.85);
    c.fillStyle = hatch(chart, hue);
    c.fillRect(x, place.top, w, place.h);
    c.globalAlpha = alpha;
    c.fillStyle = hue;
    c.fillRect(x, place.top, Math.min(w, 1), place.h);
    c.fillRect(x, place.top + place.h - 2, w, 2);
    const tensor = spans.source[i] >= 0 ? spans.source[i] : spans.tensor[i];
    if (w > 48 && place.h >= 12 && tensor >= 0) {
      const words = clipped(c, chart.name(tensor), w - 8);
      c.font = `11px ${theme.mono}`;
      c.fillStyle = theme.surface;
      c.fillRect(x + 2, place.top + 1, Math.min(w - 4, c.measureText(words).width + 6), place.h - 3);
      label(chart, words, x, place, w, theme.text);
    }
  }

  /* A line in the colour of who is waited for; a host inside a call is a box around it. */
  function wait(chart, place, i, x, w, hue) {
    const { context: c, model, theme } = chart, { spans } = model, middle = Math.round(place.top + place.h / 2), held = spans.kind[i] === timeline.HELD;
    const alpha = c.globalAlpha;
    c.globalAlpha = alpha * (held ? 0.3 : 0.14);
    c.fillStyle = hue;
    c.fillRect(x, place.top, w, place.h);
    c.globalAlpha = alpha;
    c.fillStyle = hue;
    if (!held) c.fillRect(x, middle - 1, w, 2);
    if (w > 3) c.fillRect(x + w - 1.5, place.top, 1.5, place.h);
    if (w > 92 && place.h >= 24) {
      const words = held ? heldText(model, i) : `waits for ${timeline.device(model, spans.device[i]).name}`;
      c.font = `11px ${theme.sans}`;
      c.fillStyle = theme.text;
      c.textAlign = "left";
      c.textBaseline = "middle";
      c.fillText(clipped(c, words, w - 12), x + 6, held ? middle : middle - 10);
    }
  }

  function heldText(model, i) {
    const { spans } = model, cause = spans.cause[i];
    return spans.kind[cause] === timeline.COPY ? "copies" : `computes split ${spans.split[i]}`;
  }

  const patterns = new Map();
  function hatch(chart, hue) {
    const key = `${hue}${chart.ratio}`;
    if (!patterns.has(key)) {
      const tile = document.createElement("canvas"), size = 6 * chart.ratio;
      tile.width = tile.height = size;
      const c = tile.getContext("2d");
      c.strokeStyle = hue;
      c.lineWidth = 2.2 * chart.ratio;
      for (const shift of [-size, 0, size]) {
        c.beginPath();
        c.moveTo(shift - 1, size + 1);
        c.lineTo(shift + size + 1, -1);
        c.stroke();
      }
      const made = chart.context.createPattern(tile, "repeat");
      made.setTransform(new DOMMatrix().scale(1 / chart.ratio));
      patterns.set(key, made);
    }
    return patterns.get(key);
  }

  function label(chart, words, x, place, w, color) {
    const { context: c, theme } = chart;
    c.font = `11px ${theme.mono}`;
    c.fillStyle = color;
    c.textAlign = "left";
    c.textBaseline = "middle";
    const left = Math.max(x, chart.at.left) + 5;
    c.fillText(clipped(c, words, w - 9), left, place.top + place.h / 2);
  }

  /* From the end of what is waited for to the end of the wait, where there are few enough to be read. */
  function arrows(chart) {
    const { model, view } = chart, { spans } = model, found = [];
    for (const lane of model.lanes) {
      for (let k = timeline.firstAfter(model, lane.index, view.x0); k < lane.spans.length; k++) {
        const i = lane.spans[k];
        if (spans.start[i] >= view.x1) break;
        if (spans.kind[i] === timeline.WAIT && timeline.X(chart, spans.end[i]) - timeline.X(chart, spans.start[i]) > 6) found.push(i);
        if (found.length > MOST_ARROWS) return;
      }
    }
    for (const i of found) timeline.arrow(chart, chart.context, i, 0.55);
  }

  timeline.arrow = function (chart, c, i, alpha) {
    const { model, at, theme } = chart, { spans } = model, cause = spans.cause[i];
    if (cause < 0 || spans.lane[cause] === spans.lane[i]) return;
    const from = at.lanes[spans.lane[cause]], to = at.lanes[spans.lane[i]], x = Math.round(timeline.X(chart, spans.end[i]));
    const down = to.top > from.top, y0 = down ? from.top + from.h : from.top, y1 = down ? to.top : to.top + to.h;
    c.globalAlpha = alpha;
    c.strokeStyle = c.fillStyle = theme.muted;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(x - 0.5, y0);
    c.lineTo(x - 0.5, y1);
    c.stroke();
    c.beginPath();
    c.moveTo(x - 0.5, y1);
    c.lineTo(x - 4, y1 + (down ? -5 : 5));
    c.lineTo(x + 3, y1 + (down ? -5 : 5));
    c.fill();
    c.globalAlpha = 1;
  };

  /* What changes with the pointer, on its own canvas: hover, selection, the arrow of what is pointed at. */
  timeline.drawOverlay = function (chart) {
    const { overlay: c, model, theme } = chart;
    c.clearRect(0, 0, chart.width, chart.height);
    if (!model) return;
    c.save();
    c.beginPath();
    c.rect(chart.at.left, 0, chart.at.width, chart.height);
    c.clip();
    for (const [i, row] of timeline.selectedBoxes(chart)) box(chart, c, i, row, theme.text, 2);
    const { hit } = chart;
    if (hit) {
      box(chart, c, hit.span, hit.row, theme.accent, 1.5);
      timeline.arrow(chart, c, hit.span, 1);
    }
    c.restore();
  };

  /* Where what is selected lies: a tensor's node in every micro-batch and its copies, or a split. */
  timeline.selectedBoxes = function (chart) {
    const { model, selected } = chart, { spans } = model, found = [];
    if (selected.tensor < 0 && selected.split < 0) return found;
    const row = model.rowOf.get(selected.tensor) ?? -1;
    for (let i = 0; i < spans.n; i++) {
      const kind = spans.kind[i];
      if (kind === timeline.COMPUTE && row >= spans.first[i] && row < spans.first[i] + spans.count[i]) found.push([i, row]);
      else if (kind === timeline.COPY && selected.tensor >= 0 && (spans.tensor[i] === selected.tensor || spans.source[i] === selected.tensor)) found.push([i, -1]);
      else if (kind === timeline.COMPUTE && selected.split === spans.split[i]) found.push([i, -1]);
    }
    return found;
  };

  function box(chart, c, i, row, color, width) {
    const [a, b] = timeline.extent(chart.model, i, row), place = chart.at.lanes[chart.model.spans.lane[i]];
    const x0 = timeline.X(chart, a), x1 = Math.max(x0 + 2, timeline.X(chart, b));
    if (x1 < chart.at.left || x0 > chart.at.right) return;
    c.strokeStyle = color;
    c.lineWidth = width;
    c.strokeRect(x0 - 0.5, place.top - 0.5, x1 - x0 + 1, place.h + 1);
  }

  /* When a span, or one node of it, begins and ends. */
  timeline.extent = function (model, i, row) {
    const { spans, nodes } = model;
    if (row < 0) return [spans.start[i], spans.end[i]];
    const start = spans.start[i] + nodes.offset[row];
    return [start, start + nodes.ns[row]];
  };
})();
