"use strict";
/* What a session looks like, from above: the calls, marks for what happened between ubatches, a cell for each ubatch
 * (the worse, the higher), its tokens, the cells that attention sees, and what it all cost until there. Where several share a
 * pixel the worst kind and the largest number are drawn. Every lane returns how many things it looked at. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const life = (galloscope.life = galloscope.life || {});
  const GUTTER = 116;
  const RIGHT = 16;
  const AXIS = 22;
  const GAP = 8;
  const LANES = [["calls", 20, 20], ["marks", 12, 12], ["cells", 56, 120], ["tokens", 26, 56], ["kv", 30, 64], ["cost", 62, 110]]; // name, least and most px
  const TALL = [0.34, 0.62, 0.8, 1, 1]; // height of a cell by its kind
  const HUES = ["reused", "rebuilt", "replanned", "moved", "stopped"];
  const CURVES = [["nodes", "rebuilt", "nodes built"], ["plans", "replanned", "plans made"], ["made", "moved", "made"]];

  life.CURVES = CURVES;

  life.theme = (host) => {
    const theme = galloscope.format.theme(host), style = getComputedStyle(host);
    return { ...theme, kinds: HUES.map((hue) => style.getPropertyValue(`--gs-life-${hue}`).trim()) };
  };

  life.X = (chart, i) => chart.at.left + ((i - chart.view.x0) / (chart.view.x1 - chart.view.x0)) * chart.at.width;
  life.I = (chart, px) => chart.view.x0 + ((px - chart.at.left) / chart.at.width) * (chart.view.x1 - chart.view.x0);
  life.pixels = (chart) => chart.at.width / (chart.view.x1 - chart.view.x0); // of one ubatch

  life.frame = function (chart) {
    const has = chart.model.scene.has_kv, lanes = LANES.filter(([name]) => name !== "kv" || has);
    const least = lanes.reduce((sum, [, low]) => sum + low, 0), room = Math.max(0, chart.height - AXIS - GAP - lanes.length * GAP - least);
    const growth = lanes.reduce((sum, [, low, high]) => sum + high - low, 0), share = Math.min(1, room / growth);
    const at = { left: GUTTER, right: chart.width - RIGHT, width: Math.max(1, chart.width - RIGHT - GUTTER) };
    let y = GAP;
    for (const [name, low, high] of lanes) {
      const h = Math.round(low + (high - low) * share);
      at[name] = { top: y, h };
      y += h + (name === "calls" ? 2 : name === "marks" ? 2 : GAP);
    }
    return { ...at, bottom: y };
  };

  /* The level at which a group of ubatches is at least a pixel wide, and which groups are in view. */
  function groups(chart) {
    const level = Math.min(chart.model.kinds.length - 1, Math.max(0, Math.ceil(-Math.log2(life.pixels(chart)))));
    const first = Math.floor(chart.view.x0) >> level, last = Math.min(chart.model.n - 1, Math.ceil(chart.view.x1)) >> level;
    return { level, first, last: chart.model.n ? last : -1, size: 2 ** level };
  }

  life.draw = function (chart) {
    const { context: c, model, at } = chart;
    c.clearRect(0, 0, chart.width, chart.height);
    labels(chart);
    axis(chart);
    c.save();
    c.beginPath();
    c.rect(at.left - 1, 0, at.width + 2, chart.height);
    c.clip();
    const visited = calls(chart) + marks(chart) + cells(chart) + bars(chart) + (model.scene.has_kv ? line(chart) : 0) + curves(chart);
    c.restore();
    return visited;
  };

  function labels(chart) {
    const { context: c, at, theme, model } = chart, { bytes, count } = galloscope.format;
    c.textAlign = "right";
    c.textBaseline = "middle";
    const write = (words, y, color = theme.muted, font = theme.sans) => {
      c.font = `11px ${font}`;
      c.fillStyle = color;
      c.fillText(words, at.left - 10, y);
    };
    write("calls", at.calls.top + at.calls.h / 2);
    write("ubatches", at.cells.top + at.cells.h / 2, theme.text);
    const most = model.tokens[model.tokens.length - 1][0] || 0;
    write(`${count(most)} tokens`, at.tokens.top + 7);
    if (at.kv) write(`${count(model.cells[model.cells.length - 1][0] || 0)} cells`, at.kv.top + 7);
    write("with reservations", at.cost.top + 7); // what the sums count
    CURVES.forEach(([key, hue, words], k) => {
      const total = model.cost[key][model.n], value = key === "made" ? bytes(total) : count(total);
      write(`${value} ${words}`, at.cost.top + 22 + 15 * k, total ? chart.theme.kinds[HUES.indexOf(hue)] : theme.muted);
    });
  }

  function axis(chart) {
    const { context: c, at, theme, view } = chart, shown = view.x1 - view.x0;
    const raw = (shown * 80) / at.width, power = 10 ** Math.floor(Math.log10(Math.max(1, raw)));
    const step = Math.max(1, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || 10 * power);
    c.font = `11px ${theme.sans}`;
    c.textBaseline = "middle";
    c.textAlign = "center";
    c.strokeStyle = theme.line;
    c.lineWidth = 1;
    for (let k = Math.ceil(view.x0 / step) * step; k <= view.x1 && k <= chart.model.n; k += step) {
      const x = Math.round(life.X(chart, k)) + 0.5;
      c.beginPath();
      c.moveTo(x, at.cells.top);
      c.lineTo(x, at.bottom);
      c.stroke();
      c.fillStyle = theme.muted;
      c.fillText(galloscope.format.count(k), x, at.bottom + 9);
    }
  }

  /* A bracket for every call, or for a series of equal ones where they are narrow; those that share pixels melt into one line. */
  function calls(chart) {
    const { context: c, at, theme, model, view } = chart, { top, h } = at.calls, { steps, of } = model, y = top + h - 1.5;
    let visited = 0, i = Math.max(0, Math.floor(view.x0)), written = -1;
    c.font = `11px ${theme.sans}`;
    c.textAlign = "left";
    c.textBaseline = "middle";
    c.fillStyle = c.strokeStyle = theme.muted;
    c.lineWidth = 1;
    while (i < Math.min(model.n, view.x1)) {
      visited += 1;
      const step = of.step[i], narrow = (steps.last[step] - steps.first[step]) * life.pixels(chart) < 12;
      const first = narrow ? steps.from[step] : steps.first[step], last = narrow ? steps.to[step] : steps.last[step];
      const x0 = life.X(chart, first), w = Math.max(1, life.X(chart, last) - x0);
      if (w >= 5) {
        c.globalAlpha = 0.8;
        c.beginPath();
        c.moveTo(x0 + 1.5, y - 4);
        c.lineTo(x0 + 1.5, y);
        c.lineTo(x0 + w - 1.5, y);
        c.lineTo(x0 + w - 1.5, y - 4);
        c.stroke();
        c.globalAlpha = 1;
        if (written !== steps.from[step]) {
          const left = Math.max(life.X(chart, steps.from[step]), at.left) + 5, words = model.words[steps.label[step]];
          c.fillText(fitting(c, words, steps.calls[step], Math.min(life.X(chart, steps.to[step]), at.right) - left - 4), left, top + 7);
          written = steps.from[step];
        }
        i = last;
      } else {
        c.globalAlpha = 0.5;
        c.fillRect(x0, y - 2, Math.max(1, w - (w > 2 ? 1 : 0)), 2.5);
        c.globalAlpha = 1;
        i = Math.max(last, Math.floor(life.I(chart, x0 + 1)));
      }
    }
    return visited;
  }

  /* As much of "decode 300 tokens × 4" as has room. */
  function fitting(c, words, calls, room) {
    const short = words.replace(/^decode /, ""), often = calls > 1 ? ` × ${galloscope.format.count(calls)}` : "";
    const found = [words + often, short + often, short.replace(/ tokens?$/, "") + often, short.replace(/ tokens?$/, "")].find((one) => c.measureText(one).width <= room);
    return found ?? (room > 48 ? life.clipped(c, words, room) : "");
  }

  /* What happened before a ubatch: reservations are flags, refused calls crosses, memory updates dots, waits ticks. */
  function marks(chart) {
    const { context: c, at, theme, model, view } = chart, { top, h } = at.marks;
    let visited = 0, k = life.firstMark(model, view.x0), shown = -Infinity;
    while (k < model.marks.n && model.marks.at[k] <= view.x1) {
      visited += 1;
      const x = Math.min(at.right - 5, Math.max(at.left + 5, Math.round(life.X(chart, model.marks.at[k])))), kind = model.marks.kind[k];
      if (x - shown >= 3 || kind < 2) mark(c, theme, kind, x, top, h);
      if (x - shown >= 3) { shown = x; k += 1; } else k = Math.max(k + 1, life.firstMark(model, life.I(chart, shown + 3)));
    }
    return visited;
  }

  function mark(c, theme, kind, x, top, h) {
    c.strokeStyle = c.fillStyle = kind === 1 ? theme.peak : kind === 3 ? theme.muted : theme.text;
    c.lineWidth = kind === 1 ? 2 : 1.5;
    c.beginPath();
    if (kind === 0) {
      c.moveTo(x - 4.5, top + 1);
      c.lineTo(x + 4.5, top + 1);
      c.lineTo(x, top + h - 2);
      c.fill();
    } else if (kind === 1) {
      c.moveTo(x - 3.5, top + 1.5);
      c.lineTo(x + 3.5, top + h - 3);
      c.moveTo(x + 3.5, top + 1.5);
      c.lineTo(x - 3.5, top + h - 3);
      c.stroke();
    } else if (kind === 2) {
      c.arc(x, top + h / 2 - 1, 3.2, 0, 7);
      c.fill();
    } else {
      c.moveTo(x, top + 2);
      c.lineTo(x, top + h - 2);
      c.stroke();
    }
  }

  function cells(chart) {
    const { context: c, at, theme, model } = chart, { top, h } = at.cells, { level, first, last, size } = groups(chart), kinds = model.kinds[level];
    c.fillStyle = theme.line;
    c.fillRect(at.left, top + h, at.width, 1);
    const wide = size * life.pixels(chart), air = wide > 5 ? 1 : wide > 3 ? 0.5 : 0, built = [];
    const bar = (k, least) => {
      const [x0, x1] = place(chart, k, size, least), tall = Math.round(h * TALL[kinds[k]]);
      c.fillStyle = theme.kinds[kinds[k]];
      c.fillRect(x0, top + h - tall, x1 - x0 - air, tall);
      if (kinds[k] === 4 && x1 - x0 > 10) cross(c, theme, (x0 + x1 - air) / 2, top + h / 2, Math.min(4, (x1 - x0) / 3));
    };
    for (let k = first; k <= last; k++) if (kinds[k]) built.push(k); else bar(k, 1);
    for (const k of built) bar(k, 2); // what is rare must be seen
    return Math.max(0, last - first + 1);
  }

  /* From where to where a group is drawn; narrow ones end on pixels, or their edges would blur into stripes. */
  function place(chart, k, size, least) {
    const x0 = life.X(chart, k * size), x1 = life.X(chart, Math.min(chart.model.n, k * size + size));
    if (x1 - x0 > 3) return [x0, x1];
    return [Math.floor(x0), Math.max(Math.floor(x0) + least, Math.floor(x1))];
  }

  function cross(c, theme, x, y, r) {
    c.strokeStyle = theme.surface;
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x - r, y - r);
    c.lineTo(x + r, y + r);
    c.moveTo(x + r, y - r);
    c.lineTo(x - r, y + r);
    c.stroke();
  }

  function bars(chart) {
    const { context: c, at, theme, model } = chart, { top, h } = at.tokens, { level, first, last, size } = groups(chart), tokens = model.tokens[level];
    const most = Math.max(1, model.tokens[model.tokens.length - 1][0] || 0), air = size * life.pixels(chart) > 5 ? 1 : 0;
    c.fillStyle = theme.muted;
    c.globalAlpha = 0.75;
    for (let k = first; k <= last; k++) {
      if (!tokens[k]) continue;
      const [x0, x1] = place(chart, k, size, 1), tall = Math.max(1.5, (h * tokens[k]) / most);
      c.fillRect(x0, top + h - tall, x1 - x0 - air, tall);
    }
    c.globalAlpha = 1;
    c.fillStyle = theme.line;
    c.fillRect(at.left, top + h, at.width, 1);
    return Math.max(0, last - first + 1);
  }

  /* Cells that attention sees: a stair, filled below. */
  function line(chart) {
    const { context: c, at, theme, model } = chart, { top, h } = at.kv, { level, first, last, size } = groups(chart), seen = model.cells[level];
    const most = Math.max(1, model.cells[model.cells.length - 1][0] || 0), floor = top + h;
    c.beginPath();
    for (let k = first; k <= last; k++) {
      const y = floor - ((h - 2) * seen[k]) / most;
      c.lineTo(life.X(chart, k * size), y);
      c.lineTo(life.X(chart, Math.min(model.n, k * size + size)), y);
    }
    c.strokeStyle = theme.muted;
    c.lineWidth = 1.5;
    c.lineJoin = "round";
    c.stroke();
    if (last >= first) {
      c.lineTo(life.X(chart, Math.min(model.n, (last + 1) * size)), floor);
      c.lineTo(life.X(chart, first * size), floor);
      c.fillStyle = theme.muted;
      c.globalAlpha = 0.12;
      c.fill();
      c.globalAlpha = 1;
    }
    c.fillStyle = theme.line;
    c.fillRect(at.left, floor, at.width, 1);
    return Math.max(0, last - first + 1);
  }

  /* Running sums, each on its own scale: where a curve is flat, nothing was paid. */
  function curves(chart) {
    const { context: c, at, theme, model } = chart, { top, h } = at.cost, { first, last, size } = groups(chart), floor = top + h;
    c.fillStyle = theme.line;
    c.fillRect(at.left, floor, at.width, 1);
    let visited = 0;
    CURVES.forEach(([key, hue], k) => {
      const sums = model.cost[key], total = sums[model.n];
      if (!total) return;
      const y = (i) => floor - 1 - k - ((h - 4 - k) * sums[Math.min(model.n, i)]) / total; // never exactly on top of each other
      c.beginPath();
      c.moveTo(life.X(chart, first * size), y(first * size));
      for (let g = first; g <= last; g++, visited++) {
        c.lineTo(life.X(chart, g * size), y(g * size + size));
        c.lineTo(life.X(chart, Math.min(model.n, g * size + size)), y(g * size + size));
      }
      c.strokeStyle = theme.kinds[HUES.indexOf(hue)];
      c.lineWidth = 1.5;
      c.stroke();
    });
    return visited;
  }

  life.clipped = function (c, words, room) {
    if (c.measureText(words).width <= room) return words;
    let most = Math.floor((words.length * room) / Math.max(1, c.measureText(words).width));
    while (most > 1 && c.measureText(`${words.slice(0, most)}…`).width > room) most -= 1;
    return most > 1 ? `${words.slice(0, most).trimEnd()}…` : "";
  };

  /* What changes with the pointer, on its own canvas. */
  life.drawOverlay = function (chart) {
    const { overlay: c, at, theme, model, hit } = chart;
    c.clearRect(0, 0, chart.width, chart.height);
    c.save();
    c.beginPath();
    c.rect(at.left - 2, 0, at.width + 4, chart.height);
    c.clip();
    if (hit && hit.ubatch >= 0) band(chart, hit.first, hit.last, theme.accent, 0.1);
    if (hit && hit.mark >= 0) {
      const x = life.X(chart, model.marks.at[hit.mark]);
      c.fillStyle = theme.accent;
      c.fillRect(x - 0.75, at.marks.top, 1.5, at.bottom - at.marks.top);
    }
    if (chart.selected >= 0) {
      band(chart, chart.selected, chart.selected, theme.accent, 0.16);
      const x0 = life.X(chart, chart.selected), w = Math.max(2, life.pixels(chart));
      c.strokeStyle = theme.text;
      c.lineWidth = 1.5;
      c.strokeRect(x0 - 1.5, at.cells.top - 2, w + 2.5, at.cells.h + 4);
    }
    c.restore();
  };

  function band(chart, first, last, color, alpha) {
    const { overlay: c, at } = chart, x0 = life.X(chart, first), x1 = Math.max(x0 + 2, life.X(chart, last + 1));
    c.globalAlpha = alpha;
    c.fillStyle = color;
    c.fillRect(x0, at.tokens.top - 4, x1 - x0, at.bottom - at.tokens.top);
    c.globalAlpha = 1;
  }
})();
