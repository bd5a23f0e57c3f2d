"use strict";
// A chart is a plain object, drawn by plotly where the page holds it and as plain SVG where not:
//   {label, height, x, y, bands, lines, arrows, marks, rows, bars}
//   axis   {title, log, low, high, format: "g" | "s"}       format "s": with SI prefixes
//   band   {x, low, high}                                   a filled strip, for spreads and intervals
//   line   {kind, x, y, name, at}                           kind: see line_styles; name is written at place `at` of 0 to 1
//   arrow  {from: [x, y], to: [x, y]}
//   mark   {x, y, series, radius, filled, unsteady, selected, dim, label, name, tip(), select()}
//   rows   names of rows: then y counts rows from 0 at the top, and each name stands above its row
//   bar    {row, from, to, colour, text, label, tip(), select()}

const line_styles = {
  roof: {colour: "--soft", width: 1.6}, "roof vector": {colour: "--soft", width: 1.6, dash: [7, 4]},
  iso: {colour: "--soft", width: 1, dash: [2, 4]}, front: {colour: "--accent", width: 2.2},
  median: {colour: "--text", width: 1.4, dash: [7, 4]}, link: {colour: "--line", width: 2},
};
const style_of = line => line_styles[line.kind] || {colour: `--s${(line.series || 0) % 8}`, width: 1.8};

const row_height = 44, bar_height = 20;
const margins = chart => chart.rows ? {left: 12, right: 16, top: 6, bottom: 46} : {left: 62, right: 16, top: 28, bottom: 46};
const has_plotly = () => typeof Plotly !== "undefined";

// Pixels of a chart in a place: what labels are laid out with, whoever draws.
function geometry_of(chart, place) {
  const width = Math.max(300, Math.round(printing ? 700 : place.clientWidth || 900));
  const height = chart.rows ? chart.rows.length * row_height + 64
    : chart.height || Math.round(Math.min(600, Math.max(360, width * 0.62)));
  const margin = margins(chart), left = margin.left, right = width - margin.right;
  const top = margin.top, bottom = height - margin.bottom;
  const scale = (axis, from, to) => {
    const of = axis.log ? Math.log10 : value => value, low = of(axis.low), high = of(axis.high);
    return value => from + (of(value) - low) / (high - low) * (to - from);
  };
  const rows = chart.rows ? {low: -0.62, high: chart.rows.length - 0.38} : null;
  const y = rows ? scale(rows, top, bottom) : scale(chart.y, bottom, top);
  return {width, height, left, right, top, bottom, x: scale(chart.x, left, right), y};
}

const inside = (chart, x, y) => x >= chart.x.low && x <= chart.x.high && (chart.rows || (y >= chart.y.low && y <= chart.y.high));

// A text whose box would cover another one is left out; its figures stand elsewhere too.
const text_width = text => 6.8 * text.length;
function label_place() {
  const taken = [];
  return (left, right, top, bottom) => {
    if (taken.some(box => left < box.right && right > box.left && top < box.bottom && bottom > box.top)) return false;
    taken.push({left, right, top, bottom});
    return true;
  };
}
const shortened = (text, width) => text_width(text) <= width ? text
  : text.slice(0, Math.max(1, Math.floor(width / 6.8) - 1)) + "\u2026";

// Names of lines and marks, with the data coordinates they stand at, their angle and how far they are shifted.
function labels_of(chart, geometry) {
  const labels = [], fits = label_place(), {x, y} = geometry;
  for (const mark of chart.marks || []) if (mark.name) fits(x(mark.x) - 5, x(mark.x) + 5, y(mark.y) - 5, y(mark.y) + 5);
  for (const line of (chart.lines || []).filter(each => each.name)) {
    const last = line.x.length - 1, from = [x(line.x[0]), y(line.y[0])], to = [x(line.x[last]), y(line.y[last])];
    const angle = Math.atan2(to[1] - from[1], to[0] - from[0]), length = text_width(line.name);
    const places = line.at === undefined ? [0.04, 0.3, 0.55, 0.8] : [line.at];
    for (const along of places) {
      const px = from[0] + (to[0] - from[0]) * along, py = from[1] + (to[1] - from[1]) * along;
      const end = along === 1, left = end ? px - length - 4 : px, right = end ? px : px + length * Math.cos(angle) + 6;
      const rise = Math.abs(length * Math.sin(angle));
      if (left < geometry.left - 2 || right > geometry.right + 2 || py - rise - 16 < geometry.top - 14 || py > geometry.bottom
        || !fits(left, right, py - rise - 16, py + 2)) continue;
      const back = end ? line.x[last] : at_fraction(chart.x, line.x[0], line.x[last], along);
      const up = end ? line.y[last] : at_fraction(chart.y, line.y[0], line.y[last], along);
      labels.push({text: line.name, x: back, y: up, px, py, angle: angle * 180 / Math.PI, end, soft: true});
      break;
    }
  }
  for (const mark of (chart.marks || []).filter(each => each.name && inside(chart, each.x, each.y))) {
    const px = x(mark.x), py = y(mark.y), length = text_width(mark.name), flips = px + 8 + length > geometry.right;
    const left = flips ? px - 8 - length : px + 8;
    if (fits(left, left + length, py - 7, py + 7)) labels.push({text: mark.name, x: mark.x, y: mark.y, px, py, angle: 0, flips, beside: true});
  }
  return labels;
}
function at_fraction(axis, from, to, along) {
  return axis.log ? 10 ** (Math.log10(from) + (Math.log10(to) - Math.log10(from)) * along) : from + (to - from) * along;
}

// Draws a chart into the element of an id, or says why there is none.
function draw_chart(id, chart, why) {
  const place = by_id(id);
  if (!chart) {
    if (place.plotted) { Plotly.purge(place); place.plotted = false; }
    place.replaceChildren(html("p", {class: "hint"}, why || "Nothing can be drawn."));
    return;
  }
  const geometry = geometry_of(chart, place);
  place.chart = chart;
  if (has_plotly()) draw_plotly(place, chart, geometry);
  else place.replaceChildren(draw_svg(chart, geometry));
}

// Evenly chosen, the pinned ones always: what a chart draws of very many.
const most_marks = 1000;
function thinned(list, pinned) {
  if (list.length <= most_marks) return list;
  const step = Math.ceil(list.length / most_marks);
  return list.filter((one, index) => index % step === 0 || pinned(one));
}
function thinned_note(whole, drawn) {
  return whole.length === drawn.length ? null : html("p", {class: "note"},
    `${drawn.length} of ${whole.length} cases are drawn, evenly chosen; filter to see others. The table has all.`);
}

// Tooltip: lines of [name, value, origin].

const tooltip = by_id("tooltip");
function show_tooltip(lines, x, y) {
  tooltip.replaceChildren(html("b", {}, lines.title), ...lines.rows.map(([name, value, origin]) =>
    html("div", {class: "row"}, html("span", {}, `${name} ${value}`), html("span", {}, origin || ""))));
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
  tooltip.style.top = Math.max(4, y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16) + "px";
}
function hide_tooltip() { tooltip.hidden = true; }
let printing = false;
