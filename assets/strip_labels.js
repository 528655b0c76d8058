/* The words of the base canvas: split ribbon, lane headers, address and step axes, names inside rectangles. */
(function () {
  "use strict";
  const SHORTEST = 9; // characters
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});

  strip.drawLabels = function (chart, big) {
    chart.g.textBaseline = "middle";
    names(chart, big);
    if (chart.at.ribbon) ribbon(chart);
    chart.model.lanes.forEach((lane) => header(chart, lane));
    stepAxis(chart);
  };

  /* The width of one character of the monospaced face: names are cut by counting, not by measuring. */
  strip.charWidth = function (chart) {
    chart.g.font = `11px ${chart.theme.mono}`;
    return chart.g.measureText("0123456789").width / 10;
  };

  function names(chart, big) {
    const { g, theme, model } = chart;
    const { format } = galloscope;
    const char = strip.charWidth(chart);
    for (const { i, entry, box, named } of big) {
      g.fillStyle = format.ink(theme.pick(entry));
      const kept = model.kind[i] & strip.KIND.KEPT;
      const clear = model.overlaps.n ? strip.clearWidth(chart, i, box) : box.w;
      const lock = kept && box.h > 13 && clear > 14 && clear === box.w;
      if (lock) padlock(g, box.x + box.w - 11, box.y + 5);
      // Half a name is worse than none: the card has it.
      const room = Math.floor((clear - 10 - (lock ? 12 : 0)) / char);
      if (!named || room < Math.min(SHORTEST, model.names[model.id[i]].length)) continue;
      const size = format.bytes(model.y1[i] - model.y0[i]);
      const two = box.h > 30;
      const y = two ? box.y + box.h / 2 - 7 : box.y + box.h / 2 + 0.5;
      const length = Math.max(Math.min(room, model.names[model.id[i]].length), two && size.length <= room ? size.length : 0);
      if (plated(chart, i, entry)) {
        g.fillStyle = theme.pick(entry);
        g.fillRect(box.x + 2, box.y + box.h / 2 - (two ? 14 : 6), Math.min(box.w - 4, length * char + 6), two ? 28 : 13);
      }
      g.fillStyle = format.ink(theme.pick(entry));
      g.font = `11px ${theme.mono}`;
      g.fillText(format.tail(model.names[model.id[i]], room), box.x + 5, y);
      if (two && size.length <= room) {
        g.globalAlpha = 0.8;
        g.fillText(size, box.x + 5, y + 14);
        g.globalAlpha = 1;
      }
    }
  }

  /* Hatching and links would shine through the letters: a plate of the plain fill lies under them. */
  function plated(chart, i, entry) {
    const { model, shown } = chart;
    const hatched = model.kind[i] & strip.KIND.COPY || entry.pattern !== "none";
    return hatched || shown.chains || model.overlaps.tensor.includes(model.id[i]);
  }

  function padlock(g, x, y) {
    g.fillRect(x, y + 4, 7, 5);
    g.strokeStyle = g.fillStyle;
    g.lineWidth = 1.25;
    g.beginPath();
    g.arc(x + 3.5, y + 3.5, 2.2, Math.PI, 0);
    g.lineTo(x + 5.7, y + 4.5);
    g.moveTo(x + 1.3, y + 3.5);
    g.lineTo(x + 1.3, y + 4.5);
    g.stroke();
    g.lineWidth = 1;
  }

  /* The longest of the texts that fits, or none. */
  function fitting(g, texts, room) {
    return texts.find((text) => text && g.measureText(text).width <= room) || "";
  }

  function ribbon(chart) {
    const { g, at, view, theme, model } = chart;
    const { top, h } = at.ribbon;
    g.font = `11px ${theme.sans}`;
    g.textAlign = "left";
    model.splits.forEach((split, k) => {
      if (split.x1 <= view.x0 || split.x0 >= view.x1) return;
      const a = Math.max(at.left, strip.snap(chart, strip.X(chart, split.x0)));
      const b = Math.min(at.right, strip.snap(chart, strip.X(chart, split.x1)));
      const w = Math.max(1, b - a - (b - a > 3 ? 1 : 0));
      const fill = theme.pick(model.devices[split.device]);
      g.fillStyle = fill;
      g.fillRect(a, top, w, h);
      if (w < 16) return;
      const name = model.devices[split.device].name;
      const full = split.text ? `split ${k} · ${name} · ${split.text}` : `split ${k} · ${name}`;
      g.fillStyle = galloscope.format.ink(fill);
      const text = fitting(g, [full, `split ${k} · ${name}`, `${k} · ${name}`], w - 10);
      const number = text ? "" : fitting(g, [String(k)], w - 4);
      g.fillText(text || number, text ? a + 6 : a + (w - g.measureText(number).width) / 2, top + h / 2 + 0.5);
    });
    g.textAlign = "right";
    g.fillStyle = theme.muted;
    g.fillText(galloscope.format.plural(model.splits.length, "split"), at.left - 10, top + h / 2 + 0.5);
    g.textAlign = "left";
  }

  /* What a lane is called, what it holds, and where it is fullest. */
  function header(chart, lane) {
    const { g, at, theme, model } = chart;
    const { bytes, count, exact } = galloscope.format;
    const place = at.lanes[lane.index];
    const device = model.devices[lane.device];
    const hue = device ? theme.pick(device) : theme.muted;
    if (at.compact) return compactHeader(chart, lane, hue);
    const y = place.head + at.header / 2 + 1;
    g.fillStyle = hue;
    g.fillRect(at.left, y - 5, 9, 9);
    let x = at.left + 15;
    const word = (text, color, weight) => {
      g.font = `${weight} 12px ${theme.sans}`;
      const w = g.measureText(text).width;
      g.fillStyle = theme.bg;
      g.fillRect(x - 2, place.head + 1, w + 4, at.header - 2);
      g.fillStyle = color;
      g.fillText(text, x, y);
      x += w + 8;
    };
    g.textAlign = "left";
    word(lane.label, theme.text, "600");
    if (lane.buft !== lane.label) word(lane.buft, theme.muted, "400");
    if (lane.chunks > 1) word(`chunk ${lane.chunk}`, theme.muted, "400");
    word(bytes(lane.size), theme.text, "400");
    if (chart.matters) word(chart.scales[lane.index].even ? "heights not to scale" : "heights to scale", theme.muted, "400");

    const atStep = `at step ${count(lane.peak_step)}`;
    const [peak, live] = [bytes(lane.peak), bytes(lane.live)];
    const over = lane.peak - lane.live; // two texts may be the same for numbers that are not
    const other = peak === live ? `${exact(over)} ${lane.bound ? "above the bound" : "idle"}` : lane.bound ? `bound ${live}` : `${live} live`;
    const texts = [
      [`peak ${peak}`, over ? ` · ${other} ${atStep}` : `${lane.bound ? " = bound" : ""} ${atStep}`],
      [`peak ${peak}`, ` ${atStep}`],
      [`peak ${peak}`, ""],
    ];
    g.font = `12px ${theme.sans}`;
    const found = texts.find((pair) => g.measureText(pair.join("")).width <= at.right - x - 16);
    if (found) {
      const [w, rest] = [g.measureText(found.join("")).width, g.measureText(found[1]).width];
      const right = at.right - 4; // clear of the edge of a selected split
      g.fillStyle = theme.bg;
      g.fillRect(right - w - 4, place.head + 1, w + 4, at.header - 4);
      g.fillStyle = theme.peak;
      g.fillText(found[0], right - w, y);
      g.fillStyle = theme.muted;
      g.fillText(found[1], right - rest, y);
    }
    ticks(chart, lane.index);
  }

  function compactHeader(chart, lane, hue) {
    const { g, at, theme } = chart;
    const place = at.lanes[lane.index];
    if (place.h < 9) return;
    g.fillStyle = hue;
    g.fillRect(at.left - 5, place.top, 3, place.h);
    g.font = `11px ${theme.sans}`;
    g.fillStyle = theme.text;
    g.textAlign = "right";
    g.fillText(lane.chunks > 1 ? `${lane.label} #${lane.chunk}` : lane.label, at.left - 10, place.top + place.h / 2 + 0.5);
    g.textAlign = "left";
  }

  function ticks(chart, lane) {
    const { g, at, theme } = chart;
    const place = at.lanes[lane];
    g.font = `11px ${theme.sans}`;
    g.fillStyle = theme.muted;
    g.textAlign = "right";
    for (const tick of strip.addressTicks(chart, lane)) {
      const y = strip.Y(chart, lane, tick.y);
      g.fillText(tick.text, at.left - 8, Math.min(place.top + place.h - 5, Math.max(place.top + 6, y)));
    }
    g.textAlign = "left";
  }

  function stepAxis(chart) {
    const { g, at, theme, view } = chart;
    const y = at.bottom + 13;
    g.font = `11px ${theme.sans}`;
    g.fillStyle = theme.muted;
    g.textAlign = "right";
    g.fillText("step", at.left - 8, y);
    g.textAlign = "center";
    const perPixel = (view.x1 - view.x0) / at.width;
    const steps = perPixel < 10 ? perPixel.toFixed(1) : Math.round(perPixel);
    const note = chart.samples ? `1 px = ${steps} steps, the fullest is drawn` : "";
    const noteWidth = note ? g.measureText(note).width + 16 : 0;
    // A step is a span: once it is wide enough, its number stands in its middle.
    const shift = 1 / perPixel > 24 ? 0.5 : 0;
    for (const step of strip.stepTicks(chart)) {
      const x = strip.X(chart, step + shift);
      g.fillRect(strip.snap(chart, strip.X(chart, step)), at.bottom + 1, 1, 4);
      const text = galloscope.format.count(step);
      const half = g.measureText(text).width / 2;
      if (x + half > at.right - noteWidth) continue;
      g.fillText(text, Math.max(at.left + half, x), y);
    }
    g.textAlign = "right";
    if (note) g.fillText(note, at.right, y);
    g.textAlign = "left";
  }
})();
