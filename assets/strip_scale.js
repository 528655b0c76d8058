/* Addresses on a lane. The plain scale is linear. One tensor can be 97 % of a buffer, though, and then all others share a few
 * pixels; the even scale keeps the order of all addresses but gives small ranges more height: between two addresses at which
 * any tensor begins or ends, the height grows with a small power of the bytes. A lane on it says so in its header.
 *
 * Lane coordinates run from 0 to the range of the lane (the size of the chunk, or more) on both scales. `to` leads from addresses to them, `from` back. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});
  const POWER = 0.35;
  const LINEAR = { to: (address) => address, from: (v) => v };

  /* What `even` may be: "true" heights, "even" heights, "auto" for even only where true ones hide nearly everything. */
  strip.evenMode = (even) => {
    if (typeof even === "boolean") return even ? "even" : "true";
    return even === "true" || even === "even" ? even : "auto";
  };

  /* One scale per lane, and the table columns in lane coordinates, so that drawing never converts. A lane says which scale it
   * is on when there are both, or when it is not the one that would have been chosen. */
  strip.scale = function (model, mode) {
    const hides = model.lanes.map((lane) => hidden(model, lane));
    const scales = model.lanes.map((lane, i) => (mode === "auto" ? hides[i] : mode === "even") ? evenScale(model, lane) : LINEAR);
    const matters = mode === "even" || hides.some(Boolean);
    const columns = (table, laneOf) => {
      if (scales.every((scale) => scale === LINEAR)) return { y0: table.y0, y1: table.y1 };
      const convert = (column) => column.map((y, i) => scales[laneOf(i)].to(y));
      return { y0: convert(table.y0), y1: convert(table.y1) };
    };
    return {
      scales, matters,
      geo: {
        rects: columns(model, (i) => model.lane[i]),
        views: columns(model.views, (i) => model.lane[model.views.rect[i]]),
        holes: columns(model.holes, (i) => model.holes.lane[i]),
        overlaps: columns(model.overlaps, (i) => model.overlaps.lane[i]),
      },
    };
  };

  /* One tensor takes much of the lane and the typical one less than a hundredth of it. */
  function hidden(model, lane) {
    const sizes = [];
    for (let i = 0; i < model.n; i++) if (model.lane[i] === lane.index) sizes.push(model.y1[i] - model.y0[i]);
    sizes.sort((a, b) => a - b);
    return sizes[sizes.length - 1] > 0.4 * lane.range && sizes[sizes.length >> 1] < lane.range / 100;
  }

  function evenScale(model, lane) {
    const edges = new Set([0, lane.range, ...(lane.edges || [])]); // those of another chart, to share its scale
    for (let i = 0; i < model.n; i++) {
      if (model.lane[i] === lane.index) edges.add(model.y0[i]).add(model.y1[i]);
    }
    const address = Float64Array.from(edges).sort();
    const v = new Float64Array(address.length);
    for (let i = 1; i < address.length; i++) v[i] = v[i - 1] + (address[i] - address[i - 1]) ** POWER;
    const stretch = lane.range / (v[v.length - 1] || 1);
    for (let i = 1; i < v.length; i++) v[i] *= stretch;
    return { even: true, to: between(address, v), from: between(v, address) };
  }

  /* Piecewise linear from one rising column to another; past the end it goes on with slope one. */
  function between(xs, ys) {
    const last = xs.length - 1;
    return function (x) {
      if (x >= xs[last]) return ys[last] + (x - xs[last]);
      let low = 0;
      let high = last;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (xs[middle] <= x) low = middle;
        else high = middle;
      }
      const width = xs[high] - xs[low];
      return width ? ys[low] + ((x - xs[low]) / width) * (ys[high] - ys[low]) : ys[low];
    };
  }

  /* Pixels: X from steps, YV from lane coordinates, Y from addresses; step, V and address lead back. */
  strip.X = (chart, step) => chart.at.left + ((step - chart.view.x0) / (chart.view.x1 - chart.view.x0)) * chart.at.width;
  strip.step = (chart, px) => chart.view.x0 + ((px - chart.at.left) / chart.at.width) * (chart.view.x1 - chart.view.x0);
  strip.YV = function (chart, lane, v) {
    const place = chart.at.lanes[lane];
    const range = chart.view.lanes[lane];
    return place.top + place.h - ((v - range.y0) / (range.y1 - range.y0)) * place.h;
  };
  strip.V = function (chart, lane, px) {
    const place = chart.at.lanes[lane];
    const range = chart.view.lanes[lane];
    return range.y0 + ((place.top + place.h - px) / place.h) * (range.y1 - range.y0);
  };
  strip.Y = (chart, lane, address) => strip.YV(chart, lane, chart.scales[lane].to(address));
  strip.address = (chart, lane, px) => chart.scales[lane].from(strip.V(chart, lane, px));

  /* Round addresses at least 22 px apart, as short byte texts; as hex once those could not tell two of them apart. */
  strip.addressTicks = function (chart, lane) {
    const { y0, y1 } = chart.view.lanes[lane];
    const { from, even } = chart.scales[lane];
    const { h } = chart.at.lanes[lane];
    const found = even ? spread(chart, lane, h) : regular(y0, y1, h);
    const unit = 1024 ** Math.floor(Math.log2(Math.max(1, from(y1))) / 10);
    const fine = !even && found.length > 1 && found[1] - found[0] < unit / 8;
    return found.map((y) => ({ y, text: fine ? galloscope.format.hex(y) : tickText(y) }));
  };

  function regular(y0, y1, h) {
    const step = 2 ** Math.ceil(Math.log2(Math.max(1, (y1 - y0) / Math.max(1, Math.floor(h / 22)))));
    const found = [];
    for (let y = Math.ceil(y0 / step) * step; y <= y1; y += step) found.push(y);
    return found;
  }

  /* On the even scale: every 22 px the roundest address of the 16 px around. */
  function spread(chart, lane, h) {
    const { top } = chart.at.lanes[lane];
    const found = [];
    let last = Infinity;
    for (let px = top + h; px > top + 8; px -= 22) {
      const low = Math.max(0, strip.address(chart, lane, px + 8));
      const high = strip.address(chart, lane, px - 8);
      let step = 2 ** Math.ceil(Math.log2(Math.max(1, high)));
      while (step > 1 && Math.floor(high / step) * step < low) step /= 2;
      const y = low === 0 ? 0 : Math.floor(high / step) * step;
      const at = strip.Y(chart, lane, y);
      if (y > chart.model.lanes[lane].range || last - at < 16) continue;
      found.push(y);
      last = at;
    }
    return found;
  }

  /* Ticks are round: their decimals lose the trailing zeros that a measured number would keep. */
  const tickText = (y) => (y === 0 ? "0" : galloscope.format.bytes(y).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " "));

  strip.stepTicks = function (chart) {
    const { x0, x1 } = chart.view;
    const raw = (x1 - x0) / Math.max(2, chart.at.width / 90);
    const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
    const step = Math.max(1, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || 10 * power);
    const ticks = [];
    // The slack forgives what zooming in and out again leaves of a zero.
    for (let x = Math.ceil(x0 / step - 1e-6) * step; x <= x1; x += step) ticks.push(x);
    return ticks;
  };
})();
