"use strict";
/* What lies above the base picture: hover and selection, drawn on their own canvas; and what is under the pointer. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const dag = (galloscope.dag = galloscope.dag || {});
  const NAMES = 0.27, TEXT = 0.62;

  /* What is at a point of the host: {type, id, ...}; type is node, tag, copy, split, head, frame, fold or none. */
  dag.pick = (c, px, py) => {
    const { s } = c.view, x = (px - c.view.x) / s, y = (py - c.view.y) / s, { model, plan } = c;
    const within = (a, b, w, h) => x >= a && x <= a + w && y >= b && y <= b + h;
    for (const chip of c.copyChips) if (within(chip.x, chip.y, chip.w, chip.h)) return { type: "copy", id: chip.id };
    for (const cell of plan.cells) {
      const left = cell.frame ? cell.frame.x : cell.x, right = cell.frame ? cell.frame.right : cell.x + cell.w;
      if (x < left || x > right || y < cell.y - 4 || y > cell.y + cell.h) continue;
      if (!cell.kind) {
        if (y < cell.y + cell.top) return cell.top ? { type: "split", id: -1, split: model.split[cell.start] } : { type: "none", id: -1 };
        const bar = dag.foldBars(cell).find(([, bx, w]) => x >= bx && x <= bx + w + 2);
        const [by, bh] = dag.barRow(c, cell);
        return { type: "fold", id: -1, cell, bar: Boolean(bar) && within(cell.x, by - 4, cell.w, bh + 8),
          layer: bar ? bar[0] : x < cell.x + cell.w / 2 ? cell.layer : cell.last };
      }
      for (let k = 0; k < cell.kind.x.length; k++) {
        const node = cell.start + k, [w, h] = model.sizeOf(node), mx = cell.x + cell.kind.x[k], my = cell.y + cell.kind.y[k];
        if (!within(mx - w / 2, my - h / 2, w, h)) continue;
        const tags = s >= TEXT ? (model.tagsAt.get(node) || []).slice(0, 3) : [];
        const tag = tags.find((_, t) => y >= my + model.tagBox(node, t)[1] && y < my + model.tagBox(node, t)[1] + model.dag.tag);
        return { type: tag === undefined ? "node" : "tag", id: tag ?? model.nodes[node], cell };
      }
      const cut = dag.cutsOf(c, cell).find((o) => y > o.y - 5 / s && y < o.y + Math.max(18, 5 / s));
      if (cut) return { type: "split", id: -1, split: cut.split, cell };
    }
    for (const f of plan.frames) if (within(f.x, f.y, f.right - f.x, f.header)) return { type: "head", id: -1, layer: f.layer };
    for (const f of plan.frames) if (within(f.x, f.y, f.right - f.x, f.bottom - f.y)) return { type: "frame", id: -1, layer: f.layer };
    return { type: "none", id: -1 };
  };

  /* Where a tensor is drawn, in drawing units: {x, y, cell, node, w, h}, or null. */
  dag.spot = (c, id) => {
    const chip = c.copyChips.find((o) => o.id === id);
    if (chip) return { x: chip.x + chip.w / 2, y: chip.y + chip.h / 2, w: chip.w, h: chip.h, cell: null };
    const node = c.model.anchors(id)[0];
    if (node === undefined) return null;
    const cell = c.plan.cellOfNode(node);
    if (!cell) return null;
    if (!cell.kind) { const [x, y] = dag.barSpot(c, cell, node); return { x, y, w: 4, h: 14, cell, node }; }
    const x = cell.x + cell.kind.x[node - cell.start], y = cell.y + cell.kind.y[node - cell.start];
    const k = (c.model.tagsAt.get(node) || []).slice(0, 3).indexOf(id);
    if (k >= 0) {
      const [left, top, w, h] = c.model.tagBox(node, k);
      return { x: x + left + w / 2, y: y + top + h / 2, w, h, cell, node, tag: true };
    }
    const [w, h] = c.model.sizeOf(node);
    return { x, y, w, h, cell, node };
  };

  /* All of the way from one op to another that is drawn as lines. */
  function way(c, path, from, to) {
    const { model, plan } = c, a = plan.cellOfNode(from), b = plan.cellOfNode(to);
    const part = (cell, source, target) => {
      const line = cell.kind.lines.find((l) => l[0] === source && l[1] === target);
      if (!line) return;
      const curve = new Path2D();
      dag.trace(curve, cell.kind, line, c.heightIn(cell));
      path.addPath(curve, new DOMMatrix([1, 0, 0, 1, cell.x, cell.y]));
    };
    if (a === b) { if (a.kind) part(a, from - a.start, to - a.start); return; }
    const id = model.nodes[from], link = plan.linkOf.get(id + ":" + b.index);
    if (!link) return;
    dag.polyline(path, link.points);
    if (a.kind) part(a, from - a.start, a.kind.x.length + a.kind.outs.indexOf(from - a.start));
    if (b.kind) part(b, -1 - model.dag.blocks[b.block].ports.indexOf(id), to - b.start);
  }

  dag.drawMarks = (base) => {
    const c = Object.create(base);
    c.g = base.over;
    const { g, theme, view: { s, x, y }, ratio } = c;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, c.width, c.height);
    const veil = c.selected >= 0 && c.model.anchors(c.selected).length > 0;
    if (veil) {
      g.globalAlpha = theme.dark ? 0.45 : 0.5;
      g.fillStyle = theme.bg;
      g.fillRect(0, 0, c.width, c.height);
      g.globalAlpha = 1;
    }
    g.setTransform(ratio * s, 0, 0, ratio * s, ratio * x, ratio * y);
    if (veil) {
      selection(c);
      dag.marked?.(c, c.plan.cells);
    }
    if (c.nodes) chosen(c, ...c.nodes);
    if (c.hovered >= 0 && c.hovered !== c.selected) {
      const at = dag.spot(c, c.hovered);
      if (at) outline(c, at, theme.text, 1.5);
    }
    if (c.rubber) {
      const [a, b, w, h] = c.rubber;
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      g.strokeStyle = theme.accent;
      g.lineWidth = 1;
      g.strokeRect(a, b, w, h);
    }
  };

  function selection(c) {
    const { model, theme } = c, id = c.selected, own = model.nodeOf[id];
    const sources = model.producers(id), users = model.consumers(id);
    const lit = new Map(); // node -> colour
    if (own >= 0) {
      for (const [ids, color] of [[sources, theme.producer], [users, theme.consumer]]) {
        const path = new Path2D();
        for (const other of ids) {
          const node = model.nodeOf[other];
          if (node < 0) continue;
          lit.set(node, color);
          way(c, path, ...(color === theme.producer ? [node, own] : [own, node]));
        }
        stroke(c, path, color);
      }
      lit.set(own, theme.accent);
    } else { // a leaf, a copy or a view without a node: show who feeds it and who reads it
      for (const other of sources) if (model.nodeOf[other] >= 0) lit.set(model.nodeOf[other], theme.producer);
      for (const other of users.length ? users : [model.viewSrc[id]]) if (model.nodeOf[other] >= 0) lit.set(model.nodeOf[other], theme.consumer);
      if (!lit.size) for (const node of model.anchors(id)) lit.set(node, theme.consumer);
      const path = new Path2D();
      for (const source of sources) for (const user of users) {
        if (model.nodeOf[source] >= 0 && model.nodeOf[user] >= 0) way(c, path, model.nodeOf[source], model.nodeOf[user]);
      }
      stroke(c, path, theme.consumer);
    }
    const folds = new Set();
    for (const [node, color] of lit) {
      const cell = c.plan.cellOfNode(node);
      if (!cell.kind) {
        if (!folds.has(cell)) { folds.add(cell); dag.fold(c, cell); }
        continue;
      }
      const at = { x: cell.x + cell.kind.x[node - cell.start], y: cell.y + cell.kind.y[node - cell.start] };
      [at.w, at.h] = model.sizeOf(node);
      if (c.view.s >= NAMES) dag.node(c, node, at.x, at.y);
      else dag.dot(c, node, at.x, at.y);
      outline(c, at, color, node === own ? 2.5 : 1.8);
    }
    for (const [node, color] of lit) { // ticks in folded layers, above their boxes
      const cell = c.plan.cellOfNode(node);
      if (cell.kind) continue;
      const [x, y] = dag.barSpot(c, cell, node);
      c.g.fillStyle = color;
      c.g.strokeStyle = theme.surface;
      c.g.lineWidth = 1;
      c.g.beginPath();
      c.g.moveTo(x, y + 3);
      c.g.lineTo(x - 4.5, y + 11);
      c.g.lineTo(x + 4.5, y + 11);
      c.g.closePath();
      c.g.fill();
      if (node === own) outline(c, { x: cell.x + cell.w / 2, y: cell.y + cell.top + (cell.h - cell.top) / 2, w: cell.w, h: cell.h - cell.top }, color, 2);
    }
    const at = own < 0 && dag.spot(c, id);
    if (at && (at.tag || !at.cell)) outline(c, at, theme.accent, 2);
  }

  /* Boxes of layers that were chosen as a whole; of a box with more layers than those, their bars. */
  function chosen(c, first, last) {
    const box = (x, y, w, h, width, color = c.theme.accent) => outline(c, { x: x + w / 2, y: y + h / 2, w, h }, color, width);
    const { layers } = c.model.dag, inside = (k) => layers[k].start <= last && layers[k].end > first;
    for (const f of c.plan.frames) if (inside(f.layer)) box(f.x, f.y, f.right - f.x, f.bottom - f.y, 2);
    for (const cell of c.plan.cells) {
      if (cell.kind || cell.start > last || cell.end <= first) continue;
      const whole = first <= cell.start && last >= cell.end - 1, [y, h] = dag.barRow(c, cell);
      box(cell.x, cell.y + cell.top, cell.w, cell.h - cell.top, whole ? 2.5 : 1.2);
      if (!whole) for (const [k, x, w] of dag.foldBars(cell)) if (inside(k)) box(x, y, w, h, 2, c.theme.text);
    }
  }

  function stroke(c, path, color) {
    c.g.strokeStyle = color;
    c.g.lineWidth = Math.max(2.2, 1.8 / c.view.s);
    c.g.stroke(path);
  }

  function outline(c, at, color, width) {
    const { g, view: { s } } = c, d = Math.max(1.5, 1 / s);
    g.strokeStyle = color;
    g.lineWidth = Math.max(width, width / s);
    g.beginPath();
    g.roundRect(at.x - at.w / 2 - d, at.y - at.h / 2 - d, at.w + 2 * d, at.h + 2 * d, 6);
    g.stroke();
  }
})();
