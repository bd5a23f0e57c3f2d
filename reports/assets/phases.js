"use strict";
// From prefill to decode on one roofline, and how the key and value cache grows.

const most_paths = 60; // each has a name in the picture
const paths_note = (id, whole, drawn) => by_id(id).replaceChildren(...whole.length > drawn.length
  ? [html("p", {class: "note"}, `The first ${drawn.length} of ${whole.length} are drawn; filter to see others. The table has all.`)] : []);

const is_decode = one => value(one.index, "phase") === "decode";
const cache_length = one => (value(one.index, "past_len") || 0) + (value(one.index, "seq_len") || 0);

function shown_trajectories() {
  return report.trajectories.map((path, at) => ({...path, at, cases: path.cases.filter(index => is_shown(index) && !cases[index].why)}))
    .filter(path => path.cases.length > 1);
}

function phases_chart(paths) {
  if (paths.length === 0) return null;
  const axes = roofline_axes(null), place = index => [value(index, "intensity"), value(index, "flops_per_s")];
  const lines = paths.map(path => ({kind: "path", series: cases[path.cases[0]].series, x: path.cases.map(index => place(index)[0]), y: path.cases.map(index => place(index)[1])}));
  const roofs = roof_lines(report.roofs[state.roofs], axes);
  const marks = paths.flatMap(path => path.cases.map((index, at) => ({...case_mark(cases[index], ...place(index)), filled: !is_decode(cases[index]),
    name: at === path.cases.length - 1 ? path.name : undefined})));
  return {label: "Prefill to decode on the roofline", ...axes, bands: roofs.bands, lines: [...roofs.lines, ...lines], marks};
}

const phase_columns = () => [{head: "path", text: true, cell: row => row.path.name}, {...case_head, cell: row => row.one.name},
  ...["phase", "seq_len", "past_len", "intensity", "flops_per_s", "bytes_per_s", "items_per_s", "time_median_s", "memory_bound_time_share", "kv_cache_bytes"].map(name => {
    const column = of_column(name);
    return {...column, cell: row => column.cell(row.one)};
  })];

// Growth, from counts alone: cases that were not measured have their place too.
function shown_caches() {
  return report.caches.map((cache, at) => ({...cache, at, points: cache.points.filter(([index]) => is_shown(index))})).filter(cache => cache.points.length > 0);
}
function cache_chart(caches) {
  if (caches.length === 0) return null;
  const points = caches.flatMap(cache => cache.points), lengths = points.map(point => point[1]), bytes = points.map(point => point[2]);
  const lines = caches.filter(cache => cache.points.length > 1).map(cache => ({kind: "path", series: cases[cache.points[0][0]].series,
    x: cache.points.map(point => point[1]), y: cache.points.map(point => point[2])}));
  const marks = caches.flatMap(cache => cache.points.map(([index, length, size], at) => ({...case_mark(cases[index], length, size), filled: true, unsteady: false,
    name: at === cache.points.length - 1 ? cache.name : undefined, label: `${cache.name}: ${length} tokens, ${si(size, "B")}`,
    tip: () => ({title: cache.name, rows: [["tokens in the cache", shown_text(length), "request"], ["cache", si(size, "B"), "closed form"],
      ["a token", si(size / length, "B"), "derived"]]})})));
  return {label: "Key and value cache over tokens", lines, marks,
    x: {title: "tokens in the cache", log: true, low: Math.min(...lengths) / 1.6, high: Math.max(...lengths) * 2.4, format: "g"},
    y: {title: "cache (B)", log: true, low: Math.min(...bytes) / 2, high: Math.max(...bytes) * 2, format: "s"}};
}
const cache_columns = [{head: "cache of", text: true, cell: row => row.cache.name}, figure("tokens", "", row => row.length, shown_text),
  figure("cache", "B", row => row.bytes, content => si(content, "B")), figure("a token", "B", row => row.bytes / row.length, content => si(content, "B")),
  text_figure("case", row => cases[row.index].name)];

section("s-phases", () => {
  by_id("s-phases").hidden = report.trajectories.length === 0;
  if (report.trajectories.length === 0) return;
  const paths = shown_trajectories(), drawn = paths.slice(0, most_paths);
  draw_chart("phases", phases_chart(drawn), "No case is measured in both phases.");
  paths_note("phases-note", paths, drawn);
  draw_twin("phases-table", () => ({label: "Prefill to decode", columns: phase_columns(),
    rows: paths.flatMap(path => path.cases.map(index => ({path, one: cases[index]}))), choose: row => select(row.one.index)}));
});
section("s-cache", () => {
  by_id("s-cache").hidden = report.caches.length === 0;
  if (report.caches.length === 0) return;
  const caches = shown_caches(), drawn = caches.slice(0, most_paths);
  draw_chart("cache", cache_chart(drawn), "No case has a cache.");
  paths_note("cache-note", caches, drawn);
  draw_twin("cache-table", () => ({label: "Key and value cache", columns: cache_columns,
    rows: caches.flatMap(cache => cache.points.map(([index, length, bytes]) => ({cache, index, length, bytes})))}));
});
