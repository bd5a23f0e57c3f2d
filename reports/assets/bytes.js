"use strict";
// The byte ladder: from what must move at least to what did move.

const rungs = report.ladder.filter(rung => cases.some(one => value(one.index, rung.column) !== null));
const rung_bytes = (one, rung) => value(one.index, rung.column);

function bytes_chart(list) {
  if (list.length === 0) return null;
  const used = rungs, all = list.flatMap(one => used.map(rung => rung_bytes(one, rung))).filter(bytes => bytes > 0);
  const lines = [], marks = [];
  list.forEach((one, row) => {
    const points = used.map((rung, series) => ({rung, series, bytes: rung_bytes(one, rung)})).filter(point => point.bytes > 0);
    const bytes = points.map(point => point.bytes);
    if (points.length > 1) lines.push({kind: "link", x: [Math.min(...bytes), Math.max(...bytes)], y: [row, row]});
    for (const point of points)
      marks.push({x: point.bytes, y: row, series: point.series, radius: 6, filled: point.rung.origin === "counter", label: `${one.name}: ${point.rung.label} ${si(point.bytes, "B")}`,
        select: () => select(one.index), case: one.index, rung: point.rung.column,
        tip: () => ({title: one.name, rows: points.map(each => [each.rung.label, `${si(each.bytes, "B")}, ${times_text(ratio(each.bytes, bytes[0]))}`, each.rung.origin])})});
  });
  return {label: "Bytes moved, from compulsory to measured", rows: list.map(one => one.name), lines, marks,
    x: {title: "bytes a run", log: true, low: Math.min(...all) / 1.5, high: Math.max(...all) * 1.5, format: "s"}};
}

const bytes_columns = () => [case_head, ...rungs.map(rung => ({...of_column(rung.column, rung.label), text: false})),
  ...rungs.slice(1).map(rung => figure(`${rung.label} / ${rungs[0].label}`, "ratio", one => ratio(rung_bytes(one, rung), rung_bytes(one, rungs[0])), times_text)),
  of_column("weight_bytes"), of_column("kv_cache_bytes"), of_column("peak_activation_bytes")];

section("s-bytes", () => {
  const whole = shown().filter(one => rungs.some(rung => rung_bytes(one, rung) > 0)), drawn = whole.slice(0, bars_shown);
  draw_chart("bytes", bytes_chart(drawn), "No bytes are counted.");
  by_id("bytes-note").replaceChildren(...whole.length > drawn.length
    ? [html("p", {class: "note"}, `The first ${drawn.length} of ${whole.length} cases; filter to see others. The table has all.`)] : []);
  by_id("bytes-legend").replaceChildren(...rungs.map((rung, series) => html("span", {class: "key"},
    legend_symbol(series, rung.origin === "counter"), `${rung.label} (${rung.column}, ${rung.origin})`)));
  draw_twin("bytes-table", () => ({label: "Bytes", columns: bytes_columns(), rows: whole, choose: one => select(one.index)}));
});
