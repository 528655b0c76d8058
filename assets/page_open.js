"use strict";
/* Opening files. The old picture stays until the new one is complete; of two openings the later one wins and the earlier one is
 * cancelled; what fails is told in the place where it was asked. A GGUF is opened in the background: the server answers with a
 * job, and is asked about it until it is done. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $, tell, state } = page;
  const HEADERS = { "X-Galloscope": "1" };
  let turn = 0;
  let job = "";        // on the server, of the opening that is under way
  let awaited = null;  // what an address asked about a file whose header the server let go

  /* A set of buffers, perhaps of none; a graph has null there. */
  const isSet = (opened) => typeof opened?.buffers === "number";

  class Told extends Error {}
  class Gone extends Told {} // the server let the file go; its source may still be there

  async function answer(response) {
    const body = await response.json().catch(() => ({}));
    if (!response.ok || body.error) throw new (response.status === 404 ? Gone : Told)(body.error || `The server answered ${response.status} ${response.statusText}.`);
    return body;
  }

  const post = (where, body, kind = "application/octet-stream") => fetch(where, { method: "POST", headers: { ...HEADERS, "Content-Type": kind }, body });
  const ask = (where, body) => post(where, JSON.stringify(body), "application/json").then(answer);
  const fetchScene = (session, run) => fetch(`/scene/${encodeURIComponent(session)}/${run}.json`).then(answer);

  /* A job nobody waits for any more; that it cannot be told is no matter, the server forgets it by itself. */
  const drop = (key) => { if (key) fetch(`/open/cancel/${key}`, { method: "POST", headers: HEADERS, keepalive: true }).catch(() => {}); };

  function stop() {
    turn += 1;
    drop(job);
    job = "";
  }

  /* Run `work`, with progress when it takes long, and its error told by `fail`. */
  async function during(work, fail = complain) {
    stop();
    const mine = turn, late = () => mine !== turn;
    const task = page.progress.begin(() => {
      stop();
      task.end();
      page.params.load();
      if (!page.opened) complain("Opening was cancelled.");
    });
    try {
      await work(late, task);
    } catch (error) {
      if (late()) return;
      if (!(error instanceof Told) && !(error instanceof TypeError)) throw error;
      fail(error instanceof Told ? error.message : "The server does not answer: is galloscope still running?");
    } finally {
      if (!late()) job = "";
      task.end();
    }
  }

  /* What was opened, once it is. */
  async function opening(source, options, late, task) {
    const first = await ask("/open", { source, options }), body = await done(first, late, task);
    return body && { ...body, skipped: first.skipped || [] };
  }

  /* The end of the server's work, if it needs some. */
  async function done(first, late, task) {
    let body = first;
    while (body.job) {
      if (late()) { drop(body.job); return null; }
      job = body.job;
      task.say(body.stage);
      body = await fetch(`/job/${job}`).then(answer);
    }
    return body;
  }

  /* The options of a model, or those that a preset is played under. */
  const lineOf = (opened) => opened.model?.line ?? opened.life?.line ?? "";

  /* The scene of one graph; where the server let the file go meanwhile (it keeps a few), it is opened once more. */
  async function sceneOf(opened, run, source, late, task) {
    const number = (one) => Math.min(Math.max(run, 0), one.runs.length - 1);
    try {
      return { opened, number: number(opened), scene: await fetchScene(opened.session, number(opened)) };
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
    }
    const again = await opening(source, lineOf(opened), late, task);
    return again && { opened: again, number: number(again), scene: await fetchScene(again.session, number(again)) };
  }

  async function load(asked, { source, run = 0, kept = {}, wrong = [], addressed = false, view = "" }, late, task) {
    if (isSet(asked)) {
      loadBuffers(asked, source, wrong);
      return;
    }
    task.say("drawing");
    const found = await sceneOf(asked, run, source, late, task);
    if (!found || late()) return;
    const { opened, number, scene } = found;
    const before = page.opened && state.source === source ? page.opened : null;
    if (isSet(page.opened) && !addressed) state.view = ""; // from a set, which has no other view, to a graph
    page.life.arrange(page.opened, opened, addressed);
    if (view) state.view = view;
    const carry = kept === "carry" ? page.carry.take() : null;
    Object.assign(state, { source, options: lineOf(opened), session: opened.session, run: number });
    page.opened = opened;
    awaited = null;
    dialog(false);
    quiet();
    describe(opened, number);
    page.params.load();
    page.changes.compare(before, opened, number);
    page.notice.say([...wrong, ...(carry ? [] : page.notice.misfits(scene, kept, state, run, opened.runs.length))]);
    if (state.by && !Object.hasOwn(scene.colors, state.by) && !page.running.colors.includes(state.by)) state.by = "";
    page.show(scene, () => (carry ? page.carry.give(carry) : fitting(scene, kept)));
    page.url.push();
  }

  /* A set of buffers: there is no scene. */
  function loadBuffers(opened, source, wrong) {
    Object.assign(state, { source, options: "", session: opened.session, run: 0 });
    page.opened = opened;
    awaited = null;
    dialog(false);
    quiet();
    describe(opened, 0);
    page.params.load();
    page.changes.compare(null, opened, 0);
    page.notice.say(wrong);
    page.showBuffers();
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
    $("file-title").textContent = opened.title;
    document.title = `${opened.title} · galloscope`;
    page.params.describe(opened, run);
    $("run-box").hidden = opened.asked < 2;
    const data = opened.runs.map((one, k) => ({ value: String(k), label: one.abort ? `${one.label} ✕` : one.label }));
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
    const box = $("trouble"), [title, words, buttons] = ["strong", "p", "div"].map((tag) => document.createElement(tag));
    const button = (label, action, quietly) => {
      const made = document.createElement("button");
      Object.assign(made, { type: "button", className: quietly ? "gs-button gs-button-quiet" : "gs-button", textContent: label });
      made.dataset.action = action;
      return made;
    };
    title.textContent = awaited ? "Choose the file again" : "This file could not be opened";
    words.textContent = awaited ? "The server keeps only the last few headers, and this one has gone. Its options and what was selected come back with the file." : text;
    buttons.className = "gs-trouble-buttons";
    buttons.append(...(awaited ? [button("Choose the file", "upload")] : []), button("Open another", "open", Boolean(awaited)));
    box.replaceChildren(title, words, buttons);
    box.hidden = false;
    if (!page.opened) $("page").dataset.state = "error";
  }

  function quiet() {
    $("trouble").hidden = true;
    if ($("open-error")) $("open-error").hidden = true;
  }

  function dialog(opened) {
    quiet();
    tell("open-dialog", { opened });
  }

  /* Open a source; `wish` may have options, run, what is kept (or "carry"), what an address asked in vain. */
  function source(wanted, wish = {}, fail = complain) {
    const asked = { options: "", ...wish, source: wanted, addressed: Boolean(wish.wrong) };
    return during(async (late, task) => {
      const opened = await opening(wanted, asked.options, late, task);
      if (opened && !late()) await load(opened, { ...asked, wrong: [...(asked.wrong || []), ...skipped(opened, asked)] }, late, task);
    }, (text) => {
      awaited = wanted.startsWith("header:") && /choose the file again/.test(text) ? asked : null;
      fail(text);
    });
  }

  /* Words of an address's options that mean nothing here; those of a pasted command are told beside it. */
  const skipped = (opened, { wrong }) => (wrong ? opened.skipped.map((word) => [word, "changes neither graph nor memory"]) : []);

  /* A file of the browser's machine: of a GGUF only the header is sent, a graph as it is. */
  function upload(file) {
    return during(async (late, task) => {
      task.say(`reading ${file.name}`);
      if (await page.gguf.is(file)) {
        const found = await page.gguf.header(file, post, answer, task, late);
        if (!found || late()) return;
        const wish = awaited?.source === found ? awaited : { source: found, options: state.options };
        const opened = await opening(found, wish.options, late, task);
        if (opened && !late()) await load(opened, wish, late, task);
        return;
      }
      const query = new URLSearchParams({ name: file.name, base: page.life.offers.base() });
      const opened = await done(await post(`/open/upload?${query}`, await page.gguf.graph(file)).then(answer), late, task);
      if (opened && !late()) await load(opened, { source: `session:${opened.session}` }, late, task);
    });
  }

  function dropped(files) {
    if (files.length === 1) upload(files[0]);
    else if (files.length) complain(`${files.length} files were dropped: drop one. Of a model in parts, type the path of any part on the machine that galloscope runs on.`);
  }

  page.open = {
    Told, Gone, isSet, ask, complain, source, upload, dialog, fitting,
    /* Another graph or run of the same file, perhaps in another view. */
    run: (number, view = "") => during((late, task) => load(page.opened, { source: state.source, run: number, kept: "carry", view }, late, task)),

    /* The same model under other options; what was looked at stays in sight. */
    options: (line, fail) => source(state.source, { options: line, run: state.run, kept: "carry" }, fail),

    /* The server let the file go (it keeps a few): open it again, with everything as it was. */
    again: () => source(state.source, {
      options: state.options, run: state.run,
      kept: { tensor: state.tensor, split: state.split, tick: state.tick, nodes: state.nodes, listed: state.listed, strip: state.strip, dag: state.dag },
    }),

    start() {
      const input = document.createElement("input");
      Object.assign(input, { type: "file", id: "upload-input", accept: ".gguf,.json,.yaml,.yml,.csv,.gz,application/json,text/csv", hidden: true });
      document.body.append(input);
      input.addEventListener("change", () => { if (input.files[0]) upload(input.files[0]); input.value = ""; });
      addEventListener("pagehide", () => drop(job));
      document.addEventListener("click", (event) => {
        const hit = event.target.closest("[data-source]");
        if (hit) source(hit.dataset.source);
      });
      document.addEventListener("submit", (event) => {
        if (event.target.id !== "open-form") return;
        event.preventDefault();
        const path = $("open-path").value.trim();
        if (path) source(`path:${path}`, { options: state.options });
      });
      for (const kind of ["dragover", "drop", "dragleave"]) {
        document.addEventListener(kind, (event) => {
          if (!event.dataTransfer?.types.includes("Files")) return;
          event.preventDefault();
          $("drop").hidden = kind !== "dragover";
          if (kind === "drop") dropped([...event.dataTransfer.files]);
        });
      }
    },
  };
})();
