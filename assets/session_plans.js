"use strict";
/* The plan that was reserved for the worst case above the plan that is in force, each on its own scale of bytes or both on one.
 * Each has its own steps, as the graphs differ. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state, element } = page;
  const HOSTS = ["life-a", "life-b"];
  const MOST = 12; // scenes that are kept
  let charts = [];
  let scenes = new Map();
  let shown = "";
  let turn = 0;

  async function scene(run) {
    const key = `${state.session}/${run}`;
    if (!scenes.has(key)) {
      const response = await fetch(`/scene/${encodeURIComponent(state.session)}/${run}.json`).catch(() => null);
      if (!response?.ok) return null;
      const body = await response.json();
      if (body.error) return null;
      scenes.set(key, body);
      if (scenes.size > MOST) scenes.delete(scenes.keys().next().value);
    }
    return scenes.get(key);
  }

  /* On one scale a lane is as high as the larger of the two buffers of its name. */
  function fitted(pair) {
    if (state.lscale !== "same") return pair;
    const sizes = new Map(), key = (lane) => `${lane.label}/${lane.chunk}`;
    for (const one of pair) for (const lane of one.strip.lanes) sizes.set(key(lane), Math.max(sizes.get(key(lane)) || 0, lane.size));
    return pair.map((one) => ({ ...one, strip: { ...one.strip, lanes: one.strip.lanes.map((lane) => ({ ...lane, range: sizes.get(key(lane)) })) } }));
  }

  function needs(detail) {
    const { bytes } = galloscope.format, most = Math.max(1, ...detail.needs.map((one) => one.size));
    $("life-needs").replaceChildren(...detail.needs.flatMap((one) => {
      const share = (value) => `${(100 * value) / Math.max(1, one.size)}%`, bar = element("span", "gs-life-bar"), worst = element("i", "gs-life-bar-worst"), now = element("i", "gs-life-bar-now");
      bar.style.width = `${Math.max(6, (100 * one.size) / most)}%`;
      worst.style.width = share(one.worst);
      now.style.width = share(one.now);
      bar.append(worst, now);
      const title = `${one.buffer}: the worst case needs ${bytes(one.worst)}, this plan ${bytes(one.now)}, the buffer has ${bytes(one.size)}`;
      return [element("span", "gs-mono", one.buffer), element("span", "gs-life-bars", bar, { title }), element("span", "gs-number", `${bytes(one.now)} of ${bytes(one.size)}`)];
    }));
  }

  page.life.plans = {
    async paint(detail) {
      const mine = ++turn, button = $("life-worst");
      button.hidden = !detail?.worst;
      $("panel-life-plans").classList.toggle("gs-life-bare", !detail?.worst || detail.run < 0);
      if (!detail?.worst || detail.run < 0) { shown = ""; $("life-needs").replaceChildren(); return; }
      button.dataset.lifeRun = detail.worst.run;
      needs(detail);
      $("life-of-a").textContent = detail.worst.text;
      $("life-of-b").textContent = detail.graph;
      $("life-scale").setAttribute("aria-pressed", state.lscale === "same");
      const wanted = `${state.session}/${detail.worst.run}/${detail.run}/${state.lscale}`;
      if (wanted === shown) return;
      const pair = await Promise.all([scene(detail.worst.run), scene(detail.run)]);
      if (mine !== turn || !pair.every(Boolean)) return;
      shown = wanted;
      fitted(pair).forEach((one, k) => {
        charts[k].load(one);
        charts[k].setColor(one.devices.length > 1 ? "device" : "op");
      });
      HOSTS.forEach((host, k) => { $(host).dataset.run = [detail.worst.run, detail.run][k]; });
    },

    start() {
      charts = HOSTS.map((host) => new galloscope.Strip($(host), {}));
      $("life-scale").addEventListener("click", () => {
        page.look({ lscale: state.lscale === "same" ? "" : "same" });
        page.life.plans.paint(page.life.details());
      });
      charts.forEach((chart, k) => chart.host.setAttribute("aria-label", ["The plan of the worst case", "The plan in force"][k]));
    },
  };
})();
