"use strict";
/* The parameters: a field for every option of llama.cpp that decides about graphs or memory. A changed value is tried after a short
 * pause; until then, and when it fails, the last good picture stays. The list of fields comes from core/llama/flags.py.
 *
 *   page_params_fields.js  one option each     page_params_devices.js  the devices
 *   page_params_ot.js      the -ot patterns    page_params_command.js  the command, pasted or to be copied
 */
(() => {
  const page = window.galloscope.page;
  const { $, state } = page;
  const PAUSE = 700; // ms after the last key
  const SOON = 60;   // ms after a choice: two of them may come together
  let parts = [];    // editors: { field?, words(), show(model), busy() }
  let waiting = 0, asked = null;

  const line = () => parts.flatMap((part) => part.words()).map(page.quote).join(" ");

  /* Try the values as they stand, unless they are on the screen or being tried already. */
  function apply() {
    clearTimeout(waiting);
    waiting = 0;
    const wanted = line();
    if (!page.opened?.model || wanted === asked) return;
    go(wanted);
  }

  function go(wanted) {
    clearTimeout(waiting);
    waiting = 0;
    asked = wanted;
    tell("");
    page.open.options(wanted, (text) => { asked = null; fail(text); });
  }

  function later(pause = PAUSE) {
    clearTimeout(waiting);
    waiting = setTimeout(apply, pause);
  }

  /* An error stands at the field that it names, else above all fields; where the panel is closed, over the page. */
  function fail(text) {
    tell("");
    if (state.params !== "open") { page.open.complain(text); return; }
    const named = parts.filter((part) => part.names?.some((name) => text.startsWith(`${name} `) || text.startsWith(`${name}:`)));
    if (named.length) named[0].fail(text);
    else tell(text);
  }

  function tell(text) {
    for (const part of parts) part.fail?.("");
    const box = $("params-error");
    box.textContent = text;
    box.hidden = !text;
    if (text) box.scrollIntoView({ block: "nearest" });
  }

  function build() {
    const told = JSON.parse($("params").dataset.fields), body = $("params-body");
    const edited = { now: () => later(SOON), later: () => later(), apply };
    const error = page.element("p", "gs-params-error", [], { id: "params-error", hidden: true });
    error.setAttribute("role", "alert");
    body.append(error);
    for (const group of told.groups) {
      const section = page.element("section", "gs-params-group", page.element("h3", "", group.title));
      for (const field of group.fields) {
        const made = field.field === "devices" ? page.paramsDevices(field, told.devices, edited)
          : field.field === "overrides" ? page.paramsPatterns(field, told.most_pattern, edited)
          : page.paramsField(field, edited);
        parts.push(made);
        section.append(made.element);
      }
      body.append(section);
    }
    body.append(page.paramsCommand.build(go, () => parts[0].words()));
  }

  /* The values of the file on the screen. A field that somebody is typing in is left alone. */
  function load() {
    const model = page.opened?.model;
    $("params").dataset.kind = model ? "model" : "graph";
    if (!model) return;
    asked = null;
    for (const part of parts) part.show(model, waiting !== 0);
    asked = line();
    tell("");
    page.paramsCommand.show(model, page.opened.skipped || []);
  }

  function open(shown) {
    const inside = document.activeElement === document.body || $("params").contains(document.activeElement);
    page.look({ params: shown ? "open" : "" });
    paint();
    if (!shown && inside) $("parameters").focus({ preventScroll: true }); // not back to the top of the page
    if (shown) $("params").focus({ preventScroll: true }); // Tab leads to the first field, and a key still closes it
  }

  function paint() {
    $("params").hidden = state.params !== "open";
    $("parameters").setAttribute("aria-expanded", state.params === "open");
  }

  /* The top bar: the options in a few words, and whether llama.cpp agrees. */
  function describe(opened, run) {
    const { model } = opened, meta = Object.entries(opened.meta).map(([key, value]) => `${key} ${value}`);
    const told = model ? model.summary : opened.life ? [`graph #${run} of ${opened.runs.length}`, opened.runs[run].label] : meta; // what a graph says about itself stands in the why panel
    $("parameters-text").textContent = told.join(" · ") || "parameters";
    $("parameters").title = `${told.join("\n")}\n\nParameters (m)`;
    const badge = $("badge"), wrong = model ? model.differences[run] : null;
    badge.hidden = !model;
    if (!model) return;
    badge.dataset.kind = wrong === null ? "built" : wrong ? "wrong" : "good";
    const words = wrong === null ? ["", "built by galloscope, ", "not compared"]
      : wrong ? [window.galloscope.format.plural(wrong, "difference"), ` from ${model.source}`, ""] : ["", "verified against ", model.source];
    badge.replaceChildren(...words.map((text, k) => page.element("span", text && (k === 1) ? "gs-badge-more" : "", text)));
  }

  page.params = {
    load, describe, paint, open,
    toggle: () => open(state.params !== "open"),
    defaults: () => { if (page.opened?.model) go(""); },
    start() {
      build();
      $("params").addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !event.target.matches("input, select, textarea")) return;
        event.stopPropagation();
        clearTimeout(waiting);
        waiting = 0;
        for (const part of parts) part.reset?.();
        if (page.progress.running) page.progress.cancel(); // what is being tried is stopped
        else load();                                       // what was typed and not tried is undone
        event.target.blur();
      });
      paint();
    },
  };
})();
