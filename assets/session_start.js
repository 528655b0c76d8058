"use strict";
/* Without a session: what could be opened. Presets are played on the model that is open, or that the session on the screen has. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, state } = page;

  /* The source of the model that presets can be played on, empty when there is none. */
  const base = () => (page.opened?.life ? page.opened.life.base : page.opened?.model ? state.source : "");
  /* The options of that model, which the preset is played under. */
  const line = () => page.opened?.model?.line ?? page.opened?.life?.line ?? "";
  const preset = (name) => page.open.source(`preset:${name}@${base()}`, { options: line() });
  const chosen = () => /^preset:(\w+)@/.exec(state.source)?.[1] || "";

  page.life.offers = {
    base,

    paint() {
      const model = base(), box = $("life-preset");
      $("life-empty").dataset.model = model ? "open" : "none";
      $("life-on").textContent = model ? `Played on ${page.opened.title}${line() ? ` under ${line()}` : ""}.` : "Open a GGUF first: then these can be played on it. Only its header is read.";
      for (const offer of document.querySelectorAll("[data-life-preset]")) offer.disabled = !model;
      $("life-preset-box").hidden = !page.opened?.life || !model;
      if (!box.options.length) for (const offer of document.querySelectorAll("[data-life-preset]")) box.append(new Option(offer.querySelector(".gs-sample-title").textContent, offer.dataset.lifePreset));
      const own = box.querySelector("option[value='']");
      if (chosen()) own?.remove();
      else if (!own) box.prepend(new Option("choose", ""));
      box.value = chosen();
    },

    start() {
      $("life-preset").addEventListener("change", (event) => { if (event.target.value) preset(event.target.value); });
      $("life").addEventListener("click", (event) => {
        const offer = event.target.closest("button[data-life-preset]");
        if (offer) preset(offer.dataset.lifePreset);
      });
    },
  };
})();
