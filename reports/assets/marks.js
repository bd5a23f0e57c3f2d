"use strict";
// Marks: a colour and a shape for each series, so that either is enough to tell them apart.

const shapes = [
  r => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`,
  r => `M${-r * 0.9},${-r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}Z`,
  r => `M0,${-r * 1.2}L${r * 1.1},${r * 0.8}H${-r * 1.1}Z`,
  r => `M0,${-r * 1.3}L${r * 1.1},0L0,${r * 1.3}L${-r * 1.1},0Z`,
  r => `M0,${r * 1.2}L${r * 1.1},${-r * 0.8}H${-r * 1.1}Z`,
  r => `M${-r * 0.4},${-r}h${r * 0.8}v${r * 0.6}h${r * 0.6}v${r * 0.8}h${-r * 0.6}v${r * 0.6}h${-r * 0.8}v${-r * 0.6}h${-r * 0.6}v${-r * 0.8}h${r * 0.6}Z`,
  r => star(r, 5),
  r => `M${-r},${-r * 0.55}L0,${-r * 1.15}L${r},${-r * 0.55}V${r * 0.55}L0,${r * 1.15}L${-r},${r * 0.55}Z`,
];
function star(r, points) {
  let path = "";
  for (let i = 0; i < 2 * points; ++i) {
    const reach = i % 2 ? r * 0.55 : r * 1.3, angle = Math.PI * i / points;
    path += `${i ? "L" : "M"}${(reach * Math.sin(angle)).toFixed(2)},${(-reach * Math.cos(angle)).toFixed(2)}`;
  }
  return path + "Z";
}
// Null stands for any series: a plain circle.
const series_colour = series => series === null ? "var(--soft)" : `var(--s${series % 8})`;
// Past eight series colours repeat, with another shape each time.
const series_shape = series => shapes[series === null ? 0 : (series + Math.floor(series / 8)) % shapes.length];

// A dot in its middle marks a time that is not steady.
function symbol(series, radius, filled, unsteady) {
  return svg("g", {}, svg("path", {
    d: series_shape(series)(radius), stroke: series_colour(series),
    fill: filled ? series_colour(series) : "var(--panel)", "fill-opacity": filled ? 0.8 : 0.6,
  }), unsteady ? svg("circle", {class: "unsteady", r: Math.max(1.5, radius / 3)}) : null);
}
function legend_symbol(series, filled, unsteady) {
  return svg("svg", {viewBox: "-9 -9 18 18", "aria-hidden": "true"}, symbol(series, 6, filled, unsteady));
}

// The same shapes by plotly's names.
const plotly_shapes = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "star", "hexagon"];
const plotly_shape = series => plotly_shapes[series === null ? 0 : (series + Math.floor(series / 8)) % plotly_shapes.length];

// Classes of kernels have a colour each, told apart by their order in a bar and its labels too.
const class_order = ["matrix products", "fused attention", "softmax", "convolutions", "norms", "element-wise", "copies"];
const class_colour = name => `var(--s${Math.max(0, class_order.indexOf(name)) % 8})`;
