"use strict";
/* What there is to read beside the lanes: how each device spends its time, what was copied, and the assumed numbers. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $ } = page;
  const { element } = page;
  const COPIES = -2, DONE = -3; // reasons that are no device, as in core/timeline/totals.py

  function hued(node, device) {
    node.style.setProperty("--light", device.light);
    node.style.setProperty("--dark", device.dark);
    return node;
  }

  const deviceOf = (scene, number) => scene.devices[number < 0 ? scene.devices.length - 1 : number];
  const swatch = (scene, number) => hued(element("span", "gs-swatch gs-hue"), deviceOf(scene, number));
  const percent = (share) => (share >= 0.01 ? `${Math.round(share * 100)}\u00a0%` : share ? `${Math.max(0.1, share * 100).toFixed(1)}\u00a0%` : "0\u00a0%");

  /* One bar: computing in the device's colour, then what it idles for, each in the colour of who it waits for. */
  function use(scene, one) {
    const bar = element("div", "gs-time-bar"), parts = [{ text: "computes", share: one.share, time: one.compute, kind: "own" }, ...one.parts];
    for (const part of parts) {
      const words = part.kind === "own" || !scene.measured ? part.text : "idle";
      const piece = element("span", "gs-time-piece", [], { title: `${words}: ${percent(part.share)}, ${part.time}` });
      piece.style.width = `${100 * part.share}%`;
      if (part.kind === "own") hued(piece, deviceOf(scene, one.device)).classList.add("gs-hue");
      else if (part.why === COPIES) piece.classList.add("gs-time-copies");
      else if (part.why !== DONE && !scene.measured) hued(piece, deviceOf(scene, part.why)).classList.add("gs-hue", "gs-time-idle");
      bar.append(piece);
    }
    const told = scene.measured ? [] : one.parts.filter((part) => part.share >= 0.005).map((part) => (part.why === DONE ? `${percent(part.share)} ${part.text}` : `${percent(part.share)} waits for ${part.text}`));
    return element("div", "gs-time-use", [
      element("div", "gs-time-line", [swatch(scene, one.device), element("strong", "", deviceOf(scene, one.device).name), element("span", "gs-number", `computes ${one.busy.replace(" ", "\u00a0")}, ${one.compute}`)]),
      bar,
      one.made_of ? element("div", "gs-muted", `computing is ${one.made_of.replaceAll(" %", "\u00a0%")}`) : "",
      element("div", "gs-muted", told.join(" · ") || (scene.measured ? "" : "never idle")),
    ]);
  }

  function uses(scene) {
    const key = element("div", "gs-time-key", [["idle", "waits, in the colour of whom for"], ["copies", "waits for copies"]].map(([kind, words]) => element("span", "", [element("i", `gs-time-key-${kind}`), words])));
    $("time-uses").replaceChildren(...scene.uses.map((one) => use(scene, one)), scene.measured ? "" : key);
  }

  function links(scene) {
    const { bytes, count } = galloscope.format, name = (number) => deviceOf(scene, number).name;
    const cells = (kind, texts) => element("tr", "", texts.map((text, k) => element(kind, k ? "gs-number" : "", text)));
    const parts = [];
    if (scene.links.length) {
      const rows = scene.links.map((one) => cells("td", [[swatch(scene, one.to < 0 ? one.from : one.to), `${name(one.from)} to ${name(one.to)}`], count(one.copies), bytes(one.bytes), one.time, one.speed]));
      parts.push(element("table", "gs-time-table", [element("thead", "", cells("th", ["link", "copies", "bytes", "time", "speed"])), element("tbody", "", rows)]));
    } else parts.push(element("p", "gs-muted", scene.measured ? "Copies are not timed in a run." : "Nothing is copied: one memory holds it all."));
    if (scene.host.length) {
      const rows = scene.host.map((one) => cells("td", [`the host waits for ${one.who}`, one.time, one.share.replace(" ", "\u00a0")]));
      parts.push(element("table", "gs-time-table", element("tbody", "", rows)));
    }
    $("time-links").replaceChildren(...parts);
  }

  function number(one) {
    const { si } = galloscope.timeline.text, changed = one.value !== one.usual;
    const input = element("input", "gs-plan-input gs-time-input", [], { type: "text", value: si(one.value), title: `${one.title}. Assumed: ${si(one.usual)}${one.unit}`, data: { cost: one.key, value: one.value, usual: one.usual } });
    input.setAttribute("aria-label", one.title);
    input.spellcheck = false;
    return element("label", changed ? "gs-time-number gs-time-changed" : "gs-time-number", [element("span", "gs-label", one.label), input, element("span", "gs-muted", one.unit)]);
  }

  function cost(scene) {
    const panel = $("panel-time-cost");
    panel.hidden = !scene.cost;
    if (!scene.cost) return;
    const { rows, changed } = scene.cost, focused = document.activeElement?.dataset?.cost;
    $("time-changed").textContent = changed ? ` · ${changed} changed` : "";
    $("time-reset").hidden = !changed;
    $("time-cost").replaceChildren(...rows.map((row) => element("div", "gs-time-rates", [
      element("div", "gs-time-line", [row.device > -2 ? swatch(scene, row.device) : "", element("strong", "", row.name), element("span", "gs-muted", row.stands_for)]),
      element("div", "gs-time-numbers", row.numbers.map(number)),
    ])));
    if (focused) document.querySelector(`[data-cost="${CSS.escape(focused)}"]`)?.focus();
  }

  page.timelinePanes = {
    paint(scene) {
      uses(scene);
      links(scene);
      cost(scene);
    },

    /* As it was before anybody typed. */
    restore(input) {
      input.value = galloscope.timeline.text.si(Number(input.dataset.value));
      input.removeAttribute("aria-invalid");
    },

    /* All changes as the address has them, with one of them typed anew; null when it is no number. */
    changes(input) {
      const value = galloscope.timeline.text.parse(input.value);
      const rate = !/\.(launch|latency)$|^call$/.test(input.dataset.cost);
      const good = rate ? value >= 1 && value <= 1e24 : value >= 0 && value <= 3600;
      input.setAttribute("aria-invalid", !good);
      if (!good) return null;
      // What was only looked at is not rounded to what the field shows.
      const shown = galloscope.timeline.text.si(Number(input.dataset.value)) === input.value.trim() ? Number(input.dataset.value) : value;
      input.dataset.value = shown;
      return [...document.querySelectorAll("#time-cost [data-cost]")].filter((one) => Number(one.dataset.value) !== Number(one.dataset.usual)).map((one) => `${one.dataset.cost}:${Number(one.dataset.value).toExponential().replace("+", "")}`).join(",");
    },
  };
})();
