"use strict";
/* The time axis under the strip chart, lined up with it: press or drag to choose a step; the band is what the chart shows. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state } = page;
  let waiting = 0;

  /* The chart's axis; where the chart is hidden, as if it were there. */
  const axis = () => ($("strip").clientWidth && page.strip.at) || { left: 90, width: Math.max(1, $("scrub").clientWidth - 102) };

  /* Left edge and width of the steps [a, b) on the scrubber, which always shows all steps. */
  function place(element, a, b) {
    const { left, width } = axis(), n = Math.max(1, page.scene.strip.n_steps);
    element.style.left = `${left + (a / n) * width}px`;
    element.style.width = `${Math.max(2, ((b - a) / n) * width)}px`;
  }

  /* Something of fixed width, its middle on a step. */
  function handle(element, step) {
    const { left, width } = axis();
    element.style.left = `${left + ((step + 0.5) / Math.max(1, page.scene.strip.n_steps)) * width}px`;
  }

  /* What a press would choose. */
  function hint(event) {
    const note = $("scrub-hint");
    note.hidden = !page.scene || !page.scene.strip.n_steps || event.type === "pointerleave";
    if (note.hidden) return;
    const step = stepAt(event), name = page.strip.model.names[page.strip.model.tensorOfStep[step]];
    note.textContent = `step ${galloscope.format.count(step)} · ${galloscope.format.tail(name, 40)} · drag, or , and .`;
    handle(note, step);
  }

  function stepAt(event) {
    const { left, width } = axis(), box = $("scrub").getBoundingClientRect(), n = page.scene.strip.n_steps;
    return Math.min(n - 1, Math.max(0, Math.floor(((event.clientX - box.left - left) / width) * n)));
  }

  function paint() {
    if (!page.scene || !page.strip.view) return;
    const bar = $("scrub"), { x0, x1 } = page.strip.view, { step } = page.momentOf(state.tick);
    place(bar.querySelector(".gs-scrub-span"), x0, x1);
    for (const mark of bar.querySelectorAll(".gs-scrub-split")) place(mark, Number(mark.dataset.from), Number(mark.dataset.to));
    const thumb = bar.querySelector(".gs-scrub-thumb");
    const idle = step < 0; // the handle rests at the start until a step is chosen
    thumb.hidden = !page.scene.strip.n_steps;
    thumb.classList.toggle("gs-idle", idle);
    handle(thumb, idle ? Math.max(0, Math.floor(x0)) : step);
    bar.setAttribute("aria-valuenow", Math.max(0, step));
    $("step-label").textContent = step < 0 ? "" : `step ${galloscope.format.count(step)}`;
    $("events-all").hidden = step < 0;
  }

  function splits() {
    const bar = $("scrub");
    bar.querySelectorAll(".gs-scrub-split").forEach((old) => old.remove());
    if (page.scene.splits.length > 400) return;
    for (const one of page.scene.splits) {
      const mark = document.createElement("div"), device = page.scene.devices[one.device];
      mark.className = "gs-scrub-split gs-hue";
      mark.style.setProperty("--light", device.light);
      mark.style.setProperty("--dark", device.dark);
      Object.assign(mark.dataset, { from: one.x0, to: one.x1 });
      bar.prepend(mark);
    }
  }

  page.scrub = {
    load() { splits(); $("scrub").setAttribute("aria-valuemax", Math.max(0, page.scene.strip.n_steps - 1)); },
    show: paint,
    start() {
      const bar = $("scrub");
      // The chart publishes each view it paints; its frame is known only after the first.
      new MutationObserver(paint).observe($("strip"), { attributes: true, attributeFilter: ["data-view", "data-drawms"] });
      /* While dragging the chart follows at once, the words a little later. */
      const move = (event) => {
        const step = stepAt(event), tick = page.scene.step_tick[step];
        page.strip.setStep(step);
        if (tick < 0) return;
        clearTimeout(waiting);
        waiting = setTimeout(() => page.select({ tick, tensor: -1, split: -1, nodes: "", listed: "" }, "scrub"), 60);
      };
      bar.addEventListener("pointerdown", (event) => {
        if (!page.scene || !page.scene.strip.n_steps) return;
        bar.setPointerCapture(event.pointerId);
        move(event);
        bar.addEventListener("pointermove", move);
        bar.addEventListener("pointerup", () => bar.removeEventListener("pointermove", move), { once: true });
      });
      for (const kind of ["pointermove", "pointerleave"]) bar.addEventListener(kind, hint);
      bar.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
        if (!by || !page.scene) return;
        event.preventDefault();
        const n = page.scene.strip.n_steps, now = Math.max(0, page.momentOf(state.tick).step);
        page.selectStep(Math.min(n - 1, Math.max(0, now + by)), "scrub");
      });
    },
  };
})();
