"use strict";
/* The top of the Planners view: the answer in a sentence, the buffers to choose from, in-place, order, time limit, progress. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state } = page;
  const ORDERS = { ggml: "as given", kahn: "Kahn", dfs: "depth first" };
  const MOST_LIMIT = 600; // s, as the server has it

  function sentence() {
    const failed = page.planners.failed(), { headline } = page.planners.now;
    const box = $("plan-headline");
    box.classList.toggle("gs-plan-failed", Boolean(failed));
    if (failed) { box.replaceChildren(failed); return; }
    if (!headline) { box.replaceChildren("…"); return; }
    box.replaceChildren(...headline.map(([text, style]) => (style === "strong" ? page.element("strong", "", text.replaceAll(/(?<=\d) (?=%|\w*B\b)/g, "\u00a0")) : text)));
  }

  /* A chip for each buffer: what ggml needs of it, and how far that is above the bound. */
  function chip(buffer, number) {
    const { bytes } = galloscope.format, gap = buffer.ggml === null ? 0 : buffer.ggml - buffer.bound;
    const mark = page.element("span", "gs-swatch gs-hue");
    mark.style.setProperty("--light", buffer.device.light);
    mark.style.setProperty("--dark", buffer.device.dark);
    const words = buffer.unsound ? "ggml's plan is unsound" : buffer.ggml === null ? bytes(buffer.bound) : gap ? `${bytes(buffer.ggml)}, ${bytes(gap)} above the bound` : `${bytes(buffer.ggml)} = bound`;
    const made = page.button("gs-plan-buffer", [mark, page.element("strong", "", buffer.name || "buffers"), page.element("span", "gs-muted", words)],
      `${galloscope.format.plural(buffer.n, "buffer")}; bound ${galloscope.format.exact(buffer.bound)}`, { data: { buffer: number } });
    made.setAttribute("aria-pressed", number === state.buffer);
    return made;
  }

  function status() {
    const { job, running, stage, seconds, rows, board, trouble } = page.planners.now;
    $("plan-cancel").hidden = !job;
    $("plan-stage").textContent = job ? `${running}${stage ? `: ${stage}` : ""} · ${seconds.toFixed(1)} s in all` : trouble || "";
    $("plan-count").textContent = board ? `${rows.length} of ${board.planners.length} answered` : "";
    $("planners").dataset.running = running;
    $("planners").dataset.job = job;
  }

  function paint() {
    const { board } = page.planners.now;
    sentence();
    status();
    for (const id of ["plan-inplace", "plan-order-box", "plan-buffers"]) $(id).hidden = !board?.graph;
    const about = board && !board.graph ? page.opened.about : "";
    $("plan-about").hidden = !about;
    $("plan-about").textContent = about;
    if (!board) { $("plan-buffers").replaceChildren(); return; }
    if (paint.board !== board || paint.buffer !== state.buffer) {
      Object.assign(paint, { board, buffer: state.buffer });
      $("plan-buffers").replaceChildren(...board.buffers.map(chip));
    }
    for (const button of document.querySelectorAll("[data-inplace]")) button.setAttribute("aria-pressed", (button.dataset.inplace === "off") === (state.inplace === "off"));
    const select = $("plan-order");
    if (select.options.length !== board.orders.length) select.replaceChildren(...board.orders.map((order) => new Option(ORDERS[order] || order, order)));
    select.value = state.order || "ggml";
  }

  function limit(input) {
    const value = Number(input.value.replace(",", "."));
    const good = value >= 0.01 && value <= MOST_LIMIT;
    input.setAttribute("aria-invalid", !good);
    if (!good || value === page.planners.now.limit) return;
    page.planners.now.limit = value;
    page.planners.again([]);
  }

  page.planners.head = {
    paint,
    start() {
      const box = $("plan-limit-box");
      const input = page.element("input", "gs-plan-input", [], { id: "plan-limit", type: "text", inputMode: "decimal", value: box.dataset.limit });
      input.setAttribute("aria-label", "Time limit of a planner in seconds");
      input.addEventListener("change", () => limit(input));
      input.addEventListener("keydown", (event) => { if (event.key === "Escape") input.blur(); });
      box.replaceChildren(input);
      $("plan-cancel").addEventListener("click", () => page.planners.cancel());
      $("plan-order").addEventListener("change", (event) => page.planners.look({ order: event.target.value === "ggml" ? "" : event.target.value }));
      $("planners").addEventListener("click", (event) => {
        const buffer = event.target.closest("[data-buffer]"), inplace = event.target.closest("[data-inplace]");
        if (buffer) page.planners.look({ buffer: Number(buffer.dataset.buffer) });
        if (inplace) page.planners.look({ inplace: inplace.dataset.inplace === "off" ? "off" : "" });
      });
    },
  };
})();
