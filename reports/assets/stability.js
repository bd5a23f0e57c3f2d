"use strict";
// The samples of one case over time, with the median and its interval.

const has_samples = one => Boolean(report.samples[one.index]);
function samples_case() {
  const list = shown().filter(has_samples);
  const wanted = state.samples_of ?? state.selected;
  return list.find(one => one.index === wanted) || list.find(is_unsteady) || list[0] || null;
}

function samples_chart(one) {
  if (!one) return null;
  const {times, step, disturbed} = report.samples[one.index], median = value(one.index, "time_median_s");
  const points = times.map((time, at) => ({at, number: at * step + 1, time: time / 1e4 * median}));
  const unquiet = new Set(disturbed), low = value(one.index, "time_ci_low_s"), high = value(one.index, "time_ci_high_s");
  const last = Math.max(2, points[points.length - 1].number), least = Math.min(...points.map(point => point.time), low ?? Infinity);
  const most = Math.max(...points.map(point => point.time), high ?? 0), room = Math.max(most - least, median * 0.02) * 0.12;
  const x = {title: step > 1 ? `sample (every ${step}${step === 2 ? "nd" : step === 3 ? "rd" : "th"})` : "sample", log: false, low: 0, high: last + 1, format: "g", whole: true};
  return {label: `Samples of ${one.name}`, height: 320, x, y: {title: "time of a run (s)", log: false, low: Math.max(0, least - room), high: most + room, format: "time"},
    bands: low === null || high === null ? [] : [{x: [x.low, x.high], low: [low, low], high: [high, high]}],
    lines: [{kind: "median", x: [x.low, x.high], y: [median, median], name: `median ${seconds(median)}`, at: 1}],
    marks: points.map(point => ({x: point.number, y: point.time, series: one.series, radius: 3.5, filled: !unquiet.has(point.at),
      label: `sample ${point.number}: ${seconds(point.time)}`,
      tip: () => ({title: `sample ${point.number}`, rows: [["time", seconds(point.time), "timer"], ["to the median", percent(point.time / median - 1), "derived"],
        ...unquiet.has(point.at) ? [["disturbed", "steal, context switch or page fault", "counter"]] : []]})}))};
}

const stability_columns = () => [case_head, of_column("stability"), of_column("time_median_s"), of_column("time_ci_low_s"), of_column("time_ci_high_s"),
  of_column("time_min_s"), of_column("time_mad_s"), of_column("samples"), of_column("stop_reason"), of_column("page_faults"), of_column("context_switches"),
  of_column("steal_s"), of_column("stability_reason", "evidence")];

section("s-stability", () => {
  const list = shown().filter(has_samples), one = samples_case();
  draw_chart("samples", samples_chart(one), "No samples are in this page.");
  const most = 500;
  by_id("samples-controls").replaceChildren(...list.length < 2 ? [] : [html("label", {}, "Case ", html("select", {id: "samples-case",
    onchange: event => { state.samples_of = Number(event.target.value); sections.find(each => each.id === "s-stability").draw(); by_id("samples-case").focus(); }},
    ...list.slice(0, most).map(each => html("option", {value: each.index, selected: each === one ? "" : null}, `${each.name}${is_unsteady(each) ? " (not steady)" : ""}`))))]);
  by_id("samples-note").textContent = !one ? "" : [`${value(one.index, "stability") || "no verdict"}: ${value(one.index, "stability_reason") || "no reason is recorded"}.`,
    report.samples[one.index].step > 1 ? `${report.samples[one.index].times.length} of ${report.samples[one.index].of} samples are in this page, evenly chosen.` : "",
    report.samples_left_out > 0 ? `The samples of ${report.samples_left_out} cases found no room here; records.jsonl has all.` : ""].join(" ");
  draw_twin("samples-table", () => ({label: "Stability", columns: stability_columns(), rows: shown().filter(each => value(each.index, "time_median_s") !== null),
    choose: each => { state.samples_of = each.index; select(each.index); }, row_class: each => is_unsteady(each) ? "unsteady" : ""}));
});
