"use strict";
/* The graph of a scene, decoded: who produces what, who reads it, where it stands. No drawing here. */
(() => {
  const galloscope = (window.galloscope = window.galloscope || {});
  const FLAG_OUTPUT = 2, MOST_TAGS = 3;

  class DagModel {
    constructor(scene) {
      const dag = scene.dag, column = galloscope.format.column;
      this.scene = scene;
      this.dag = dag;
      this.tensors = scene.tensors;
      this.bytes = column(scene.tensors.bytes, "float64");
      this.device = column(scene.tensors.device, "int8");
      this.flags = column(scene.tensors.flags, "uint8");
      this.nodes = column(dag.nodes, "int32");
      this.split = column(dag.split, "int32");
      this.viewSrc = column(dag.view_src, "int32");
      this.srcAt = column(dag.src_at, "int32");
      this.srcIds = column(dag.src, "int32");
      this.weights = new Set(column(dag.weights, "int32"));
      this.pins = new Set(column(dag.pins, "int32"));
      const n = scene.tensors.n;
      this.nodeOf = new Int32Array(n).fill(-1);
      this.nodes.forEach((id, node) => { this.nodeOf[id] = node; });
      this.blockOf = new Int32Array(this.nodes.length);
      this.tagsAt = new Map(); // node -> tensors named in it
      dag.blocks.forEach((block, b) => {
        this.blockOf.fill(b, block.start, block.end);
        for (const [local, ids] of block.tags) this.tagsAt.set(block.start + local, ids);
      });
      this.isView = this.nodes.map((id) => +["VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE"].includes(this.tensors.op[id]));
      this._copies(column(dag.copies, "int32"), column(dag.rewrites, "int32"));
      this._users();
    }

    _copies(copies, rewrites) {
      this.copyOf = new Map();   // copy -> {src, device, no}
      this.copiesOf = new Map(); // "src:device" -> copies
      this.readers = new Map();  // copy -> ops whose source was rewritten to it
      for (let k = 0; k < copies.length; k += 4) {
        const [id, src, device, no] = copies.subarray(k, k + 4), key = src + ":" + device;
        if (id !== src) this.copyOf.set(id, { src, device, no }); // pipeline: one copy of an input is the input itself
        if (!this.copiesOf.has(key)) this.copiesOf.set(key, []);
        this.copiesOf.get(key).push(id);
      }
      for (let k = 0; k < rewrites.length; k += 3) {
        const copy = rewrites[k + 2];
        if (!this.readers.has(copy)) this.readers.set(copy, []);
        this.readers.get(copy).push(rewrites[k]);
      }
    }

    _users() {
      this.userAt = new Int32Array(this.tensors.n + 1);
      for (const id of this.nodes) for (const s of this.sources(id)) this.userAt[s + 1]++;
      for (let t = 0; t < this.tensors.n; t++) this.userAt[t + 1] += this.userAt[t];
      const next = this.userAt.slice();
      this.userIds = new Int32Array(this.userAt[this.tensors.n]);
      for (const id of this.nodes) for (const s of this.sources(id)) this.userIds[next[s]++] = id;
    }

    /* Sources of a tensor without repeats, copies replaced by what they are copies of. */
    sources(id) {
      const all = this.srcIds.subarray(this.srcAt[id], this.srcAt[id + 1]), found = [];
      for (let s of all) {
        if (this.copyOf.has(s)) s = this.copyOf.get(s).src;
        if (!found.includes(s)) found.push(s);
      }
      return found;
    }

    producers(id) {
      if (this.copyOf.has(id)) return [this.copyOf.get(id).src];
      const found = this.sources(id);
      return found.length || this.viewSrc[id] < 0 ? found : [this.viewSrc[id]];
    }

    consumers(id) {
      if (this.copyOf.has(id)) {
        const { src, device } = this.copyOf.get(id);
        const copies = this.copiesOf.get(src + ":" + device); // only the current copy was written into the ops
        return [...new Set(copies.flatMap((copy) => this.readers.get(copy) || []))];
      }
      return [...this.userIds.subarray(this.userAt[id], this.userAt[id + 1])];
    }

    /* The nodes that stand for a tensor in the picture: itself, else what it belongs to. */
    anchors(id) {
      if (id < 0) return [];
      if (this.nodeOf[id] >= 0) return [this.nodeOf[id]];
      const toNodes = (ids) => ids.map((t) => this.nodeOf[t]).filter((node) => node >= 0);
      const readers = toNodes(this.consumers(id)), bases = [...this.producers(id), this.viewSrc[id]].filter((t) => t >= 0);
      if (readers.length) return readers;
      const makers = toNodes(bases);
      return makers.length ? makers : toNodes(bases.flatMap((t) => this.consumers(t))); // a spare copy: who reads its original
    }

    /* Width and height of a node's box. */
    sizeOf(node) {
      const [w, h] = this.isView[node] ? this.dag.view : this.dag.node, tags = this.tagsAt.get(node);
      return [w, tags ? h + this.dag.tag * Math.min(MOST_TAGS, tags.length) : h];
    }

    /* Where the k-th named input of a node is written, from the middle of its box. */
    tagBox(node, k) {
      const [w, h] = this.sizeOf(node), count = Math.min(MOST_TAGS, this.tagsAt.get(node).length), { tag } = this.dag;
      return [-w / 2, h / 2 - tag * (count - k), w, tag];
    }

    isOutput(id) { return (this.flags[id] & FLAG_OUTPUT) !== 0; }
    layerOf(node) { return this.dag.blocks[this.blockOf[node]].layer; }
    opensSplit(node) { return node > 0 && this.split[node] !== this.split[node - 1]; }

    /* What enters with split k: one entry per input, largest first, with the copy that stands for it. */
    splitInputs(k) {
      const split = this.scene.splits[k];
      if (!split) return [];
      return split.inputs.map((src) => {
        const copies = this.copiesOf.get(src + ":" + split.device) || [];
        return { src, id: copies[0] ?? src, bytes: this.bytes[src], times: Math.max(1, copies.length) };
      }).sort((a, b) => b.bytes - a.bytes);
    }
  }

  (galloscope.dag = galloscope.dag || {}).Model = DagModel;
})();
