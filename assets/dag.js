"use strict";
/* The graph on a canvas: layers that open and close, lines between them, split boundaries across them.
   Usage: new galloscope.Dag(host, {onSelect, onHover, onView, onSplit}).load(scene). */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const LEAST = 0.004, MOST = 3, FIT = 1.1, READABLE = 0.75, MARGIN = 16;
  const SMALL = 12, SMALL_FIT = 1.6; // a graph of so few nodes may be drawn larger
  const POOR = 0.3, START = 0.6;     // an open graph that would fit below the first opens at the second instead

  class Dag {
    constructor(host, options = {}) {
      Object.assign(this, { host, options, selected: -1, hovered: -1, split: -1, nodes: null, fitted: "home", by: "device", copyChips: [] });
      this.view = { s: 1, x: 0, y: 0 };
      this.open = new Set();
      host.classList.add("gs-component");
      host.tabIndex = 0;
      host.setAttribute("role", "application");
      host.setAttribute("aria-label", "Graph of the operations, folded by layer");
      host.galloscope = this;
      this.canvases = [0, 1].map(() => host.appendChild(document.createElement("canvas"))); // picture, marks
      [this.g, this.over] = this.canvases.map((made) => made.getContext("2d"));
      this.card = new galloscope.Card(host);
      this.empty = host.appendChild(document.createElement("div"));
      this.empty.className = "gs-empty";
      this.empty.textContent = "This run stopped before it had a graph.";
      this.empty.hidden = true;
      galloscope.dag.listen(this);
      this.observer = new ResizeObserver(() => this._resize());
      this.observer.observe(host);
      this.onTheme = () => this._theme();
      document.addEventListener("galloscope:theme", this.onTheme);
      this._resize();
    }

    destroy() {
      document.removeEventListener("galloscope:theme", this.onTheme);
      this.observer.disconnect();
      this.card.destroy();
      this.host.replaceChildren();
    }

    load(scene) {
      this.scene = scene;
      if (!Object.hasOwn(scene.colors, this.by)) this.by = "device"; // the colours of a run are not those of the next graph
      this.model = new galloscope.dag.Model(scene);
      for (const block of scene.dag.blocks) {
        const kind = scene.dag.kinds[block.kind];
        if (!kind.curves) galloscope.dag.prepare(kind, this.heightIn({ start: block.start }));
      }
      this.open = new Set(scene.dag.folded ? [] : scene.dag.layers.keys());
      Object.assign(this, { selected: -1, hovered: -1, split: -1, nodes: null });
      this.empty.hidden = this.model.nodes.length > 0;
      this._theme();
      this._arrange();
      this.home();
      return this;
    }

    /* The height of a node of a cell, by its number in the cell. */
    heightIn(cell) { return (local) => this.model.sizeOf(cell.start + local)[1]; }

    setColor(by) {
      this.by = this.scene && Object.hasOwn(this.scene.colors, by) ? by : this.by;
      this._theme();
    }

    select(id) {
      this.selected = id ?? -1;
      this.host.dataset.selected = this.selected;
      this.selectNodes(-1, -1);
    }

    /* Mark the boxes of nodes first to last, both included; ends with a negative number or with `select`. */
    selectNodes(first, last) {
      this.nodes = first >= 0 && last >= first ? [first, last] : null;
      this.host.dataset.nodes = this.nodes ? this.nodes.join("-") : "";
      this.card.hide();
      this._marks();
    }

    selectSplit(k) {
      if (this.split !== (k ?? -1)) this.card.hide();
      this.split = k ?? -1;
      this._draw();
    }

    hoverTensor(id) { if (this.hovered !== (id ?? -1)) { this.hovered = id ?? -1; this.host.dataset.hover = this.hovered; this._marks(); } }
    producers(id) { return this.model ? this.model.producers(id) : []; }
    consumers(id) { return this.model ? this.model.consumers(id) : []; }

    /* Open layers by their place in scene.dag.layers; "all", "none" or any iterable. */
    expand(which) {
      if (!this.model) return;
      const all = this.model.dag.layers.keys();
      this.open = new Set(which === "all" ? all : which === "none" ? [] : which);
      this._arrange();
      this.home();
    }

    /* Open or close one layer; its header stays under the pointer, as far as the host has room. */
    toggle(layer, px, py) {
      const opening = !this.open.has(layer);
      if (opening) this.open.add(layer); else this.open.delete(layer);
      this._arrange();
      const s = opening ? Math.max(this.view.s, READABLE) : this.view.s;
      const node = this.model.dag.layers[layer].start, cell = this.plan.cellOfNode(node), box = cell.frame || cell;
      const w = (opening ? box.right - box.x : cell.w) * s;
      const left = Math.min(Math.max(px - w / 2, MARGIN), Math.max(MARGIN, this.width - w - MARGIN));
      const top = opening ? Math.min(Math.max(py - 12, MARGIN), this.height * 0.2) : py - 12;
      this._go({ s, x: left - box.x * s, y: top - box.y * s });
    }

    /* Bring a tensor into view, large enough to read; opens its layer. */
    focus(id) {
      const node = this.model ? this.model.anchors(id)[0] : undefined;
      if (node === undefined) return;
      const layer = this.model.layerOf(node);
      if (!this.open.has(layer)) { this.open.add(layer); this._arrange(); }
      const at = galloscope.dag.spot(this, id), s = Math.max(this.view.s, READABLE);
      if (at) this._go({ s, x: this.width / 2 - at.x * s, y: this.height / 2 - at.y * s });
    }

    fit() {
      if (!this.plan) return;
      const { W, H } = this.plan, s = this._fitting();
      this._set({ s, x: (this.width - W * s) / 2, y: Math.max(MARGIN, (this.height - H * s) / 2) });
      this.fitted = "fit";
    }

    /* Where a picture begins: all of it, unless the names of an open graph could not be read then. */
    home() {
      if (!this.plan) return;
      if (this._homeFits()) this.fit();
      else this._set({ s: START, x: MARGIN, y: MARGIN + 4 });
      this.fitted = "home";
    }

    _most() { return this.model.nodes.length <= SMALL ? SMALL_FIT : FIT; }
    _fitting() { return Math.min(this._most(), (this.width - 2 * MARGIN) / this.plan.W, (this.height - 2 * MARGIN) / this.plan.H); }
    _homeFits() { return this.scene.dag.folded || !this.open.size || this._fitting() >= POOR; }

    zoom(factor, px = this.width / 2, py = this.height / 2) {
      const s = Math.min(MOST, Math.max(LEAST, this.view.s * factor)), k = s / this.view.s;
      this._set({ s, x: px - (px - this.view.x) * k, y: py - (py - this.view.y) * k });
    }

    pan(dx, dy) { this._set({ s: this.view.s, x: this.view.x + dx, y: this.view.y + dy }); }

    /* Zoom to a box given in host pixels. */
    zoomBox(x, y, w, h) {
      const s = Math.min(MOST, Math.min(this.width / w, this.height / h) * this.view.s);
      const cx = (x + w / 2 - this.view.x) / this.view.s, cy = (y + h / 2 - this.view.y) / this.view.s;
      this._go({ s, x: this.width / 2 - cx * s, y: this.height / 2 - cy * s });
    }

    /* "open layers@centre x,centre y,zoom", without the part after @ at the place where it begins. */
    getView() {
      if (!this.plan) return "";
      const layers = this.open.size === this.model.dag.layers.length ? "all" : this._openText();
      if (this.fitted) return this.fitted === "home" || this._homeFits() ? layers : `${layers}@fit`;
      const { s, x, y } = this.view;
      return `${layers}@${Math.round((this.width / 2 - x) / s)},${Math.round((this.height / 2 - y) / s)},${+s.toFixed(3)}`;
    }

    setView(text) {
      if (!this.model) return;
      const [layers, place] = String(text ?? "").split("@"), n = this.model.dag.layers.length;
      this.open = new Set();
      for (const range of layers === "all" ? [`0-${n - 1}`] : layers.split(".")) {
        const match = /^(\d+)(?:-(\d+))?$/.exec(range);
        if (match) for (let k = Number(match[1]); k <= Math.min(n - 1, Number(match[2] ?? match[1])); k++) this.open.add(k);
      }
      this._arrange();
      const [cx, cy, s] = (place || "").split(",").map(Number);
      if (place === "fit") { this.fit(); return; }
      if (!(s > 0) || !Number.isFinite(cx + cy)) { this.home(); return; }
      const zoom = Math.min(MOST, Math.max(LEAST, s));
      this._set({ s: zoom, x: this.width / 2 - cx * zoom, y: this.height / 2 - cy * zoom });
    }

    /* The middle of a tensor's mark in page coordinates, null when it is not drawn. */
    pixel(id) {
      const at = this.model && galloscope.dag.spot(this, id), box = this.host.getBoundingClientRect();
      return at ? { x: box.left + window.scrollX + this.view.x + at.x * this.view.s, y: box.top + window.scrollY + this.view.y + at.y * this.view.s } : null;
    }

    hatch(kind, color) {
      const key = kind + color;
      if (!this.hatches.has(key)) this.hatches.set(key, galloscope.dag.pattern(this.g, kind, color));
      return this.hatches.get(key);
    }

    _theme() {
      const dag = galloscope.dag, theme = galloscope.format.theme(this.host), hex = /^#[0-9a-f]{6}$/i;
      const muted = hex.test(theme.muted) ? theme.muted : "#64748b", bg = hex.test(theme.bg) ? theme.bg : theme.dark ? "#0b1220" : "#f8fafc";
      Object.assign(theme, {
        edge: dag.mix(muted, bg, theme.dark ? 0.5 : 0.45), strong: dag.mix(muted, bg, theme.dark ? 0.75 : 0.7),
        producer: theme.dark ? "#22d3ee" : "#0891b2", consumer: theme.dark ? "#f472b6" : "#db2777",
      });
      this.theme = theme;
      this.hatches = new Map();
      if (!this.scene) return;
      const { palette, of } = this.scene.colors[this.by];
      this.color = { of: galloscope.format.column(of, "uint8") };
      this.paints = dag.paints(palette, theme);
      this.devices = dag.paints(this.scene.devices, theme);
      this._draw();
    }

    _resize() {
      const box = this.host.getBoundingClientRect();
      if (!box.width || !box.height) return; // hidden: keep the picture until there is room again
      this.ratio = window.devicePixelRatio || 1;
      [this.width, this.height] = [box.width, box.height];
      for (const canvas of this.canvases) {
        canvas.width = Math.round(box.width * this.ratio);
        canvas.height = Math.round(box.height * this.ratio);
      }
      if (!this.model) return;
      const { fitted } = this;
      if (fitted) { this._arrange(); this[fitted](); } else this._draw();
    }

    _arrange() {
      this.plan = galloscope.dag.arrange(this.model, this.open, this.width || 900, this.height || 330, Math.max(1.25, this._most()));
      this.copyChips = [];
      this.host.dataset.open = this._openText();
    }

    /* "0-3.7": the open layers, short enough for a URL. */
    _openText() {
      const runs = [];
      for (const k of [...this.open].sort((a, b) => a - b)) {
        const last = runs[runs.length - 1];
        if (last && last[1] === k - 1) last[1] = k;
        else runs.push([k, k]);
      }
      return runs.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(".");
    }

    _set(view) {
      this.view = view;
      this.fitted = "";
      this.card.hide();
      this._draw();
      clearTimeout(this.telling);
      this.telling = setTimeout(() => {
        this.host.dataset.view = this.getView();
        if (this.options.onView) this.options.onView(this.getView());
      }, 120);
    }

    /* A short glide, so that the eye keeps its place; none when the reader wants no motion. */
    _go(to) {
      cancelAnimationFrame(this.gliding);
      if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) { this._set(to); return; }
      const from = this.view, start = performance.now();
      const step = (now) => {
        const t = Math.min(1, (now - start) / 120), e = 1 - (1 - t) ** 3;
        const s = from.s * (to.s / from.s) ** e, share = to.s === from.s ? e : (s - from.s) / (to.s - from.s);
        this._set({ s, x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share });
        if (t < 1) this.gliding = requestAnimationFrame(step);
      };
      this.gliding = requestAnimationFrame(step);
    }

    _draw() { this._request("base"); }
    _marks() { this._request("marks"); }

    _request(what) {
      if (what === "base") this.stale = true;
      if (this.pending || !this.plan) return;
      this.pending = requestAnimationFrame(() => {
        this.pending = 0;
        if (!this.plan || !this.width) return;
        if (this.stale) {
          this.stale = false;
          const start = performance.now();
          this.copyChips = [];
          this.host.dataset.drawn = galloscope.dag.draw(this);
          this.host.dataset.drawms = (performance.now() - start).toFixed(1);
        }
        galloscope.dag.drawMarks(this);
      });
    }
  }

  galloscope.Dag = Dag;
})();
