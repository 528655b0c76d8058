"use strict";
/* The standalone report: unpack the data that lies in the page, make the pictures, keep one selection in all of them. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const holder = document.getElementById("gs-report-data");
  if (!holder) return;
  const find = (id) => document.getElementById(id);

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function sentence(parts, target, onPick) {
    const row = document.createElement("li");
    for (const [words, style] of parts) {
      const piece = document.createElement(style === "strong" ? "strong" : style === "name" ? "code" : "span");
      piece.textContent = words;
      row.append(piece);
    }
    if (target >= 0) {
      row.tabIndex = 0;
      row.className = "gs-link";
      row.addEventListener("click", () => onPick(target));
      row.addEventListener("keydown", (e) => e.key === "Enter" && onPick(target));
    }
    return row;
  }

  /* The largest tensor alive where the fullest lane is fullest; -1 without memory. */
  function largestAtPeak(model) {
    if (!model || !model.n) return -1;
    const lane = model.lanes.reduce((a, b) => (b.live > a.live ? b : a)), step = lane.peak_step;
    let found = -1;
    for (let i = 0; i < model.n; i++) {
      if (model.lane[i] !== lane.index || model.x0[i] > step || model.x1[i] <= step) continue;
      if (found < 0 || model.y1[i] - model.y0[i] > model.y1[found] - model.y0[found]) found = i;
    }
    return found < 0 ? -1 : model.id[found];
  }

  function themed(dark) {
    document.documentElement.dataset.mantineColorScheme = dark ? "dark" : "light";
    document.dispatchEvent(new Event("galloscope:theme"));
  }

  function start({ scene, why }) {
    const names = scene.tensors.name;
    let strip, dag;
    const select = (id, from) => {
      if (from !== strip) { strip.select(id); if (id >= 0) strip.focus(id); }
      if (from !== dag) { dag.select(id); if (id >= 0) dag.focus(id); }
      const told = find("gs-why");
      told.replaceChildren();
      for (const [target, parts] of id >= 0 ? why[id] || [] : []) told.append(sentence(parts, target, (t) => select(t)));
      find("gs-why-head").textContent = id >= 0 ? names[id] : "Click a tensor, or search for one";
      document.body.dataset.selected = id;
      history.replaceState(null, "", id >= 0 ? `#${encodeURIComponent(names[id])}` : "#");
    };
    const pickSplit = (k) => { strip.selectSplit(k); dag.selectSplit(k); };
    strip = new galloscope.Strip(find("gs-strip"), { onSelect: (id) => select(id, strip), onHover: (id) => dag.hoverTensor(id), onSplit: pickSplit });
    dag = new galloscope.Dag(find("gs-dag"), { onSelect: (id) => select(id, dag), onHover: (id) => strip.hoverTensor(id), onSplit: pickSplit });
    strip.load(scene);
    dag.load(scene);

    const by = find("gs-color");
    for (const [key, question] of Object.entries(scene.colors)) by.append(new Option(question.title, key));
    const legend = () => {
      const dark = document.documentElement.dataset.mantineColorScheme === "dark";
      find("gs-legend").replaceChildren(...scene.colors[by.value].palette.map((entry) => {
        const item = document.createElement("span");
        const swatch = item.appendChild(document.createElement("i"));
        swatch.style.background = dark ? entry.dark : entry.light;
        item.append(entry.label);
        return item;
      }));
    };
    by.addEventListener("change", () => { strip.setColor(by.value); dag.setColor(by.value); legend(); });
    legend();

    find("gs-theme").addEventListener("click", () => { themed(document.documentElement.dataset.mantineColorScheme !== "dark"); legend(); });
    for (const row of document.querySelectorAll("[data-tensor], [data-split]")) {
      row.addEventListener("click", () => row.dataset.split ? pickSplit(Number(row.dataset.split)) : select(Number(row.dataset.tensor)));
    }
    const list = find("gs-names");
    list.append(...[...new Set(names)].slice(0, 5000).map((name) => new Option(name)));
    find("gs-search").addEventListener("change", (e) => {
      const id = names.indexOf(e.target.value);
      if (id >= 0) select(id);
    });
    document.addEventListener("keydown", (e) => {
      if (e.target.matches("input, select")) return;
      if (e.key === "/") { e.preventDefault(); find("gs-search").focus(); }
      if (e.key === "p") { select(largestAtPeak(strip.model)); strip.peak(); }
      if (e.key === "f") { strip.fit(); dag.fit(); }
      if (e.key === "Escape") { select(-1); pickSplit(-1); }
    });
    const wanted = names.indexOf(decodeURIComponent(location.hash.slice(1)));
    select(wanted);
    document.body.dataset.ready = "1";
  }

  themed(matchMedia("(prefers-color-scheme: dark)").matches);
  unpack(holder.textContent).then(start);
})();
