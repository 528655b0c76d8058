"use strict";
/* What the floating card says about an op, a layer, a split. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const dag = (galloscope.dag = galloscope.dag || {});
  const MOST = 4, MOST_INPUTS = 12;

  function listed(c, ids) {
    const names = ids.slice(0, MOST).map((id) => galloscope.format.tail(c.model.tensors.name[id], 36));
    return names.join(", ") + (ids.length > MOST ? `, +${ids.length - MOST}` : "");
  }

  function tensor(c, id) {
    const { model } = c, { tensors, scene } = { tensors: model.tensors, scene: model.scene }, { bytes } = galloscope.format;
    const node = model.nodeOf[id], copy = model.copyOf.get(id), device = scene.devices[model.device[id]], rows = [];
    const where = [device ? device.name : "no device"];
    if (node >= 0 && scene.splits.length) where.push(`split ${model.split[node]}`);
    if (node >= 0) where.push(model.dag.layers[model.layerOf(node)].title, `node ${node}`);
    rows.push(["placed", where.join(" · ")]);
    if (c.by !== "device") rows.push([scene.colors[c.by].title, scene.colors[c.by].palette[c.color.of[id]].label]);
    if (copy) rows.push(["copy", `no. ${copy.no} of ${tensors.name[copy.src]}`, "gs-mono"]);
    const sources = copy ? [] : model.producers(id);
    for (const w of sources.filter((s) => model.weights.has(s))) {
      rows.push(["weight", `${tensors.name[w]} · ${tensors.type[w]} · ${bytes(model.bytes[w])}`, "gs-mono"]);
    }
    const others = sources.filter((s) => !model.weights.has(s)), users = model.consumers(id);
    if (others.length) rows.push(["reads", listed(c, others), "gs-mono"]);
    if (users.length) rows.push(["read by", listed(c, users), "gs-mono"]);
    else if (node >= 0 && !model.isOutput(id)) rows.push(["read by", "no op of the graph"]);
    if (node >= 0 && model.isView[node]) rows.push(["view", "costs no time and no memory"]);
    if (model.isOutput(id)) rows.push(["output", "its memory is never freed"]);
    if (model.pins.has(id)) rows.push(["pinned", "by llama.cpp"]);
    rows.push(...(tensors.facts?.[id] || []));
    const what = [tensors.op[id] === "NONE" ? "" : tensors.op[id], tensors.type[id], tensors.ne[id], bytes(model.bytes[id])];
    return { title: tensors.name[id], note: what.filter(Boolean).join(" · "), swatch: c.paints[c.color.of[id]].hue, rows };
  }

  function layer(c, k, closed) {
    const { model } = c, one = model.dag.layers[k], counts = new Map(), splits = new Set();
    for (let i = one.start; i < one.end; i++) {
      const device = model.device[model.nodes[i]];
      counts.set(device, (counts.get(device) || 0) + 1);
      splits.add(model.split[i]);
    }
    const rows = [...counts].map(([d, n]) => [d >= 0 ? model.scene.devices[d].name : "no device", galloscope.format.plural(n, "node")]);
    if (model.scene.splits.length) rows.push(splits.size > 1 ? ["splits", String(splits.size)] : ["split", String([...splits][0])]);
    if (one.note) rows.push(["unlike most", one.note]);
    if (one.unlike) {
      const [beside, text] = one.unlike;
      text.split(" · ").forEach((part, i) => rows.push([i ? "" : `differs from ${model.dag.layers[beside].title}`, part]));
    }
    return { title: one.title, note: closed ? "double click opens it" : "double click closes it", rows };
  }

  function split(c, k) {
    const inputs = c.model.splitInputs(k), { tensors } = c.model;
    const rows = inputs.slice(0, MOST_INPUTS).map(({ src, bytes, times }) => [
      galloscope.format.bytes(bytes) + (times > 1 ? ` ×${times}` : ""), tensors.name[src], "gs-mono"]);
    if (inputs.length > MOST_INPUTS) rows.push(["", `and ${inputs.length - MOST_INPUTS} more`]);
    const device = c.devices[c.model.scene.splits[k].device];
    return { title: dag.splitLabel(c, k), note: inputs.length ? "copied when it begins" : "nothing is copied", swatch: device.hue, rows };
  }

  /* Show the card for what is under the pointer, or none when there is nothing to say. */
  dag.showCard = (c, hit, px, py) => {
    const content = hit.id >= 0 ? tensor(c, hit.id)
      : hit.type === "split" ? split(c, hit.split)
      : hit.type === "fold" || hit.type === "head" ? layer(c, hit.layer, hit.type === "fold")
      : null;
    if (content) c.card.show(content, px, py);
    else c.card.hide();
  };
})();
