"use strict";
/* The timeline as the server sends it, unpacked: spans and nodes by column, the spans of each lane in order, and how times
 * and rates are written. The rules for times are those of core/timeline/answers.py. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const timeline = (galloscope.timeline = galloscope.timeline || {});
  const COLUMNS = { lane: "int32", kind: "uint8", start: "float64", end: "float64", batch: "int32", split: "int32", tick: "int32", device: "int32", other: "int32", tensor: "int32", source: "int32", bytes: "float64", first: "int32", count: "int32", cause: "int32" };
  const NODES = { tensor: "int32", offset: "float64", ns: "float64", flops: "float64", bytes: "float64" };
  const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
  const PREFIXES = [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1], ["m", 1e-3], ["µ", 1e-6], ["n", 1e-9], ["p", 1e-12]];

  timeline.COMPUTE = 0;
  timeline.COPY = 1;
  timeline.WAIT = 2;
  timeline.HELD = 3;

  const unpacked = (table, kinds) => Object.fromEntries(Object.entries(kinds).map(([key, kind]) => [key, galloscope.format.column(table[key], kind)]));

  timeline.model = function (scene) {
    const spans = { n: scene.spans.n, ...unpacked(scene.spans, COLUMNS) };
    const nodes = { n: scene.nodes.n, ...unpacked(scene.nodes, NODES) };
    const lanes = scene.lanes.map((lane, index) => ({ ...lane, index, spans: [] }));
    for (let i = 0; i < spans.n; i++) lanes[spans.lane[i]].spans.push(i);
    for (const lane of lanes) lane.spans.sort((a, b) => spans.start[a] - spans.start[b] || spans.end[a] - spans.end[b]);
    for (const lane of lanes) lane.used = lane.spans.reduce((sum, i) => sum + (spans.kind[i] <= timeline.COPY ? spans.end[i] - spans.start[i] : 0), 0);
    const rowOf = new Map();
    for (let row = 0; row < nodes.n; row++) if (!rowOf.has(nodes.tensor[row])) rowOf.set(nodes.tensor[row], row);
    return { scene, spans, nodes, lanes, rowOf, total: Math.max(1, scene.total), devices: scene.devices, path: new Set(galloscope.format.column(scene.path, "int32")) };
  };

  /* The host is the last of the devices; its number is -1. */
  timeline.device = (model, number) => model.devices[number < 0 ? model.devices.length - 1 : number];

  /* The first span of a lane that ends after a time. Spans of a lane do not overlap. */
  timeline.firstAfter = function (model, lane, time) {
    const list = model.lanes[lane].spans;
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (model.spans.end[list[middle]] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  /* The row of a compute span's node at a time; -1 for none. */
  timeline.rowAt = function (model, span, time) {
    const { spans, nodes } = model, first = spans.first[span], last = first + spans.count[span];
    const into = time - spans.start[span];
    let low = first, high = last;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (nodes.offset[middle] + nodes.ns[middle] <= into) low = middle + 1;
      else high = middle;
    }
    return low < last && nodes.offset[low] <= into ? low : -1;
  };

  function time(ns) {
    const at = UNITS.find(([, size]) => ns >= size - Math.floor(size / 20000));
    if (!at) return `${Math.round(ns)} ns`;
    const [unit, size] = at, hundredths = Math.floor((200 * ns + size) / (2 * size)), tenths = Math.floor((20 * ns + size) / (2 * size));
    if (hundredths < 1000) return `${(hundredths / 100).toFixed(2)} ${unit}`;
    return tenths < 10000 ? `${(tenths / 10).toFixed(1)} ${unit}` : `${galloscope.format.count(Math.floor(ns / size))} ${unit}`;
  }

  /* A number with a prefix of ten: 80 T, 4 µ. */
  function si(value) {
    if (value === 0) return "0";
    const [prefix, size] = PREFIXES.find(([, one]) => Math.abs(value) >= one * 0.9999995) || PREFIXES[PREFIXES.length - 1];
    return `${Number((value / size).toPrecision(4))}${prefix ? ` ${prefix}` : ""}`;
  }

  /* What a person types, as a number: 80T, 8e13, 4 u, 5 µs, 20 TFLOP/s; NaN when it is none. */
  function parse(text) {
    const found = /^\s*([\d.,]+(?:e[+-]?\d+)?)\s*([PTGMkKmµuμnp]?)(?:s|B\/s|FLOPS?|FLOP\/s)?\s*$/i.exec(text);
    if (!found) return NaN;
    const prefix = { K: "k", u: "µ", μ: "µ", t: "T", g: "G" }[found[2]] ?? found[2];
    const size = PREFIXES.find(([one]) => one === prefix)?.[1] ?? NaN;
    return Number((Number(found[1].replace(",", ".")) * size).toPrecision(15));
  }

  timeline.text = { time, si, parse, rate: (amount, ns, unit) => (ns > 0 ? `${si(Number(((amount * 1e9) / ns).toPrecision(3)))}${unit}` : "") };

  /* Round times at least `room` px apart. */
  timeline.ticks = function (x0, x1, width, room = 96) {
    const raw = ((x1 - x0) * room) / Math.max(room, width);
    const power = 10 ** Math.floor(Math.log10(Math.max(1, raw)));
    const step = Math.max(1, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || 10 * power);
    const found = [];
    for (let k = Math.ceil(x0 / step - 1e-9); k * step <= x1; k++) found.push(k * step);
    const [unit, size] = UNITS.find(([, one]) => x1 >= one) || ["ns", 1];
    const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
    return found.map((at) => ({ at, text: at === 0 ? "0" : `${(at / size).toFixed(Math.min(6, digits))} ${unit}` }));
  };
})();
