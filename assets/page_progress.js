"use strict";
/* A wait that takes longer than a moment: a line across the page, what is being done and for how long, and a way out. The
 * page stays usable meanwhile. */
(() => {
  const page = window.galloscope.page;
  const { $ } = page;
  const PATIENCE = 300; // ms until a wait is shown
  const BEAT = 100;     // ms between two looks at the clock
  let current = null;

  function paint() {
    const { text, began } = current;
    $("waiting-text").textContent = text;
    $("waiting-time").textContent = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  }

  function show(shown) {
    $("progress").hidden = $("waiting").hidden = !shown;
    $("page").dataset.busy = shown;
  }

  /* A wait begins; the one before is over. `cancel` is called when the reader has had enough. */
  function begin(cancel) {
    if (current) current.end();
    const task = { text: "opening", began: performance.now(), beat: 0, cancel };
    task.patience = setTimeout(() => {
      show(true);
      paint();
      task.beat = setInterval(paint, BEAT);
    }, PATIENCE);
    task.say = (text) => { task.text = text; };
    task.end = () => {
      clearTimeout(task.patience);
      clearInterval(task.beat);
      if (current !== task) return;
      current = null;
      show(false);
    };
    current = task;
    return task;
  }

  page.progress = {
    begin,
    cancel: () => { if (current) current.cancel(); },
    get running() { return current !== null; },
  };
})();
