"use strict";
/* Pointer and keyboard of the graph. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const dag = (galloscope.dag = galloscope.dag || {});

  dag.listen = (c) => {
    const { host } = c;
    let drag = null;
    const at = (event) => { const box = host.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    const hide = () => c.card.hide();
    const hover = (id) => {
      if (id === c.hovered) return;
      c.hoverTensor(id);
      if (c.options.onHover) c.options.onHover(id);
    };
    const choose = (id) => {
      c.select(id);
      if (c.options.onSelect) c.options.onSelect(id);
    };

    host.addEventListener("wheel", (event) => {
      if (!c.plan) return;
      event.preventDefault();
      hide();
      c.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...at(event));
    }, { passive: false });

    host.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !c.plan) return;
      host.focus({ preventScroll: true });
      const [x, y] = at(event);
      drag = { x, y, startX: x, startY: y, box: event.shiftKey, moved: false };
      host.setPointerCapture(event.pointerId);
    });

    host.addEventListener("pointermove", (event) => {
      if (!c.plan) return;
      const [x, y] = at(event);
      if (!drag) {
        const hit = dag.pick(c, x, y);
        hover(hit.id);
        host.style.cursor = ["none", "frame"].includes(hit.type) ? "grab" : "pointer";
        dag.showCard(c, hit, x, y);
        return;
      }
      drag.moved = drag.moved || Math.abs(x - drag.startX) + Math.abs(y - drag.startY) > 4;
      if (!drag.moved) return;
      hide();
      if (drag.box) {
        c.rubber = [Math.min(x, drag.startX), Math.min(y, drag.startY), Math.abs(x - drag.startX), Math.abs(y - drag.startY)];
        c._marks();
      } else c.pan(x - drag.x, y - drag.y);
      [drag.x, drag.y] = [x, y];
    });

    host.addEventListener("pointerup", (event) => {
      if (!drag) return;
      const { moved, box } = drag, [x, y] = at(event), rubber = c.rubber;
      drag = c.rubber = null;
      if (moved) {
        if (box && rubber && rubber[2] > 8 && rubber[3] > 8) c.zoomBox(...rubber);
        return;
      }
      const hit = dag.pick(c, x, y);
      if (hit.type === "fold" && dag.onChevron(c, hit, x, y)) c.toggle(hit.layer, x, y);
      else if (hit.type === "head" && dag.onChevron(c, hit, x, y)) c.toggle(hit.layer, x, y);
      else if (hit.type === "fold" || hit.type === "head") chooseLayers(c, hit);
      else if (hit.type === "split") {
        c.selectSplit(hit.split);
        if (c.options.onSplit) c.options.onSplit(hit.split);
      } else if (hit.id >= 0 || hit.type === "none" || hit.type === "frame") choose(hit.id);
    });

    host.addEventListener("pointercancel", () => { drag = c.rubber = null; });
    host.addEventListener("pointerleave", () => { if (!drag) { hide(); hover(-1); } });

    host.addEventListener("dblclick", (event) => {
      if (!c.plan) return;
      hide();
      const [x, y] = at(event), hit = dag.pick(c, x, y);
      if (hit.type === "fold" || hit.type === "head" || hit.type === "frame") c.toggle(hit.layer, x, y);
      else if (hit.id >= 0) c.focus(hit.id);
      else c.fit();
    });

    const keys = {
      ArrowLeft: () => c.pan(60, 0), ArrowRight: () => c.pan(-60, 0), ArrowUp: () => c.pan(0, 60), ArrowDown: () => c.pan(0, -60),
      "+": () => c.zoom(1.3), "=": () => c.zoom(1.3), "-": () => c.zoom(1 / 1.3), f: () => c.fit(),
      Escape: () => choose(-1), Enter: () => c.focus(c.selected),
    };
    host.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key] || !c.plan) return;
      event.preventDefault();
      keys[event.key]();
    });
  };

  /* A click on a box is about all its layers, on its bar about the layer there. */
  function chooseLayers(c, hit) {
    const { model } = c, { layers } = model.dag;
    const [a, b] = hit.type === "fold" && !hit.bar ? [hit.cell.layer, hit.cell.last] : [hit.layer, hit.layer];
    const first = layers[a].start, last = layers[b].end - 1;
    if (c.nodes && c.nodes[0] === first && c.nodes[1] === last) return; // the second half of a double click
    c.select(-1);
    if (c.options.onLayer) c.options.onLayer(first, last, dag.foldTitle(model, { layer: a, last: b }));
    c.selectNodes(first, last); // last: who listens may have said select(-1)
  }

  /* Whether a point is on the triangle of a header. */
  dag.onChevron = (c, hit, px, py) => {
    const box = hit.cell ? { x: hit.cell.x, y: hit.cell.y + hit.cell.top } : c.plan.frames.find((f) => f.layer === hit.layer);
    const x = (px - c.view.x) / c.view.s - box.x, y = (py - c.view.y) / c.view.s - box.y;
    return x >= 0 && x < 24 && y >= 0 && y < 24;
  };
})();
