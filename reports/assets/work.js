"use strict";
// Throughput over work: does less work mean more throughput, and where it does not, why.

// Items of one run where all cases process as many, else null: then the time of a run is known from the throughput.
function items_of_a_run(list) {
  const counts = new Set(list.map(one => Number((one.fy * value(one.index, "time_median_s")).toPrecision(4))));
  return counts.size === 1 ? [...counts][0] : null;
}

function iso_lines(list, x, y, item) {
  const run = items_of_a_run(list), per_line = run === null ? 1 : run; // items that the time of a line is for
  const low = per_line / y.high, high = per_line / y.low;
  let times = log_ticks(low, high, 7);
  if (times.length < 2) times = [Math.sqrt(low * high)];
  const what = run === null || run === 1 ? `${/^[aeiou]/.test(item) ? "an" : "a"} ${item}` : "a run";
  return times.map(time => ({kind: "iso", x: [x.low, x.high], y: [per_line / time, per_line / time],
    name: `${seconds(time).replace(/\.0+(?= )/, "")} ${what}`, at: 0}));
}

function peak_line(x, y) {
  const unit = report.roofs[state.roofs] && report.roofs[state.roofs].units.find(each => each.bound === "compute");
  if (!unit) return [];
  const low = Math.max(x.low, unit.per_s / y.high), high = Math.min(x.high, unit.per_s / y.low);
  return low >= high ? [] : [{kind: "roof", x: [low, high], y: [unit.per_s / low, unit.per_s / high], name: `all work at ${si(unit.per_s, "FLOP/s")}`, at: 0.45}];
}

function front_lines() {
  return report.fronts.filter(front => front.cases.length > 1).map(front => ({kind: "front",
    x: front.cases.map(index => cases[index].fx), y: front.cases.map(index => cases[index].fy)}));
}

const most_links = 12;
const shown_contradictions = () => report.ranking.contradictions.filter(pair => is_shown(pair.light) && is_shown(pair.heavy));

function work_chart(drawn) {
  const range = report.throughput;
  if (range.x[1] <= 0 || drawn.length === 0) return null;
  const x = {title: `work (FLOP per ${range.item})`, log: true, low: range.x[0], high: range.x[1], format: "s"};
  const y = {title: `throughput (${range.item}s/s)`, log: true, low: range.y[0], high: range.y[1], format: "s"};
  const pairs = shown_contradictions().filter(pair => state.selected === null || [pair.light, pair.heavy].includes(state.selected)).slice(0, most_links)
    .map(pair => ({kind: "link", x: [cases[pair.light].fx, cases[pair.heavy].fx], y: [cases[pair.light].fy, cases[pair.heavy].fy]}));
  return {label: "Throughput over work", x, y, lines: [...iso_lines(drawn, x, y, range.item), ...peak_line(x, y), ...pairs, ...front_lines()],
    marks: drawn.slice().sort((a, b) => a.fx - b.fx).map(one => case_mark(one, one.fx, one.fy))};
}

function ranking_sentences() {
  const {pairs, agreeing, unsteady, correlations} = report.ranking, out = [];
  for (const one of correlations)
    out.push(`Rank correlation of FLOPs and time per ${one.item}: ${one.value.toFixed(2)} over ${one.cases} steady cases.`);
  if (pairs > 0) out.push(`Of ${pairs} pairs of equal layout, plan and shape whose times differ for certain, fewer FLOPs are faster in ${agreeing}.`);
  if (unsteady > 0) out.push(`${unsteady} of ${cases.length} cases are too unsteady to be ranked.`);
  return out.join(" ");
}

const on_front = new Set(report.fronts.flatMap(front => front.cases));
const work_columns = () => [case_head, figure("work an item", "FLOP", one => one.fx, content => si(content, "FLOP"), "FLOPs per image or token"),
  figure("throughput", "1/s", one => one.fy, content => si(content, "/s")), of_column("item"), of_column("flops"), of_column("time_median_s"),
  of_column("flops_per_s"), text_figure("on the front", one => on_front.has(one.index) ? "yes" : "no")];
const pair_columns = [{head: "fewer FLOPs, slower", text: true, cell: pair => cases[pair.light].name},
  {head: "more FLOPs, faster", text: true, cell: pair => cases[pair.heavy].name},
  ...[["FLOPs", "flops_ratio"], ["time", "time_ratio"], ["bytes", "bytes_ratio"], ["launches", "launches_ratio"], ["rate of products", "product_rate_ratio"]]
    .map(([head, name]) => figure(head, "ratio", pair => pair[name], times_text)),
  text_figure("where the time goes", pair => pair.why)];

section("s-work", () => {
  const whole = shown().filter(one => one.fx !== null), drawn = thinned(whole, one => on_front.has(one.index) || one.index === state.selected);
  draw_chart("throughput", work_chart(drawn), "No case can be drawn.");
  by_id("throughput-note").replaceChildren(...[thinned_note(whole, drawn)].filter(Boolean));
  by_id("ranking").textContent = ranking_sentences();
  list_not_drawn("throughput-not-drawn", shown().filter(one => one.fx === null && !one.why).map(one => [one.name, "the number of items is unknown"]));
  draw_twin("throughput-table", () => ({label: "Throughput over work", columns: work_columns(), rows: whole, choose: one => select(one.index),
    row_class: one => one.index === state.selected ? "selected" : ""}));
  const pairs = shown_contradictions();
  if (pairs.length > 0) draw_twin("pairs-table", () => ({label: "Fewer FLOPs but slower", columns: pair_columns, rows: pairs, choose: pair => select(pair.light)}));
  else hide_twin("pairs-table");
});
