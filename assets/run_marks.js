"use strict";
/* Values that are no numbers are marked whatever the colours mean: a red frame in both pictures, with a word where there is
 * room. The pictures call these; a report, which was never run, has none of it. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const dag = (galloscope.dag = galloscope.dag || {});
  const strip = (galloscope.strip = galloscope.strip || {});
  const WORD = "NaN";

  /* A red plate with the word, its top right corner at a point. */
  function plate(g, theme, x, y, size) {
    g.font = `600 ${size}px ${theme.sans}`;
    const wide = g.measureText(WORD).width + size * 0.7, tall = size * 1.35;
    g.fillStyle = theme.peak;
    g.beginPath();
    g.roundRect(x - wide, y, wide, tall, size * 0.25);
    g.fill();
    g.fillStyle = galloscope.format.ink(theme.peak);
    g.fillText(WORD, x - wide + size * 0.35, y + size * 1.02);
  }

  /* Nodes in open layers get a frame, those in closed ones a tick in the layer's bar. */
  dag.marked = (c, cells) => {
    if (!c.wrong?.size) return;
    const { g, model, theme, view: { s } } = c;
    g.strokeStyle = theme.peak;
    for (const cell of cells) {
      for (let node = cell.start; node < cell.end; node++) {
        if (!c.wrong.has(model.nodes[node])) continue;
        if (!cell.kind) {
          const [x] = dag.barSpot(c, cell, node), [y, h] = dag.barRow(c, cell);
          g.fillStyle = theme.peak;
          g.fillRect(x - 1.5, y - 3, 3, h + 6);
          continue;
        }
        const x = cell.x + cell.kind.x[node - cell.start], y = cell.y + cell.kind.y[node - cell.start], [w, h] = model.sizeOf(node);
        g.lineWidth = Math.max(2.5, 2 / s);
        g.beginPath();
        g.roundRect(x - w / 2, y - h / 2, w, h, 5);
        g.stroke();
        if (s > 0.27) plate(g, theme, x + w / 2 + 2, y - h / 2 - 7, Math.min(16, Math.max(10, 8 / s)));
      }
    }
  };

  strip.marked = (chart) => {
    if (!chart.wrong?.size) return;
    const { g, theme, model } = chart;
    g.strokeStyle = theme.peak;
    g.lineWidth = 2;
    for (let i = 0; i < model.n; i++) {
      if (!chart.wrong.has(model.id[i])) continue;
      const box = strip.rectBox(chart, i);
      if (!box) continue;
      if (box.w < 4 || box.h < 4) { g.fillStyle = theme.peak; g.fillRect(box.x, box.y, Math.max(2, box.w), Math.max(2, box.h)); continue; }
      g.strokeRect(box.x + 1, box.y + 1, box.w - 2, box.h - 2);
      if (box.w > 40 && box.h > 20) plate(g, theme, box.x + box.w - 2, box.y + 2, 10);
    }
    g.lineWidth = 1;
  };
})();
