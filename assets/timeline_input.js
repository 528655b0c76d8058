"use strict";
/* Pointer and keyboard of a chart over time, the timeline's and the session's; moves are handled once per frame. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const timeline = (galloscope.timeline = galloscope.timeline || {});
  const DRAG = 4;

  timeline.listen = function (chart) {
    const { host } = chart;
    let drag = null, pending = null;
    const ready = () => chart.model && chart.at;
    const at = (event) => {
      const edge = host.getBoundingClientRect();
      return { x: event.clientX - edge.left, y: event.clientY - edge.top };
    };

    host.addEventListener("pointermove", (event) => {
      if (!ready()) return;
      const first = !pending;
      pending = at(event);
      if (!first) return;
      requestAnimationFrame(() => {
        const point = pending;
        pending = null;
        if (!point || !ready()) return;
        if (drag) dragTo(point);
        else {
          const hit = chart.pick(point.x, point.y);
          chart.setHover(hit, point.x, point.y);
          host.style.cursor = hit ? "pointer" : "default";
        }
      });
    });

    function dragTo(point) {
      const dx = point.x - drag.from.x;
      if (!drag.moved && Math.abs(dx) < DRAG) return;
      drag.moved = true;
      host.classList.add("gs-dragging");
      const shift = (-dx * (drag.view.x1 - drag.view.x0)) / chart.at.width, room = Math.min(Math.max(shift, -drag.view.x0), chart.model.total - drag.view.x1);
      if (!drag.box) chart.go({ x0: drag.view.x0 + room, x1: drag.view.x1 + room });
    }

    host.addEventListener("pointerleave", () => { pending = null; if (!drag && ready()) chart.setHover(null); });
    host.addEventListener("pointerdown", (event) => {
      if (!ready() || event.button !== 0) return;
      drag = { from: at(event), view: chart.view, box: event.shiftKey, moved: false };
      host.setPointerCapture(event.pointerId);
    });
    const release = (event, cancelled) => {
      if (!drag) return;
      const done = drag, point = at(event);
      drag = null;
      host.classList.remove("gs-dragging");
      if (cancelled || !ready()) return;
      if (!done.moved) chart.choose(chart.pick(point.x, point.y));
      else if (done.box) chart.go({ x0: timeline.T(chart, Math.min(done.from.x, point.x)), x1: timeline.T(chart, Math.max(done.from.x, point.x)) });
    };
    host.addEventListener("pointerup", (event) => release(event, false));
    host.addEventListener("pointercancel", (event) => release(event, true));
    host.addEventListener("dblclick", (event) => {
      if (!ready()) return;
      const point = at(event), hit = chart.pick(point.x, point.y);
      if (hit && chart.fitted()) chart.enlarge(hit);
      else chart.fit();
    });
    host.addEventListener("wheel", (event) => {
      if (!ready()) return;
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) chart.pan((event.deltaX || event.deltaY) * unit);
      else chart.zoom(Math.exp(event.deltaY * unit * 0.0015), at(event).x);
    }, { passive: false });
    host.addEventListener("keydown", (event) => {
      const action = ready() && !event.altKey && !event.ctrlKey && !event.metaKey && keys(chart)[event.key];
      if (!action) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    });
  };

  const keys = (chart) => ({
    ArrowLeft: () => chart.pan(-chart.at.width / 8),
    ArrowRight: () => chart.pan(chart.at.width / 8),
    "+": () => chart.zoom(0.7, (chart.at.left + chart.at.right) / 2),
    "=": () => chart.zoom(0.7, (chart.at.left + chart.at.right) / 2),
    "-": () => chart.zoom(1 / 0.7, (chart.at.left + chart.at.right) / 2),
    Enter: () => chart.zoomToSelection(),
  });
})();
