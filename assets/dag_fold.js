"use strict";
/* A closed layer, or a run of equal ones: one box whose bar shows every op in execution order, layer by layer. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const dag = (galloscope.dag = galloscope.dag || {});
  const MOST_BARS = 56;
  const TEXT = 0.4; // zoom from which a box has words

  dag.foldTitle = (model, cell) => {
    const first = model.dag.layers[cell.layer], last = model.dag.layers[cell.last];
    if (cell.layer === cell.last) return first.title;
    return first.number >= 0 ? `layers ${first.number}–${last.number}` : `nodes ${first.start}–${last.end - 1}`;
  };

  /* The bar of each layer in the box: [layer, x, width]; many layers share one bar. */
  dag.foldBars = (cell) => {
    const count = cell.last - cell.layer + 1, shown = count > MOST_BARS ? 1 : count;
    const room = cell.w - 20, gap = shown > 24 ? 1 : 2, w = (room - gap * (shown - 1)) / shown;
    return Array.from({ length: shown }, (_, k) => [cell.layer + k, cell.x + 10 + k * (w + gap), w]);
  };

  /* Where its bars stand: top and height. From afar they fill the box. */
  dag.barRow = (c, cell) => (c.view.s >= TEXT ? [cell.y + cell.top + 25, 10] : [cell.y + cell.top + 8, cell.h - cell.top - 16]);

  dag.fold = (c, cell) => {
    const { g, model, theme, view: { s } } = c, layer = model.dag.layers[cell.layer];
    const top = cell.y + cell.top, h = cell.h - cell.top, stacked = Math.min(2, cell.last - cell.layer);
    g.strokeStyle = theme.line;
    g.lineWidth = Math.max(1, 0.8 / s);
    for (let k = stacked; k >= 0; k--) { // a run of layers looks like a stack of cards
      g.beginPath();
      g.roundRect(cell.x + 3 * k, top + 3 * k, cell.w, h, s > 0.2 ? 8 : 0);
      g.fillStyle = theme.surface;
      g.fill();
      g.stroke();
    }
    if (s >= TEXT) {
      dag.chevron(g, cell.x + 10, top + 8.5, false, theme.muted);
      g.font = `600 12px ${theme.sans}`;
      g.fillStyle = theme.text;
      const title = dag.foldTitle(model, cell);
      g.fillText(title, cell.x + 22, top + 17);
      const used = cell.x + 30 + g.measureText(title).width;
      g.font = `11px ${theme.sans}`;
      g.fillStyle = theme.muted;
      const count = cell.last - cell.layer + 1, nodes = galloscope.format.plural(layer.end - layer.start, "node");
      const end = cell.x + cell.w - 10 - g.measureText(nodes).width;
      g.fillText(nodes, end, top + 17);
      const shown = [`${count} identical`, `×${count}`].find((t) => g.measureText(t).width < end - used - 8);
      if (count > 1 && shown) g.fillText(shown, used, top + 17);
      if (layer.note) {
        g.fillStyle = theme.muted;
        dag.clipText(g, layer.note, cell.x + 10, top + h - 8, cell.w - 20);
      }
    }
    const [y, height] = dag.barRow(c, cell);
    for (const [k, x, w] of dag.foldBars(cell)) bar(c, model.dag.layers[k], x, y, w, height);
    const split = model.scene.splits[c.split];
    if (split && split.start >= cell.start && split.start < cell.end) { // where the selected split begins
      g.fillStyle = theme.text;
      g.fillRect(dag.barSpot(c, cell, split.start)[0] - 1, y - 3, 2, height + 6);
    }
    return 1;
  };

  function bar(c, layer, x, y, w, h) {
    const { g, model, color } = c, n = layer.end - layer.start;
    for (let a = layer.start; a < layer.end; ) {
      const of = color.of[model.nodes[a]];
      let b = a + 1;
      while (b < layer.end && color.of[model.nodes[b]] === of) b++;
      g.fillStyle = c.paints[of].hue;
      g.fillRect(x + (w * (a - layer.start)) / n, y, (w * (b - a)) / n, h);
      a = b;
    }
  }

  /* Where a node is inside the bar of its fold. */
  dag.barSpot = (c, cell, node) => {
    const k = c.model.layerOf(node), layer = c.model.dag.layers[k], bars = dag.foldBars(cell);
    const [, x, w] = bars[Math.min(k - cell.layer, bars.length - 1)];
    return [x + (w * (node - layer.start + 0.5)) / (layer.end - layer.start), cell.y + cell.top + 30];
  };
})();
