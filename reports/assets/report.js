"use strict";
// The page: one state, drawn whole after every change.

const report = JSON.parse(document.getElementById("report").textContent);
const by_id = id => document.getElementById(id);
const column_of = new Map(report.columns.map((column, index) => [column.name, index]));

// Value of a column in a case: its own, or the one that all cases share.
function value(index, name) {
  const at = column_of.get(name);
  if (at !== undefined) return report.rows[index][at];
  return name in report.constants ? report.constants[name] : null;
}

const cases = report.cases.map((one, index) => ({...one, index, kernels: kernels_of(index)}));
const plans = new Set(cases.map(one => value(one.index, "plan")));
const state = {filter: "", selected: null, off: new Set(), roofs: 0, share: true, all_columns: false,
  sort: null, descending: false, page: 0};
const rows_per_page = 100, bars_shown = 40;

function kernels_of(index) {
  const text = at => at < 0 ? "" : report.texts[at];
  return (report.kernels[index] || []).map(row => ({
    scope: text(row[0]), op: text(row[1]), shape: text(row[2]), impl: text(row[3]), bound: text(row[4]),
    count: row[5], flops: row[6], bytes: row[7], time_s: row[8], roof_time_s: row[9],
  }));
}
const ratio = (a, b) => a === null || b === null || !(b > 0) ? null : a / b;
const is_unsteady = one => ![null, "STABLE"].includes(value(one.index, "stability"));
const is_filled = one => plans.size < 2 || value(one.index, "plan") === "fused";

function matches(one) {
  const text = `${one.name} ${one.status} ${one.bound} ${value(one.index, "id")}`.toLowerCase();
  return state.filter.toLowerCase().split(/\s+/).every(word => text.includes(word));
}
const shown = () => cases.filter(one => matches(one) && !state.off.has(one.series));

function case_tip(one) {
  const get = name => value(one.index, name);
  const low = get("time_ci_low_s"), high = get("time_ci_high_s");
  const interval = low === null || high === null ? "" : ` (${seconds(low)} to ${seconds(high)})`;
  const rows = [["time", seconds(get("time_median_s")) + interval, "timer"],
    ["work", si(get("flops"), "FLOP"), "closed form"], ["traffic", si(get("bytes"), "B"), "model"],
    ["rate", si(get("flops_per_s"), "FLOP/s"), "derived"], ["intensity", plain(get("intensity")) + " FLOP/B", "derived"],
    ["throughput", get("items_per_s") === null ? "-" : `${si(get("items_per_s"), "")} ${get("item")}s/s`, "derived"],
    ["roof", `${percent(get("roof_fraction"))} of ${si(get("attainable_flops_per_s"), "FLOP/s")}`, "derived"],
    ["bound", one.bound || "-", "derived"], ["verdict", get("stability") || "-", "derived"]];
  return {title: one.name, rows: rows.filter(row => !row[1].startsWith("-"))};
}
function kernel_tip(kernel) {
  return {title: kernel.scope, rows: [
    [kernel.op, kernel.shape, kernel.count > 1 ? `x${kernel.count}` : ""],
    ["time", seconds(kernel.time_s), "timer"], ["work", si(kernel.flops, "FLOP"), "closed form"],
    ["traffic", si(kernel.bytes, "B"), "model"], ["rate", si(ratio(kernel.flops, kernel.time_s), "FLOP/s"), "derived"],
    ["bandwidth", si(ratio(kernel.bytes, kernel.time_s), "B/s"), "derived"],
    ["roof", percent(ratio(kernel.roof_time_s, kernel.time_s)), "derived"], ["bound", kernel.bound || "-", "derived"],
    ["kernel", kernel.impl || "-", ""]]};
}

function select(index) {
  state.selected = state.selected === index ? null : index;
  render();
}

function chart_size(id, tall) {
  const width = Math.max(320, Math.round(by_id(id).clientWidth || 900));
  return {width, height: Math.round(Math.min(tall, Math.max(360, width * 0.62)))};
}

// Roofline

// Names on the lines, figures in the list below the chart: there is no room for both where lines are close.
function draw_roofs(chart, roofs, range) {
  const top = Math.max(...roofs.units.map(unit => unit.per_s), 0), fits = label_place();
  const angle = Math.atan2(chart.y(10) - chart.y(1), chart.x(10) - chart.x(1)) * 180 / Math.PI;
  const label = (text, x, y, extra) => chart.plot.append(svg("text", {class: "halo soft", x, y, ...extra}, text));
  for (const unit of roofs.units) fits(chart.left, chart.right, chart.y(unit.per_s) - 1, chart.y(unit.per_s) + 1);
  for (const unit of roofs.units) {
    const y = chart.y(unit.per_s);
    if (y < chart.top || y > chart.bottom) continue;
    const fastest = Math.max(...roofs.levels.map(level => level.bytes_per_s), 0);
    const from = fastest > 0 ? Math.max(chart.left, chart.x(unit.per_s / fastest)) : chart.left;
    chart.plot.append(svg("line", {class: `roof ${unit.bound}`, x1: from, x2: chart.right, y1: y, y2: y}));
    const name = unit.label.split(" ")[0], right = chart.right - 4;
    for (const at of [y - 5, y + 14]) // above the line, else below it
      if (fits(right - text_width(name), right, at - 11, at + 2)) {
        label(name, right, at, {"text-anchor": "end"});
        break;
      }
  }
  for (const level of roofs.levels) {
    const low = Math.max(range.x[0], range.y[0] / level.bytes_per_s);
    const high = Math.min(range.x[1], (top > 0 ? Math.min(top, range.y[1]) : range.y[1]) / level.bytes_per_s);
    if (low >= high) continue;
    const at = x => [chart.x(x), chart.y(x * level.bytes_per_s)];
    const [x1, y1] = at(low), [x2, y2] = at(high);
    chart.plot.append(svg("line", {class: "roof memory", x1, y1, x2, y2}));
    // On the line near its lower end, or further up where another name is in the way.
    for (const along of [0.04, 0.3, 0.55, 0.8]) {
      const x = x1 + (x2 - x1) * along, y = y1 + (y2 - y1) * along, length = text_width(level.level) + 6;
      if (x + length > chart.right || !fits(x - 4, x + length, y - length * Math.sin(-angle * Math.PI / 180) - 14, y + 4)) continue;
      label(level.level, x + 6, y - 8, {transform: `rotate(${angle} ${x + 6} ${y - 8})`});
      break;
    }
  }
}

function list_roofs(roofs) {
  const sample = kind => svg("svg", {viewBox: "0 0 26 10", class: "line", "aria-hidden": "true"},
    svg("line", {class: `roof ${kind}`, x1: 0, x2: 26, y1: 5, y2: 5}));
  by_id("roofline-roofs").replaceChildren(...roofs === undefined ? [] : [
    ...roofs.units.map(unit => html("li", {}, sample(unit.bound), `${unit.label}: ${si(unit.per_s, "FLOP/s")}, ${unit.origin}`)),
    ...roofs.levels.map(level => html("li", {}, sample("memory"),
      `${level.level}${level.traffic ? " " + level.traffic : ""}: ${si(level.bytes_per_s, "B/s")}, ${level.origin}`))]);
}

// Axes hold all cases always, and the launches of the selected one.
function roofline_range(selected) {
  const x = report.roofline.x.slice(), y = report.roofline.y.slice();
  for (const kernel of selected ? selected.kernels.filter(each => !launch_obstacle(each)) : []) {
    const intensity = kernel.flops / kernel.bytes, rate = kernel.flops / kernel.time_s;
    x[0] = Math.min(x[0], intensity / 2), x[1] = Math.max(x[1], intensity * 2);
    y[0] = Math.min(y[0], rate / 2), y[1] = Math.max(y[1], rate * 2);
  }
  return {x, y};
}

function draw_roofline() {
  const selected = state.selected === null ? null : cases[state.selected];
  const range = roofline_range(selected), drawn = shown().filter(one => !one.why);
  const place = by_id("roofline");
  if (range.x[1] <= 0) {
    place.replaceChildren(html("p", {class: "hint"}, "No case can be drawn."));
    return;
  }
  const {width, height} = chart_size("roofline", 640);
  const chart = log_chart(width, height, {low: range.x[0], high: range.x[1], title: "intensity (FLOP/B)"},
    {low: range.y[0], high: range.y[1], title: "rate (FLOP/s)"}, "Roofline: rate over arithmetic intensity");
  if (report.roofs.length > 0) draw_roofs(chart, report.roofs[state.roofs], range);
  list_roofs(report.roofs[state.roofs]);
  const marks = drawn.sort((a, b) => value(a.index, "intensity") - value(b.index, "intensity")).map(one => add_mark(chart,
    {x: chart.x(value(one.index, "intensity")), y: chart.y(value(one.index, "flops_per_s"))},
    {series: one.series, radius: 6, filled: is_filled(one), unsteady: is_unsteady(one),
      label: `${one.name}, ${one.bound || "bound unknown"}${is_unsteady(one) ? ", time unsteady" : ""}`,
      selected: one === selected, dim: selected !== null && one !== selected,
      tip: () => case_tip(one), select: () => select(one.index)}));
  move_by_arrows(marks);
  if (selected) draw_launches(chart, selected);
  place.replaceChildren(chart.root);
}

function launch_obstacle(kernel) {
  return kernel.flops === 0 ? "0 FLOPs" : kernel.bytes === 0 ? "0 bytes" : !(kernel.time_s > 0) ? "no time" : "";
}
function draw_launches(chart, one) {
  const fits = label_place();
  const placed = one.kernels.filter(each => !launch_obstacle(each)).map(kernel =>
    ({kernel, x: chart.x(kernel.flops / kernel.bytes), y: chart.y(kernel.flops / kernel.time_s)}));
  for (const {kernel, x, y} of placed) {
    add_mark(chart, {x, y}, {series: one.series, radius: 4, filled: false, label: kernel.scope, tip: () => kernel_tip(kernel)});
    fits(x - 5, x + 5, y - 5, y + 5);
  }
  for (const {kernel, x, y} of placed) { // what finds no room is left to the tooltip
    const name = kernel.scope.split("/").pop(), length = text_width(name);
    const left = x + 8 + length > chart.right ? x - 8 - length : x + 8;
    if (fits(left, left + length, y - 7, y + 7)) chart.plot.append(svg("text", {class: "halo", x: left, y: y + 4}, name));
  }
}

function draw_series_legend() {
  const used = report.series.map((name, series) => ({name, series}));
  const keys = plans.size < 2 ? [] : [html("span", {class: "key"}, legend_symbol(null, true), "fused"),
    html("span", {class: "key"}, legend_symbol(null, false), "eager")];
  if (cases.some(is_unsteady)) keys.push(html("span", {class: "key"}, legend_symbol(null, false, true), "dashed: time not stable"));
  by_id("roofline-legend").replaceChildren(...used.map(({name, series}) => html("button", {
    type: "button", "aria-pressed": String(!state.off.has(series)), title: "show or hide these cases",
    onclick: () => { state.off.has(series) ? state.off.delete(series) : state.off.add(series); render(); },
  }, legend_symbol(series, true), name)), ...keys);
}

function list_not_drawn(id, entries) {
  const most = 30;
  by_id(id).replaceChildren(...entries.length === 0 ? [] : [html("details", {open: entries.length <= 5 ? "" : null},
    html("summary", {}, `Not drawn: ${entries.length}`),
    html("ul", {}, ...entries.slice(0, most).map(([name, why]) => html("li", {}, `${name}: ${why}`)),
      entries.length > most ? html("li", {}, `and ${entries.length - most} more, see the table`) : null))]);
}

// Throughput

function draw_throughput() {
  const range = report.throughput, place = by_id("throughput");
  if (range.x[1] <= 0) {
    place.replaceChildren(html("p", {class: "hint"}, "No case can be drawn."));
    return;
  }
  const {width, height} = chart_size("throughput", 520);
  const chart = log_chart(width, height, {low: range.x[0], high: range.x[1], title: `work (FLOP per ${range.item})`},
    {low: range.y[0], high: range.y[1], title: `throughput (${range.item}s/s)`}, "Throughput over work");
  const marks = shown().filter(one => one.fx !== null).sort((a, b) => a.fx - b.fx).map(one => add_mark(chart,
    {x: chart.x(one.fx), y: chart.y(one.fy)}, {series: one.series, radius: 6, filled: is_filled(one), unsteady: is_unsteady(one),
      label: one.name, selected: one.index === state.selected, dim: state.selected !== null && one.index !== state.selected,
      tip: () => case_tip(one), select: () => select(one.index)}));
  move_by_arrows(marks);
  place.replaceChildren(chart.root);
}

// Time by kernel

const all_ops = [...new Set(cases.flatMap(one => one.kernels.map(kernel => kernel.op)))].sort();
const op_colour = op => `var(--s${all_ops.indexOf(op) % 8})`;
function draw_kernels() {
  const timed = shown().filter(one => one.kernels.some(kernel => kernel.time_s > 0));
  const bars = timed.slice(0, bars_shown), place = by_id("kernels");
  const total = one => one.kernels.reduce((sum, kernel) => sum + (kernel.time_s || 0), 0);
  const longest = Math.max(...bars.map(total), 0);
  const width = Math.max(320, Math.round(place.clientWidth || 900)), bar = 20, gap = 24;
  const root = svg("svg", {viewBox: `0 0 ${width} ${bars.length * (bar + gap) + 10}`, role: "group",
    "aria-label": "Time by kernel for each case; the same figures stand in the table of the selected case"});
  bars.forEach((one, row) => {
    const y = row * (bar + gap) + 22, whole = total(one), scale = (width - 20) / (state.share ? whole : longest);
    const name = (is_unsteady(one) ? "\u2248 " : "") + one.name;
    root.append(svg("text", {x: 10, y: y - 5}, svg("title", {}, one.name), shortened(name, width - 90)),
      svg("text", {class: "soft halo", x: width - 10, y: y - 5, "text-anchor": "end"}, seconds(whole)));
    let x = 10;
    for (const op of all_ops) {
      const kernels = one.kernels.filter(kernel => kernel.op === op);
      const time = kernels.reduce((sum, kernel) => sum + (kernel.time_s || 0), 0), length = time * scale;
      if (!(time > 0)) continue;
      const tip = () => ({title: `${op} in ${one.name}`, rows: [["time", seconds(time), percent(time / whole)],
        ...kernels.slice().sort((a, b) => b.time_s - a.time_s).slice(0, 8)
          .map(kernel => [kernel.scope, seconds(kernel.time_s), kernel.bound])]});
      root.append(svg("rect", {class: "segment", x, y, width: Math.max(length, 0.5), height: bar, fill: op_colour(op),
        onmouseenter: event => show_tooltip(tip(), event.clientX, event.clientY), onmouseleave: hide_tooltip,
        onclick: () => select(one.index)}));
      if (length > text_width(op) + 8)
        root.append(svg("text", {class: "segment-label", x: x + 5, y: y + 14}, op));
      x += length;
    }
  });
  place.replaceChildren(bars.length === 0 ? html("p", {class: "hint"}, "No launch was timed.") : root);
  if (timed.length > bars_shown)
    place.append(html("p", {class: "hint"}, `The first ${bars_shown} of ${timed.length} cases; filter to see others.`));
  by_id("kernels-legend").replaceChildren(...all_ops.map(op => html("span", {class: "key"},
    svg("svg", {viewBox: "0 0 18 18", "aria-hidden": "true"}, svg("rect", {x: 2, y: 2, width: 14, height: 14, fill: op_colour(op)})), op)));
}

function render() {
  hide_tooltip();
  draw_roofline();
  draw_series_legend();
  list_not_drawn("roofline-not-drawn", cases.filter(one => one.why && matches(one)).map(one => [one.name, one.why]));
  draw_throughput();
  list_not_drawn("throughput-not-drawn",
    cases.filter(one => one.fx === null && !one.why && matches(one)).map(one => [one.name, "the number of items is unknown"]));
  draw_kernels();
  draw_selected();
  draw_cases();
  by_id("filter-count").textContent = state.filter || state.off.size ? ` ${shown().length} of ${cases.length}` : "";
}
