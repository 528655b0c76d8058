"use strict";
/* What an option changed: one calm line that compares the graph on the screen with the same graph under the options before. */
(() => {
  const { page, format } = window.galloscope;
  const { $ } = page;
  const MOST = 6;     // changes that are named; the rest are counted
  let before = null;  // what was opened before

  const signed = (n) => `${n < 0 ? "-" : "+"}${format.bytes(Math.abs(n))}`;

  /* [text, bytes] of everything that differs, the large ones first. */
  function differences(old, now) {
    const found = [], sizes = [];
    if (old.splits !== now.splits) found.push(`splits ${format.count(old.splits)} → ${format.count(now.splits)}`);
    if (old.copied !== now.copied) found.push(`copied per batch ${format.bytes(old.copied)} → ${format.bytes(now.copied)}`);
    for (const name of new Set([...Object.keys(now.devices), ...Object.keys(old.devices)])) {
      const a = old.devices[name] || {}, b = now.devices[name] || {};
      const changed = Object.keys({ ...a, ...b }).map((kind) => [kind, (b[kind] || 0) - (a[kind] || 0)]).filter(([, by]) => by);
      const told = changed.map(([kind, by]) => `${kind} ${signed(by)}`).join(", ");
      if (told) sizes.push([`${name} ${told}`, Math.max(...changed.map(([, by]) => Math.abs(by)))]);
    }
    return [...found, ...sizes.sort((a, b) => b[1] - a[1]).map(([text]) => text)];
  }

  function options(old, now) {
    const gone = old.summary.filter((word) => !now.summary.includes(word)), come = now.summary.filter((word) => !old.summary.includes(word));
    if (gone.length && come.length) return `${gone.join(" · ")} → ${come.join(" · ")}`;
    return come.length ? `with ${come.join(" · ")}` : `without ${gone.join(" · ")}`;
  }

  function paint(run) {
    const line = $("changes"), now = page.opened;
    line.hidden = !before;
    if (!before) return;
    const label = now.runs[run]?.label, old = before.runs.find((one) => one.label === label);
    const found = old?.totals && now.runs[run].totals ? differences(old.totals, now.runs[run].totals) : [];
    const told = found.slice(0, MOST).map((text) => page.element("span", "gs-change", text));
    if (found.length > MOST) told.push(page.element("span", "gs-change gs-muted", `and ${found.length - MOST} more`));
    if (!found.length) told.push(page.element("span", "gs-change gs-muted", "no change in splits or memory"));
    const back = page.button("gs-switch", ["back ", page.element("kbd", "", "u")], `Back to ${before.model.line || "the defaults"}`, { data: { action: "before" } });
    const close = page.button("gs-tool", page.icon("close"), "Close");
    close.addEventListener("click", () => { line.hidden = true; });
    line.replaceChildren(page.element("span", "gs-changes-options", options(before.model, now.model), { title: `${before.model.line || "defaults"}\n→ ${now.model.line || "defaults"}` }),
      page.element("span", "gs-changes-told", told), back, close);
  }

  page.changes = {
    /* `old` is what was on the screen of the same file, null for another file. */
    compare(old, now, run) {
      if (!old?.model || !now.model) before = null;
      else if (old.model.line !== now.model.line) before = old;
      else if (before && before.model.line === now.model.line) before = null;
      paint(run);
    },
    back() { if (before) page.open.options(before.model.line); },
  };
})();
