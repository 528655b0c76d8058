/* The overlay canvas: hover, selection with its neighbours, the live set of a step, the selected split, cursor and box.
 * Nothing here touches the base canvas, so hovering costs the same at 50 and at 50,000 rectangles. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});

  strip.drawOverlay = function (chart) {
    const { o, dpr, model, theme } = chart;
    o.setTransform(dpr, 0, 0, dpr, 0, 0);
    o.clearRect(0, 0, chart.width, chart.height);
    if (!model || !model.n) return;
    if (chart.selected >= 0) selection(chart);
    else if (chart.liveStep >= 0) liveSet(chart);
    if (chart.split >= 0) splitBand(chart);
    if (chart.liveStep >= 0) stepLine(chart, chart.liveStep);
    if (chart.hover >= 0) outline(chart, strip.rectBox(chart, chart.hover), theme.text, 1.5);
    if (chart.hoverSplit >= 0) splitOutline(chart, chart.hoverSplit, theme.text, 1);
    if (chart.cursor) cursor(chart);
    if (chart.rubber) rubber(chart);
  };

  /* Everything but the boxes steps back; the boxes are holes through which the base canvas shows. */
  function dim(chart, boxes) {
    const { o, at, theme } = chart;
    o.fillStyle = theme.surface;
    o.globalAlpha = theme.dark ? 0.55 : 0.5;
    for (const place of at.lanes) o.fillRect(at.left, place.top, at.width, place.h);
    o.globalAlpha = 1;
    for (const box of boxes) if (box) o.clearRect(box.x, box.y, box.w, box.h);
  }

  function selection(chart) {
    const { theme, model, selected } = chart;
    const own = model.rectOf[selected];
    const { producers, consumers, steps } = chart.relatives;
    const near = [...producers, ...consumers].map((i) => strip.rectBox(chart, i));
    const view = model.viewOf[selected];
    const area = own >= 0 ? strip.rectBox(chart, own) : view >= 0 ? strip.viewBox(chart, view) : null;
    dim(chart, [...near, area]);
    for (const i of producers) outline(chart, strip.rectBox(chart, i), theme.accent, 1.25);
    for (const i of consumers) outline(chart, strip.rectBox(chart, i), theme.accent, 1.25, [3, 2]);
    if (area) outline(chart, area, theme.text, 2, view >= 0 && own < 0 ? [2, 2] : []);
    if (area && own >= 0) readMarks(chart, own, area, steps);
    if (area) return;
    if (model.stepOf[selected] >= 0) stepLine(chart, model.stepOf[selected]);
    else for (const step of steps) stepLine(chart, step);
  }

  /* A tick under the selection at every step that reads it: they are what keeps it alive. */
  function readMarks(chart, own, area, steps) {
    const { o, theme, view, at, model } = chart;
    if (area.w < 6) return;
    const place = at.lanes[model.lane[own]];
    const y = Math.min(area.y + area.h + 1, place.top + place.h - 6);
    o.fillStyle = theme.text;
    for (const step of steps) {
      if (step < view.x0 || step >= view.x1) continue;
      const x = strip.X(chart, step + 0.5);
      o.beginPath();
      o.moveTo(x - 3.5, y + 6);
      o.lineTo(x + 3.5, y + 6);
      o.lineTo(x, y);
      o.fill();
    }
  }

  function outline(chart, box, color, width, dash) {
    if (!box) return;
    const { o, theme } = chart;
    const x = box.x - 0.5;
    const y = box.y - 0.5;
    const w = Math.max(3, box.w) + 1;
    const h = Math.max(3, box.h) + 1;
    // A halo of the ground keeps the outline visible on a fill of its own colour.
    o.strokeStyle = theme.surface;
    o.lineWidth = width + 2;
    o.strokeRect(x, y, w, h);
    o.strokeStyle = color;
    o.lineWidth = width;
    o.setLineDash(dash || []);
    o.strokeRect(x, y, w, h);
    o.setLineDash([]);
    o.lineWidth = 1;
  }

  function liveSet(chart) {
    const { model, liveStep } = chart;
    const boxes = [];
    for (let i = 0; i < model.n; i++) {
      if (model.x0[i] <= liveStep && liveStep < model.x1[i]) boxes.push(strip.rectBox(chart, i));
    }
    dim(chart, boxes);
  }

  function stepLine(chart, step) {
    const { o, at, view, theme } = chart;
    if (step < view.x0 - 1 || step >= view.x1 || !at.lanes.length) return;
    const a = strip.X(chart, step);
    const b = strip.X(chart, step + 1);
    o.fillStyle = theme.accent;
    o.globalAlpha = 0.18;
    const left = Math.max(a, at.left);
    const [top, height] = [at.lanes[0].head, at.bottom - at.lanes[0].head];
    if (b - a > 3) o.fillRect(left, top, Math.min(b, at.right) - left, height);
    o.globalAlpha = 1;
    if (b - a > 6) return;
    const x = strip.snap(chart, (a + b) / 2);
    if (x >= at.left && x <= at.right) o.fillRect(x - 0.5, top, 1, height);
  }

  function splitEnds(chart, k) {
    const { at, view, model } = chart;
    const split = model.splits[k];
    if (split.x1 <= view.x0 || split.x0 >= view.x1) return null;
    const a = Math.max(at.left, strip.X(chart, split.x0));
    const b = Math.min(at.right, strip.X(chart, split.x1));
    return [strip.snap(chart, a), Math.max(2, strip.snap(chart, b) - strip.snap(chart, a)), split];
  }

  function splitBand(chart) {
    const ends = splitEnds(chart, chart.split);
    if (!ends) return;
    const { o, at, theme, model } = chart;
    const [x, w, split] = ends;
    const { top } = at.ribbon;
    // Edges with short feet, like a bracket; the band itself lies under the rectangles, in the base canvas.
    for (const [color, wide] of [[theme.surface, 4], [theme.pick(model.devices[split.device]), 2]]) {
      o.fillStyle = color;
      for (const [edge, foot] of [[x, 1], [x + w, -1]]) {
        o.fillRect(edge - wide / 2, top, wide, at.lanes[0].head - top);
        for (const place of at.lanes) o.fillRect(edge - wide / 2, place.top, wide, place.h); // not through the headers
        const length = Math.min(7, w / 2);
        o.fillRect(foot > 0 ? edge : edge - length, at.bottom - wide / 2, length, wide);
      }
    }
    splitOutline(chart, chart.split, theme.text, 2);
  }

  function splitOutline(chart, k, color, width) {
    const ends = chart.at.ribbon && splitEnds(chart, k);
    if (!ends) return;
    const { o, at } = chart;
    o.strokeStyle = color;
    o.lineWidth = width;
    o.strokeRect(ends[0] + width / 2, at.ribbon.top + width / 2, Math.max(1, ends[1] - width), at.ribbon.h - width);
    o.lineWidth = 1;
  }

  /* A hairline at the pointer, its step on the axis and its address in the gutter. */
  function cursor(chart) {
    const { o, at, theme } = chart;
    const { x, y, lane } = chart.cursor;
    o.fillStyle = theme.muted;
    o.globalAlpha = 0.5;
    o.fillRect(Math.round(x), at.lanes[0].top, 1, at.bottom - at.lanes[0].top);
    o.globalAlpha = 1;
    const shown = chart.samples && lane >= 0 ? chart.samples[lane][Math.floor(x - at.left)] : undefined;
    const step = shown === undefined ? Math.min(chart.model.nSteps - 1, Math.floor(strip.step(chart, x))) : shown;
    tag(chart, galloscope.format.count(step), x, at.bottom + 13, "center");
    if (lane < 0 || at.compact) return;
    tag(chart, galloscope.format.hex(Math.max(0, strip.address(chart, lane, y))), at.left - 2, y, "right");
  }

  function tag(chart, text, x, y, align) {
    const { o, theme, at } = chart;
    o.font = `11px ${theme.mono}`;
    const w = o.measureText(text).width + 8;
    let left = align === "center" ? x - w / 2 : x - w;
    left = Math.max(0, Math.min(left, at.right - w + 8));
    o.fillStyle = theme.text;
    o.fillRect(left, y - 8, w, 16);
    o.fillStyle = theme.surface;
    o.textBaseline = "middle";
    o.textAlign = "left";
    o.fillText(text, left + 4, y + 0.5);
  }

  function rubber(chart) {
    const { o, theme } = chart;
    const { x, y, w, h } = chart.rubber;
    o.fillStyle = o.strokeStyle = theme.accent;
    o.globalAlpha = 0.14;
    o.fillRect(x, y, w, h);
    o.globalAlpha = 1;
    o.strokeRect(x + 0.5, y + 0.5, w, h);
  }
})();
