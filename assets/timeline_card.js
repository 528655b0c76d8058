"use strict";
/* What the card says about a span or a node: what, how long, how fast, and why it waited. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const timeline = (galloscope.timeline = galloscope.timeline || {});
  const { bytes, count, plural } = galloscope.format;

  const named = (model, number) => timeline.device(model, number).name;

  /* Whom a wait is for, in words: "split 1 of GPU0", "the copy of l_out-9 from GPU0 to GPU1". */
  timeline.what = function (chart, i) {
    const { model } = chart, { spans } = model;
    if (spans.kind[i] === timeline.COMPUTE) return `split ${spans.split[i]} on ${named(model, spans.device[i])}${batch(chart, i, " of ")}`;
    const tensor = spans.source[i] >= 0 ? spans.source[i] : spans.tensor[i];
    return `the copy${tensor >= 0 ? ` of ${chart.name(tensor)}` : ""} from ${named(model, spans.device[i])} to ${named(model, spans.other[i])}${batch(chart, i, " of ")}`;
  };

  const batch = (chart, i, before) => (chart.model.scene.batches > 1 ? `${before}micro-batch ${chart.model.spans.batch[i]}` : "");

  function times(chart, i, row) {
    const [a, b] = timeline.extent(chart.model, i, row), { time } = timeline.text;
    return [["takes", time(b - a)], ["from", time(a)], ["to", time(b)]];
  }

  function begins(chart, i) {
    const { spans } = chart.model, cause = spans.cause[i];
    if (chart.model.scene.measured || cause < 0) return [];
    const gap = spans.start[i] - spans.end[cause];
    return [["begins", `${gap > 0 ? `${timeline.text.time(gap)} after` : "right after"} ${timeline.what(chart, cause)}`]];
  }

  function node(chart, i, row) {
    const { model, tensors } = chart, { nodes, scene } = model, id = nodes.tensor[row], ns = nodes.ns[row];
    const rows = [["op", tensors.op[id]], ["shape", `${tensors.type[id]} ${tensors.ne[id]}`], ...times(chart, i, row)];
    if (!scene.measured) {
      const { rate } = timeline.text;
      rows.push(["moves", `${bytes(nodes.bytes[row])}, ${rate(nodes.bytes[row], ns, "B/s")}`]);
      if (nodes.flops[row]) rows.push(["computes", `${timeline.text.si(nodes.flops[row])}FLOP, ${rate(nodes.flops[row], ns, "FLOP/s")}`]);
    }
    return { title: chart.name(id), note: timeline.what(chart, i), rows };
  }

  function split(chart, i) {
    const { model } = chart, { spans, nodes } = model, last = spans.first[i] + spans.count[i] - 1;
    const rows = [["nodes", `${count(spans.count[i])}: ${chart.name(nodes.tensor[spans.first[i]])} … ${chart.name(nodes.tensor[last])}`], ...times(chart, i, -1)];
    if (!model.scene.measured) rows.push(["moves", `${bytes(spans.bytes[i])}, ${timeline.text.rate(spans.bytes[i], spans.end[i] - spans.start[i], "B/s")}`]);
    return { title: `split ${spans.split[i]} · ${named(model, spans.device[i])}`, note: batch(chart, i, ""), rows: [...rows, ...begins(chart, i)] };
  }

  function copy(chart, i) {
    const { model } = chart, { spans } = model, tensor = spans.source[i] >= 0 ? spans.source[i] : spans.tensor[i];
    const rows = [
      ["copy", `${named(model, spans.device[i])} to ${named(model, spans.other[i])}`],
      ["bytes", `${bytes(spans.bytes[i])}, ${timeline.text.rate(spans.bytes[i], spans.end[i] - spans.start[i], "B/s")}`],
      ...times(chart, i, -1), ...begins(chart, i),
    ];
    return { title: tensor >= 0 ? chart.name(tensor) : "copy", note: `for split ${spans.split[i]}${batch(chart, i, ", ")}`, rows };
  }

  function wait(chart, i) {
    const { model } = chart, { spans, lanes } = model, cause = spans.cause[i], held = spans.kind[i] === timeline.HELD;
    const who = named(model, lanes[spans.lane[i]].device), rows = [["for", timeline.what(chart, cause)], ...times(chart, i, -1)];
    const before = spans.cause[cause];
    if (spans.kind[cause] === timeline.COPY && before >= 0 && spans.start[cause] > spans.start[i]) rows.push(["which waits for", timeline.what(chart, before)]);
    return { title: `${who} ${held ? "is held" : "waits"}`, note: `split ${spans.split[i]}${batch(chart, i, ", ")}`, rows };
  }

  const KINDS = [split, copy, wait, wait];
  timeline.card = function (chart, { span, row }) {
    const content = row >= 0 ? node(chart, span, row) : KINDS[chart.model.spans.kind[span]](chart, span);
    const tick = chart.model.spans.tick[span];
    if (tick >= 0) content.rows.push(["tick", count(tick)]);
    return { ...content, swatch: chart.theme.pick(timeline.device(chart.model, chart.model.spans.device[span])) };
  };

  /* One line under the chart about what is selected. */
  timeline.selectedLine = function (chart) {
    const boxes = timeline.selectedBoxes(chart), { model } = chart, { spans } = model, { time } = timeline.text;
    if (!boxes.length) return "";
    const [i, row] = boxes[0], [a, b] = timeline.extent(model, i, row);
    const where = row >= 0 ? "computed" : spans.kind[i] === timeline.COPY ? "copied" : "runs";
    const copies = boxes.filter(([k]) => spans.kind[k] === timeline.COPY).length;
    const also = row >= 0 && copies ? `; ${plural(copies, "copy", "copies")}` : "";
    return `${where} ${spans.kind[i] === timeline.COPY ? `${named(model, spans.device[i])} to ${named(model, spans.other[i])}` : `on ${named(model, spans.device[i])}`}, ${time(b - a)} from ${time(a)}${model.scene.batches > 1 ? " in the first micro-batch" : ""}${also}`;
  };
})();
