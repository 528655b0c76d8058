"use strict";
/* The table's rows: made from the scene and one more route, and only once somebody looks at the table. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { state } = page;
  let filled = "", ready = null;

  const grid = () => (ready = ready || window.dash_ag_grid.getApiAsync("table").then((api) => {
    api.addEventListener("rowClicked", (event) => page.select({ tensor: event.data.id }, "table"));
    api.addEventListener("cellFocused", (event) => {
      const row = event.rowIndex === null ? null : api.getDisplayedRowAtIndex(event.rowIndex);
      if (row?.data && document.activeElement?.closest?.("#table") && event.sourceEvent?.type === "keydown") page.select({ tensor: row.data.id }, "table");
    });
    api.addEventListener("sortChanged", () => {
      const sorted = api.getColumnState().find((column) => column.sort);
      page.look({ sort: sorted ? `${sorted.colId}:${sorted.sort}` : "" });
    });
    return api;
  }));

  /* The order that the address asks for. */
  async function sort() {
    if (!filled) return;
    const [colId, way] = state.sort.split(":"), api = await grid();
    api.applyColumnState({ state: colId ? [{ colId, sort: way }] : [], defaultState: { sort: null } });
  }

  /* Rows with every word in any of their cells. */
  async function filter(text) {
    (await grid()).setGridOption("quickFilterText", text);
  }

  function rows(columns) {
    const { tensors, devices } = page.scene, { column } = galloscope.format;
    const bytes = column(tensors.bytes, "float64"), device = column(tensors.device, "int8"), layer = column(tensors.layer, "int16");
    const numbers = {};
    for (const [key, kind] of [["step", "int32"], ["split", "int32"], ["offset", "float64"], ["size", "float64"], ["born", "int32"], ["dies", "int32"], ["parent", "int32"]]) {
      numbers[key] = column(columns[key], kind);
    }
    const known = (value) => (value < 0 ? null : value), run = page.running.columns();
    return tensors.name.map((name, id) => ({
      row: String(id), id, name, op: tensors.op[id] === "NONE" ? "" : tensors.op[id], type: tensors.type[id], ne: tensors.ne[id], bytes: bytes[id],
      device: devices[device[id]]?.name ?? "", cause: columns.cause[id], layer: known(layer[id]), place: columns.place[id],
      split: known(numbers.split[id]), step: known(numbers.step[id]), offset: known(numbers.offset[id]), size: known(numbers.size[id]),
      born: known(numbers.born[id]), dies: known(numbers.dies[id]), parent: numbers.parent[id] < 0 ? "" : tensors.name[numbers.parent[id]],
      ...(run ? measured(run, id) : {}),
    }));
  }

  const MEASURED = ["took", "low", "high", "mean", "wrong"];

  /* What a run says about a tensor. */
  function measured(run, id) {
    const number = (value) => (Number.isNaN(value) ? null : value), ran = run.seconds[id] >= 0;
    return { took: ran ? run.seconds[id] : null, low: number(run.low[id]), high: number(run.high[id]), mean: number(run.mean[id]), wrong: run.nans[id] + run.infs[id] || null };
  }

  /* The columns of a run are there when there is one, after those that tell tensors apart. */
  async function showMeasured() {
    const api = await grid(), shown = Boolean(page.running.columns());
    if (api.getColumn("took").isVisible() === shown) return;
    api.setColumnsVisible(MEASURED, shown);
    if (shown) api.moveColumns(MEASURED, 5);
  }

  async function fill() {
    const wanted = `${state.session}/${state.run}`;
    if (!page.scene || filled === wanted) return;
    filled = wanted;
    const response = await fetch(`/table/${encodeURIComponent(state.session)}/${state.run}.json`);
    if (!response.ok || filled !== wanted) { filled = response.ok ? filled : ""; return; }
    const columns = await response.json();
    page.tell("table", { rowData: rows(columns) });
    await grid();
    await showMeasured();
    await sort();
    setTimeout(() => select(state.tensor), 60);
  }

  async function select(tensor) {
    if (!filled) return;
    const api = await grid(), node = tensor < 0 ? null : api.getRowNode(String(tensor));
    if (!node) { api.deselectAll(); return; }
    node.setSelected(true, true);
    api.ensureNodeVisible(node, "middle");
  }

  page.table = {
    fill, select, sort,
    start() {
      document.addEventListener("input", (event) => { if (event.target.id === "table-filter") filter(event.target.value); });
    },
    load() { filled = ""; if (state.tab === "table") fill(); },
    /* A run has come, or gone. */
    measured() { if (filled) { filled = ""; fill(); } },
  };

  /* What the column definitions name. */
  const named = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
  named.galloscopeBytes = (value) => (value === null || value === undefined ? "" : galloscope.format.bytes(value));
  named.galloscopeCause = (value) => page.scene?.causes[value] ?? "";
  named.galloscopeSeconds = (value) => (value === null || value === undefined ? "" : page.running.seconds(value));
  named.galloscopeNumber = (value) => (value === null || value === undefined ? "" : page.running.number(value));
  named.galloscopeHex = (value) => (value === null || value === undefined ? "" : galloscope.format.hex(value));

  const shown = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  shown.GalloscopeDevice = (props) => {
    const device = page.scene?.devices.find((one) => one.name === props.value);
    const style = device ? { "--light": device.light, "--dark": device.dark } : {};
    return window.React.createElement("span", null, device && window.React.createElement("span", { className: "gs-swatch gs-hue", style }), props.value);
  };
})();
