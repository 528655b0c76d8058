"use strict";
/* The selected ubatch: why in sentences, what it is, what it cost, and every condition of re-use with both values. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, element } = page;
  const { count } = galloscope.format;

  const rows = (list) => element("dl", "gs-life-facts", list.flatMap(([label, value]) => [element("dt", "", label), element("dd", "", value)]));

  function title(detail, scene, model) {
    const key = galloscope.life.KINDS[detail.kind][0];
    const step = galloscope.life.stepText(model, detail.number);
    return [element("i", `gs-life-mark-${key}`), element("strong", "", `Ubatch ${count(detail.number)}`), element("span", "gs-muted gs-life-place", `${step} · ${detail.place}`)];
  }

  const none = () => element("p", "gs-muted", "No condition was asked.");

  /* Failed conditions stand first and are marked; those that hold follow in llama.cpp's order. */
  function checks(detail) {
    const head = element("tr", "", ["", "condition", "active graph", "now", "asked by"].map((text) => element("th", "", text)));
    const body = detail.checks.map((one) => {
      const row = element("tr", one.holds ? "" : "gs-life-failed", [
        element("td", "gs-life-tick", one.holds ? "✓" : "✗"), element("td", "gs-mono", one.name), element("td", "gs-mono", one.active), element("td", "gs-mono", one.now), element("td", "gs-muted", one.group, { title: one.class }),
      ], { title: `${one.what}. ${one.so}` });
      row.firstChild.setAttribute("aria-label", one.holds ? "holds" : "fails");
      return row;
    });
    return element("div", "", [
      element("h3", "gs-life-sub", detail.counted),
      element("table", "gs-life-checks", [element("thead", "", head), element("tbody", "", body)]),
    ]);
  }

  const said = (one) => element("p", one.alarm ? "gs-life-said gs-life-alarm" : "gs-life-said", page.life.parts(one.parts));

  page.life.detail = {
    paint(detail, scene) {
      const box = $("life-detail"), button = $("life-graph");
      button.hidden = !detail || detail.run < 0;
      if (!detail) {
        $("life-title").replaceChildren("No ubatch");
        box.replaceChildren(element("p", "gs-muted", "No ubatch was computed in this session."), scene ? page.life.panes.refusals(scene) : "");
        return;
      }
      const { since, last, graph_since: first, graph_last: end } = detail.addresses, ubatches = (from, to) => (from === to ? `only in ${count(from)}` : `from ${count(from)} to ${count(to)}`);
      const span = since < 0 ? [] : [["same addresses", ubatches(since, last)], ["and shapes", ubatches(first, end)]];
      $("life-title").replaceChildren(...title(detail, scene, page.life.chart().model));
      button.dataset.lifeRun = detail.run;
      const why = element("div", "gs-life-why", detail.why.map(said)), facts = element("div", "gs-life-columns", rows([...detail.cost, ...span, ...detail.facts]));
      const left = detail.asked ? [why, facts] : [why], right = detail.asked ? checks(detail) : [none(), facts];
      box.replaceChildren(element("div", "", left), element("div", "gs-life-asked", right));
      box.scrollTop = 0;
      Object.assign(box.dataset, { number: detail.number });
    },
  };
})();
