"use strict";
// What the page knows: the report, the cases, what is filtered, what is selected.

const report = JSON.parse(by_id("report").textContent);
const column_of = new Map(report.columns.map((column, index) => [column.name, index]));
const glossary_of = new Map(report.glossary.map(column => [column.name, column]));
const column_named = name => glossary_of.get(name) || {name, unit: "", type: "text", origin: "", definition: "", group: ""};

// Value of a column in a case: its own, or the one that all cases share.
function value(index, name) {
  const at = column_of.get(name);
  if (at !== undefined) return report.rows[index][at];
  return name in report.constants ? report.constants[name] : null;
}

function kernels_of(index) {
  const text = at => at < 0 ? "" : report.texts[at];
  return (report.kernels[index] || []).map(row => ({
    scope: text(row[0]), op: text(row[1]), shape: text(row[2]), impl: text(row[3]), bound: text(row[4]),
    count: row[5], flops: row[6], bytes: row[7], time_s: row[8], roof_time_s: row[9],
  }));
}
const usual_case = {status: "ok", bound: "", passes: null, why: "", fx: null, fy: null};
const cases = report.cases.map((one, index) => ({...usual_case, ...one, index, kernels: kernels_of(index)}));
const launch_time = one => one.kernels.reduce((sum, kernel) => sum + (kernel.time_s || 0), 0);
const plans = new Set(cases.map(one => value(one.index, "plan")));
const is_unsteady = one => ![null, "STABLE"].includes(value(one.index, "stability"));
const is_filled = one => plans.size < 2 || value(one.index, "plan") === "fused";
const series_name = one => report.series[one.series];

const state = {words: "", off: {}, selected: null, roofs: 0, share: true, all_columns: false, samples_of: null, links: true};

// Columns to filter by: those that differ between the cases.
const facet_names = ["model", "variant", "layout", "phase", "plan", "dtype", "math", "device", "threads", "cache_policy", "stability", "status"];
const facet_text = (one, name) => shown_text(name === "status" ? one.status : value(one.index, name));
const facets = facet_names.map(name => ({name, values: [...new Set(cases.map(one => facet_text(one, name)))].sort()}))
  .filter(facet => facet.values.length > 1 && facet.values.length <= 40);
for (const facet of facets) state.off[facet.name] = new Set();

const search_texts = cases.map(one => `${one.name} ${one.status} ${one.bound} ${value(one.index, "id")}`.toLowerCase());
function matches(one) {
  if (facets.some(facet => state.off[facet.name].size > 0 && state.off[facet.name].has(facet_text(one, facet.name)))) return false;
  return state.words === "" || state.words.toLowerCase().split(/\s+/).every(word => search_texts[one.index].includes(word));
}
let shown_now = cases;
const shown = () => shown_now;
const is_shown = index => shown_set.has(index);
let shown_set = new Set(cases.map(one => one.index));
function filter_cases() {
  shown_now = cases.filter(matches);
  shown_set = new Set(shown_now.map(one => one.index));
}

// Heads for people; the name in the files stands in the tooltip.
const heads_of_columns = {time_median_s: "time", flops: "work", flops_per_s: "rate", bytes: "traffic",
  bytes_per_s: "bandwidth", items_per_s: "throughput", roof_fraction: "of roof", roof_time_s: "least time",
  memory_bound_time_share: "memory bound", attention_time_share: "in attention", stability: "stability",
  time_ci_low_s: "interval from", time_ci_high_s: "interval to", time_mad_s: "time MAD", cpu_clock_hz: "clock"};
function head_of(column) {
  return heads_of_columns[column.name] || column.name.replace(/_per_s$/, " rate").replace(/_(s|hz)$/, "").replaceAll("_", " ");
}
const title_of = column => `${column.name}: ${column.definition} Origin: ${column.origin}.${column.formula ? " " + column.formula + "." : ""}`;
function cell_text(column, content) {
  if (content === null || content === undefined) return "-";
  if (is_text(column)) return String(content);
  if (typeof content === "boolean") return String(content);
  if (column.group === "config") return String(content);
  if (column.unit === "s") return seconds(content);
  if (/fraction|share/.test(column.name)) return percent(content);
  if (["FLOP", "FLOP/s", "B", "B/s", "MAC", "Hz", "1/s"].includes(column.unit)) return si(content, column.unit === "1/s" ? "/s" : column.unit);
  return column.type === "integer" ? String(content) : plain(content);
}
const is_text = column => column.type === "text" || column.type === "list of texts";

// Tooltips

function case_tip(one) {
  const get = name => value(one.index, name);
  const low = get("time_ci_low_s"), high = get("time_ci_high_s");
  const interval = low === null || high === null ? "" : ` (${seconds(low)} to ${seconds(high)})`;
  const figures = ["flops", "bytes", "compulsory_bytes", "flops_per_s", "bytes_per_s", "intensity"]
    .map(name => [head_of(column_named(name)), cell_text(column_named(name), get(name)) + (name === "intensity" ? " FLOP/B" : ""), column_named(name).origin]);
  const rows = [["time", seconds(get("time_median_s")) + interval, "timer"], ...figures,
    ["throughput", get("items_per_s") === null ? "-" : `${si(get("items_per_s"), "")} ${get("item")}s/s`, "derived"],
    ["roof", `${percent(get("roof_fraction"))} of ${si(get("attainable_flops_per_s"), "FLOP/s")}`, "derived"],
    ["bound", one.bound || "-", "derived"], ["in attention", percent(get("attention_time_share")), "derived"],
    ["launches", shown_text(get("launches")), "closed form"], ["stability", get("stability") || "-", "derived"]];
  return {title: one.name, rows: rows.filter(row => !row[1].startsWith("-"))};
}
function kernel_tip(kernel, whole) {
  return {title: kernel.scope, rows: [
    [kernel.op, kernel.shape, kernel.count > 1 ? `\u00d7${kernel.count}` : ""],
    ["time", `${seconds(kernel.time_s)}, ${percent(ratio(kernel.time_s, whole))} of the launches`, "timer"],
    ["work", si(kernel.flops, "FLOP"), "closed form"], ["traffic", si(kernel.bytes, "B"), "model"],
    ["intensity", plain(ratio(kernel.flops, kernel.bytes)) + " FLOP/B", "derived"],
    ["rate", si(ratio(kernel.flops, kernel.time_s), "FLOP/s"), "derived"],
    ["bandwidth", si(ratio(kernel.bytes, kernel.time_s), "B/s"), "derived"],
    ["roof", percent(ratio(kernel.roof_time_s, kernel.time_s)), "derived"], ["bound", kernel.bound || "-", "derived"],
    ["kernel", kernel.impl || "-", "request"]]};
}

function select(index) {
  state.selected = state.selected === index ? null : index;
  render();
}
const case_mark = (one, x, y) => ({x, y, series: one.series, radius: 6, filled: is_filled(one), unsteady: is_unsteady(one),
  selected: one.index === state.selected, dim: state.selected !== null && one.index !== state.selected,
  label: `${one.name}, ${one.bound || "bound unknown"}${is_unsteady(one) ? ", time not steady" : ""}`,
  tip: () => case_tip(one), select: () => select(one.index), case: one.index});

function list_not_drawn(id, entries) {
  const most = 30;
  by_id(id).replaceChildren(...entries.length === 0 ? [] : [html("details", {open: entries.length <= 5 ? "" : null},
    html("summary", {}, `Not drawn: ${entries.length}`),
    html("ul", {}, ...entries.slice(0, most).map(([name, why]) => html("li", {}, `${name}: ${why}`)),
      entries.length > most ? html("li", {}, `and ${entries.length - most} more, see the table`) : null))]);
}

// Sections draw themselves when they come into view; what is off the screen waits.
const sections = [];
function section(id, draw) { sections.push({id, draw, stale: true, near: false}); }
function draw_stale(all) {
  for (const one of sections)
    if (one.stale && (all || one.near)) {
      one.stale = false;
      one.draw();
    }
}
function render() {
  hide_tooltip();
  focus_ring.hidden = true;
  filter_cases();
  for (const one of sections) one.stale = true;
  draw_filters();
  draw_stale(false);
}
