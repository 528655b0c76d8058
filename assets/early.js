"use strict";
/* In the head, before anything is painted: the theme that was chosen, else the system's. Mantine keeps it under this key. */
(() => {
  const root = document.documentElement;
  let chosen = null;
  try { chosen = localStorage.getItem("mantine-color-scheme-value"); } catch { /* storage may be forbidden */ }
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.mantineColorScheme = chosen === "dark" || chosen === "light" ? chosen : system;
  root.dataset.agThemeMode = root.dataset.mantineColorScheme;

  /* Whoever changes it, the pictures and the table follow. */
  new MutationObserver(() => {
    const scheme = root.dataset.mantineColorScheme;
    if (root.dataset.agThemeMode === scheme) return;
    root.dataset.agThemeMode = scheme;
    document.dispatchEvent(new CustomEvent("galloscope:theme"));
  }).observe(root, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });
})();
