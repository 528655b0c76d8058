"use strict";
/* Puts blocks and folded layers into columns of about the host's shape, and routes the lines between them.
   Runs in the browser so that opening a layer takes no round trip. Units: the drawing units of the kinds. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const FOLD_W = 256, FOLD_H = 44, NOTE_H = 16, HEADER = 24, FRAME_PAD = 8, GAP = 26, GUTTER = 58, LANE = 6;

  /* One cell per open block and one per run of equal closed layers. */
  function cellsOf(model, open) {
    const { layers, blocks, kinds, strip } = model.dag, cells = [];
    for (let k = 0; k < layers.length; k++) {
      const layer = layers[k];
      if (open.has(k)) {
        for (let b = layer.block; b < layer.block + layer.blocks; b++) {
          const kind = kinds[blocks[b].kind];
          cells.push({ block: b, kind, layer: k, last: k, start: blocks[b].start, end: blocks[b].end, w: kind.w, h: kind.h,
            left: kind.axis, top: 0, first: b === layer.block, final: b === layer.block + layer.blocks - 1 });
        }
        continue;
      }
      let last = k;
      while (last + 1 < layers.length && !open.has(last + 1) && layers[last + 1].same === layer.same) last++;
      const top = model.opensSplit(layer.start) ? strip : 0;
      cells.push({ block: -1, kind: null, layer: k, last, start: layer.start, end: layers[last].end, w: FOLD_W,
        h: top + FOLD_H + (layer.note ? NOTE_H : 0), left: FOLD_W / 2, top, first: true, final: true });
      k = last;
    }
    return cells;
  }

  const entryOf = (cell) => (cell.kind && cell.kind.port.length ? cell.kind.port[0] : cell.left);
  const exitOf = (cell) => (cell.kind && cell.kind.out.length ? cell.kind.out[cell.kind.out.length - 1] : cell.left);

  /* Fill columns up to a height; a column that starts inside a layer repeats the layer's header. */
  function columnsOf(cells, limit) {
    const columns = [];
    let column = null, y = 0;
    for (const cell of cells) {
      const head = cell.kind ? HEADER : 0;
      const before = !column ? 0 : cell.first ? GAP : 0;
      const newHead = cell.first || !column ? head : 0;
      if (column && y + before + newHead + cell.h > limit) { column = null; }
      if (!column) { columns.push((column = { cells: [], left: 0, right: 0, height: 0 })); y = 0; }
      const opening = cell.first || column.cells.length === 0;
      if (column.cells.length && cell.first) y += GAP;
      if (opening) y += head;
      let left = cell.left;
      if (column.cells.length) { // continue straight below the value that leaves the one above, unless that widens the column much
        const above = column.cells[column.cells.length - 1], straight = above.left + entryOf(cell) - exitOf(above.cell);
        const wide = Math.max(column.left, straight) + Math.max(column.right, cell.w - straight);
        if (!opening || wide <= Math.max(column.left + column.right, cell.w) + 40) left = straight;
      }
      column.cells.push({ cell, y, opening, left });
      y += cell.h;
      if (cell.kind && cell.final) y += FRAME_PAD;
      column.left = Math.max(column.left, left);
      column.right = Math.max(column.right, cell.w - left);
      column.height = y;
    }
    return columns;
  }

  const sizeOf = (columns) => ({
    w: columns.reduce((sum, c) => sum + c.left + c.right, 0) + GUTTER * (columns.length - 1),
    h: Math.max(...columns.map((c) => c.height)),
  });

  /* The number of columns that shows the graph largest in a host of this size. */
  function bestColumns(cells, width, height, most) {
    const total = cells.reduce((sum, c) => sum + c.h + (c.first ? GAP : 0) + (c.kind && c.first ? HEADER : 0), 0);
    const tallest = Math.max(...cells.map((c) => c.h)) + HEADER;
    const slack = cells.length > 300 ? [1.04] : [1, 1.06, 1.13, 1.22, 1.35];
    let best = null;
    for (let count = 1; count <= cells.length; count = count < 24 ? count + 1 : Math.ceil(count * 1.15)) {
      for (const more of slack) {
        const columns = columnsOf(cells, Math.max(tallest, (total / count) * more)), size = sizeOf(columns);
        const scale = Math.min(width / size.w, height / size.h, most);
        if (!best || scale > best.scale * 1.001) best = { columns, scale, ...size };
      }
      if (total / count < tallest) break;
    }
    return best;
  }

  /* Returns {cells, frames, links, W, H}; every cell has x, y and its column. */
  function arrange(model, open, width, height, most) {
    const cells = cellsOf(model, open);
    if (!cells.length) return { cells, frames: [], links: [], linkOf: new Map(), cellOfNode: () => null, W: 1, H: 1 };
    const { columns, w, h } = bestColumns(cells, Math.max(100, width - 32), Math.max(80, height - 32), most);
    const frames = [];
    let x = 0;
    columns.forEach((column, c) => {
      column.x = x;
      let frame = null;
      column.cells.forEach(({ cell, y, opening, left }, k) => {
        Object.assign(cell, { x: x + column.left - left, y, column: c, place: k, head: cell.kind && opening ? HEADER : 0 });
        if (!cell.kind) return;
        if (opening) frames.push((frame = { layer: cell.layer, x: cell.x, y: y - HEADER, right: cell.x + cell.w, bottom: 0,
          header: HEADER, continued: !cell.first }));
        frame.x = Math.min(frame.x, cell.x);
        frame.right = Math.max(frame.right, cell.x + cell.w);
        frame.bottom = y + cell.h + (cell.final ? FRAME_PAD : 0);
        cell.frame = frame;
      });
      x += column.left + column.right + GUTTER;
    });
    const starts = cells.map((cell) => cell.start);
    const cellOfNode = (node) => {
      let low = 0, high = cells.length - 1;
      while (low < high) { const mid = (low + high + 1) >> 1; if (starts[mid] <= node) low = mid; else high = mid - 1; }
      return cells[low];
    };
    const { links, linkOf } = route(model, cells, cellOfNode, columns);
    return { cells, frames, links, linkOf, cellOfNode, W: w, H: h };
  }

  /* Lines between cells. A value that enters a cell has one line there, however many ops read it. */
  function route(model, cells, cellOfNode, columns) {
    const { blocks } = model.dag, links = [], linkOf = new Map(), drawn = new Map(), lanes = new Map();
    const lane = (gutter) => { const k = lanes.get(gutter) || 0; lanes.set(gutter, k + 1); return ((k % 7) - 3) * LANE; };
    cells.forEach((cell, index) => {
      cell.index = index;
      const entering = new Map(); // tensor -> port x
      if (cell.kind) blocks[cell.block].ports.forEach((id, k) => entering.set(id, cell.x + cell.kind.port[k]));
      else for (let k = cell.layer; k <= cell.last; k++) {
        const layer = model.dag.layers[k];
        for (let b = layer.block; b < layer.block + layer.blocks; b++) {
          for (const id of blocks[b].ports) if (model.nodeOf[id] < cell.start) entering.set(id, cell.x + cell.left);
        }
      }
      for (const [id, tx] of entering) {
        const node = model.nodeOf[id], from = cellOfNode(node);
        let sx = from.x + from.left;
        if (from.kind) sx = from.x + from.kind.out[from.kind.outs.indexOf(node - from.start)];
        const key = [sx, from.index ?? cells.indexOf(from), tx, index].join();
        let link = drawn.get(key);
        if (!link) {
          const bottom = from.y + from.h + (from.kind && from.final ? FRAME_PAD : 0);
          const top = cell.y + (cell.kind ? 0 : cell.top);
          const start = [sx, from.y + from.h], end = [tx, top];
          const skip = !(from.column === cell.column && cell.place === from.place + 1);
          link = { from, to: cell, skip, ids: [], points: skip ? detour(from, cell, start, end, bottom, columns, lane) : [...start, ...end] };
          drawn.set(key, link);
          links.push(link);
        }
        link.ids.push(id);
        linkOf.set(id + ":" + index, link);
      }
    });
    return { links, linkOf };
  }

  function detour(from, to, [sx, sy], [tx, ty], bottom, columns, lane) {
    const down = bottom + 7, above = to.y - to.head - 8;
    if (from.column === to.column) { // beside the column
      const gx = columns[from.column].x + columns[from.column].left + columns[from.column].right + 16 + lane(from.column) / 2;
      return [sx, sy, sx, down, gx, down, gx, above, tx, above, tx, ty];
    }
    const entry = columns[to.column].x - GUTTER / 2 + lane(to.column - 1);
    if (to.column === from.column + 1) return [sx, sy, sx, down, entry, down, entry, above, tx, above, tx, ty];
    const exit = columns[from.column].x + columns[from.column].left + columns[from.column].right + GUTTER / 2 + lane(from.column);
    const over = -18 - Math.abs(lane("top"));
    return [sx, sy, sx, down, exit, down, exit, over, entry, over, entry, above, tx, above, tx, ty];
  }

  (galloscope.dag = galloscope.dag || {}).arrange = arrange;
})();
