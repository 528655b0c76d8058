"use strict";
/* One option of the parameters panel: a switch, a choice or a text, with its name, its meaning and its error. */
(() => {
  const page = window.galloscope.page;

  /* The meaning without the default, which stands in the field. */
  const brief = (help) => help.replace(/\s*\((?:[^()]*default[^()]*|\d+)\)/g, "").replace(/, 0 for the model's$/, "");

  function control(field, id) {
    if (field.switch) return page.element("input", "", [], { type: "checkbox", id });
    if (field.choices.length) return page.element("select", "", field.choices.map((one) => page.element("option", "", one, { value: one })), { id });
    return page.element("input", "", [], { type: "text", id, autocomplete: "off", spellcheck: false });
  }

  /* A line of the panel. `words` are the arguments that say its value, none for the default. */
  page.paramsField = (field, edited) => {
    const id = `param-${field.field}`, input = control(field, id), name = field.names[0];
    const error = page.element("p", "gs-field-error", [], { hidden: true });
    const label = page.element("label", "gs-field-name", name, { htmlFor: id });
    const row = page.element("div", field.switch ? "gs-field gs-field-switch" : "gs-field", [
      label, input, page.element("span", "gs-field-help", field.brief || brief(field.help)), error,
    ], { title: `${field.names.join(", ")}\n${field.help}`, data: { field: field.field } });
    const value = () => (field.switch ? input.checked : input.value.trim());
    const changed = () => { row.classList.toggle("gs-set", field.switch ? input.checked : value() !== "" && value() !== field.usual); };
    if (!field.switch && !field.choices.length) input.addEventListener("input", () => { changed(); edited.later(); });
    input.addEventListener("change", () => { changed(); edited.now(); });
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") edited.apply(); });
    return {
      element: row, names: field.names,
      words: () => (field.switch ? (value() ? [name] : []) : value() && value() !== field.usual ? [name, value()] : []),
      fail(text) { error.textContent = text; error.hidden = !text; row.classList.toggle("gs-wrong", Boolean(text)); },
      show(model, typing) {
        const given = model.given[field.field], filled = model.filled[field.field];
        if (typing && input === document.activeElement) return;
        if (field.switch) input.checked = given;
        else if (field.choices.length) {
          input.value = given;
          for (const option of input.options) option.textContent = option.value === given && filled !== given ? `${given}: ${filled}` : option.value;
        } else {
          input.value = given === field.usual ? "" : given;
          input.placeholder = filled;
        }
        changed();
      },
    };
  };
})();
