"use strict";
/* Paint for the graph: tints, hatching, small glyphs and the curves of a block. Nothing here knows the view. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const dag = (galloscope.dag = galloscope.dag || {});

  const STRAIGHT = 22; // room that the words of a split boundary take below it

  const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

  /* `share` of colour a over colour b; both are #rrggbb. */
  dag.mix = (a, b, share) => {
    const [x, y] = [channels(a), channels(b)];
    return "#" + x.map((v, i) => Math.round(v * share + y[i] * (1 - share)).toString(16).padStart(2, "0")).join("");
  };

  const solid = (color, fallback) => (/^#[0-9a-f]{6}$/i.test(color) ? color : fallback);

  /* Each palette entry as the fills that a node needs, in the theme of the moment. */
  dag.paints = (palette, theme) => {
    const surface = solid(theme.surface, theme.dark ? "#111a2e" : "#ffffff");
    const text = solid(theme.text, theme.dark ? "#e2e8f0" : "#0f172a");
    return palette.map((entry) => {
      const hue = theme.pick(entry);
      return {
        hue,
        pattern: entry.pattern && entry.pattern !== "none" ? entry.pattern : "",
        tint: dag.mix(hue, surface, theme.dark ? 0.24 : 0.15),
        edge: dag.mix(hue, surface, theme.dark ? 0.6 : 0.55),
        text: dag.mix(hue, text, 0.55),
      };
    });
  };

  /* Diagonal lines, or dots, as a canvas pattern. */
  dag.pattern = (g, kind, color) => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 12;
    const t = tile.getContext("2d");
    t.strokeStyle = t.fillStyle = color;
    t.lineWidth = 2;
    if (kind === "dots") {
      for (const [x, y] of [[3, 3], [9, 9]]) { t.beginPath(); t.arc(x, y, 1.6, 0, 7); t.fill(); }
    } else {
      t.beginPath();
      for (const x of [-12, 0, 12]) { t.moveTo(x - 1, 13); t.lineTo(x + 13, -1); }
      t.stroke();
    }
    const pattern = g.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix([0.5, 0, 0, 0.5, 0, 0]));
    return pattern;
  };

  /* The curve of one line of a kind: straight beside what it passes, bending between rows. */
  dag.trace = (path, kind, line, size) => {
    const [source, target, row, ...xs] = line;
    const n = kind.x.length, last = row + xs.length - 1;
    let x = xs[0], y = source < 0 ? kind.top[0] : kind.y[source] + size(source) / 2;
    if (source < 0) { path.moveTo(x, 0); path.lineTo(x, y); } else path.moveTo(x, y);
    for (let r = row + 1; r <= last; r++) {
      const end = r === last;
      const tx = xs[r - row] + (end && target < n ? kind.entry.get(line) : 0);
      const cut = kind.cutAt.get(r);
      if (cut !== undefined && tx !== x) path.lineTo(x, (y = cut + STRAIGHT)); // past a boundary's words, then aside
      const ty = !end ? kind.top[r] : target >= n ? kind.h : kind.y[target] - size(target) / 2;
      if (tx === x) path.lineTo(tx, ty);
      else {
        const bend = Math.min(26, (ty - y) * 0.6);
        path.bezierCurveTo(x, y + bend, tx, ty - bend, tx, ty);
      }
      x = tx;
      y = ty;
      if (!end) path.lineTo(x, (y = kind.bottom[r]));
    }
  };

  /* Prepare a kind once: where lines enter a node (side by side, in the order they come from), and all curves as one path. */
  dag.prepare = (kind, size) => {
    kind.entry = new Map();
    const into = new Map();
    for (const line of kind.lines) {
      if (!into.has(line[1])) into.set(line[1], []);
      into.get(line[1]).push(line);
    }
    for (const lines of into.values()) {
      lines.sort((a, b) => a[a.length - 2] - b[b.length - 2]);
      lines.forEach((line, k) => kind.entry.set(line, (k - (lines.length - 1) / 2) * Math.min(16, 60 / lines.length)));
    }
    kind.curves = new Path2D();
    kind.cutAt = new Map(); // row -> y of the boundary above it
    for (const y of kind.cuts) kind.cutAt.set(kind.top.findIndex((top) => top > y), y);
    kind.passing = [...kind.cutAt.keys()].map((r) => { // per boundary the x of the lines that cross it
      const crossing = kind.lines.filter(([source, , row, ...xs]) => (r ? row < r && r < row + xs.length : source < 0));
      return [...new Set(crossing.map(([, , row, ...xs]) => xs[Math.max(0, r - 1 - row)]))].sort((a, b) => a - b);
    });
    for (const line of kind.lines) dag.trace(kind.curves, kind, line, size);
  };

  /* A polyline with rounded corners. */
  dag.polyline = (path, p) => {
    path.moveTo(p[0], p[1]);
    if (p.length === 4) {
      const bend = Math.min(30, Math.abs(p[3] - p[1]) * 0.5);
      path.bezierCurveTo(p[0], p[1] + bend, p[2], p[3] - bend, p[2], p[3]);
      return;
    }
    for (let k = 2; k < p.length - 2; k += 2) path.arcTo(p[k], p[k + 1], p[k + 2], p[k + 3], 7);
    path.lineTo(p[p.length - 2], p[p.length - 1]);
  };

  /* A lock: the graph's output, never freed. */
  dag.lock = (g, x, y, color) => {
    g.strokeStyle = g.fillStyle = color;
    g.lineWidth = 1.3;
    g.beginPath();
    g.arc(x + 4, y + 4, 2.4, Math.PI, 0);
    g.stroke();
    g.fillRect(x + 0.6, y + 4, 6.8, 5);
  };

  /* A pin: placed by llama.cpp. */
  dag.pin = (g, x, y, color) => {
    g.strokeStyle = g.fillStyle = color;
    g.lineWidth = 1.2;
    g.beginPath();
    g.arc(x + 4, y + 2.6, 2.4, 0, 7);
    g.fill();
    g.beginPath();
    g.moveTo(x + 4, y + 4);
    g.lineTo(x + 4, y + 9.2);
    g.stroke();
  };

  /* A triangle that says open (down) or closed (right). */
  dag.chevron = (g, x, y, opened, color) => {
    g.fillStyle = color;
    g.beginPath();
    if (opened) { g.moveTo(x, y + 1.5); g.lineTo(x + 7, y + 1.5); g.lineTo(x + 3.5, y + 6); }
    else { g.moveTo(x + 1.5, y); g.lineTo(x + 1.5, y + 7); g.lineTo(x + 6, y + 3.5); }
    g.fill();
  };
})();
