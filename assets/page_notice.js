"use strict";
/* One line under the top bar for what an address asks in vain: it is ignored, but not in silence. */
(() => {
  const page = window.galloscope.page;
  const { $ } = page;
  const VIEW = /^(?:(\d+)=)?(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/;
  const GRAPH_VIEW = /^(all|\d+(-\d+)?(\.\d+(-\d+)?)*)?(@-?[\d.]+,-?[\d.]+,[\d.]+)?$/;
  const short = (text) => page.short(String(text), 60);

  page.short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  function stripView(text, lanes) {
    for (const part of text.split(";")) {
      const match = VIEW.exec(part);
      if (!match || Number(match[3]) <= Number(match[2]) || (match[1] !== undefined && !(Number(match[1]) < lanes))) return part;
    }
    return null;
  }

  /* What of an address does not fit a scene: [key=value, why]. */
  function misfits(scene, { tensor, split, nodes, strip, dag }, { by }, run, runs) {
    const found = [], lanes = scene.strip.lanes.length, known = scene.strip.n_steps;
    const last = Number(String(nodes || "").split("-")[1]);
    const bad = strip ? stripView(strip, lanes) : null;
    const colors = Object.keys(scene.colors).filter((key) => key !== "pass");
    if (run < 0 || run >= runs) found.push([`run=${run}`, `the file has ${window.galloscope.format.plural(runs, "run")}`]);
    if (tensor < -1 || tensor >= scene.tensors.n) found.push([`tensor=${tensor}`, `the graph's tensors are 0 to ${scene.tensors.n - 1}`]);
    if (split < -1 || split >= scene.splits.length) found.push([`split=${split}`, scene.splits.length ? `the splits are 0 to ${scene.splits.length - 1}` : "there are no splits"]);
    if (nodes && !(last < page.count(scene))) found.push([`nodes=${nodes}`, `the nodes are 0 to ${page.count(scene) - 1}`]);
    if (by && ![...colors, ...page.running.colors].includes(by)) found.push([`by=${by}`, `colours are ${colors.join(", ")}`]);
    if (bad !== null && known) found.push([`strip=${bad}`, "a view is FIRST-LAST step, or LANE=FROM-TO bytes"]);
    if (dag && !GRAPH_VIEW.test(dag)) found.push([`dag=${dag}`, "a view is LAYERS@X,Y,ZOOM"]);
    return found;
  }

  page.count = (scene) => window.galloscope.format.column(scene.dag.nodes, "int32").length;

  /* Says what is ignored; nothing to say hides the line. */
  function say(found) {
    const line = $("notice");
    line.hidden = !found.length;
    if (line.hidden) return;
    const text = document.createElement("span"), close = document.createElement("button");
    text.textContent = "Ignored in the address: " + found.map(([what, why]) => `${short(what)} (${why})`).join("; ");
    Object.assign(close, { type: "button", className: "gs-switch", textContent: "close" });
    close.addEventListener("click", () => say([]));
    line.replaceChildren(text, close);
  }

  page.notice = { misfits, say };
})();
