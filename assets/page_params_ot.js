"use strict";
/* The -ot patterns of the parameters panel. As one types, the server is asked what each catches and how many bytes would move; the
 * picture follows with Enter or Apply. */
(() => {
  const { page, format } = window.galloscope;
  const PAUSE = 250; // ms after the last key
  const NAMED = 4;   // names that are written; the rest are counted

  page.paramsPatterns = (field, most, edited) => {
    const rows = page.element("div", "gs-ot-rows"), error = page.element("p", "gs-field-error", [], { hidden: true });
    const list = page.element("datalist", "", [], { id: "param-bufts" });
    const apply = page.button("gs-switch gs-ot-apply", "apply", "Trace with these patterns (Enter)", { id: "param-ot-apply", hidden: true });
    const name = page.element("div", "gs-ot-head", [
      page.element("span", "gs-field-name", field.names[0]), page.element("span", "gs-field-help", "weights by name to a buffer type"), apply,
    ], { title: `${field.names.join(", ")}\n${field.help}\nThe first pattern that matches counts.` });
    const element = page.element("div", "gs-ot", [name, rows, list, error], { data: { field: "overrides" } });
    let applied = [], turn = 0, waiting = 0;

    const read = () => [...rows.children].map((row) => [...row.querySelectorAll("input")].map((input) => input.value.trim()));
    const written = () => read().filter(([pattern]) => pattern);
    const text = (pairs) => pairs.map((pair) => pair.join("="));
    const ready = () => written().every(([, buft]) => buft);

    function row([pattern, buft]) {
      const inputs = [["pattern", pattern, "blk\\.[0-9]\\.ffn_.*_exps", "Pattern"], ["buft", buft, "CPU", "Buffer type"]].map(([kind, value, placeholder, label]) =>
        page.element("input", `gs-ot-${kind}`, [], { type: "text", value, placeholder, ariaLabel: label, maxLength: most, autocomplete: "off", spellcheck: false }));
      inputs[1].setAttribute("list", list.id);
      return page.element("div", "gs-ot-row", [inputs[0], page.element("span", "gs-muted", "="), inputs[1], page.element("div", "gs-ot-told")]);
    }

    function paint(pairs) { rows.replaceChildren(...[...pairs, ["", ""]].map(row)); }

    const size = (bytes) => page.element("strong", "", format.bytes(bytes));

    function tell(row, answer) {
      const box = row.querySelector(".gs-ot-told");
      row.classList.toggle("gs-wrong", Boolean(answer?.error));
      if (!answer) { box.replaceChildren(); return; }
      if (answer.error) { box.replaceChildren(answer.error); return; }
      const { count, moves, names, taken } = answer, moved = moves.filter((move) => move.from !== move.to), stay = moves.filter((move) => move.from === move.to);
      const words = [format.plural(count, "tensor")];
      for (const move of moved) words.push(", ", size(move.bytes), ` ${move.from} → ${move.to}`);
      for (const move of stay) words.push(", ", size(move.bytes), ` in ${move.to} already`);
      if (taken) words.push(`, ${format.count(taken)} more caught by a pattern above`);
      const listed = names.slice(0, NAMED).map((one) => page.element("span", "gs-mono", one));
      if (count > listed.length) {
        const rest = names.slice(NAMED).join("\n") + (count > names.length ? "\n…" : "");
        listed.push(page.element("span", "", `and ${format.count(count - listed.length)} more`, { title: rest }));
      }
      box.replaceChildren(page.element("p", "", count ? words : [taken ? `0 tensors, ${format.count(taken)} caught by a pattern above` : "0 tensors: no weight has such a name"]),
        ...(listed.length ? [page.element("p", "gs-ot-names", listed)] : []));
    }

    /* Ask what the patterns catch; an answer to an earlier question is dropped. */
    async function look() {
      const mine = ++turn, pairs = written();
      if (!pairs.length || !page.opened?.model) { for (const one of rows.children) tell(one, null); return; }
      let answers;
      try {
        answers = (await page.open.ask("/open/matches", { session: page.opened.session, overrides: pairs.map(([pattern, buft]) => [pattern, buft || "CPU"]) })).matches;
      } catch (failed) {
        if (mine !== turn) return;
        if (failed instanceof page.open.Gone) page.open.again(); // shows the values anew, and asks again
        else fail(failed instanceof page.open.Told ? failed.message : "The server does not answer: is galloscope still running?");
        return;
      }
      if (mine !== turn) return;
      fail("");
      let k = 0;
      for (const one of rows.children) tell(one, one.querySelector("input").value.trim() ? answers[k++] : null);
    }

    function fail(words) { error.textContent = words; error.hidden = !words; }

    function typed() {
      const last = rows.lastElementChild;
      if (last.querySelector("input").value) rows.append(row(["", ""])); // there is always a free line
      apply.hidden = text(written()).join() === text(applied).join();
      apply.disabled = !ready();
      clearTimeout(waiting);
      waiting = setTimeout(look, PAUSE);
    }

    function commit() {
      if (!ready()) { fail("-ot: a buffer type is missing, such as CPU"); return; }
      applied = written();
      apply.hidden = true;
      edited.apply();
    }

    rows.addEventListener("input", typed);
    rows.addEventListener("keydown", (event) => { if (event.key === "Enter") commit(); });
    apply.addEventListener("click", commit);
    return {
      element, names: field.names, fail,
      words: () => text(applied).flatMap((one) => [field.names[0], one]),
      reset() { rows.replaceChildren(); },
      show(model) {
        const given = model.given.overrides.map((one) => { const at = one.indexOf("="); return [one.slice(0, at), one.slice(at + 1)]; });
        list.replaceChildren(...model.bufts.map((one) => page.element("option", "", [], { value: one })));
        // What is written and not applied outlives a change of something else.
        const draft = rows.children.length && text(given).join() === text(applied).join();
        if (!draft && (!rows.children.length || text(given).join() !== text(written()).join())) paint(given);
        applied = given;
        typed();
      },
    };
  };
})();
