/* Pointer and keyboard of the strip chart. Every gesture ends in one call of the chart; pointer moves are handled once per
 * frame, so that a fast mouse cannot queue up work. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const strip = (galloscope.strip = galloscope.strip || {});
  const DRAG = 4;
  const REACH = 1.5;
  const DOUBLE = 500; // ms

  /* The rectangle under a pixel. Marks thinner than three pixels win near their line, for nothing else can be aimed at;
   * otherwise the one that really holds the point. A linear scan: 0.1 ms at 20,000. */
  strip.pick = function (chart, px, py, lane) {
    const { model, samples, at } = chart;
    const { y0, y1 } = chart.geo.rects;
    const place = at.lanes[lane];
    const sample = samples && samples[lane][Math.min(samples[lane].length - 1, Math.floor(px - at.left))];
    const step = samples ? sample : strip.step(chart, px);
    const reach = samples ? 0 : REACH / (at.width / (chart.view.x1 - chart.view.x0));
    const v = strip.V(chart, lane, py);
    const perByte = place.h / (chart.view.lanes[lane].y1 - chart.view.lanes[lane].y0);
    const high = REACH / perByte;
    let inside = -1;
    let thin = -1;
    let nearest = Infinity;
    for (let i = 0; i < model.n; i++) {
      if (model.lane[i] !== lane || step < model.x0[i] - reach || step >= model.x1[i] + reach) continue;
      if (v < y0[i] - high || v >= y1[i] + high) continue;
      const h = (y1[i] - y0[i]) * perByte;
      const w = reach ? ((model.x1[i] - model.x0[i]) * REACH) / reach : 3;
      if (h < 3 || w < 3) {
        const far = Math.abs((y0[i] + y1[i]) / 2 - v) * perByte + Math.abs((model.x0[i] + model.x1[i]) / 2 - step) * 1e-3;
        if (far < nearest) [nearest, thin] = [far, i];
      } else if (step >= model.x0[i] && step < model.x1[i] && v >= y0[i] && v < y1[i]) inside = i;
    }
    return thin >= 0 ? thin : inside;
  };

  function holeAt(chart, px, py, lane) {
    const { holes } = chart.model;
    const step = strip.step(chart, px);
    const address = strip.address(chart, lane, py);
    for (let i = 0; i < holes.n; i++) {
      if (holes.lane[i] !== lane || step < holes.x0[i] || step >= holes.x1[i]) continue;
      if (address >= holes.y0[i] && address < holes.y1[i]) return i;
    }
    return -1;
  }

  strip.listen = function (chart) {
    const { host } = chart;
    let drag = null;
    let pending = null;
    const at = (event) => {
      const edge = host.getBoundingClientRect();
      return { x: event.clientX - edge.left - host.clientLeft, y: event.clientY - edge.top - host.clientTop };
    };
    const ready = () => chart.model && chart.model.n > 0;

    host.addEventListener("pointermove", (event) => {
      if (!ready()) return;
      const first = !pending;
      pending = at(event);
      if (!first) return;
      requestAnimationFrame(() => {
        const point = pending;
        pending = null;
        if (!point || !ready()) return;
        if (drag) dragTo(chart, drag, point);
        else hover(chart, point);
      });
    });

    host.addEventListener("pointerleave", () => {
      pending = null;
      if (!drag) chart.clearHover();
    });

    host.addEventListener("pointerdown", (event) => {
      if (!ready() || event.button !== 0) return;
      const point = at(event);
      drag = { from: point, view: chart.view, where: strip.partAt(chart, point.x, point.y), box: event.shiftKey, moved: false };
      host.setPointerCapture(event.pointerId);
    });

    const release = (event, cancelled) => {
      if (!drag) return;
      const done = drag;
      drag = null;
      const box = chart.rubber;
      chart.rubber = null;
      host.classList.remove("gs-dragging");
      if (cancelled || !ready()) return;
      if (!done.moved) click(chart, at(event));
      else if (done.box && box) zoomBox(chart, box, done.where);
      else chart.settle();
    };
    host.addEventListener("pointerup", (event) => release(event, false));
    host.addEventListener("pointercancel", (event) => release(event, true));

    host.addEventListener("dblclick", (event) => ready() && doubleClick(chart, at(event)));

    host.addEventListener("wheel", (event) => {
      if (!ready()) return;
      event.preventDefault();
      const { x, y } = at(event);
      // Some browsers turn shift + wheel sideways; a sideways wheel without shift is a pan.
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (!event.shiftKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)) return chart.pan(event.deltaX * unit, 0, -1);
      const factor = Math.exp((event.deltaY || event.deltaX) * unit * 0.0015);
      chart.zoom(factor, x, y, event.shiftKey ? "y" : event.ctrlKey || event.metaKey ? "both" : "x");
    }, { passive: false });

    host.addEventListener("keydown", (event) => {
      if (!ready() || event.altKey || event.ctrlKey || event.metaKey) return;
      const action = keys(chart)[event.key];
      if (!action) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    });
  };

  const keys = (chart) => ({
    ArrowLeft: () => chart.pan(-chart.at.width / 8, 0, -1),
    ArrowRight: () => chart.pan(chart.at.width / 8, 0, -1),
    ArrowUp: () => chart.pan(0, -chart.laneHeight() / 4, chart.activeLane()),
    ArrowDown: () => chart.pan(0, chart.laneHeight() / 4, chart.activeLane()),
    e: () => chart.show({ even: chart.scales.some((scale) => scale.even) ? "true" : "even" }),
    "+": () => chart.zoom(0.7, chart.middle(), 0, "x"),
    "=": () => chart.zoom(0.7, chart.middle(), 0, "x"),
    "-": () => chart.zoom(1 / 0.7, chart.middle(), 0, "x"),
    f: () => chart.fit(),
    p: () => chart.peak(),
    Enter: () => chart.zoomToSelection(),
    Escape: () => chart.escape(),
  });

  function hover(chart, { x, y }) {
    const { part, lane } = strip.partAt(chart, x, y);
    chart.lane = lane;
    if (part === "ribbon") {
      const k = strip.splitAt(chart.model, Math.floor(strip.step(chart, x)));
      chart.setHover({ split: k, card: strip.splitCard(chart, k), x, y });
    } else if (part === "header") {
      chart.setHover({ card: strip.laneCard(chart, chart.model.lanes[lane]), x, y });
    } else if (part === "lane") {
      const wrong = strip.overlapAt(chart, x, y, lane);
      const rect = wrong >= 0 ? chart.model.rectOf[chart.model.overlaps.tensor[wrong]] : strip.pick(chart, x, y, lane);
      const hole = rect < 0 && chart.shown.holes ? holeAt(chart, x, y, lane) : -1;
      const card = wrong >= 0 ? strip.overlapCard(chart, wrong) : rect >= 0 ? strip.tensorCard(chart, rect) : hole >= 0 ? strip.holeCard(chart, hole) : null;
      chart.setHover({ rect, card, x, y, cursor: { x, y, lane } });
    } else chart.clearHover();
    chart.host.style.cursor = part === "none" ? "default" : part === "lane" ? "crosshair" : "pointer";
  }

  function click(chart, { x, y }) {
    const { part, lane } = strip.partAt(chart, x, y);
    if (part === "ribbon") clickSplit(chart, strip.splitAt(chart.model, Math.floor(strip.step(chart, x))));
    else if (part === "header") chart.enlarge(lane);
    else if (part === "lane") {
      const rect = strip.pick(chart, x, y, lane);
      chart.chose(rect < 0 ? -1 : chart.model.id[rect]);
    }
  }

  /* A second click takes a split back, unless it is half of a double click, which zooms to it. */
  function clickSplit(chart, k) {
    const now = performance.now();
    const again = chart.clicked && chart.clicked.k === k && now - chart.clicked.now < DOUBLE;
    chart.clicked = { k, now };
    if (!again) chart.choseSplit(k);
  }

  function doubleClick(chart, { x, y }) {
    const { part, lane } = strip.partAt(chart, x, y);
    if (part === "header") return chart.peak(lane);
    if (part === "none") return undefined;
    const k = strip.splitAt(chart.model, Math.floor(strip.step(chart, x)));
    const split = chart.model.splits[k];
    if (!split) return chart.fit();
    if (part === "ribbon" && chart.split !== k) chart.choseSplit(k);
    const view = strip.splitView(chart, split);
    // A second double click on the same split leads back out.
    const inside = Math.abs(chart.view.x0 - view.x0) + Math.abs(chart.view.x1 - view.x1) < 0.01;
    return inside ? chart.fit() : chart.go(view);
  }

  function dragTo(chart, drag, point) {
    const dx = point.x - drag.from.x;
    const dy = point.y - drag.from.y;
    if (!drag.moved && Math.abs(dx) + Math.abs(dy) < DRAG) return;
    drag.moved = true;
    chart.clearHover();
    if (drag.box) {
      chart.rubber = { x: Math.min(drag.from.x, point.x), y: Math.min(drag.from.y, point.y), w: Math.abs(dx), h: Math.abs(dy) };
      chart.requestOverlay();
      return;
    }
    chart.host.classList.add("gs-dragging");
    chart.setRange(strip.panned(chart, drag.view, -dx, -dy, drag.where.lane));
  }

  /* Inside one lane a box zooms both axes; over several lanes only the steps have a meaning. */
  function zoomBox(chart, box, where) {
    const view = { ...chart.view, x0: strip.step(chart, box.x), x1: strip.step(chart, box.x + box.w) };
    const { lane } = where;
    const place = lane >= 0 ? chart.at.lanes[lane] : null;
    const within = place && box.h > 8 && box.y >= place.top - 6 && box.y + box.h <= place.top + place.h + 6;
    if (!within) return chart.go(view);
    const y0 = strip.V(chart, lane, Math.min(box.y + box.h, place.top + place.h));
    return chart.go(strip.withLane(view, lane, { y0, y1: strip.V(chart, lane, Math.max(box.y, place.top)) }));
  }
})();
