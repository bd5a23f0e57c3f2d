"use strict";
// How a figure of each case went over the runs of a history, with what is usual before the latest run.
//   report.history: [{id, machine, processor, metric, unit, points: [{run, added_on, commit, label, value}], center, low,
//   high, verdict}], as `attnprof history show --json` prints its trends.

const trends = Array.isArray(report.history) ? report.history.filter(trend => trend.points.length > 0) : [];
const name_of_case = new Map(cases.map(one => [value(one.index, "id"), one.name]));
const trend_name = trend => name_of_case.get(trend.id) || trend.id;
const trend_text = (trend, figure) => figure === null || figure === undefined ? "-" : trend.unit === "s" ? seconds(figure) : si(figure, trend.unit === "1" ? "" : trend.unit);
const run_text = point => [`run ${point.run}`, point.commit && point.commit.slice(0, 10), point.label, point.added_on].filter(Boolean).join(", ");
const trends_drawn = 8;

function history_chart(list) {
  const values = list.flatMap(trend => trend.points.map(point => point.value)).filter(each => each > 0);
  if (values.length === 0) return null;
  const runs = list.flatMap(trend => trend.points.map(point => point.run)), one = list[0];
  const x = {title: "run", log: false, low: Math.min(...runs) - 0.5, high: Math.max(...runs) + 0.5 + (Math.max(...runs) - Math.min(...runs)) * 0.2, format: "g", whole: true};
  const y = {title: `${one.metric}${one.unit && one.unit !== "1" ? ` (${one.unit})` : ""}`, log: true, low: Math.min(...values) / 1.4, high: Math.max(...values) * 1.4,
    format: one.unit === "s" ? "time" : "s"};
  const drawable = trend => trend.points.filter(point => point.value > 0);
  // The strip of what is usual, where it is clear whose it is.
  const usual = list.length === 1 && one.low > 0 && one.high > 0 ? [{x: [x.low, x.high], low: [one.low, one.low], high: [one.high, one.high]}] : [];
  return {label: `${one.metric} over the runs`, x, y, bands: usual, height: 420,
    lines: list.map((trend, series) => ({kind: "path", series, x: drawable(trend).map(point => point.run), y: drawable(trend).map(point => point.value)})),
    marks: list.flatMap((trend, series) => drawable(trend).map((point, at, all) => ({x: point.run, y: point.value, series, radius: 5, filled: true,
      label: `${trend_name(trend)}, ${run_text(point)}: ${trend_text(trend, point.value)}`, name: at === all.length - 1 ? trend_name(trend) : undefined,
      tip: () => ({title: trend_name(trend), rows: [["when", run_text(point), ""], [trend.metric, trend_text(trend, point.value), ""],
        ["usual", `${trend_text(trend, trend.low)} to ${trend_text(trend, trend.high)}`, "earlier runs"]]})})))};
}

const history_columns = [{head: "case", key: "case", text: true, cell: trend_name}, text_figure("machine", trend => trend.processor || trend.machine || null),
  text_figure("metric", trend => trend.metric), figure("runs", "", trend => trend.points.length, shown_text),
  figure("usual", "", trend => trend.center ?? null, (content, trend) => trend_text(trend, content)),
  figure("from", "", trend => trend.low ?? null, (content, trend) => trend_text(trend, content)), figure("to", "", trend => trend.high ?? null, (content, trend) => trend_text(trend, content)),
  figure("latest", "", trend => trend.points[trend.points.length - 1].value, (content, trend) => trend_text(trend, content)),
  text_figure("verdict", trend => trend.verdict ?? null)];

section("s-history", () => {
  if (trends.length === 0) return;
  const known = trends.filter(trend => !name_of_case.has(trend.id) || shown().some(one => value(one.index, "id") === trend.id));
  const list = known.slice(0, trends_drawn);
  draw_chart("history", history_chart(list), "No run holds this figure.");
  by_id("history-note").textContent = known.length > list.length ? `The first ${list.length} of ${known.length} trends; filter to see others. The table has all.` : "";
  draw_twin("history-table", () => ({label: "History", rows: known, columns: history_columns}));
});
