"use strict";
// How a figure went over the runs that are stored.
//   history {metric, unit, runs: [text], series: [{name, values: [number or null], low, high}]}; low and high may be absent.

function history_chart(history, names) {
  const series = history.series.filter(one => names.has(one.name)), values = series.flatMap(one => one.values).filter(each => each > 0);
  if (values.length === 0) return null;
  const x = {title: "run", log: false, low: 0.5, high: history.runs.length + 0.5, format: "g"};
  const y = {title: `${history.metric}${history.unit ? ` (${history.unit})` : ""}`, log: true, low: Math.min(...values) / 1.3, high: Math.max(...values) * 1.3,
    format: history.unit === "s" ? "time" : "s"};
  const points = one => one.values.map((each, at) => ({at, each})).filter(point => point.each > 0);
  return {label: `${history.metric} over the runs`, x, y,
    bands: series.filter(one => series.length < 6 && one.low && one.high).map(one => ({x: points(one).map(({at}) => at + 1),
      low: points(one).map(({at}) => one.low[at]), high: points(one).map(({at}) => one.high[at])})),
    lines: series.map((one, number) => ({kind: "path", series: number, x: points(one).map(({at}) => at + 1), y: points(one).map(({each}) => each)})),
    marks: series.flatMap((one, number) => points(one).map(({at, each}, place, all) => ({x: at + 1, y: each, series: number, radius: 5, filled: true,
      label: `${one.name}, ${history.runs[at]}: ${each}`, name: place === all.length - 1 ? one.name : undefined,
      tip: () => ({title: one.name, rows: [["run", history.runs[at], ""], [history.metric, history.unit === "s" ? seconds(each) : si(each, history.unit), ""]]})})))};
}

section("s-history", () => {
  if (!report.history) return;
  const history = report.history, most = 12;
  draw_chart("history", history_chart(history, new Set(history.series.slice(0, most).map(one => one.name))), "No run holds this figure.");
  by_id("history-note").textContent = history.series.length > most ? `The first ${most} of ${history.series.length} cases; the table has all.` : "";
  draw_twin("history-table", () => ({label: "History", rows: history.series, columns: [{head: "case", text: true, cell: one => one.name},
    ...history.runs.map((run, at) => figure(run, history.unit, one => one.values[at], history.unit === "s" ? seconds : plain))]}));
});
