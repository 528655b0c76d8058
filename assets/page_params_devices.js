"use strict";
/* The devices of the parameters panel, in the order in which llama.cpp uses them; the CPU is always there and last. */
(() => {
  const page = window.galloscope.page;

  page.paramsDevices = (field, kinds, edited) => {
    const gpus = kinds.filter((kind) => kind.type !== "cpu"), cpu = kinds.find((kind) => kind.type === "cpu");
    const rows = page.element("div", "gs-device-rows"), error = page.element("p", "gs-field-error", [], { hidden: true });
    const add = page.button("gs-switch", "add a device", "One more device, after those above", { id: "param-device-add" });
    const element = page.element("div", "gs-device-editor", [rows, add, error], { data: { field: "devices" } });

    /* [kind, what stands behind the first colon], the last one for the CPU. */
    const read = () => [...rows.children].map((row) => [row.dataset.kind || row.querySelector("select").value, row.querySelector("input").value.trim()]);
    const words = () => read().filter(([kind, rest]) => kind !== cpu.name || rest).map(([kind, rest]) => (rest ? `${kind}:${rest}` : kind));

    function memory(kind, rest) {
      return page.element("input", "", [], {
        type: "text", value: rest, autocomplete: "off", spellcheck: false,
        placeholder: kinds.find((one) => one.name === kind)?.memory ?? "",
        title: "Memory, such as 24GiB. Other limits of the profile go behind a colon: 24GiB:max_size=4GiB",
        ariaLabel: `Memory of ${kind}`,
      });
    }

    function row([kind, rest], k) {
      if (kind === cpu.name) {
        return page.element("div", "gs-device-row", [
          page.element("span", "gs-device-kind", [cpu.title, page.element("span", "gs-muted", "always last")]), memory(kind, rest),
        ], { data: { kind } });
      }
      const choice = page.element("select", "", gpus.map((one) => page.element("option", "", one.title, { value: one.name })), { ariaLabel: `Device ${k + 1}` });
      choice.value = kind;
      const up = page.button("gs-tool", page.icon("up"), "Before the one above", { disabled: k === 0, data: { move: k } });
      const remove = page.button("gs-tool", page.icon("close"), "Remove", { data: { remove: k } });
      return page.element("div", "gs-device-row", [choice, memory(kind, rest), up, remove]);
    }

    /* Rows for [kind, rest]; the focus stays where it was. */
    function paint(devices) {
      const own = devices.filter(([kind]) => kind !== cpu.name), last = devices.find(([kind]) => kind === cpu.name) || [cpu.name, ""];
      const inputs = () => [...rows.querySelectorAll("input, select, button")];
      const focus = inputs().indexOf(document.activeElement);
      rows.replaceChildren(...own.map(row), row(last, own.length));
      if (focus >= 0) inputs()[focus]?.focus();
    }

    rows.addEventListener("input", (event) => { if (event.target.matches("input")) edited.later(); });
    rows.addEventListener("change", (event) => {
      if (event.target.matches("select")) paint(read());
      edited.now();
    });
    rows.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target.matches("input")) edited.apply(); });
    element.addEventListener("click", (event) => {
      const hit = event.target.closest("[data-move], [data-remove], #param-device-add");
      if (!hit) return;
      const devices = read();
      if (hit === add) devices.splice(-1, 0, [devices.length > 1 ? devices[devices.length - 2][0] : gpus[0].name, ""]);
      else if (hit.dataset.remove) devices.splice(Number(hit.dataset.remove), 1);
      else devices.splice(Number(hit.dataset.move) - 1, 0, ...devices.splice(Number(hit.dataset.move), 1));
      paint(devices);
      edited.now();
    });
    return {
      element, names: [...field.names, "device"],
      words: () => words().flatMap((text) => [field.names[0], text]),
      fail(text) { error.textContent = text; error.hidden = !text; },
      show(model, typing) {
        const given = model.given.devices.map((text) => [text.split(":")[0], text.split(":").slice(1).join(":")]);
        const same = given.filter(([kind, rest]) => kind !== cpu.name || rest).map((one) => one.filter(Boolean).join(":")).join() === words().join();
        if (!rows.children.length || !(same || (typing && rows.contains(document.activeElement)))) paint(given);
      },
    };
  };
})();
