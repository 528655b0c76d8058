"use strict";
/* A GGUF of the browser's machine: only its beginning is read and sent, more and more of it until the header is complete. */
(() => {
  const { page, format } = window.galloscope;
  const FIRST = 1 << 20;
  const MOST = 256 << 20;
  const MOST_GRAPH = 256 << 20; // the server takes no larger body

  /* Bytes of a file of this machine: a folder has none, and a file may be gone since it was chosen. */
  async function read(file, most = file.size) {
    try {
      return await file.slice(0, most).arrayBuffer();
    } catch (error) {
      throw new page.open.Told(`${file.name}: cannot be read; a folder cannot be opened, and a file must still be where it was`);
    }
  }

  async function is(file) {
    const magic = new Uint8Array(await read(file, 4));
    return String.fromCharCode(...magic) === "GGUF";
  }

  /* A file that is no GGUF is sent whole, so what cannot be a graph is refused here. */
  async function graph(file) {
    if (!file.size) throw new page.open.Told(`${file.name}: the file is empty`);
    if (file.size > MOST_GRAPH) throw new page.open.Told(`${file.name}: neither a GGUF nor a graph, it has ${format.bytes(file.size)} and does not begin with GGUF`);
    return read(file);
  }

  /* The source under which the server knows the header. */
  async function header(file, post, answer, task, late) {
    let size = Math.min(FIRST, file.size);
    for (;;) {
      task.say(`reading the header of ${file.name}, ${format.bytes(size)}`);
      const told = await post(`/open/gguf?name=${encodeURIComponent(file.name)}`, await read(file, size)).then(answer);
      if (late()) return null;
      if (told.source) return told.source;
      if (told.need > file.size) throw new page.open.Told(`${file.name}: the file ends inside its header, at ${format.bytes(file.size)}; copy it again`);
      if (told.need > MOST) throw new page.open.Told(`${file.name}: its header is larger than ${format.bytes(MOST)}, none is`);
      size = Math.min(file.size, MOST, Math.max(told.need, size * 2));
    }
  }

  page.gguf = { is, header, graph };
})();
