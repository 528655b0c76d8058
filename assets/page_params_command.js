"use strict";
/* The options as llama.cpp's own command: to be copied, and to be pasted from wherever somebody wrote one. */
(() => {
  const page = window.galloscope.page;
  let text = null, copy = null, told = null;

  /* The command as words that wrap only between options. */
  function words(command) {
    return command.split(/ (?=-)/).flatMap((part, k) => [k ? " " : "", page.element("span", "gs-word", part)]);
  }

  /* The devices of the panel stay, with their memory, unless the command names others: profiles, or another number of llama.cpp's own. */
  function withDevices(line, own) {
    const named = /(?:^|\s)(?:-dev|--device)(?:\s+|=)(\S+)/.exec(line), gpus = own.filter((word) => !/^(--device|cpu\b.*)$/.test(word));
    if (named && !(/^[a-z]+\d+(,[a-z]+\d+)*$/i.test(named[1]) && named[1].split(",").length === gpus.length)) return line;
    return [named ? line.replace(named[0], " ") : line, ...own.map(page.quote)].join(" ");
  }

  page.paramsCommand = {
    /* `go` tries a line of options; `devices` are the words that name the devices now. */
    build(go, devices) {
      text = page.element("p", "gs-command gs-mono");
      copy = page.button("gs-tool", page.icon("copy"), "Copy the command", { data: { copy: "" } });
      told = page.element("p", "gs-field-help", [], { hidden: true });
      const box = page.element("textarea", "gs-paste gs-mono", [], { rows: 2, placeholder: "llama-server -m model.gguf -ngl 99 ...", spellcheck: false, id: "param-paste" });
      const take = () => {
        const line = box.value.trim();
        tell("");
        if (!line) return;
        if (!/(^|\s)-{1,2}[a-z]/i.test(line)) { tell("There is no option in this text: an option begins with -"); return; }
        go(withDevices(line, devices()));
      };
      box.addEventListener("paste", () => setTimeout(take));
      box.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.shiftKey) return;
        event.preventDefault();
        take();
      });
      return page.element("section", "gs-params-group", [
        page.element("div", "gs-command-head", [page.element("h3", "", "llama.cpp command"), copy]), text,
        page.element("label", "gs-field-help", "Paste a command to use its options", { htmlFor: box.id }), box, told,
      ]);
    },
    show(model, skipped) {
      text.replaceChildren(...words(model.command));
      copy.dataset.copy = model.command;
      const box = document.getElementById("param-paste");
      tell(!box.value ? "" : skipped.length ? `Passed over: ${skipped.join(", ")}` : "All of it was used.");
      box.value = "";
    },
  };

  function tell(words) {
    told.textContent = words;
    told.hidden = !words;
  }
})();
