/* What must not be: two tensors that are needed at the same time share bytes. Drawn over the rectangles, and a card for it. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});

  strip.overlapBox = function (chart, i) {
    const { overlaps } = chart.model;
    const { y0, y1 } = chart.geo.overlaps;
    return strip.box(chart, overlaps.lane[i], overlaps.x0[i], overlaps.x1[i], y0[i], y1[i]);
  };

  strip.drawOverlaps = function (chart) {
    const { g, theme, model } = chart;
    if (!model.overlaps.n) return;
    const brush = strip.brush(chart, "hatch", theme.peak, 0.9);
    for (let i = 0; i < model.overlaps.n; i++) {
      const box = strip.overlapBox(chart, i);
      if (!box) continue;
      g.fillStyle = theme.surface; // washes the fill out, so that red reads as red on any hue
      g.globalAlpha = 0.6;
      g.fillRect(box.x, box.y, box.w, box.h);
      g.globalAlpha = 1;
      g.fillStyle = brush;
      g.fillRect(box.x, box.y, box.w, box.h);
      g.strokeStyle = theme.peak;
      g.lineWidth = 2;
      if (box.w > 3 && box.h > 3) g.strokeRect(box.x + 1, box.y + 1, box.w - 2, box.h - 2);
      else {
        g.fillStyle = theme.peak;
        g.fillRect(box.x, box.y, Math.max(2, box.w), Math.max(2, box.h));
      }
      g.lineWidth = 1;
    }
  };

  /* The overlap under a pixel, -1 for none. */
  strip.overlapAt = function (chart, px, py, lane) {
    const { overlaps } = chart.model;
    for (let i = 0; i < overlaps.n; i++) {
      const box = overlaps.lane[i] === lane ? strip.overlapBox(chart, i) : null;
      if (box && px >= box.x - 1 && px <= box.x + box.w + 1 && py >= box.y - 1 && py <= box.y + box.h + 1) return i;
    }
    return -1;
  };

  /* How much of a rectangle's width, from its left, is neither hidden nor hatched by an overlap. */
  strip.clearWidth = function (chart, rect, box) {
    const { overlaps, id } = chart.model;
    let clear = box.w;
    for (let i = 0; i < overlaps.n; i++) {
      if (overlaps.other[i] !== id[rect]) continue;
      const over = strip.overlapBox(chart, i);
      if (over && over.y < box.y + box.h && over.y + over.h > box.y) clear = Math.min(clear, over.x - box.x);
    }
    return clear;
  };

  strip.overlapCard = function (chart, i) {
    const { model, theme } = chart;
    const { overlaps, names, rectOf } = model;
    const { bytes, hex, count } = galloscope.format;
    const [tensor, other] = [overlaps.tensor[i], overlaps.other[i]];
    const range = (id) => `${hex(model.y0[rectOf[id]])} – ${hex(model.y1[rectOf[id]])}`;
    return {
      title: `${names[tensor]} overwrites ${names[other]}`,
      note: `still needed until step ${count(model.x1[rectOf[other]] - 1)}`,
      swatch: theme.peak,
      rows: [
        ["shared", `${bytes(overlaps.y1[i] - overlaps.y0[i])} at ${hex(overlaps.y0[i])}`, "gs-mono"],
        ["strikes at", `step ${count(overlaps.x0[i])}`],
        [names[tensor], range(tensor), "gs-mono"],
        [names[other], range(other), "gs-mono"],
      ],
    };
  };
})();
