"use strict";
// The table of all cases, and the launches of the selected one.

const short_columns = ["time_median_s", "flops", "flops_per_s", "bytes_per_s", "items_per_s", "intensity", "bound",
  "roof_fraction", "memory_bound_time_share", "attention_time_share", "stability", "status"];

function visible_columns() {
  const names = state.all_columns ? report.columns.map(column => column.name)
    : [...short_columns, "reason"].filter(name => column_of.has(name));
  return names.map(name => {
    if (name === "bound") return {...of_column(name), show: (content, one) => one.bound || "-"};
    if (name === "time_median_s") return {...of_column(name), show: (content, one) => (is_unsteady(one) ? "\u2248 " : "") + seconds(content)};
    return of_column(name);
  });
}

section("s-cases", () => {
  draw_table("cases", {label: "Cases", columns: [case_head, ...visible_columns()], rows: shown(), choose: one => select(one.index),
    row_class: one => `${one.index === state.selected ? "selected " : ""}${is_unsteady(one) ? "unsteady" : ""}`}, [
    html("label", {}, html("input", {type: "checkbox", checked: state.all_columns ? "" : null,
      onchange: event => { state.all_columns = event.target.checked; table_state("cases").sort = null; render(); }}), " all columns"),
    cases.some(is_unsteady) ? html("span", {class: "note"}, "\u2248 time not steady") : null]);
});

const launch_columns = whole => [text_figure("scope", kernel => kernel.scope), text_figure("op", kernel => kernel.op), text_figure("shape", kernel => kernel.shape),
  figure("n", "", kernel => kernel.count, shown_text), text_figure("kernel", kernel => kernel.impl || null), figure("time", "s", kernel => kernel.time_s, seconds),
  figure("of launch time", "%", kernel => ratio(kernel.time_s, whole), percent), figure("work", "FLOP", kernel => kernel.flops, content => si(content, "FLOP")),
  figure("traffic", "B", kernel => kernel.bytes, content => si(content, "B")), figure("rate", "FLOP/s", kernel => ratio(kernel.flops, kernel.time_s), content => si(content, "FLOP/s")),
  figure("bandwidth", "B/s", kernel => ratio(kernel.bytes, kernel.time_s), content => si(content, "B/s")),
  figure("intensity", "FLOP/B", kernel => ratio(kernel.flops, kernel.bytes), plain), text_figure("bound", kernel => kernel.bound || null),
  figure("of roof", "%", kernel => ratio(kernel.roof_time_s, kernel.time_s), percent)];

function draw_selected() {
  const place = by_id("selected");
  if (state.selected === null) {
    place.replaceChildren();
    return;
  }
  const one = cases[state.selected], whole = one.kernels.some(kernel => kernel.time_s === null) ? null : launch_time(one);
  const undrawn = one.kernels.filter(launch_obstacle).map(kernel => `${kernel.scope} (${launch_obstacle(kernel)})`);
  const warnings = value(one.index, "warnings"), reason = value(one.index, "reason");
  place.replaceChildren(html("h3", {}, one.name, " ", html("button", {type: "button", onclick: () => select(one.index)}, "close")),
    one.kernels.length ? html("div", {id: "launches"}) : html("p", {class: "hint"}, "No launches are stored in this page."),
    ...undrawn.length ? [html("p", {class: "hint"}, `Launches not drawn: ${undrawn.join(", ")}.`)] : [],
    ...[reason, warnings].filter(Boolean).map(text => html("p", {class: "note"}, text)),
    html("p", {class: "hint"}, `Runs again as: attnprof run "${value(one.index, "id")}"`));
  if (one.kernels.length) draw_table("launches", {label: `Launches of ${one.name}`, columns: launch_columns(whole), rows: one.kernels});
}
