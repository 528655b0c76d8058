/* The floating card of every component. A card is {title, note, swatch, rows: [[label, value, class]]}; all of it is set as
 * text, because names come from files of strangers. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});

  galloscope.Card = class {
    constructor(host) {
      this.host = host;
      this.element = host.appendChild(document.createElement("div"));
      this.element.className = "gs-card";
      this.element.hidden = true;
      this.element.setAttribute("role", "status");
      // What a card says is true of the picture under the pointer: whatever may change that takes it away.
      this.away = () => this.hide();
      document.addEventListener("keydown", this.away, true);
      window.addEventListener("blur", this.away);
      host.addEventListener("focusout", this.away);
      host.addEventListener("wheel", this.away, { capture: true, passive: true });
    }

    destroy() {
      document.removeEventListener("keydown", this.away, true);
      window.removeEventListener("blur", this.away);
      this.host.removeEventListener("focusout", this.away);
      this.host.removeEventListener("wheel", this.away, { capture: true });
    }

    hide() {
      this.element.hidden = true;
    }

    /* At a point of the host, flipped where it would leave it. */
    show(content, x, y) {
      const { element, host } = this;
      element.replaceChildren(part("div", "gs-card-title", content.title, content.swatch));
      if (content.note) element.append(part("div", "gs-card-note", content.note));
      const rows = part("dl", "gs-card-rows", "");
      for (const [label, value, kind] of content.rows || []) {
        rows.append(part("dt", "", label), part("dd", kind || "", value));
      }
      if (rows.childNodes.length) element.append(rows);
      element.hidden = false;
      const { offsetWidth: w, offsetHeight: h } = element;
      const left = x + 16 + w > host.clientWidth ? x - w - 16 : x + 16;
      const top = y + 16 + h > host.clientHeight ? y - h - 12 : y + 16;
      element.style.left = `${Math.max(4, Math.min(left, host.clientWidth - w - 4))}px`;
      element.style.top = `${Math.max(4, Math.min(top, host.clientHeight - h - 4))}px`;
    }
  };

  function part(tag, className, text, swatch) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (swatch) {
      const mark = document.createElement("span");
      mark.className = "gs-swatch";
      mark.style.background = swatch;
      element.append(mark);
    }
    element.append(text);
    return element;
  }
})();
