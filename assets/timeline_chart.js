"use strict";
/* galloscope.TimelineChart: lanes of spans over time, with zoom, pan, a card and a selection. The files it is made of:
 *
 *   timeline_data.js  the scene unpacked    timeline_draw.js  the picture
 *   timeline_card.js  words about a span    timeline_input.js pointer and keys */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const timeline = (galloscope.timeline = galloscope.timeline || {});
  const nothing = () => {};
  const LEAST = 20; // ns in view

  galloscope.TimelineChart = class {
    /* Callbacks: onSelect({tensor} or {split} or null), onView(text). */
    constructor(host, callbacks) {
      this.host = host;
      this.call = { onSelect: nothing, onView: nothing, ...callbacks };
      host.galloscope = this;
      host.classList.add("gs-component", "gs-time-chart");
      host.tabIndex = 0;
      host.setAttribute("role", "application");
      host.setAttribute("aria-label", "Timeline: what each device does over time");
      this.canvas = host.appendChild(document.createElement("canvas"));
      this.over = host.appendChild(document.createElement("canvas"));
      this.context = this.canvas.getContext("2d");
      this.overlay = this.over.getContext("2d");
      this.card = new galloscope.Card(host);
      this.model = null;
      this.hit = null;
      this.showPath = false;
      this.selected = { tensor: -1, split: -1 };
      this.theme = galloscope.format.theme(host);
      document.addEventListener("galloscope:theme", () => { this.theme = galloscope.format.theme(host); this.request(); });
      new ResizeObserver(() => this.resize()).observe(host);
      timeline.listen(this);
    }

    /* `tensors` are those of the page's scene; a view outside of the new times is given up. */
    load(scene, tensors, keep) {
      this.tensors = tensors;
      this.whole = !this.model || this.fitted();
      this.model = timeline.model(scene);
      this.hit = null;
      this.card.hide();
      const fits = keep && !this.whole && this.view && this.view.x1 - this.view.x0 < this.model.total && this.view.x0 < this.model.total;
      this.view = fits ? this.clamped(this.view) : { x0: 0, x1: this.model.total };
      this.resize();
    }

    name(tensor) {
      return this.tensors.name[tensor] ?? `#${tensor}`;
    }

    select(selected) {
      this.selected = selected;
      this.card.hide();
      this.host.dataset.selected = selected.tensor >= 0 ? selected.tensor : selected.split >= 0 ? `split-${selected.split}` : "";
      this.requestOverlay();
    }

    setPath(shown) {
      this.showPath = shown;
      this.request();
    }

    fit() {
      if (this.model) this.go({ x0: 0, x1: this.model.total });
    }

    fitted() {
      return this.model && this.view.x0 === 0 && this.view.x1 === this.model.total;
    }

    /* From text such as "1000-52000" (ns); what is no such text fits all. */
    setView(text) {
      const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text || "");
      if (this.model) this.go(found && Number(found[2]) > Number(found[1]) ? { x0: Number(found[1]), x1: Number(found[2]) } : { x0: 0, x1: this.model.total });
    }

    clamped({ x0, x1 }) {
      const { total } = this.model, span = Math.min(total, Math.max(LEAST, x1 - x0)), start = Math.min(Math.max(0, (x0 + x1 - span) / 2), total - span);
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
      const time = timeline.T(this, Math.min(this.at.right, Math.max(this.at.left, x)));
      this.go({ x0: time - (time - this.view.x0) * factor, x1: time + (this.view.x1 - time) * factor });
    }

    pan(px) {
      const shift = (px * (this.view.x1 - this.view.x0)) / this.at.width;
      const room = Math.min(Math.max(shift, -this.view.x0), this.model.total - this.view.x1);
      this.go({ x0: this.view.x0 + room, x1: this.view.x1 + room });
    }

    /* To a span, or a node of it, with some air around. */
    zoomTo(span, row = -1) {
      const [a, b] = timeline.extent(this.model, span, row), air = Math.max(LEAST, (b - a) * 0.15);
      this.go({ x0: a - air, x1: b + air });
    }

    enlarge(hit) {
      this.zoomTo(hit.span, hit.row);
    }

    zoomToSelection() {
      const [first] = timeline.selectedBoxes(this);
      if (first) this.zoomTo(...first);
    }

    /* What lies at a pixel: a span, and its node where nodes are drawn. */
    pick(x, y) {
      const { model, at, view } = this, lane = at.lanes.findIndex((place) => y >= place.top - 1 && y < place.top + place.h + 1);
      if (lane < 0 || x < at.left || x > at.right) return null;
      const time = timeline.T(this, x), near = (1.5 * (view.x1 - view.x0)) / at.width, list = model.lanes[lane].spans;
      for (let k = timeline.firstAfter(model, lane, time - near); k < list.length; k++) {
        const i = list[k];
        if (model.spans.start[i] > time + near) break;
        if (model.spans.start[i] === model.spans.end[i]) continue;
        const wide = ((model.spans.end[i] - model.spans.start[i]) * at.width) / (view.x1 - view.x0);
        const fine = model.spans.kind[i] === timeline.COMPUTE && wide / Math.max(1, model.spans.count[i]) > 2.5;
        return { span: i, row: fine ? timeline.rowAt(model, i, Math.min(Math.max(time, model.spans.start[i]), model.spans.end[i] - 1)) : -1 };
      }
      return null;
    }

    setHover(hit, x, y) {
      this.hit = hit;
      this.host.dataset.hover = hit ? `${hit.span}${hit.row >= 0 ? `:${hit.row}` : ""}` : "";
      if (hit) this.card.show(timeline.card(this, hit), x, y);
      else this.card.hide();
      this.requestOverlay();
    }

    choose(hit) {
      if (!hit) return this.call.onSelect(null);
      const { spans, nodes } = this.model, { span, row } = hit;
      if (row >= 0) return this.call.onSelect({ tensor: nodes.tensor[row] });
      const target = spans.kind[span] >= timeline.WAIT && spans.cause[span] >= 0 ? spans.cause[span] : span;
      if (spans.kind[target] === timeline.COPY) {
        const tensor = spans.tensor[target] >= 0 ? spans.tensor[target] : spans.source[target];
        if (tensor >= 0) return this.call.onSelect({ tensor });
      }
      return this.call.onSelect({ split: spans.split[target] });
    }

    /* The middle of a span on the screen, for tests. */
    pixel(span) {
      const place = this.at.lanes[this.model.spans.lane[span]], edge = this.host.getBoundingClientRect();
      const middle = (this.model.spans.start[span] + this.model.spans.end[span]) / 2;
      return { x: edge.left + timeline.X(this, middle), y: edge.top + place.top + place.h / 2 };
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
      requestAnimationFrame(() => { this.waitingOver = false; if (this.at && this.model) timeline.drawOverlay(this); });
    }

    draw() {
      if (!this.model || !this.width) return;
      this.at = timeline.frame(this);
      this.theme = galloscope.format.theme(this.host);
      this.host.dataset.drawn = timeline.draw(this);
      this.host.dataset.view = `${Math.round(this.view.x0)}-${Math.round(this.view.x1)}`;
      timeline.drawOverlay(this);
    }
  };
})();
