"use strict";
/* Making elements. Texts are set as text, never as markup. */
(() => {
  const page = window.galloscope.page;

  /* An element of a class with a text or children; further properties as of the element, those of `data` as attributes. */
  page.element = (tag, className, content = [], { data = {}, ...props } = {}) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    Object.assign(made, props);
    Object.assign(made.dataset, data);
    made.append(...[content].flat().filter((one) => one !== null && one !== ""));
    return made;
  };

  page.button = (className, content, title, props = {}) => page.element("button", className, content, { type: "button", title, ...props });

  page.icon = (name) => {
    const made = page.element("span", `gs-icon gs-icon-${name}`);
    made.setAttribute("aria-hidden", "true");
    return made;
  };

  /* A word of a command as a shell takes it. */
  page.quote = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\"'\"'")}'`);
})();
