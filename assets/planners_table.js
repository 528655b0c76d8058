"use strict";
/* Planners side by side: what each needs, how far that is from the bound, and what is proved. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state } = page;
  const MARKS = ["A", "B"];
  const WORST = { optimal: 0, proved: 1, heuristic: 2, failed: 3, refused: 4 };
  const COLUMNS = [ // key, heading, explanation, the value to sort by
    ["planner", "planner", "How it decides: rest on a name", null],
    ["peak", "peak", "Bytes that its plan needs", (row) => row.peak],
    ["ratio", "ratio", "Peak divided by the bound", (row) => row.ratio],
    ["waste", "waste", "Bytes above the bound", (row) => row.waste],
    ["saving", "saves", "Less than ggml's own plan", (row) => (row.saving === null || row.saving === undefined ? undefined : -row.saving)],
    ["seconds", "time", "The planner's own time", (row) => row.seconds],
    ["verdict", "verdict", "Optimal is only said when it is proved", (row) => WORST[row.verdict]],
  ];

  function secondsText(s) {
    if (s === undefined) return "";
    if (s < 0.001) return `${Math.max(0.01, s * 1000).toFixed(2)} ms`;
    if (s < 1) return s < 0.1 ? `${(s * 1000).toFixed(1)} ms` : `${Math.round(s * 1000)} ms`;
    return s < 100 ? `${s.toFixed(2)} s` : `${Math.round(s)} s`;
  }

  /* All planners, answered or not, in the order that is asked for; what has no value stands at the end. */
  function rows() {
    const { board, rows: answered } = page.planners.now;
    if (!board) return [];
    const found = board.planners.map((about, place) => ({ about, place, ...(answered.find((row) => row.planner === about.planner) || { planner: about.planner }) }));
    const [key, way] = state.psort.split(":"), value = COLUMNS.find((column) => column[0] === key)?.[3];
    if (key === "planner" && way) return found.sort((a, b) => (way === "asc" ? 1 : -1) * (a.planner < b.planner ? -1 : 1));
    if (!value) return found;
    const sign = way === "desc" ? -1 : 1;
    return found.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined) || a.place - b.place;
      return sign * (x - y) || a.place - b.place;
    });
  }

  const cell = (kind, content, props = {}) => page.element("td", kind, content, props);

  function marks(row) {
    return MARKS.map((mark, slot) => {
      const made = page.button("gs-plan-mark", mark, `Show it ${slot ? "below" : "above"}`, { disabled: row.peak === undefined, data: { slot, name: row.planner } });
      made.setAttribute("aria-pressed", page.planners.now.pair[slot] === row.planner);
      made.setAttribute("aria-label", `Show ${row.planner} ${slot ? "below" : "above"}`);
      return made;
    });
  }

  function wasteCell(row, most) {
    const bar = page.element("span", "gs-plan-bar");
    bar.style.width = `${most ? Math.min(100, (100 * row.waste) / most) : 0}%`;
    return cell("gs-number gs-plan-waste", [bar, page.element("span", "", row.waste ? galloscope.format.bytes(row.waste) : "0")], { title: galloscope.format.exact(row.waste) });
  }

  function saves(row) {
    const { bytes, exact } = galloscope.format;
    if (row.planner === "ggml" || row.saving === null) return cell("gs-number gs-muted", "–");
    const kind = row.saving > 0 ? "gs-number gs-plan-good" : "gs-number gs-muted";
    return cell(kind, row.saving === 0 ? "0" : bytes(row.saving), { title: exact(row.saving).replace("--", "-") });
  }

  function verdict(row) {
    const { running, stage } = page.planners.now;
    if (row.planner === running) return [cell("gs-plan-verdict gs-plan-running", "running …", { title: stage })];
    if (!row.verdict) return [cell("gs-plan-verdict", page.button("gs-switch gs-plan-run", "run", `Ask ${row.planner}`, { data: { run: row.planner } }))];
    const title = [row.note, row.nodes ? `${galloscope.format.count(row.nodes)} search nodes` : ""].filter(Boolean).join("\n");
    return [cell(`gs-plan-verdict gs-plan-${row.verdict}`, row.verdict === "optimal" ? "✓ optimal" : row.words, { title: title || row.words })];
  }

  function line(row, most) {
    const { bytes, exact } = galloscope.format;
    const name = page.button("gs-plan-name", row.planner, `${row.about.title}: ${row.about.summary}\n${row.about.source}`, { data: { slot: 1, name: row.planner }, disabled: row.peak === undefined });
    const made = page.element("tr", row.peak === undefined ? "gs-plan-row gs-plan-none" : "gs-plan-row", [], { data: { planner: row.planner, verdict: row.verdict || "" } });
    made.append(cell("gs-plan-marks", marks(row)), cell("gs-mono", name));
    if (row.peak === undefined) {
      const why = verdict(row)[0];
      why.colSpan = row.verdict ? 6 : 1;
      if (row.verdict) why.textContent = row.words;
      made.append(...(row.verdict ? [why] : [page.element("td", "", [], { colSpan: 5 }), why]));
      return made;
    }
    made.append(
      cell("gs-number", bytes(row.peak), { title: exact(row.peak) }),
      cell("gs-number", row.ratio_text, { title: String(row.ratio) }),
      wasteCell(row, most), saves(row),
      cell("gs-number gs-muted", secondsText(row.seconds)),
      ...verdict(row),
    );
    return made;
  }

  function heading([key, text, title]) {
    const [by, way] = state.psort.split(":"), made = page.element("th", key === "planner" || key === "verdict" ? "" : "gs-number");
    made.scope = "col";
    const sorted = by === key ? (way === "desc" ? "descending" : "ascending") : "none";
    made.setAttribute("aria-sort", sorted);
    made.append(page.button("gs-plan-sort", [text, sorted === "none" ? "" : sorted === "ascending" ? " ↑" : " ↓"], title, { data: { sortBy: key } }));
    return made;
  }

  function paint() {
    const focused = document.activeElement?.closest?.("#plan-table [data-name], #plan-table [data-sort-by]")?.dataset;
    const all = rows(), { board } = page.planners.now;
    if (!board) { $("plan-table").replaceChildren(); return; }
    // naive would make all other bars invisible
    const most = Math.max(0, ...all.filter((row) => row.planner !== "naive" && row.peak !== undefined).map((row) => row.waste));
    const head = page.element("thead", "", page.element("tr", "", [page.element("th", "gs-plan-marks", "", { title: "The plan above and the one below" }), ...COLUMNS.map(heading)]));
    $("plan-table").replaceChildren(page.element("table", "gs-plan-table", [head, page.element("tbody", "", all.map((row) => line(row, most)))]));
    if (!focused) return;
    const at = focused.sortBy ? `[data-sort-by="${focused.sortBy}"]` : `[data-slot="${focused.slot}"][data-name="${focused.name}"]`;
    $("plan-table").querySelector(at)?.focus({ preventScroll: true });
  }

  /* A third click leads back to the order of the server: from no re-use to exact. */
  function sort(key) {
    const [by, way] = state.psort.split(":");
    page.look({ psort: by !== key ? `${key}:asc` : way === "asc" ? `${key}:desc` : "" });
    paint();
  }

  page.planners.table = {
    paint, secondsText,
    names: () => rows().filter((row) => row.peak !== undefined).map((row) => row.planner),
    start() {
      $("plan-table").addEventListener("click", (event) => {
        const hit = event.target.closest("button");
        if (!hit) return;
        if (hit.dataset.sortBy) sort(hit.dataset.sortBy);
        else if (hit.dataset.run) page.planners.again([hit.dataset.run]);
        else if (hit.dataset.name) page.planners.pick(Number(hit.dataset.slot), hit.dataset.name);
      });
      // Up and down walk through the rows.
      $("plan-table").addEventListener("keydown", (event) => {
        const by = { ArrowUp: -1, ArrowDown: 1 }[event.key], row = event.target.closest("tr");
        if (!by || !row) return;
        event.preventDefault();
        const names = [...$("plan-table").querySelectorAll(".gs-plan-name:not(:disabled)")];
        names[names.indexOf(row.querySelector(".gs-plan-name")) + by]?.focus();
      });
    },
  };
})();
