/* How numbers, names and colours are written. The rules for numbers are those of app/figures/text.py.
 * Also here because every component needs them: columns sent by Python, the theme, the contrast of text on a fill. */
(function () {
  "use strict";
  const galloscope = (window.galloscope = window.galloscope || {});
  const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  const ARRAYS = {
    int8: Int8Array, uint8: Uint8Array, int16: Int16Array, int32: Int32Array, float64: Float64Array,
  };

  /* Binary units, three significant digits or more; no decimals means that the number is exact. */
  function bytes(n) {
    if (n < 0) return "-" + bytes(-n);
    let level = 0;
    while (n >= 1024 ** (level + 1) && level < UNITS.length - 1) level += 1;
    const unit = 1024 ** level;
    if (n % unit === 0) return `${n / unit} ${UNITS[level]}`;
    const hundredths = Math.floor((n * 100) / unit + 0.5);
    if (hundredths < 1000) return `${(hundredths / 100).toFixed(2)} ${UNITS[level]}`;
    const tenths = Math.floor((n * 10) / unit + 0.5);
    if (tenths >= 10240 && level < UNITS.length - 1) return `1.00 ${UNITS[level + 1]}`;
    return `${(tenths / 10).toFixed(1)} ${UNITS[level]}`;
  }

  /* The exact count, with thousands groups. */
  const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

  const exact = (n) => `${count(n)} B`;

  /* Hex in groups of four digits. BigInt: bit operations would stop at 4 GiB. */
  const hex = (n) => "0x" + BigInt(Math.round(n)).toString(16).replace(/\B(?=(\w{4})+$)/g, "_");

  /* A name cut in the middle; the tail says more, so it keeps two thirds. */
  function tail(name, most) {
    if (name.length <= most) return name;
    if (most < 3) return "…".slice(0, Math.max(0, most));
    const head = Math.max(1, Math.floor((most - 1) / 3));
    return name.slice(0, head) + "…" + name.slice(name.length - (most - 1 - head));
  }

  function plural(n, one, many) {
    return `${count(n)} ${n === 1 ? one : many || one + "s"}`;
  }

  /* A column of numbers: base64 of a little-endian typed array, as every browser's machine has it. */
  function column(text, kind) {
    const raw = atob(text);
    const octets = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) octets[i] = raw.charCodeAt(i);
    return new ARRAYS[kind](octets.buffer);
  }

  /* The colours of the page as it looks now. */
  function theme(host) {
    const dark = document.documentElement.dataset.mantineColorScheme === "dark";
    const style = getComputedStyle(host || document.documentElement);
    const read = (name, light, other) => style.getPropertyValue(`--gs-${name}`).trim() || (dark ? other : light);
    return {
      dark,
      bg: read("bg", "#f8fafc", "#0b1220"),
      surface: read("surface", "#ffffff", "#111a2e"),
      line: read("line", "#e2e8f0", "#1f2a44"),
      text: read("text", "#0f172a", "#e2e8f0"),
      muted: read("muted", "#64748b", "#94a3b8"),
      accent: read("accent", "#2563eb", "#60a5fa"),
      peak: read("peak", "#dc2626", "#f87171"),
      good: read("good", "#047857", "#34d399"),
      sans: style.fontFamily || "system-ui, sans-serif",
      mono: read("mono", MONO, MONO),
      pick: (entry) => (dark ? entry.dark : entry.light),
    };
  }
  const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

  function luminance(hexColor) {
    const channel = (i) => {
      const c = parseInt(hexColor.slice(i, i + 2), 16) / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  }

  /* Dark or light text on a fill, whichever reads better. With a dark as deep as this one of the two always reaches 4.5. */
  const INK = "#04060a";
  function ink(fill) {
    const l = luminance(fill) + 0.05;
    return l / (luminance(INK) + 0.05) >= 1.05 / l ? INK : "#ffffff";
  }

  galloscope.format = { bytes, count, exact, hex, tail, plural, column, theme, ink };
})();
