/* The strip chart's data: columns decoded once, and the few indexes that hovering and selecting need.
 *
 * The strip chart is made of (any load order will do, they meet when a chart is made):
 *   format.js         numbers, colours, columns
 *   card.js           the floating card
 *   strip_data.js     this file: the model
 *   strip_frame.js    which pixels belong to what
 *   strip_scale.js    steps and addresses to pixels and back, ticks, the even scale
 *   strip_view.js     what part of the data is shown, its text form, the moves to another
 *   strip_draw.js     the base canvas: what the plan is
 *   strip_labels.js   the base canvas: ribbon, headers, axes, names
 *   strip_overlap.js  what is wrong with the plan
 *   strip_overlay.js  the overlay canvas: hover, selection, live set, split band, cursor
 *   strip_card.js     what the card says
 *   strip_input.js    pointer and keyboard
 *   strip.js          galloscope.Strip, which ties them together
 */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});

  /* The bits of app/figures/strip.py: Kind. */
  strip.KIND = { COPY: 1, KEPT: 2, IN_PLACE: 4, NEVER_FREED: 8, INPUT: 16 };

  strip.model = function (scene) {
    const { column } = galloscope.format;
    const s = scene.strip;
    const rects = boxes(s, column);
    const model = {
      scene,
      n: s.n,
      nSteps: s.n_steps,
      nTensors: scene.tensors.n,
      names: scene.tensors.name,
      splits: scene.splits,
      devices: scene.devices,
      id: column(s.id, "int32"),
      ...rects,
      parent: column(s.parent, "int32"),
      kind: column(s.kind, "uint8"),
      copyOf: column(s.copy_of, "int32"),
      copyNo: column(s.copy_no, "int8"),
      tensorOfStep: column(s.tensor_of_step, "int32"),
      nodeOfStep: column(s.node_of_step, "int32"),
      bytes: column(scene.tensors.bytes, "float64"),
      layer: column(scene.tensors.layer, "int16"),
      device: column(scene.tensors.device, "int8"),
      views: { n: s.views.n, id: column(s.views.id, "int32"), rect: column(s.views.rect, "int32"), ...boxes(s.views, column) },
      holes: { n: s.holes.n, ...boxes(s.holes, column) },
      overlaps: {
        n: s.overlaps.n, ...boxes(s.overlaps, column),
        tensor: column(s.overlaps.tensor, "int32"), other: column(s.overlaps.other, "int32"),
      },
      sources: sourcesOf(scene, column),
    };
    // `range`: the addresses that the lane shows, where they are more than its size.
    model.lanes = s.lanes.map((lane, i) => ({ ...lane, index: i, range: Math.max(lane.size, lane.range || 0), bytesAt: bytesAt(model, i) }));
    model.rectOf = indexOf(model.id, model.nTensors);
    model.stepOf = indexOf(model.tensorOfStep, model.nTensors);
    model.viewOf = indexOf(model.views.id, model.nTensors);
    const reads = s.reads;
    model.reader = column(reads.reader, "int32");
    model.readStep = column(reads.step, "int32");
    model.readRect = column(reads.rect, "int32");
    model.readsOfRect = group(model.readRect, model.n);
    let lived = 0;
    for (let i = 0; i < model.n; i++) lived += model.x1[i] - model.x0[i];
    model.meanLife = model.n ? lived / model.n : 0;
    return model;
  };

  /* [x0, x1) steps, [y0, y1) bytes; the lane where the table has one. */
  function boxes(table, column) {
    const y0 = column(table.y0, "float64");
    const size = column(table.size, "float64");
    return {
      x0: column(table.x0, "int32"),
      x1: column(table.x1, "int32"),
      y0,
      y1: y0.map((y, i) => y + size[i]),
      lane: table.lane ? column(table.lane, "int16") : null,
    };
  }

  /* Who reads whom, as the scene's graph has it: a weight has no rectangle, but its readers have steps. */
  function sourcesOf(scene, column) {
    const { dag } = scene;
    if (!dag) return null;
    return { at: column(dag.src_at, "int32"), ids: column(dag.src, "int32"), view: column(dag.view_src, "int32") };
  }

  /* Bytes alive in a lane at every step. */
  function bytesAt(model, lane) {
    const alive = new Float64Array(model.nSteps + 1);
    for (let i = 0; i < model.n; i++) {
      if (model.lane[i] !== lane) continue;
      const size = model.y1[i] - model.y0[i];
      alive[model.x0[i]] += size;
      alive[model.x1[i]] -= size;
    }
    for (let i = 1; i <= model.nSteps; i++) alive[i] += alive[i - 1];
    return alive;
  }

  function indexOf(ids, n) {
    const at = new Int32Array(n).fill(-1);
    for (let i = 0; i < ids.length; i++) at[ids[i]] = i;
    return at;
  }

  /* Rows by key, as one flat array with offsets: rows of key k are rows[first[k]] .. rows[first[k + 1] - 1]. */
  function group(keys, n) {
    const first = new Uint32Array(n + 1);
    for (const key of keys) first[key + 1] += 1;
    for (let i = 0; i < n; i++) first[i + 1] += first[i];
    const next = first.slice();
    const rows = new Uint32Array(keys.length);
    for (let i = 0; i < keys.length; i++) rows[next[keys[i]]++] = i;
    return { first, rows };
  }

  /* The draw order: rectangles by colour, so that the fill changes once per colour; where any overlap, by birth, as they lie
   * in the model, so that the later one is on top. */
  strip.order = function (model, of) {
    if (model.overlaps.n) return Uint32Array.from({ length: model.n }, (_, i) => i);
    const { rows } = group(Uint8Array.from({ length: model.n }, (_, i) => of[model.id[i]]), 256);
    return rows;
  };

  /* The rectangles that tensor `id` reads, and the readers of its own memory. */
  strip.relatives = function (model, id) {
    const producers = new Set();
    const consumers = new Set();
    const steps = [];
    const step = model.stepOf[id];
    for (let i = 0; i < model.readStep.length; i++) {
      if (model.readStep[i] === step || model.reader[i] === id) producers.add(model.readRect[i]);
    }
    const own = model.rectOf[id];
    if (own >= 0) {
      const { first, rows } = model.readsOfRect;
      for (let k = first[own]; k < first[own + 1]; k++) {
        steps.push(model.readStep[rows[k]]);
        const reader = model.rectOf[model.reader[rows[k]]];
        if (reader >= 0) consumers.add(reader);
      }
    }
    if (own < 0 && model.viewOf[id] < 0 && step < 0) outside(model, id, consumers, steps);
    producers.delete(own);
    consumers.delete(own);
    return { producers, consumers, steps };
  };

  /* Memory of the model, such as a weight: its copies, and the steps and results of those that read it or a view or copy of it. */
  function outside(model, id, consumers, steps) {
    const same = new Set([id]);
    for (let i = 0; i < model.n; i++) {
      if (model.copyOf[i] !== id) continue;
      consumers.add(i);
      same.add(model.id[i]);
    }
    if (!model.sources) return;
    const { at, ids, view } = model.sources;
    for (let t = 0; t < model.nTensors; t++) if (view[t] === id) same.add(t);
    model.tensorOfStep.forEach((tensor, step) => {
      if (!ids.subarray(at[tensor], at[tensor + 1]).some((source) => same.has(source))) return;
      steps.push(step);
      const rect = model.rectOf[tensor];
      if (rect >= 0) consumers.add(rect);
    });
  }

  /* The split that executes a step, -1 without splits. */
  strip.splitAt = function (model, step) {
    let low = 0;
    let high = model.splits.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (model.splits[middle].x0 <= step) low = middle;
      else high = middle - 1;
    }
    return high < 0 ? -1 : low;
  };
})();
