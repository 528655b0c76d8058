"use strict";
/* A session as the server sends it, unpacked: ubatches and steps by column, the running sums, and for every power of two the
 * worst kind and the largest numbers of so many neighbours, so that a picture looks at no more of them than it has pixels. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const life = (galloscope.life = galloscope.life || {});
  const UBATCHES = {
    kind: "uint8", tokens: "int32", outputs: "int32", seqs: "int32", n_kv: "int32", run: "int32", nodes: "int32", made: "float64", plans: "int32",
    since: "int32", step: "int32", reason: "int32",
  };
  const STEPS = { first: "int32", last: "int32", label: "int32", ret: "int32" };
  const MARKS = { at: "int32", kind: "uint8", text: "int32", nodes: "int32", plans: "int32", made: "float64" };

  /* The axis is never shorter, so that one ubatch is no wall. */
  life.LEAST = 4;

  /* The numbers of the column `kind`, the worst last; app/figures/session.py knows the same. */
  life.KINDS = [
    ["reused", "re-used", "Graph, plan and addresses as before"],
    ["rebuilt", "rebuilt", "A new graph; the plan in force fits it, so no address changed"],
    ["replanned", "re-planned", "A new graph and a new plan, in the buffers that are there"],
    ["moved", "buffers moved", "A buffer was made anew: every address in it changed"],
    ["stopped", "stopped", "Aborted, or its buffers could not be made"],
  ];
  life.MARKS = [["reserve", "reservation"], ["refused", "refused"], ["shift", "memory update"], ["wait", "waits for the devices"]];

  const unpacked = (table, kinds) => Object.fromEntries(Object.entries(kinds).map(([key, kind]) => [key, galloscope.format.column(table[key], kind)]));

  /* levels[k][i] is the largest of the 2^k numbers from i * 2^k on. */
  function pyramid(values) {
    const levels = [values];
    while (levels[levels.length - 1].length > 1) {
      const below = levels[levels.length - 1], next = new below.constructor((below.length + 1) >> 1);
      for (let i = 0; i < next.length; i++) next[i] = Math.max(below[2 * i], below[Math.min(2 * i + 1, below.length - 1)]);
      levels.push(next);
    }
    return levels;
  }

  /* What was paid behind each ubatch, reservations on the way counted at the one that they came before. */
  function sums(values, marks, key) {
    const found = new Float64Array(values.length + 1), n = values.length;
    for (let i = 0; i < n; i++) found[i + 1] = values[i];
    for (let k = 0; k < marks.n; k++) found[marks.at[k] < n ? marks.at[k] + 1 : n] += marks[key][k];
    for (let i = 0; i < n; i++) found[i + 1] += found[i];
    return found;
  }

  life.model = function (scene) {
    const n = scene.ubatches.n, of = unpacked(scene.ubatches, UBATCHES);
    const steps = { n: scene.steps.n, ...unpacked(scene.steps, STEPS) }, marks = { n: scene.marks.n, ...unpacked(scene.marks, MARKS) };
    series(steps);
    const cost = { nodes: sums(of.nodes, marks, "nodes"), plans: sums(of.plans, marks, "plans"), made: sums(of.made, marks, "made") };
    return { scene, n, total: Math.max(life.LEAST, n), of, steps, marks, cost, words: scene.words, kinds: pyramid(of.kind), tokens: pyramid(of.tokens), cells: pyramid(of.n_kv) };
  };

  /* Equal calls behind each other are a series: its first and last ubatch and its length, for each of them. */
  function series(steps) {
    const from = new Int32Array(steps.n), to = new Int32Array(steps.n), calls = new Int32Array(steps.n);
    for (let k = 0; k < steps.n; k++) {
      let end = k;
      while (end + 1 < steps.n && steps.label[end + 1] === steps.label[k] && steps.last[end + 1] > steps.first[end + 1]) end += 1;
      from.fill(steps.first[k], k, end + 1);
      to.fill(steps.last[end], k, end + 1);
      calls.fill(end - k + 1, k, end + 1);
      k = end;
    }
    Object.assign(steps, { from, to, calls });
  }

  /* The step of a ubatch; steps without any stand between them. */
  life.stepText = (model, i) => model.words[model.steps.label[model.of.step[i]]];

  /* The first mark at a ubatch or behind it. */
  life.firstMark = function (model, at) {
    let low = 0, high = model.marks.n;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (model.marks.at[middle] < at) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  /* The next ubatch on from `from` that is no re-use; -1 for none. */
  life.nextBuilt = function (model, from, by) {
    for (let i = from + by; i >= 0 && i < model.n; i += by) if (model.of.kind[i]) return i;
    return -1;
  };
})();
