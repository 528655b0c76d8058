"use strict";
/* A GGUF of the browser's machine: only its beginning is read and sent, more and more of it until the header is complete. */
(() => {
  const { page, format } = window.galloscope;
  const FIRST = 1 << 20;
  const MOST = 256 << 20;
  const MOST_GRAPH = 256 << 20; // the server takes no larger body

  async function is(file) {
    const magic = new Uint8Array(await file.slice(0, 4).arrayBuffer());
    return String.fromCharCode(...magic) === "GGUF";
  }

  /* A file that is no GGUF is sent whole, so what cannot be a graph is refused here. */
  function refuse(file) {
    if (file.size > MOST_GRAPH) throw new page.open.Told(`${file.name}: neither a GGUF nor a graph, it has ${format.bytes(file.size)} and does not begin with GGUF`);
  }

  /* The source under which the server knows the header. */
  async function header(file, post, answer, task, late) {
    let size = Math.min(FIRST, file.size);
    for (;;) {
      task.say(`reading the header of ${file.name}, ${format.bytes(size)}`);
      const told = await post(`/open/gguf?name=${encodeURIComponent(file.name)}`, file.slice(0, size)).then(answer);
      if (late()) return null;
      if (told.source) return told.source;
      if (told.need > file.size) throw new page.open.Told(`${file.name}: the file ends inside its header, at ${format.bytes(file.size)}; copy it again`);
      if (told.need > MOST) throw new page.open.Told(`${file.name}: its header is larger than ${format.bytes(MOST)}, none is`);
      size = Math.min(file.size, MOST, Math.max(told.need, size * 2));
    }
  }

  page.gguf = { is, header, refuse };
})();
