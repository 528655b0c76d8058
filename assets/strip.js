/* galloscope.Strip: the memory plan as a picture. Steps across, addresses up, one lane per chunk of a buffer.
 * The files it is made of are listed in strip_data.js. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});
  const GLIDE = 120; // ms
  const NONE = { producers: new Set(), consumers: new Set(), steps: [] };
  const nothing = () => {};

  galloscope.Strip = class {
    /* Callbacks: onSelect(id|-1), onHover(id|-1), onSplit(k|-1), onView(text, {x0, x1, left, width}); the last gives the step
     * axis in pixels of the host, for a scrubber that wants to line up. */
    constructor(host, callbacks) {
      this.host = host;
      this.call = { onSelect: nothing, onHover: nothing, onSplit: nothing, onView: nothing, ...callbacks };
      host.galloscope = this;
      host.classList.add("gs-component", "gs-strip");
      host.tabIndex = 0;
      host.setAttribute("role", "application");
      host.setAttribute("aria-label", "Strip chart: memory over the steps of the graph");
      this.base = host.appendChild(document.createElement("canvas"));
      this.over = host.appendChild(document.createElement("canvas"));
      this.g = this.base.getContext("2d");
      this.o = this.over.getContext("2d");
      this.card = new galloscope.Card(host);
      this.empty = host.appendChild(document.createElement("div"));
      this.empty.className = "gs-empty";
      this.empty.hidden = true;
      this.model = null;
      this.shown = { holes: false, chains: false, views: false, even: "auto" };
      this.colorBy = "device";
      this.solo = this.lane = -1;
      this.reset();
      this.theme = galloscope.format.theme(host);
      this.onTheme = () => this.restyle();
      document.addEventListener("galloscope:theme", this.onTheme);
      this.observer = new ResizeObserver(() => this.resize());
      this.observer.observe(host);
      strip.listen(this);
    }

    destroy() {
      document.removeEventListener("galloscope:theme", this.onTheme);
      this.observer.disconnect();
      this.card.destroy();
      this.host.replaceChildren();
    }

    /* --- what a page calls ------------------------------------------------------------------------------------------- */

    load(scene) {
      this.model = strip.model(scene);
      this.solo = this.lane = -1;
      this.reset();
      this.view = strip.fitView(this.model);
      Object.assign(this, strip.scale(this.model, this.shown.even));
      this.card.hide();
      this.empty.hidden = this.model.n > 0;
      const title = document.createElement("strong");
      title.textContent = "No memory to show";
      this.empty.replaceChildren(title, document.createTextNode(scene.strip.empty || "Nothing is allocated here."));
      this.setColor(this.colorBy);
      this.publish();
      this.resize();
    }

    setColor(by) {
      this.colorBy = by;
      if (!this.model) return;
      const { colors } = this.model.scene;
      const color = colors[Object.hasOwn(colors, by) ? by : Object.keys(colors)[0]];
      this.color = { ...color, of: galloscope.format.column(color.of, "uint8") };
      this.order = strip.order(this.model, this.color.of);
      this.request();
    }

    select(id) {
      this.selected = this.model && id >= 0 && id < this.model.nTensors ? id : -1;
      this.relatives = this.selected >= 0 ? strip.relatives(this.model, this.selected) : NONE;
      this.card.hide();
      this.publish();
      this.requestOverlay();
    }

    selectSplit(k) {
      const before = this.split;
      this.split = this.model && k >= 0 && k < this.model.splits.length ? k : -1;
      if (this.split !== before) this.card.hide();
      this.publish();
      this.request();
    }

    hoverTensor(id) {
      this.hover = this.model && id >= 0 ? this.model.rectOf[id] : -1;
      this.cursor = null;
      this.publish();
      this.requestOverlay();
    }

    /* Draws only those tensors whose flag is set; null draws all. */
    only(flags) {
      this.flags = flags;
      this.request();
    }

    /* Those alive at a step stand out; -1 ends it. */
    setStep(step) {
      this.liveStep = this.model && step >= 0 && step < this.model.nSteps ? step : -1;
      this.requestOverlay();
    }

    /* Switches: holes, chains, views; and even, the scale of strip_scale.js: "auto", "true" or "even". A zoomed lane keeps its
     * addresses on the other scale. */
    show(what) {
      const { scales, view } = this;
      Object.assign(this.shown, what);
      this.shown.even = strip.evenMode(this.shown.even);
      this.publish();
      if (this.model) {
        Object.assign(this, strip.scale(this.model, this.shown.even));
        const again = (v, i) => this.scales[i].to(scales[i].from(v));
        const lanes = view.lanes.map((range, i) => ({ y0: again(range.y0, i), y1: again(range.y1, i) }));
        this.setRange({ ...view, lanes });
      }
    }

    fit() {
      if (this.model) this.go(strip.fitView(this.model));
    }

    /* Goes to the step at which a lane, by default the fullest one, has the most bytes alive, and shows who they are. */
    peak(lane) {
      if (!this.model || !this.model.n) return;
      const { lanes } = this.model;
      const found = lanes[lane] || lanes.reduce((a, b) => (b.live > a.live ? b : a));
      this.setStep(found.peak_step);
      this.go(strip.peakView(this, found));
    }

    /* The least move that brings a tensor into view. */
    focus(id) {
      if (this.model && id >= 0 && id < this.model.nTensors) this.go(strip.focusView(this, id));
    }

    setView(text) {
      if (this.model) this.go(strip.parseView(this, text), true);
    }

    getView() {
      return this.model ? strip.viewText(this, this.target || this.view) : "";
    }

    /* The middle of the visible part of a tensor's mark, in page coordinates. */
    pixel(id) {
      if (!this.model) return null;
      const rect = this.model.rectOf[id];
      const box = rect === undefined || rect < 0 ? null : strip.rectBox(this, rect);
      if (!box) return null;
      const edge = this.host.getBoundingClientRect();
      return {
        x: edge.left + this.host.clientLeft + window.scrollX + box.x + box.w / 2,
        y: edge.top + this.host.clientTop + window.scrollY + box.y + box.h / 2,
      };
    }

    /* --- what the gestures call -------------------------------------------------------------------------------------- */

    chose(id) {
      this.setStep(-1);
      this.select(id);
      this.call.onSelect(this.selected);
    }

    choseSplit(k) {
      this.selectSplit(k === this.split ? -1 : k);
      this.call.onSplit(this.split);
    }

    escape() {
      if (this.liveStep >= 0) this.setStep(-1);
      else if (this.selected >= 0) this.chose(-1);
      else if (this.split >= 0) this.choseSplit(-1);
      else if (this.solo >= 0) this.enlarge(this.solo);
    }

    enlarge(lane) {
      this.solo = this.solo === lane ? -1 : lane;
      this.clearHover();
      this.request();
    }

    setHover({ rect = -1, split = -1, card = null, x, y, cursor = null }) {
      const changed = rect !== this.hover;
      Object.assign(this, { hover: rect, hoverSplit: split, cursor });
      if (card) this.card.show(card, x, y);
      else this.card.hide();
      this.requestOverlay();
      if (!changed) return;
      this.publish();
      this.call.onHover(rect < 0 ? -1 : this.model.id[rect]);
    }

    clearHover() {
      this.setHover({});
    }

    zoom(factor, x, y, axes) {
      this.setRange(strip.zoomed(this, factor, x, y, axes));
      this.settle();
    }

    pan(dx, dy, lane) {
      this.setRange(strip.panned(this, this.view, dx, dy, lane));
      this.settle();
    }

    zoomToSelection() {
      const rect = this.selected >= 0 ? this.model.rectOf[this.selected] : -1;
      if (rect >= 0) this.go(strip.rectView(this, rect));
      else this.focus(this.selected);
    }

    activeLane() {
      if (this.lane >= 0) return this.lane;
      const rect = this.selected >= 0 ? this.model.rectOf[this.selected] : -1;
      return rect >= 0 ? this.model.lane[rect] : 0;
    }

    laneHeight() {
      return this.at.lanes[this.activeLane()].h;
    }

    middle() {
      return this.cursor ? this.cursor.x : (this.at.left + this.at.right) / 2;
    }

    /* --- view and drawing -------------------------------------------------------------------------------------------- */

    setRange(view) {
      this.target = null;
      this.card.hide();
      this.view = strip.clampView(this.model, view);
      this.request();
    }

    /* Glides to a view, unless the reader wants no motion. */
    go(view, quiet) {
      const to = strip.clampView(this.model, view);
      if (window.matchMedia("(prefers-reduced-motion: reduce)").matches || quiet) {
        this.setRange(to);
        if (!quiet) this.settle();
        return;
      }
      this.card.hide();
      const from = this.view;
      const start = performance.now();
      this.target = to;
      const mix = (a, b, t) => a + (b - a) * t;
      const frame = (now) => {
        if (this.target !== to) return;
        const t = Math.min(1, Math.max(0, (now - start) / GLIDE));
        const eased = 1 - (1 - t) ** 3;
        if (t >= 1) {
          this.setRange(to);
          return;
        }
        this.view = {
          x0: mix(from.x0, to.x0, eased),
          x1: mix(from.x1, to.x1, eased),
          lanes: to.lanes.map((range, i) => ({
            y0: mix(from.lanes[i].y0, range.y0, eased),
            y1: mix(from.lanes[i].y1, range.y1, eased),
          })),
        };
        this.request();
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
      this.settle();
    }

    /* A view has been reached, or will be in a moment: say so once. */
    settle() {
      const { x0, x1 } = this.target || this.view;
      this.call.onView(this.getView(), { x0, x1, left: this.at.left, width: this.at.width });
      this.publish();
    }

    reset() {
      Object.assign(this, {
        selected: -1, hover: -1, split: -1, hoverSplit: -1, liveStep: -1,
        relatives: NONE, cursor: null, rubber: null, target: null, samples: null, flags: null,
      });
    }

    restyle() {
      this.theme = galloscope.format.theme(this.host);
      this.request();
    }

    resize() {
      this.width = this.host.clientWidth;
      this.height = this.host.clientHeight;
      this.dpr = window.devicePixelRatio || 1;
      for (const canvas of [this.base, this.over]) {
        canvas.width = Math.round(this.width * this.dpr);
        canvas.height = Math.round(this.height * this.dpr);
      }
      if (this.model) this.at = strip.frame(this);
      this.request();
    }

    request() {
      this.stale = true;
      this.requestOverlay();
    }

    requestOverlay() {
      if (this.frame) return;
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        if (!this.model || this.width < 160 || this.height < 60) return;
        if (this.stale) this.paint();
        strip.drawOverlay(this);
      });
    }

    paint() {
      this.stale = false;
      const start = performance.now();
      this.at = strip.frame(this);
      const drawn = this.model.n ? strip.draw(this) : this.g.clearRect(0, 0, this.base.width, this.base.height) || 0;
      Object.assign(this.host.dataset, { drawn, drawms: (performance.now() - start).toFixed(1), view: this.getView() });
    }

    publish() {
      Object.assign(this.host.dataset, {
        hover: this.hover < 0 || !this.model ? -1 : this.model.id[this.hover],
        selected: this.selected,
        split: this.split,
        even: this.shown.even,
        view: this.getView(),
      });
    }
  };
})();
