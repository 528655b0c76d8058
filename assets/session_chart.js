"use strict";
/* galloscope.LifeChart: the ubatches of a session on one axis, with zoom, pan, a card and a selection. The files it is made of:
 *
 *   session_data.js  the scene unpacked    session_draw.js   the picture
 *   session_card.js  words about a hit     timeline_input.js pointer and keys */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const life = (galloscope.life = galloscope.life || {});
  const nothing = () => {};

  galloscope.LifeChart = class {
    /* Callbacks: onSelect(number or -1), onView(text). */
    constructor(host, callbacks) {
      this.host = host;
      this.call = { onSelect: nothing, onView: nothing, ...callbacks };
      host.galloscope = this;
      host.classList.add("gs-component", "gs-life-chart");
      host.tabIndex = 0;
      host.setAttribute("role", "application");
      host.setAttribute("aria-label", "Session: what became of each ubatch");
      this.canvas = host.appendChild(document.createElement("canvas"));
      this.over = host.appendChild(document.createElement("canvas"));
      this.context = this.canvas.getContext("2d");
      this.overlay = this.over.getContext("2d");
      this.card = new galloscope.Card(host);
      this.model = null;
      this.hit = null;
      this.selected = -1;
      document.addEventListener("galloscope:theme", () => this.request());
      new ResizeObserver(() => this.resize()).observe(host);
      galloscope.timeline.listen(this);
    }

    load(scene) {
      this.model = life.model(scene);
      this.hit = null;
      this.selected = -1;
      this.card.hide();
      this.view = { x0: 0, x1: this.model.total };
      this.resize();
    }

    select(number) {
      this.selected = number;
      this.host.dataset.selected = number;
      this.card.hide();
      this.requestOverlay();
    }

    /* The least move that brings a ubatch into view. */
    reveal(number) {
      const { x0, x1 } = this.view, room = Math.min(2, (x1 - x0) / 8);
      if (number - room < x0 && x0 > 0) this.go({ x0: number - room, x1: number - room + x1 - x0 });
      else if (number + 1 + room > x1 && x1 < this.model.total) this.go({ x0: number + 1 + room - (x1 - x0), x1: number + 1 + room });
    }

    fit() {
      if (this.model) this.go({ x0: 0, x1: this.model.total });
    }

    fitted() {
      return this.model && this.view.x0 === 0 && this.view.x1 === this.model.total;
    }

    /* From text such as "100-220" (ubatches); what is no such text fits all. */
    setView(text) {
      const found = /^(\d+)-(\d+)$/.exec(text || "");
      if (this.model) this.go(found && Number(found[2]) > Number(found[1]) ? { x0: Number(found[1]), x1: Number(found[2]) } : { x0: 0, x1: this.model.total });
    }

    clamped({ x0, x1 }) {
      const { total } = this.model, span = Math.min(total, Math.max(life.LEAST, x1 - x0)), start = Math.min(Math.max(0, (x0 + x1 - span) / 2), total - span);
      return { x0: start, x1: start + span };
    }

    go(view) {
      this.view = this.clamped(view);
      this.hit = null;
      this.card.hide();
      this.request();
      this.call.onView(this.fitted() ? "" : `${Math.round(this.view.x0)}-${Math.round(this.view.x1)}`);
    }

    zoom(factor, x) {
      const at = life.I(this, Math.min(this.at.right, Math.max(this.at.left, x)));
      this.go({ x0: at - (at - this.view.x0) * factor, x1: at + (this.view.x1 - at) * factor });
    }

    pan(px) {
      const shift = (px * (this.view.x1 - this.view.x0)) / this.at.width;
      const room = Math.min(Math.max(shift, -this.view.x0), this.model.total - this.view.x1);
      this.go({ x0: this.view.x0 + room, x1: this.view.x1 + room });
    }

    /* To the call of a ubatch, with some air around. */
    enlarge({ ubatch, mark }) {
      const step = this.model.of.step[mark >= 0 ? Math.min(this.model.n - 1, this.model.marks.at[mark]) : ubatch];
      const first = this.model.steps.first[step], last = this.model.steps.last[step], air = Math.max(4, (last - first) / 4);
      this.go({ x0: first - air, x1: last + air });
    }

    zoomToSelection() {
      if (this.selected >= 0) this.enlarge({ ubatch: this.selected, mark: -1 });
    }

    /* What lies at a pixel: {mark}, or {ubatch, last} where several share the pixel: of those the worst. */
    pick(x, y) {
      const { model, at } = this;
      if (x < at.left || x > at.right || (!model.n && !model.marks.n)) return null;
      if (y >= at.marks.top && y < at.marks.top + at.marks.h) {
        const reach = (6 * (this.view.x1 - this.view.x0)) / at.width, here = life.I(this, x);
        let best = -1;
        for (let k = life.firstMark(model, here - reach); k < model.marks.n && model.marks.at[k] <= here + reach; k++) {
          if (best < 0 || Math.abs(model.marks.at[k] - here) <= Math.abs(model.marks.at[best] - here)) best = k;
        }
        if (best >= 0) return { mark: best, ubatch: -1 };
      }
      const number = Math.floor(life.I(this, x));
      if (number < 0 || number >= model.n) return null;
      const first = Math.floor(life.I(this, Math.floor(x))), last = Math.min(model.n, Math.max(number + 1, Math.ceil(life.I(this, Math.floor(x) + 1)))) - 1;
      if (last - first < 1 || life.pixels(this) >= 1) return { mark: -1, ubatch: number, first: number, last: number };
      const level = Math.max(0, Math.floor(Math.log2(last - first + 1)) - 4), size = 2 ** level, kinds = model.kinds[level];
      let group = first >> level;
      for (let k = group; k <= last >> level; k++) if (kinds[k] > kinds[group]) group = k;
      let best = Math.max(first, group * size);
      for (let i = best; i <= Math.min(last, group * size + size - 1); i++) if (model.of.kind[i] > model.of.kind[best]) best = i;
      return { mark: -1, ubatch: best, first, last };
    }

    setHover(hit, x, y) {
      this.hit = hit;
      this.host.dataset.hover = !hit ? "" : hit.mark >= 0 ? `mark-${hit.mark}` : hit.ubatch;
      if (hit) this.card.show(life.card(this, hit), x, y);
      else this.card.hide();
      this.requestOverlay();
    }

    choose(hit) {
      if (!hit) { this.call.onSelect(-1); return; }
      this.call.onSelect(hit.mark >= 0 ? Math.min(this.model.n - 1, this.model.marks.at[hit.mark]) : hit.ubatch);
    }

    /* The middle of a ubatch's cell on the screen, for tests. */
    pixel(number) {
      const edge = this.host.getBoundingClientRect(), { cells } = this.at;
      return { x: edge.left + life.X(this, number + 0.5), y: edge.top + cells.top + cells.h - 4 };
    }

    resize() {
      const { clientWidth: width, clientHeight: height } = this.host;
      if (!width || !height) return;
      this.ratio = Math.max(1, window.devicePixelRatio || 1);
      Object.assign(this, { width, height });
      for (const canvas of [this.canvas, this.over]) {
        canvas.width = Math.round(width * this.ratio);
        canvas.height = Math.round(height * this.ratio);
        canvas.getContext("2d").setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      }
      this.request();
    }

    request() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.draw(); });
    }

    requestOverlay() {
      if (this.waitingOver) return;
      this.waitingOver = true;
      requestAnimationFrame(() => { this.waitingOver = false; if (this.at && this.model) life.drawOverlay(this); });
    }

    draw() {
      if (!this.model || !this.width) return;
      this.theme = life.theme(this.host);
      this.at = life.frame(this);
      this.host.dataset.drawn = life.draw(this);
      this.host.dataset.view = `${Math.round(this.view.x0)}-${Math.round(this.view.x1)}`;
      life.drawOverlay(this);
    }
  };
})();
