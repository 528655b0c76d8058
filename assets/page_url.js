"use strict";
/* The state in the address: which file and run, what is selected, how it is looked at. Defaults are left out, so that a
 * fresh page has a short address. A selection is an entry of the history, a zoom is not. */
(() => {
  const page = window.galloscope.page;
  const { state } = page;
  const NUMBERS = { run: 0, tensor: -1, split: -1, tick: -1, buffer: -1, block: -1, batches: 1, ubatch: -1 };
  const TEXTS = { options: "", nodes: "", listed: "", by: "", strip: "", dag: "", show: "", tab: "dag", max: "", top: "", side: "", sort: "", params: "", exec: "", view: "", inplace: "", order: "", plans: "", pane: "", psort: "", pby: "", pview: "", pshow: "", cost: "", tsource: "", tview: "", tpath: "", lview: "", lpane: "", lscale: "" };
  const MOST = { options: 16384 }; // letters; of the others 4000
  const FILE = /^(sample|path|session|header|preset):/;
  const ABSOLUTE = /^(\/|~\/|[A-Za-z]:[\\/])/; // a path needs no scheme
  const FORMS = { nodes: /^\d{1,9}-\d{1,9}$/, listed: /^(splits|check|device-\w{1,40})$/, tab: /^(dag|table)$/, max: /^(dag|table|strip|why)$/, top: /^[\d.]+$/, side: /^[\d.]+$/, sort: /^\w+:(asc|desc)$/, params: /^open$/, exec: /^open$/, view: /^(planners|timeline|session|graph)$/, inplace: /^off$/, order: /^(kahn|dfs)$/, plans: /^\w{1,40},\w{1,40}$/, pane: /^(holes|chains|stages(:(order|intervals|interference|places))?)$/, psort: /^(planner|peak|ratio|waste|saving|seconds|verdict):(asc|desc)$/, pby: /^\w{1,20}$/, pshow: /^(even|holes)(\.holes)?$/, cost: /^(([\dh]+(-[\dh]+)?\.)?[a-z]+:[\d.e+-]+(,|$))+$/, tsource: /^measured$/, tview: /^\d+-\d+$/, tpath: /^on$/, lview: /^\d+-\d+$/, lpane: /^(reserve|pipeline|pools)$/, lscale: /^same$/ };
  let waiting = 0, going = 0;

  function text() {
    const query = new URLSearchParams();
    if (state.source) query.set("file", state.source);
    for (const [key, usual] of [...Object.entries(NUMBERS), ...Object.entries(TEXTS)]) {
      if (state[key] !== usual) query.set(key, state[key]);
    }
    // These need no escaping in a query and read better without.
    return "?" + query.toString().replace(/%3A/gi, ":").replace(/%2F/gi, "/").replace(/%2C/gi, ",").replace(/%40/g, "@");
  }

  function read() {
    const query = new URLSearchParams(location.search), found = { source: query.get("file") || "" }, wrong = [];
    if (ABSOLUTE.test(found.source)) found.source = `path:${found.source}`;
    if (found.source && !FILE.test(found.source)) {
      wrong.push([`file=${found.source}`, "a file is sample:NAME or an absolute path"]);
      found.source = "";
    }
    for (const [key, usual] of Object.entries(NUMBERS)) {
      const value = query.get(key), fits = value !== null && /^-?\d{1,9}$/.test(value);
      if (value !== null && !fits) wrong.push([`${key}=${value}`, "not a number"]);
      found[key] = fits ? Number(value) : usual;
    }
    for (const [key, usual] of Object.entries(TEXTS)) {
      found[key] = (query.get(key) ?? usual).slice(0, MOST[key] ?? 4000);
      if (!FORMS[key] || found[key] === usual || FORMS[key].test(found[key])) continue;
      wrong.push([`${key}=${found[key]}`, "not a value it can have"]);
      found[key] = usual;
    }
    return { ...found, wrong };
  }

  const write = (how) => {
    clearTimeout(waiting);
    const next = text();
    if (next !== location.search && page.opened) history[how](null, "", next);
  };

  /* Go to what the address says. Until that is on the screen nothing else may be written into its entry of the history. */
  async function go() {
    clearTimeout(waiting);
    going += 1;
    try { await follow(); } finally { going -= 1; }
  }

  /* Another file, options or run are opened, else only the rest is applied. */
  async function follow() {
    const wanted = read();
    page.panels.apply(wanted);
    page.planners.apply(wanted);
    page.timeline.apply(wanted);
    page.life.apply(wanted);
    page.running.apply(wanted);
    const usual = document.getElementById("page").dataset;
    const source = wanted.source || usual.first, options = wanted.source || wanted.options ? wanted.options : usual.firstOptions;
    const { run, tensor, split, tick, nodes, listed, by, strip, dag, show, sort, wrong } = wanted;
    const rest = { tensor, split, tick, nodes, listed, strip, dag, show };
    Object.assign(state, { sort });
    if (source !== state.source || options !== state.options || run !== state.run || !page.opened) {
      state.by = by;
      await page.open.source(source, { options, run, kept: rest, wrong });
    } else if (!page.scene) {
      page.notice.say(wrong);
      page.planners.show();
      page.timeline.show();
      page.life.show();
    } else {
      page.notice.say([...wrong, ...page.notice.misfits(page.scene, rest, wanted, run, page.opened.runs.length)]);
      Object.assign(state, page.open.fitting(page.scene, rest), { by: Object.hasOwn(page.scene.colors, by) ? by : "" });
      page.legend.paint();
      page.tell("color", { value: page.by() });
      page.showSelection("url");
      page.applyViews();
      page.table.sort();
      page.planners.show();
      page.timeline.show();
      page.life.show();
    }
  }

  page.url = {
    start: () => { addEventListener("popstate", go); return go(); },
    push: () => write(going ? "replaceState" : "pushState"),
    replace: () => { if (going) return; clearTimeout(waiting); waiting = setTimeout(write, 200, "replaceState"); },
  };
})();
