"use strict";
/* What the colours mean, and the scheduler's passes: while one is chosen, the pictures show the devices as they were after it. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state } = page;
  const MOST_CHIPS = 9; // more entries than this are a scale: only its ends are named

  const MOST_SIZES = 5; // classes of size are in order, and their labels are long
  const MOST_ORDERED = 4; // as are those of a run
  const APART = /^(no|NaN)/; // entries that are no part of a scale

  const current = () => (page.momentOf(state.tick).pass >= 0 ? "pass" : page.by());

  function swatch({ light, dark, pattern }) {
    const element = document.createElement("span");
    element.className = `gs-swatch gs-hue gs-pattern-${pattern || "none"}`;
    element.style.setProperty("--light", light);
    element.style.setProperty("--dark", dark);
    return element;
  }

  function chip(entry) {
    const element = document.createElement("span"), causes = page.scene.causes || {};
    const codes = entry.codes || [];
    element.className = "gs-chip";
    element.title = [entry.label, ...codes.filter((code) => causes[code]).map((code) => `${code}: ${causes[code]}`)].join("\n");
    element.append(swatch(entry), entry.label.split(":")[0]);
    return element;
  }

  /* Entries that no tensor has would only be noise. */
  function used(question) {
    const of = new Set(galloscope.format.column(question.of, "uint8"));
    return question.palette.filter((_, i) => of.has(i));
  }

  function paintLegend(question) {
    const legend = $("legend"), past = (entry) => entry.label.endsWith(" before"), all = used(question);
    const entries = all.filter((entry) => question !== page.scene.colors.pass || !past(entry));
    if (entries.length <= (question.ordered ? MOST_ORDERED : question === page.scene.colors.size ? MOST_SIZES : MOST_CHIPS)) {
      legend.replaceChildren(...entries.map(chip), ...(all.length > entries.length ? [text("pale: as before")] : []));
      return;
    }
    const scale = document.createElement("span"), ends = entries.filter((entry) => !APART.test(entry.label));
    scale.className = "gs-scale";
    scale.append(...ends.map((entry) => { const part = swatch(entry); part.title = entry.label; return part; }));
    legend.replaceChildren(text(ends[0].label), scale, text(ends[ends.length - 1].label), ...entries.filter((entry) => APART.test(entry.label)).map(chip));
  }

  function text(words) {
    const element = document.createElement("span");
    element.textContent = words;
    return element;
  }

  function paint() {
    if (!page.scene) return;
    const by = current();
    page.strip.setColor(by);
    page.dag.setColor(by);
    paintLegend(page.scene.colors[by]);
    $("page").dataset.by = by;
  }

  function passButton(one) {
    const button = document.createElement("button"), number = document.createElement("b");
    number.textContent = one.number;
    Object.assign(button, { type: "button", className: "gs-pass", title: `${one.label}: ${one.did}` });
    button.dataset.pass = one.name;
    button.append(number, one.title);
    if (one.idle) button.classList.add("gs-idle");
    button.addEventListener("click", () => {
      const chosen = page.momentOf(state.tick).pass >= 0 && state.tick === one.tick;
      page.select({ tick: chosen ? -1 : one.tick }, "passes");
    });
    return button;
  }

  page.legend = {
    paint,
    load() {
      const { passes } = page.scene, row = $("passes");
      row.hidden = !passes.length;
      const label = text("passes");
      label.className = "gs-label";
      label.title = "What each pass of the scheduler decided (n, b)";
      row.replaceChildren(label, ...passes.map(passButton));
    },
    /* The selection may have moved to a pass, or away from it. */
    showPass() {
      const { pass } = page.momentOf(state.tick), one = page.scene.passes[pass];
      if (one) page.scene.colors.pass.of = one.of;
      for (const button of $("passes").querySelectorAll("[data-pass]")) button.setAttribute("aria-pressed", Boolean(one) && button.dataset.pass === one.name);
      if (one || $("page").dataset.by === "pass") paint();
      $("page").dataset.pass = one ? one.name : "";
    },
  };
})();
