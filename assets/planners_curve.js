"use strict";
/* Live bytes over the steps, with the bound and the peaks of the two plans. Plotly is loaded when the view is first opened. */
(() => {
  const galloscope = window.galloscope;
  const page = galloscope.page;
  const { $ } = page;
  const CONFIG = { displaylogo: false, showSendToCloud: false, displayModeBar: false, doubleClick: false, scrollZoom: false };
  const HEIGHT = 128;
  const MOST_POINTS = 1500;
  let mounted = false;
  let plot = null;   // plotly's element, once it is there
  let points = null; // { step, x, bytes, shape }
  let view = null;   // the steps that the charts show

  const now = () => page.planners.now;

  function mount() {
    if (mounted) return;
    mounted = true;
    const props = { id: "plan-live", figure: figure(), config: CONFIG, style: { height: `${HEIGHT}px`, width: "100%" }, responsive: true };
    page.tell("plan-curve", { children: { type: "Graph", namespace: "dash_core_components", props } });
    const wait = () => {
      const found = document.querySelector("#plan-live .js-plotly-plot");
      if (!found?.on || !window.Plotly) { requestAnimationFrame(wait); return; }
      plot = found;
      plot.on("plotly_click", (event) => { if (now().set) page.planners.strips.goStep(Math.min(now().set.n_steps - 1, points.step[event.points[0].pointNumber])); });
      draw();
    };
    wait();
  }

  function line(y, color, dash, name, extra = {}) {
    return { type: "scatter", mode: "lines", x: [0, now().set.n_steps], y: [y, y], name, line: { color, width: 1, dash }, hoverinfo: "skip", ...extra };
  }

  /* A point in the middle of every step, so that the nearest one to the pointer is the step under it; of a long axis the points
   * at which the curve changes. */
  function dense(step, bytes, n) {
    if (n > MOST_POINTS) return { step, x: step, bytes, shape: "hv" };
    const each = new Float64Array(n);
    for (let i = 0; i < step.length; i++) each.fill(bytes[i], step[i], i + 1 < step.length ? step[i + 1] : n);
    const edge = (k) => Math.min(Math.max(0, k - 1), n - 1); // the first and the last step reach to the ends of the axis
    const steps = Int32Array.from({ length: n + 2 }, (_, k) => edge(k));
    return { step: steps, x: Float64Array.from(steps, (at, k) => (k === 0 ? 0 : k === n + 1 ? n : at + 0.5)), bytes: Float64Array.from(steps, (at) => each[at]), shape: "hvh" };
  }

  function figure() {
    const theme = galloscope.format.theme($("planners")), { set, pair, rows } = now(), { bytes, count } = galloscope.format;
    const peaks = pair.map((name) => rows.find((row) => row.planner === name)?.peak);
    const most = Math.max(set.bound, ...peaks.filter((peak) => peak !== undefined));
    const labels = [[set.bound, `bound ${bytes(set.bound)}`, theme.good]];
    peaks.forEach((peak, k) => { if (peak !== undefined && peak !== set.bound && (k === 0 || peak !== peaks[0])) labels.push([peak, `${pair[k]} ${bytes(peak)}`, theme.peak]); });
    const real = set.moments ? galloscope.format.column(set.moments, "float64") : null;
    const stepText = (x) => count(real ? real[Math.min(x, real.length - 1)] : x);
    return {
      data: [
        {
          type: "scatter", mode: "lines", x: [...points.x], y: [...points.bytes], line: { shape: points.shape, color: theme.accent, width: 1.25 }, fill: "tozeroy",
          fillcolor: hexAlpha(theme.accent, 0.14),
          text: Array.from(points.step, (x, i) => `step ${stepText(x)} · ${bytes(points.bytes[i])}`), hovertemplate: "%{text}<extra></extra>", name: "live",
        },
        ...labels.map(([y, text, color], k) => line(y, color, k ? "dash" : "solid", text)),
      ],
      layout: {
        height: HEIGHT, margin: { l: 90, r: 12, t: 6, b: 20, pad: 0 }, showlegend: false, hovermode: "x", hoverdistance: -1, dragmode: false,
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: theme.sans, size: 11, color: theme.muted },
        xaxis: { range: view || [0, set.n_steps], fixedrange: true, showgrid: false, zeroline: false, linecolor: theme.line, tickcolor: theme.line, ticks: "outside", ticklen: 4, separatethousands: true, nticks: 10 },
        yaxis: { range: [0, most * 1.12 || 1], fixedrange: true, gridcolor: theme.line, zeroline: false, ticks: "outside", ticklen: 6, tickcolor: "rgba(0,0,0,0)", tickvals: ticks(most), ticktext: ticks(most).map((y) => (y ? bytes(y) : "0")) },
        hoverlabel: { bgcolor: theme.text, bordercolor: theme.text, font: { color: theme.surface, family: theme.mono, size: 11 } },
        annotations: labels.map(([y, text, color], k) => ({ x: k === 2 ? 0 : 1, xref: "paper", xanchor: k === 2 ? "left" : "right", y, yanchor: k ? "bottom" : "top", text, showarrow: false, font: { color, size: 11 }, bgcolor: hexAlpha(theme.surface, 0.7), borderpad: 1 })),
        shapes: shapes(theme),
        uirevision: "live",
      },
    };
  }

  function hexAlpha(hex, alpha) {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    return Number.isNaN(r) ? hex : `rgba(${r},${g},${b},${alpha})`;
  }

  /* Round numbers of bytes: powers of two and their halves. */
  function ticks(most) {
    const step = 2 ** Math.floor(Math.log2(Math.max(1, most / 2.01)));
    return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
  }

  let marked = -1;
  function shapes(theme = galloscope.format.theme($("planners"))) {
    if (marked < 0) return [];
    return [{ type: "rect", xref: "x", yref: "paper", x0: marked, x1: marked + 1, y0: 0, y1: 1, fillcolor: theme.accent, opacity: 0.25, line: { width: 1, color: theme.accent } }];
  }

  function draw() {
    if (!plot || !points || !now().set) return; // another run is on its way
    page.tell("plan-live", { figure: figure() });
    $("plan-curve").dataset.points = points.step.length;
  }

  let waiting = 0;
  page.planners.curve = {
    paint() {
      const { set } = now();
      if (!set) return;
      const { column } = galloscope.format;
      points = dense(column(set.live.step, "int32"), column(set.live.bytes, "float64"), set.n_steps);
      mount();
      draw();
    },

    /* The charts show other steps now. */
    range({ x0, x1 }) {
      view = [x0, x1];
      if (!plot || waiting) return;
      waiting = requestAnimationFrame(() => { waiting = 0; window.Plotly.relayout(plot, { "xaxis.range": view }); });
    },

    cursor(step) {
      marked = step;
      if (plot) window.Plotly.relayout(plot, { shapes: shapes() });
    },
  };

  document.addEventListener("galloscope:theme", draw);
})();
