"use strict";
// The roofline: a mark per case, the launches of the selected one, the ceilings of one thread count and dtype.

function launch_obstacle(kernel) {
  return kernel.flops === 0 ? "0 FLOPs" : kernel.bytes === 0 ? "0 bytes" : !(kernel.time_s > 0) ? "no time" : "";
}

// Axes hold all cases always, and the launches of the selected one.
function roofline_axes(selected) {
  const x = report.roofline.x.slice(), y = report.roofline.y.slice();
  for (const kernel of selected ? selected.kernels.filter(each => !launch_obstacle(each)) : []) {
    const intensity = kernel.flops / kernel.bytes, rate = kernel.flops / kernel.time_s;
    x[0] = Math.min(x[0], intensity / 2), x[1] = Math.max(x[1], intensity * 2);
    y[0] = Math.min(y[0], rate / 2), y[1] = Math.max(y[1], rate * 2);
  }
  return {x: {title: "intensity (FLOP/B)", log: true, low: x[0], high: x[1], format: "g"},
    y: {title: "rate (FLOP/s)", log: true, low: y[0], high: y[1], format: "s"}};
}

// The parts of the ceilings that lie on the axes, with their spread as strips.
function roof_lines(roofs, axes) {
  const lines = [], bands = [];
  if (!roofs) return {lines, bands};
  const top = Math.max(...roofs.units.map(unit => unit.per_s), 0);
  const fastest = Math.max(...roofs.levels.map(level => level.bytes_per_s), 0);
  for (const unit of roofs.units) {
    if (unit.per_s < axes.y.low || unit.per_s > axes.y.high) continue;
    const from = fastest > 0 ? Math.max(axes.x.low, unit.per_s / fastest) : axes.x.low, x = [from, axes.x.high];
    lines.push({kind: unit.bound === "vector" ? "roof vector" : "roof", x, y: [unit.per_s, unit.per_s], name: unit.label.split(" ")[0], at: 1});
    if (unit.low && unit.high) bands.push({x, low: [unit.low, unit.low], high: [unit.high, unit.high]});
  }
  for (const level of roofs.levels) {
    const low = Math.max(axes.x.low, axes.y.low / level.bytes_per_s);
    const high = Math.min(axes.x.high, (top > 0 ? Math.min(top, axes.y.high) : axes.y.high) / level.bytes_per_s);
    if (low >= high) continue;
    const x = [low, high], at = rate => x.map(each => each * rate);
    lines.push({kind: "roof", x, y: at(level.bytes_per_s), name: level.level});
    if (level.low && level.high) bands.push({x, low: at(level.low), high: at(level.high)});
  }
  return {lines, bands};
}

function roofline_chart(drawn, roofs, selected) {
  if (report.roofline.x[1] <= 0) return null;
  const axes = roofline_axes(selected);
  const place = one => [value(one.index, "intensity"), value(one.index, "flops_per_s")];
  const ordered = drawn.slice().sort((a, b) => place(a)[0] - place(b)[0]);
  const marks = ordered.map(one => case_mark(one, ...place(one)));
  const drawable = new Set(ordered.map(one => one.index));
  const links = !state.links ? [] : report.plan_pairs.filter(([eager, fused]) => drawable.has(eager) && drawable.has(fused)
    && (state.selected === null || state.selected === eager || state.selected === fused))
    .map(([eager, fused]) => ({from: place(cases[eager]), to: place(cases[fused])}));
  if (selected) marks.push(...launch_marks(selected));
  return {label: "Roofline: rate over arithmetic intensity", ...axes, ...roof_lines(roofs, axes), arrows: links, marks};
}

// The area of a launch's mark is its share of the launch time.
function launch_marks(one) {
  const whole = launch_time(one);
  return one.kernels.filter(kernel => !launch_obstacle(kernel)).map(kernel => ({
    x: kernel.flops / kernel.bytes, y: kernel.flops / kernel.time_s, series: one.series, filled: false,
    radius: 3 + 15 * Math.sqrt(kernel.time_s / whole), label: `${kernel.scope}, ${seconds(kernel.time_s)}`,
    name: kernel.scope.split("/").pop(), tip: () => kernel_tip(kernel, whole), launch: kernel.scope}));
}

function spread_text(low, high, per_s) {
  return low && high && per_s ? `${percent(low / per_s - 1)} to +${percent(Math.max(0, high / per_s - 1))}` : "";
}
function list_roofs(roofs) {
  const sample = kind => svg("svg", {viewBox: "0 0 26 10", class: "line", "aria-hidden": "true"},
    svg("line", {x1: 0, x2: 26, y1: 5, y2: 5, stroke: `var(${line_styles[kind].colour})`, "stroke-width": line_styles[kind].width,
      "stroke-dasharray": line_styles[kind].dash ? line_styles[kind].dash.join(" ") : null}));
  const tail = one => `, ${one.origin}${one.low && one.high ? `, spread ${spread_text(one.low, one.high, one.per_s || one.bytes_per_s)}` : ""}`;
  by_id("roofline-roofs").replaceChildren(...roofs === undefined ? [] : [
    ...roofs.units.map(unit => html("li", {}, sample(unit.bound === "vector" ? "roof vector" : "roof"), `${unit.label}: ${si(unit.per_s, "FLOP/s")}${tail(unit)}`)),
    ...roofs.levels.map(level => html("li", {}, sample("roof"),
      `${level.level}${level.traffic ? " " + level.traffic : ""}: ${si(level.bytes_per_s, "B/s")}${tail(level)}`))]);
}

// Every ceiling of every set, and which of them the chart draws.
function ceiling_rows() {
  return report.roofs.flatMap(set => [
    ...[...set.units, ...set.exponentials].map(unit => ({set: set.name, what: unit.label, kind: unit.bound, unit: unit.bound === "transcendental" ? "exp/s" : "FLOP/s",
      per_s: unit.per_s, low: unit.low, high: unit.high, origin: unit.origin})),
    ...set.levels.flatMap(level => (level.kinds.length > 0 ? level.kinds : [[level.traffic, level.bytes_per_s, level.low, level.high, level.origin]])
      .map(([traffic, per_s, low, high, origin]) => ({set: set.name, what: `${level.level} ${traffic}`.trim(), kind: "memory", unit: "B/s", per_s, low, high, origin,
        capacity: level.capacity_bytes})))]);
}
const ceiling_columns = [text_figure("for", row => row.set), text_figure("ceiling", row => row.what), text_figure("bounds", row => row.kind),
  figure("rate", "", row => row.per_s, (value, row) => si(value, row.unit)), text_figure("unit", row => row.unit),
  figure("slowest tenth", "", row => row.low, (value, row) => si(value, row.unit)), figure("fastest", "", row => row.high, (value, row) => si(value, row.unit)),
  figure("up to", "B", row => row.capacity ?? null, value => value === null ? "-" : `${plain(value / 1024)} KiB`), text_figure("origin", row => row.origin)];

const roofline_columns = () => [case_head, of_column("intensity"), of_column("flops_per_s"), of_column("bytes_per_s"), of_column("time_median_s"),
  text_figure("bound", one => one.bound || null), of_column("roof_level"), of_column("attainable_flops_per_s", "attainable"), of_column("roof_fraction"),
  of_column("memory_bound_time_share"), of_column("stability")];

function draw_series_legend() {
  const facet = facets.find(each => each.name === (cases.some(one => value(one.index, "model")) ? "model" : "variant"));
  const keys = plans.size < 2 ? [] : [html("span", {class: "key"}, legend_symbol(null, true), "fused"),
    html("span", {class: "key"}, legend_symbol(null, false), "eager")];
  if (cases.some(is_unsteady)) keys.push(html("span", {class: "key"}, legend_symbol(null, false, true), "dot: time not steady"));
  by_id("roofline-legend").replaceChildren(...report.series.map((name, series) => facet && facet.values.includes(name) ? html("button", {
    type: "button", "aria-pressed": String(!state.off[facet.name].has(name)), title: "show or hide these cases",
    onclick: () => { toggle(state.off[facet.name], name); render(); },
  }, legend_symbol(series, true), name) : html("span", {class: "key"}, legend_symbol(series, true), name)), ...keys);
}
function toggle(set, name) { set.has(name) ? set.delete(name) : set.add(name); }

section("s-roofline", () => {
  const selected = state.selected === null ? null : cases[state.selected];
  const whole = shown().filter(one => !one.why), drawn = thinned(whole, one => one === selected);
  const roofs = report.roofs[state.roofs];
  draw_chart("roofline", roofline_chart(drawn, roofs, selected), "No case can be drawn.");
  by_id("roofline-note").replaceChildren(...[thinned_note(whole, drawn)].filter(Boolean));
  list_roofs(roofs);
  draw_series_legend();
  list_not_drawn("roofline-not-drawn", shown().filter(one => one.why).map(one => [one.name, one.why]));
  draw_twin("roofline-table", () => ({label: "Roofline", columns: roofline_columns(), rows: whole, choose: one => select(one.index),
    row_class: one => one.index === state.selected ? "selected" : ""}));
  if (report.roofs.length > 0) draw_twin("ceilings-table", () => ({label: "Ceilings", columns: ceiling_columns, rows: ceiling_rows()}));
  else hide_twin("ceilings-table");
  draw_selected();
});
