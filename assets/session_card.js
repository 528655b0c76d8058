"use strict";
/* What the card says about a ubatch, about several that share a pixel, or about a mark. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const life = (galloscope.life = galloscope.life || {});
  const { bytes, count, plural } = galloscope.format;

  life.card = function (chart, hit) {
    const { model, theme } = chart;
    if (hit.mark >= 0) {
      const [title, ...rest] = model.words[model.marks.text[hit.mark]].split(": ");
      return { title, rows: [["told", rest.join(": ")], ["before", `ubatch ${count(model.marks.at[hit.mark])}`]].filter(([, text]) => text) };
    }
    const i = hit.ubatch, { of, scene } = model, [, what] = life.KINDS[of.kind[i]];
    const rows = [["outcome", what], ["why", model.words[of.reason[i]] || ""], ["tokens", tokens(of, i)]];
    if (scene.has_kv) rows.push(["attention sees", plural(of.n_kv[i], "cell")]);
    if (of.nodes[i]) rows.push(["built", plural(of.nodes[i], "node")]);
    if (of.plans[i]) rows.push(["plans", count(of.plans[i])]);
    if (of.made[i]) rows.push(["buffers made", bytes(of.made[i])]);
    if (hit.last > hit.first) rows.push(["here", `${count(hit.last - hit.first + 1)} ubatches share this pixel; this is the worst`]);
    return { title: `Ubatch ${count(i)}`, note: life.stepText(model, i), swatch: theme.kinds[of.kind[i]], rows: rows.filter(([, text]) => text) };
  };

  const tokens = (of, i) => `${count(of.tokens[i])}${of.seqs[i] > 1 ? ` of ${plural(of.seqs[i], "sequence")}` : ""}, ${of.outputs[i] ? plural(of.outputs[i], "output") : "no output"}`;
})();
