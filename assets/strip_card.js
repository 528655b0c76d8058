/* What the strip chart's card says about a tensor, a split, a lane and a hole. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});

  /* A half-open range as people say it: first to last. */
  function span(first, end, what) {
    const { count, plural } = galloscope.format;
    if (end - first === 1) return `${what} ${count(first)}`;
    return `${what}s ${count(first)} – ${count(end - 1)} · ${plural(end - first, what)}`;
  }

  /* The four largest of some tensors, as rows. */
  function largest(model, ids) {
    const { bytes, tail } = galloscope.format;
    const sorted = [...ids].sort((a, b) => model.bytes[b] - model.bytes[a]).slice(0, 4);
    return sorted.map((id, i) => [i ? "" : "largest", `${tail(model.names[id], 32)} · ${bytes(model.bytes[id])}`, "gs-mono"]);
  }

  strip.tensorCard = function (chart, i) {
    const { model, theme, color } = chart;
    const { bytes, exact, hex } = galloscope.format;
    const { KIND } = strip;
    const id = model.id[i];
    const { op, type, ne } = model.scene.tensors;
    const kind = model.kind[i];
    const entry = color.palette[color.of[id]];
    const device = model.devices[model.device[id]];
    const size = model.y1[i] - model.y0[i];
    const rows = [
      ["size", size < 1024 ? bytes(size) : `${bytes(size)} · ${exact(size)}`],
      ["address", `${hex(model.y0[i])} – ${hex(model.y1[i])}`, "gs-mono"],
      ["lives", span(model.x0[i], model.x1[i], "step")],
    ];
    if (model.copyOf[i] >= 0) rows.push(["copy", `no. ${model.copyNo[i]} of ${model.names[model.copyOf[i]]}`, "gs-mono"]);
    if (model.parent[i] >= 0) rows.push(["in place of", model.names[model.id[model.parent[i]]], "gs-mono"]);
    if (kind & KIND.KEPT) rows.push(["kept", "an output, so it is never freed"]);
    else if (kind & KIND.NEVER_FREED) rows.push(["kept", "never freed in this graph"]);
    if (kind & KIND.INPUT) rows.push(["input", "placed before the first step"]);
    if (chart.colorBy !== "device" && entry) rows.push([chart.color.title, entry.label]);
    rows.push(...(model.scene.tensors.facts?.[id] || []));
    const where = [op[id] === "NONE" ? "" : op[id], type[id], ne[id], device ? device.name : ""];
    if (model.layer[id] >= 0) where.push(`layer ${model.layer[id]}`);
    return { title: model.names[id], note: where.filter(Boolean).join(" · "), swatch: entry && theme.pick(entry), rows };
  };

  strip.splitCard = function (chart, k) {
    const { model, theme } = chart;
    const { bytes, plural } = galloscope.format;
    const split = model.splits[k];
    const device = model.devices[split.device];
    const rows = [
      ["runs", span(split.start, split.end, "node")],
      ["", span(split.x0, split.x1, "step")],
    ];
    if (split.inputs.length) {
      rows.push(["copied in", `${bytes(split.bytes)} · ${plural(split.inputs.length, "tensor")}`]);
      rows.push(...largest(model, split.inputs));
    }
    return { title: `split ${k} of ${model.splits.length} · ${device.name}`, swatch: theme.pick(device), rows };
  };

  strip.laneCard = function (chart, lane) {
    const { model, theme } = chart;
    const { bytes, exact, count, plural } = galloscope.format;
    const device = model.devices[lane.device];
    const rows = [
      ["chunk", `${lane.chunk + 1} of ${lane.chunks} · ${bytes(lane.size)} · ${exact(lane.size)}`],
      ["peak", `${bytes(lane.peak)} is the highest byte in use`],
      ["most live", `${bytes(lane.live)} in ${plural(lane.alive.length, "tensor")} at step ${count(lane.peak_step)}`],
    ];
    const idle = lane.peak - lane.live;
    if (idle) rows.push(["idle then", `${bytes(idle)} · ${((100 * idle) / lane.peak).toFixed(1)} %`]);
    rows.push(...largest(model, lane.alive));
    const buffer = lane.buft === lane.label ? lane.label : `${lane.label} · ${lane.buft}`;
    const title = lane.chunks > 1 ? `${buffer} · chunk ${lane.chunk}` : buffer;
    return { title, note: "click: enlarge this lane · double click: go to its peak", swatch: theme.pick(device), rows };
  };

  strip.holeCard = function (chart, i) {
    const { x0, x1, y0, y1 } = chart.model.holes;
    const { bytes, hex } = galloscope.format;
    return {
      title: `free · ${bytes(y1[i] - y0[i])}`,
      rows: [
        ["address", `${hex(y0[i])} – ${hex(y1[i])}`, "gs-mono"],
        ["free", span(x0[i], x1[i], "step")],
      ],
    };
  };
})();
