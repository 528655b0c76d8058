"use strict";
/* The base picture. What is drawn depends on the zoom: boxes, then lines, then names, shapes and tags. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const dag = (galloscope.dag = galloscope.dag || {});
  const LINES = 0.1, NAMES = 0.27, TEXT = 0.62; // zoom from which lines, names, then all the text are drawn
  const TALLEST = 38;                           // a title, in drawing units: header and gap above it
  const LABELS = 0.44;                          // zoom from which split boundaries are labelled
  const OPS = { VIEW: "view", RESHAPE: "reshape", PERMUTE: "permute", TRANSPOSE: "transp." };
  const VIEW_WORDS = / \((view|reshaped|permuted|transposed)\)|~\d+$/g;

  /* Draw everything that is in sight; returns the number of marks. */
  dag.draw = (c) => {
    const { g, view: { s, x, y }, ratio, theme } = c, { cells, frames, links } = c.plan;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = theme.bg;
    g.fillRect(0, 0, c.width, c.height);
    g.setTransform(ratio * s, 0, 0, ratio * s, ratio * x, ratio * y);
    const sight = { x0: -x / s, y0: -y / s, x1: (c.width - x) / s, y1: (c.height - y) / s };
    const seen = cells.filter((o) => o.x < sight.x1 && o.x + o.w > sight.x0 && o.y < sight.y1 && o.y + o.h > sight.y0);
    let marks = 0;
    for (const f of frames) if (f.x < sight.x1 && f.right > sight.x0 && f.y < sight.y1 && f.bottom > sight.y0) frame(c, f, sight);
    lines(c, links, sight);
    const nodes = seen.reduce((sum, o) => sum + (o.kind ? o.end - o.start : 0), 0);
    for (const cell of seen) {
      if (!cell.kind) marks += fold(c, cell);
      else if (nodes > 12000 && s < 0.05) marks += rows(c, cell);
      else marks += block(c, cell);
    }
    if (s >= LINES) for (const cell of seen) boundaries(c, cell);
    dag.marked?.(c, seen);
    for (const f of frames) if (f.x < sight.x1 && f.right > sight.x0 && f.y < sight.y1 && f.bottom > sight.y0) title(c, f);
    return marks;
  };

  /* The box around an open layer. */
  function frame(c, f) {
    const { g, theme, view: { s } } = c;
    g.beginPath();
    g.roundRect(f.x, f.y, f.right - f.x, f.bottom - f.y, s > 0.2 ? 8 : 0);
    g.fillStyle = theme.surface;
    g.fill();
    g.strokeStyle = theme.line;
    g.lineWidth = Math.max(1, 0.8 / s);
    g.stroke();
  }

  /* Its header folds it. Over the lines, because a value may enter anywhere. */
  function title(c, f) {
    const { g, theme, view: { s } } = c, layer = c.model.dag.layers[f.layer];
    // The header has room for one line; from afar the letters grow upward, into the gap between layers, never over the first op.
    const size = Math.min(TALLEST, Math.max(11.5, 10.5 / s)), full = size < 16, room = f.right - f.x;
    const left = f.x + (full ? 22 : Math.min(20, 6 / s)), base = f.y + Math.min(4 + size, f.header - 6);
    g.font = `600 ${size}px ${theme.sans}`;
    const fits = (t) => left - f.x + g.measureText(t).width < room;
    const text = [layer.title + (f.continued ? " (cont.)" : ""), layer.title, String(layer.number)].find(fits);
    if (!text || text === "-1") return;
    const wide = g.measureText(text).width;
    g.font = `11px ${theme.sans}`;
    const facts = f.continued ? "" : [galloscope.format.plural(layer.end - layer.start, "node"), layer.note].filter(Boolean).join(" · ");
    const after = full ? Math.min(room - wide - 40, g.measureText(facts).width) : 0;
    g.fillStyle = theme.surface;
    g.fillRect(left - 2, base - size, wide + (after > 0 ? after + 12 : 6), size + 4);
    if (after > 0) {
      g.fillStyle = theme.muted;
      clipText(g, facts, left + wide + 8, base, after + 1);
    }
    if (full) dag.chevron(g, f.x + 10, base - 8, true, theme.muted);
    g.font = `600 ${size}px ${theme.sans}`;
    g.fillStyle = full ? theme.text : theme.muted;
    g.fillText(text, left, base);
  }

  function lines(c, links, sight) {
    const { g, theme, view: { s } } = c;
    const out = (p) => Math.max(p[0], p[p.length - 2]) < sight.x0 - 400 || Math.min(p[0], p[p.length - 2]) > sight.x1 + 400;
    for (const skip of [true, false]) {
      const path = new Path2D();
      for (const link of links) if (link.skip === skip && !out(link.points)) dag.polyline(path, link.points);
      const crowd = skip && links.length > 80; // a bundle should read as a texture, not as a wall
      g.globalAlpha = crowd ? 0.35 : 1;
      g.strokeStyle = skip ? theme.edge : theme.strong;
      g.lineWidth = Math.max(crowd ? 0.6 : 1.3, (crowd ? 0.5 : 0.9) / s);
      g.stroke(path);
      g.globalAlpha = 1;
    }
  }

  /* Very far out a block is a stack of its colours in execution order. */
  function rows(c, cell) {
    const { g, model, color } = c, n = cell.end - cell.start;
    for (let a = cell.start; a < cell.end; ) {
      let b = a + 1;
      const of = color.of[model.nodes[a]];
      while (b < cell.end && color.of[model.nodes[b]] === of) b++;
      g.fillStyle = c.paints[of].hue;
      g.fillRect(cell.x + cell.w * 0.2, cell.y + (cell.h * (a - cell.start)) / n, cell.w * 0.6, (cell.h * (b - a)) / n);
      a = b;
    }
    return 1;
  }

  function block(c, cell) {
    const { g, model, theme, view: { s } } = c, kind = cell.kind;
    rail(c, cell);
    if (s >= LINES) {
      g.save();
      g.translate(cell.x, cell.y);
      g.strokeStyle = theme.edge;
      g.lineWidth = Math.max(1.2, 0.8 / s);
      g.stroke(kind.curves);
      g.restore();
    }
    for (let k = 0; k < kind.x.length; k++) {
      const node = cell.start + k;
      if (s >= NAMES) dag.node(c, node, cell.x + kind.x[k], cell.y + kind.y[k]);
      else dag.dot(c, node, cell.x + kind.x[k], cell.y + kind.y[k]);
    }
    return kind.x.length;
  }

  /* A node from afar: its colour. */
  dag.dot = (c, node, x, y) => {
    const { g, model } = c, [w, h] = model.sizeOf(node);
    g.globalAlpha = model.isView[node] ? 0.4 : 1;
    g.fillStyle = c.paints[c.color.of[model.nodes[node]]].hue;
    g.fillRect(x - w / 2, y - h / 2, w, h);
    g.globalAlpha = 1;
  };

  /* At the left edge of a frame: the device of each stretch between split boundaries. */
  function rail(c, cell) {
    const { g, model, view: { s } } = c;
    let split = model.split[cell.start];
    const stops = dag.cutsOf(c, cell);
    let y = cell.y;
    const w = Math.max(3, 2 / s), x = cell.frame.x;
    const fill = (end) => {
      const device = model.scene.splits[split] ? model.scene.splits[split].device : model.device[model.nodes[cell.start]];
      if (c.devices[device]) { g.fillStyle = c.devices[device].hue; g.fillRect(x, y, w, end - y); }
      y = end;
    };
    for (const stop of stops) {
      if (stop.y > y) fill(stop.y);
      split = stop.split;
    }
    fill(cell.y + cell.h);
  }

  /* The split boundaries of a cell: their y and the split that begins there. */
  dag.cutsOf = (c, cell) => {
    const { model } = c;
    const top = model.opensSplit(cell.start);
    if (!cell.kind) return top ? [{ y: cell.y, split: model.split[cell.start] }] : [];
    return cell.kind.cuts.map((y, k) => ({ y: cell.y + y, passing: passing(cell, k), split: model.split[cell.start] + k + (top ? 0 : 1) }));
  };

  const passing = (cell, k) => cell.kind.passing[k].map((x) => cell.x + x);

  /* From x on, the first place for something `wide` through which no line runs; x where there is none before `end`. */
  function clear(x, wide, lines, end) {
    let at = x;
    for (const line of lines) if (line > at - 4 && line < at + wide + 4) at = line + 6;
    return at + wide > end ? x : at;
  }

  /* One op; also used by the overlay. */
  dag.node = (c, node, x, y) => {
    const { g, model, theme, view: { s } } = c, id = model.nodes[node], paint = c.paints[c.color.of[id]];
    const [w, h] = model.sizeOf(node), left = x - w / 2, top = y - h / 2, view = model.isView[node];
    g.beginPath();
    g.roundRect(left, top, w, h, view ? 9 : 5);
    g.fillStyle = view ? theme.surface : paint.tint;
    g.fill();
    if (paint.pattern && !view) { g.fillStyle = c.hatch(paint.pattern, paint.edge); g.globalAlpha = 0.35; g.fill(); g.globalAlpha = 1; }
    g.lineWidth = 1;
    g.strokeStyle = paint.edge;
    if (view) g.setLineDash([1.5, 2.5]);
    g.stroke();
    g.setLineDash([]);
    if (!view) {
      g.beginPath();
      g.roundRect(left, top, 4, h, [5, 0, 0, 5]);
      g.fillStyle = paint.hue;
      g.fill();
    }
    const name = model.tensors.name[id], tags = model.tagsAt.get(node);
    if (s < TEXT) { // one line, as large as the box allows; the number of the layer is in the frame's title
      if (view && s < 0.5) return;
      const size = Math.min(8.4 / s, view ? 12 : 25), number = model.dag.layers[model.layerOf(node)].number;
      const short = view ? name.replace(VIEW_WORDS, "") : name;
      const shown = short.endsWith(`-${number}`) ? short.slice(0, -String(number).length - 1) : short;
      g.font = `${view ? 400 : 600} ${size}px ${theme.mono}`;
      g.fillStyle = view ? theme.muted : theme.text;
      g.fillText(galloscope.format.tail(shown || name, Math.floor((w - 12) / (size * 0.605))), left + 8, y + size * 0.36);
      return;
    }
    const tall = tags ? model.dag.tag * Math.min(3, tags.length) : 0;
    if (view) viewText(c, id, name, left, y - tall / 2, w);
    else nodeText(c, id, name, left, top, w, paint);
    if (tags) tagText(c, node, tags, x, y, paint);
  };

  function viewText(c, id, name, left, y, w) {
    const { g, theme, model } = c, op = OPS[model.tensors.op[id]];
    g.font = `9px ${theme.sans}`;
    g.fillStyle = theme.muted;
    g.fillText(op, left + 8, y + 3);
    const at = left + 13 + g.measureText(op).width;
    g.font = `9.5px ${theme.mono}`;
    g.fillStyle = theme.text;
    g.fillText(galloscope.format.tail(name.replace(VIEW_WORDS, "") || name, Math.floor((left + w - 4 - at) / 5.75)), at, y + 3.2);
  }

  function nodeText(c, id, name, left, top, w, paint) {
    const { g, theme, model, view: { s } } = c, output = model.isOutput(id), pinned = model.pins.has(id);
    const size = Math.min(12.6, Math.max(10.5, 8.2 / s)), small = Math.min(11.4, Math.max(9.5, 7.4 / s));
    g.font = `600 ${size}px ${theme.mono}`;
    g.fillStyle = theme.text;
    const room = w - 14 - (output ? 11 : 0) - (pinned ? 11 : 0);
    g.fillText(galloscope.format.tail(name, Math.floor(room / (size * 0.605))), left + 9, top + 3 + size);
    g.font = `${small}px ${theme.sans}`;
    g.fillStyle = theme.muted;
    clipText(g, `${model.tensors.op[id]}  ${model.tensors.ne[id]}`, left + 9, top + 5.5 + size + small, w - 13);
    if (output) dag.lock(g, left + w - 12, top + 4, paint.text);
    if (pinned) dag.pin(g, left + w - (output ? 23 : 12), top + 4, paint.text);
  }

  /* Inputs without a line: too many ops read them. */
  function tagText(c, node, ids, x, y, paint) {
    const { g, theme, model, view: { s } } = c, size = Math.min(10.5, Math.max(9, 7 / s));
    ids.slice(0, 3).forEach((id, k) => {
      const [left, top, w, h] = model.tagBox(node, k), more = k === 2 && ids.length > 3 ? ` +${ids.length - 3}` : "";
      g.strokeStyle = paint.edge;
      g.lineWidth = 0.5;
      g.beginPath();
      g.moveTo(x + left + 4, y + top);
      g.lineTo(x + left + w, y + top);
      g.stroke();
      g.fillStyle = theme.muted;
      g.beginPath();
      g.moveTo(x + left + 11, y + top + h / 2 - 2.6);
      g.lineTo(x + left + 15, y + top + h / 2);
      g.lineTo(x + left + 11, y + top + h / 2 + 2.6);
      g.fill();
      g.font = `${size}px ${theme.mono}`;
      g.fillText(galloscope.format.tail(model.tensors.name[id], Math.floor((w - 22) / (size * 0.605)) - more.length) + more, x + left + 19, y + top + h / 2 + 3);
    });
  }

  /* Straight coloured lines with what crosses them. */
  function boundaries(c, cell) {
    const { g, theme, view: { s } } = c;
    const x0 = cell.kind ? cell.frame.x : cell.x, x1 = cell.kind ? cell.frame.right : cell.x + cell.w;
    for (const cut of dag.cutsOf(c, cell)) {
      const split = c.model.scene.splits[cut.split];
      if (!split) continue;
      const paint = c.devices[split.device], active = c.split === cut.split;
      g.strokeStyle = paint.hue;
      g.lineWidth = Math.max(active ? 3 : 1.2, (active ? 2.5 : 0.9) / s);
      g.beginPath();
      g.moveTo(x0, cut.y);
      g.lineTo(x1, cut.y);
      g.stroke();
      if (s < LABELS) continue;
      const size = Math.min(14.5, Math.max(10, 7.8 / s)), base = cut.y + 5 + size;
      g.font = `600 ${size}px ${theme.sans}`;
      const label = dag.splitLabel(c, cut.split), wide = g.measureText(label).width;
      g.fillStyle = cell.kind ? theme.surface : theme.bg;
      const left = cell.kind ? clear(x0 + 12, wide, cut.passing, x1 - 8) : x0 + 12;
      g.fillRect(left - 4, cut.y + 2, wide + 8, size + 6);
      g.fillStyle = paint.text;
      g.fillText(label, left, base);
      if (cell.kind) copies(c, cut, size, left + wide + 12, x1 - 8);
    }
  }

  dag.splitLabel = (c, k) => {
    const split = c.model.scene.splits[k], n = split.inputs.length;
    const text = `split ${k} → ${c.model.scene.devices[split.device].name}`;
    const bytes = galloscope.format.bytes(split.bytes);
    return n > 1 ? `${text} · ${n} inputs, ${bytes}` : n ? `${text} · ${bytes}` : text;
  };

  /* Hatched chips: what the scheduler copies at a boundary, largest first. */
  function copies(c, cut, size, from, end) {
    let x = from;
    const inputs = c.model.splitInputs(cut.split), { g, theme } = c, { tail, bytes } = galloscope.format;
    for (let k = 0; k < inputs.length; k++) {
      const input = inputs[k], rest = inputs.length - k, name = c.model.tensors.name[input.src].replace(/\.weight$/, "");
      g.font = `${size - 1}px ${theme.mono}`;
      const facts = (rest + k > 1 ? " " + bytes(input.bytes) : "") + (input.times > 1 ? ` ×${input.times}` : "");
      const room = Math.floor((end - x - 12 - (rest > 1 ? 24 : 0)) / ((size - 1) * 0.605)) - facts.length;
      if (room < Math.min(name.length, 12)) {
        g.fillStyle = theme.muted;
        g.fillText(`+${rest}`, x, cut.y + 4 + size);
        return;
      }
      const text = tail(name, Math.min(room, 22)) + facts, w = g.measureText(text).width + 12, h = size + 4;
      const free = clear(x, w, cut.passing, end - (rest > 1 ? 24 : 0));
      if (free === x && cut.passing.some((line) => line > x - 4 && line < x + w + 4)) { // no room beside the lines
        g.fillStyle = theme.muted;
        g.fillText(`+${rest}`, clear(x, 16, cut.passing, end), cut.y + 4 + size);
        return;
      }
      x = free;
      c.copyChips.push({ id: input.id, x, y: cut.y + 3.5, w, h });
      dag.copyChip(c, text, x, cut.y + 3.5, w, h, c.color.of[input.id]);
      x += w + 4;
    }
  }

  dag.copyChip = (c, text, x, y, w, h, entry) => {
    const { g, theme } = c, paint = c.paints[entry];
    g.beginPath();
    g.roundRect(x, y, w, h, 3);
    g.fillStyle = theme.surface;
    g.fill();
    g.globalAlpha = 0.3;
    g.fillStyle = c.hatch("hatch", paint.hue);
    g.fill();
    g.globalAlpha = 1;
    g.strokeStyle = theme.edge;
    g.lineWidth = 1;
    g.stroke();
    g.fillStyle = theme.text;
    g.fillText(text, x + 6, y + h - 4);
  };

  function clipText(g, text, x, y, room) {
    if (room < 12) return;
    let shown = text;
    while (shown.length > 1 && g.measureText(shown).width > room) shown = shown.slice(0, Math.max(1, shown.length - 3)).trimEnd() + "…";
    if (shown.length > 2) g.fillText(shown, x, y);
  }
  dag.clipText = clipText;

  const fold = (c, cell) => dag.fold(c, cell);
})();
