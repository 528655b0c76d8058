"use strict";
/* Opening files. The old picture stays until the new one is complete; what fails is told in the place where it was asked. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, tell, state } = page;
  const HEADERS = { "X-Galloscope": "1" };
  const PATIENCE = 300; // ms until a wait is shown
  let turn = 0;         // of two openings at once, the later one wins

  class Told extends Error {}

  async function answer(response) {
    const body = await response.json().catch(() => ({}));
    if (!response.ok || body.error) throw new Told(body.error || `The server answered ${response.status} ${response.statusText}.`);
    return body;
  }

  const ask = (source) => fetch("/open", {
    method: "POST", headers: { ...HEADERS, "Content-Type": "application/json" }, body: JSON.stringify({ source }),
  }).then(answer);
  const fetchScene = (session, run) => fetch(`/scene/${encodeURIComponent(session)}/${run}.json`).then(answer);

  /* Run `work`, with a progress line when it takes long, and its error told. */
  async function during(work) {
    const mine = ++turn;
    const patience = setTimeout(() => { $("progress").hidden = false; }, PATIENCE);
    try {
      await work(() => mine !== turn);
    } catch (error) {
      if (mine !== turn) return;
      if (!(error instanceof Told) && !(error instanceof TypeError)) throw error;
      complain(error instanceof Told ? error.message : "The server does not answer: is galloscope still running?");
    } finally {
      clearTimeout(patience);
      if (mine === turn) $("progress").hidden = true;
    }
  }

  async function load(opened, source, run, kept, late, wrong = []) {
    const number = Math.min(Math.max(run, 0), opened.runs.length - 1);
    const scene = await fetchScene(opened.session, number);
    if (late()) return;
    Object.assign(state, { source, session: opened.session, run: number });
    page.opened = opened;
    dialog(false);
    quiet();
    describe(opened, number);
    page.notice.say([...wrong, ...page.notice.misfits(scene, kept, state, run, opened.runs.length)]);
    if (state.by && !Object.hasOwn(scene.colors, state.by)) state.by = "";
    page.show(scene, fitting(scene, kept));
    page.url.push();
  }

  /* A selection from an address may not exist in this file. */
  function fitting(scene, kept) {
    const found = { ...kept };
    if (found.tensor >= scene.tensors.n) found.tensor = -1;
    if (found.split >= scene.splits.length) found.split = -1;
    if (found.nodes && !(Number(found.nodes.split("-")[1]) < page.count(scene))) found.nodes = "";
    for (const key of ["tensor", "split", "tick"]) if (found[key] < -1) found[key] = -1;
    return found;
  }

  function describe(opened, run) {
    const meta = Object.entries(opened.meta).map(([key, value]) => `${key} ${value}`);
    $("file-title").textContent = opened.title;
    document.title = `${opened.title} · galloscope`;
    $("parameters").textContent = meta.join(" · "); // what the file says about itself stands in the why panel
    $("parameters").title = meta.join("\n");
    $("run-box").hidden = opened.asked < 2;
    const data = opened.runs.map((one, k) => ({ value: String(k), label: one.abort ? `run ${k} ✕` : `run ${k}` }));
    tell("run", { data: opened.asked < 2 ? [] : data, value: String(run) });
  }

  /* In the dialog when it is open; else over the old picture, or in its place when there is none. */
  function complain(text) {
    const inDialog = $("open-error");
    if (inDialog) {
      inDialog.textContent = text;
      inDialog.hidden = false;
      return;
    }
    const box = $("trouble"), retry = document.createElement("button");
    const title = document.createElement("strong"), words = document.createElement("p");
    title.textContent = "This graph could not be opened";
    words.textContent = text;
    Object.assign(retry, { type: "button", className: "gs-button", textContent: "Open another" });
    retry.dataset.action = "open";
    box.replaceChildren(title, words, retry);
    box.hidden = false;
    if (!page.scene) $("page").dataset.state = "error";
  }

  function quiet() {
    $("trouble").hidden = true;
    if ($("open-error")) $("open-error").hidden = true;
  }

  function dialog(opened) {
    quiet();
    tell("open-dialog", { opened });
  }

  function source(wanted, run = 0, kept = {}, wrong = []) {
    return during(async (late) => load(await ask(wanted), wanted, run, kept, late, wrong));
  }

  function upload(file) {
    return during(async (late) => {
      const opened = await fetch(`/open/upload?name=${encodeURIComponent(file.name)}`, {
        method: "POST", headers: { ...HEADERS, "Content-Type": "application/octet-stream" }, body: file,
      }).then(answer);
      await load(opened, `session:${opened.session}`, 0, {}, late);
    });
  }

  page.open = {
    source, upload, dialog, fitting,
    /* Another run of the same file. */
    run: (number) => during((late) => load(page.opened, state.source, number, {}, late)),

    /* The server let the file go (it keeps a few): open it again, with everything as it was. */
    again: () => source(state.source, state.run, { tensor: state.tensor, split: state.split, tick: state.tick, nodes: state.nodes, listed: state.listed, strip: state.strip, dag: state.dag }),

    start() {
      const input = document.createElement("input");
      Object.assign(input, { type: "file", id: "upload-input", accept: ".json,.gz,application/json", hidden: true });
      document.body.append(input);
      input.addEventListener("change", () => { if (input.files[0]) upload(input.files[0]); input.value = ""; });
      document.addEventListener("click", (event) => {
        const hit = event.target.closest("[data-source]");
        if (hit) source(hit.dataset.source);
      });
      document.addEventListener("submit", (event) => {
        if (event.target.id !== "open-form") return;
        event.preventDefault();
        const path = $("open-path").value.trim();
        if (path) source(`path:${path}`);
      });
      for (const kind of ["dragover", "drop", "dragleave"]) {
        document.addEventListener(kind, (event) => {
          if (!event.dataTransfer?.types.includes("Files")) return;
          event.preventDefault();
          $("drop").hidden = kind !== "dragover";
          if (kind === "drop" && event.dataTransfer.files[0]) upload(event.dataTransfer.files[0]);
        });
      }
    },
  };
})();
