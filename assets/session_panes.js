"use strict";
/* What there is to read about the whole session: advice, reservations, the conditions of pipeline parallelism, pools. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state, element } = page;
  const { count, plural } = galloscope.format;
  const none = (words) => element("p", "gs-muted", words);

  /* Refused calls and what ended the process, with the call and the reason; also told where no ubatch can be selected. */
  function refusals({ refusals: { rows, more } }) {
    if (!rows.length) return "";
    const told = rows.map((one) => element("li", "", [
      element("strong", "gs-mono", one.call), one.times > 1 ? ` × ${count(one.times)}` : "", ": ", ...page.life.parts(one.parts),
      one.ubatch < 0 ? "" : page.button("gs-life-link", `show ${count(one.ubatch)}`, "The ubatch that it happened to", { data: { lifeUbatch: one.ubatch } }),
    ].filter(Boolean)));
    return element("div", "gs-life-refusals", [
      element("h3", "gs-life-sub", "Refused or ended"), element("ul", "gs-life-advice", told),
      more ? none(`… and ${count(more)} more of other words.`) : "",
    ].filter(Boolean));
  }

  function advice(scene) {
    const reasons = scene.reasons.map((one) => element("button", "gs-life-reason", [element("strong", "gs-number", count(one.count)), element("span", "", one.because)], { type: "button", title: `Select the first: ubatch ${count(one.first)}`, data: { lifeUbatch: one.first } }));
    const told = scene.advice.map((one) => element("li", "", [...page.life.parts(one.parts), one.first < 0 ? "" : page.button("gs-life-link", `show ${count(one.first)}`, "The first ubatch of this", { data: { lifeUbatch: one.first } })].filter(Boolean)));
    return [
      refusals(scene),
      reasons.length ? element("div", "", [element("h3", "gs-life-sub", "Rebuilt because …"), ...reasons]) : "",
      element("h3", "gs-life-sub", "What would avoid it"),
      told.length ? element("ul", "gs-life-advice", told) : none("Nothing that the conditions give evidence for."),
      element("h3", "gs-life-sub", "In numbers"),
      ...scene.told.map((parts) => element("p", "gs-life-told", page.life.parts(parts))),
      ...scene.notes.map(none),
    ];
  }

  const alike = (plan) => [plan.kind, plan.text, plan.nodes, plan.splits, plan.ok, ...plan.needs].join();

  /* Equal graphs behind each other are one row. */
  function rows(plans) {
    const found = [];
    for (const plan of plans) {
      const last = found[found.length - 1];
      if (last && alike(last.plan) === alike(plan)) last.times += 1;
      else found.push({ plan, times: 1 });
    }
    return found;
  }

  function reservations(scene) {
    if (!scene.reservations.length) return [none("Nothing was reserved.")];
    return scene.reservations.map((one) => {
      const head = element("tr", "", ["graph", ...scene.bufts].map((text, k) => element("th", k ? "gs-number" : "", text)));
      const body = rows(one.plans).map(({ plan, times }) => element("tr", plan.ok ? "" : "gs-life-failed", [
        element("td", "", [
          page.button("gs-life-link", plan.kind, "Show this graph", { data: { lifeRun: plan.run } }), times > 1 ? ` × ${times}` : "",
          element("div", "gs-muted", `${plan.text} · ${plural(plan.nodes, "node")}, ${plural(plan.splits, "split")}`),
        ], { title: plan.asked }),
        ...scene.bufts.map((_, k) => element("td", "gs-number", plan.ok ? plan.needs[k] || "–" : "fails")),
      ]));
      const more = [one.step < 0 ? "" : `in call ${count(one.step)}`, one.n_copies > 1 ? `${one.n_copies} pipeline copies` : "", one.dropped >= 0 ? "pipeline given up" : ""].filter(Boolean);
      return element("div", "gs-life-reservation", [
        element("p", "", [element("strong", "", one.why), more.length ? ` · ${more.join(" · ")}` : ""]),
        element("table", "gs-time-table", [element("thead", "", head), element("tbody", "", body)]),
      ]);
    });
  }

  function pipeline(scene) {
    const failed = scene.conditions.filter((one) => !one.holds).length;
    const end = failed ? `No pipeline parallelism: ${plural(failed, "condition fails", "conditions fail")}, so there is one copy of each input.`
      : scene.dropped ? "Pipeline parallelism was given up, as the buffers could not be made with copies." : `Pipeline parallelism: ${plural(scene.n_copies, "copy", "copies")} of each input.`;
    if (!scene.conditions.length) return [none("Nothing is known about pipeline parallelism.")];
    return [element("p", "gs-life-said", end), element("ul", "gs-life-conditions", scene.conditions.map((one) => {
      const row = element("li", one.holds ? "gs-life-held" : "gs-life-failed", [element("span", "gs-life-tick", one.holds ? "✓" : "✗"), one.text]);
      row.firstChild.setAttribute("aria-label", one.holds ? "holds" : "fails");
      return row;
    }))];
  }

  function pools(scene) {
    if (!scene.pools.length) return [none("No graph was built.")];
    return scene.pools.map((one) => {
      const bar = element("span", "gs-life-bar"), now = element("i", "gs-life-bar-now");
      now.style.width = `${Math.min(100, 100 * one.share)}%`;
      bar.append(now);
      return element("div", "gs-life-pool", [element("div", "gs-time-line", [element("strong", "", one.name), element("span", "gs-number", `${one.used} of ${one.of}, ${Math.max(1, Math.round(100 * one.share))}\u00a0%`)]), bar, element("div", "gs-muted", one.told)]);
    });
  }

  const PANES = { advice, reserve: reservations, pipeline, pools };

  function paint(scene) {
    const key = state.lpane || "advice";
    for (const tab of document.querySelectorAll("[data-life-pane]")) tab.setAttribute("aria-selected", tab.dataset.lifePane === key);
    $("life-pane").replaceChildren(...PANES[key](scene).filter((one) => one !== ""));
    $("life-pane").dataset.pane = key;
  }

  page.life.panes = {
    paint,
    refusals,
    start() {
      $("life").addEventListener("click", (event) => {
        const tab = event.target.closest("[data-life-pane]");
        if (!tab || !page.life.scene()) return;
        page.look({ lpane: tab.dataset.lifePane === "advice" ? "" : tab.dataset.lifePane });
        paint(page.life.scene());
      });
    },
  };
})();
