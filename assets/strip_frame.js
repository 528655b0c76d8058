/* The frame: which pixels belong to the ribbon, to each lane and its header, to the axes. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});
  const GUTTER = 90;
  const RIGHT = 12;
  const RIBBON = 22;
  const HEADER = 22;
  const AXIS = 24;
  const GAP = 6;
  const LEAST = 36;

  /* Lanes share the height by the cube root of their size, so that a small one can still be read. With more lanes than fit,
   * the headers move into the gutter and the lanes shrink together. */
  strip.frame = function (chart) {
    const { model, width, height } = chart;
    const top = model.splits.length ? RIBBON + 6 : 2;
    const n = model.lanes.length;
    const room = height - top - AXIS;
    const compact = n > 0 && room / n < HEADER + LEAST + GAP;
    const header = compact ? 0 : HEADER;
    const gap = compact ? 3 : GAP;
    const free = Math.max(0, room - n * (header + gap));
    const least = Math.min(LEAST, free / Math.max(1, n));
    const weights = model.lanes.map((lane) => Math.cbrt(lane.range));
    if (chart.solo >= 0) weights[chart.solo] += 3 * weights.reduce((a, b) => a + b, 0);
    let y = top;
    const lanes = share(weights, free, chart.solo >= 0 ? least / 2 : least).map((h) => {
      const place = { head: y, top: y + header, h: Math.max(1, Math.floor(h)) };
      y = place.top + place.h + gap;
      return place;
    });
    return {
      compact, header, lanes,
      left: GUTTER, right: width - RIGHT, width: Math.max(1, width - RIGHT - GUTTER),
      ribbon: model.splits.length ? { top: 2, h: RIBBON - 2 } : null,
      bottom: y - gap,
    };
  };

  /* Shares of `room`, none under `least`: those that would be are lifted, the others pay for it. */
  function share(weights, room, least) {
    let lifted = weights.map(() => false);
    for (;;) {
      const rest = room - least * lifted.filter(Boolean).length;
      const sum = weights.reduce((total, w, i) => total + (lifted[i] ? 0 : w), 0) || 1;
      const next = weights.map((w, i) => lifted[i] || (w / sum) * rest < least);
      if (next.every((up, i) => up === lifted[i])) return weights.map((w, i) => (lifted[i] ? least : (w / sum) * rest));
      lifted = next;
    }
  }

  /* What lies at a pixel: a part of the frame, and its lane where there is one. */
  strip.partAt = function (chart, x, y) {
    const { at } = chart;
    const across = x >= at.left && x <= at.right;
    if (at.ribbon && y < at.ribbon.top + at.ribbon.h + 2) return { part: across ? "ribbon" : "none", lane: -1 };
    const lane = at.lanes.findIndex((place) => y >= place.head && y < place.top + place.h);
    if (lane < 0) return { part: "none", lane: -1 };
    if (y < at.lanes[lane].top || x < at.left) return { part: "header", lane };
    return { part: across ? "lane" : "none", lane };
  };
})();
