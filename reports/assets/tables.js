"use strict";
// Tables, controls, and the start of the page.

const short_columns = ["time_median_s", "flops", "flops_per_s", "bytes_per_s", "items_per_s", "intensity", "bound",
  "roof_fraction", "memory_bound_time_share", "attention_time_share", "stability", "status"];

// Heads for people; the name in the files stands in the tooltip.
const heads_of_columns = {time_median_s: "time", flops: "work", flops_per_s: "rate", bytes: "traffic",
  bytes_per_s: "bandwidth", items_per_s: "throughput", roof_fraction: "of roof", roof_time_s: "least time",
  memory_bound_time_share: "memory bound", attention_time_share: "in attention", stability: "stability",
  time_ci_low_s: "interval from", time_ci_high_s: "interval to", time_mad_s: "time MAD", cpu_clock_hz: "clock"};
function head_of(column) {
  return heads_of_columns[column.name] || column.name.replace(/_per_s$/, " rate").replace(/_(s|hz)$/, "").replaceAll("_", " ");
}

function cell_text(column, content) {
  if (content === null || content === undefined) return "-";
  if (column.type === "text" || column.type === "list of texts") return String(content);
  if (typeof content === "boolean") return String(content);
  if (column.group === "config") return String(content);
  if (column.unit === "s") return seconds(content);
  if (/fraction|share/.test(column.name)) return percent(content);
  if (["FLOP", "FLOP/s", "B", "B/s", "MAC", "Hz", "1/s"].includes(column.unit)) return si(content, column.unit === "1/s" ? "/s" : column.unit);
  return column.type === "integer" ? String(content) : plain(content);
}
const is_text = column => column.type === "text" || column.type === "list of texts";

function header_cell(column, sorted) {
  const direction = sorted ? (state.descending ? "descending" : "ascending") : null;
  return html("th", {class: is_text(column) ? "text" : null, "aria-sort": direction, scope: "col",
    title: `${column.name}: ${column.definition} Origin: ${column.origin}.${column.formula ? " " + column.formula + "." : ""}`},
    html("button", {type: "button", onclick: () => {
      state.descending = state.sort === column.name ? !state.descending : !is_text(column);
      state.sort = column.name;
      state.page = 0;
      render();
    }}, head_of(column) + (sorted ? (state.descending ? " ↓" : " ↑") : "")),
    html("small", {}, column.unit && column.unit !== "1" ? column.unit : "\u00a0"));
}

function sorted_cases() {
  const list = shown();
  if (state.sort === null) return list;
  const key = one => state.sort === "case" ? one.name : value(one.index, state.sort);
  const sign = state.descending ? -1 : 1;
  return list.sort((a, b) => {
    const x = key(a), y = key(b);
    if (x === null || y === null) return (x === null) - (y === null); // absent values stand last either way
    return sign * (x < y ? -1 : x > y ? 1 : 0) || a.index - b.index;
  });
}

function visible_columns() {
  const extra = report.columns.some(column => column.name === "reason") ? ["reason"] : [];
  return state.all_columns ? report.columns
    : [...short_columns, ...extra].filter(name => column_of.has(name)).map(name => report.columns[column_of.get(name)]);
}

function draw_cases() {
  const list = sorted_cases(), columns = visible_columns();
  const pages = Math.max(1, Math.ceil(list.length / rows_per_page));
  state.page = Math.min(state.page, pages - 1);
  const name_column = {name: "case", unit: "", type: "text", definition: "What tells the case from the others.", origin: "request"};
  const head = html("tr", {}, header_cell(name_column, state.sort === "case"),
    ...columns.map(column => header_cell(column, state.sort === column.name)));
  const body = list.slice(state.page * rows_per_page, (state.page + 1) * rows_per_page).map(one => html("tr",
    {class: "case" + (one.index === state.selected ? " selected" : "") + (is_unsteady(one) ? " unsteady" : ""),
      onclick: () => select(one.index)},
    html("td", {title: value(one.index, "id")}, one.name),
    ...columns.map(column => {
      if (column.name === "time_median_s" && is_unsteady(one))
        return html("td", {title: `${value(one.index, "stability")}: ${value(one.index, "stability_reason") || "see warnings"}`},
          "\u2248 " + cell_text(column, value(one.index, column.name)));
      const text = column.name === "bound" && one.bound ? one.bound : cell_text(column, value(one.index, column.name));
      return html("td", {class: is_text(column) ? "text" + (text.length > 40 ? " long" : "") : null}, text);
    })));
  by_id("cases").replaceChildren(html("table", {}, html("thead", {}, head), html("tbody", {}, ...body)));
  draw_case_controls(list.length, pages);
}

function draw_case_controls(count, pages) {
  const turn = step => () => { state.page += step; render(); };
  by_id("cases-controls").replaceChildren(
    html("label", {}, html("input", {type: "checkbox", checked: state.all_columns ? "" : null,
      onchange: event => { state.all_columns = event.target.checked; render(); }}), " all columns"),
    html("span", {}, `${count} ${count === 1 ? "case" : "cases"}`),
    ...cases.some(is_unsteady) ? [html("span", {class: "note"}, "\u2248 time not stable")] : [],
    ...pages < 2 ? [] : [
      html("button", {type: "button", disabled: state.page === 0 ? "" : null, onclick: turn(-1)}, "previous"),
      html("span", {}, `page ${state.page + 1} of ${pages}`),
      html("button", {type: "button", disabled: state.page + 1 === pages ? "" : null, onclick: turn(1)}, "next")]);
}

function draw_selected() {
  const place = by_id("selected");
  if (state.selected === null) {
    place.replaceChildren();
    return;
  }
  const one = cases[state.selected];
  const whole = one.kernels.reduce((sum, kernel) => kernel.time_s === null ? null : sum === null ? null : sum + kernel.time_s, 0);
  const heads = [["scope", "", true], ["op", "", true], ["shape", "", true], ["n", ""], ["kernel", "", true], ["time", "s"],
    ["of launch time", "%"], ["work", "FLOP"], ["traffic", "B"], ["rate", "FLOP/s"], ["bandwidth", "B/s"], ["intensity", "FLOP/B"],
    ["bound", "", true], ["of roof", "%"]];
  const rows = one.kernels.map(kernel => [kernel.scope, kernel.op, kernel.shape, kernel.count, kernel.impl || "-",
    seconds(kernel.time_s), percent(ratio(kernel.time_s, whole)), si(kernel.flops, "FLOP"), si(kernel.bytes, "B"),
    si(ratio(kernel.flops, kernel.time_s), "FLOP/s"), si(ratio(kernel.bytes, kernel.time_s), "B/s"),
    plain(ratio(kernel.flops, kernel.bytes)), kernel.bound || "-", percent(ratio(kernel.roof_time_s, kernel.time_s))]);
  const table = html("div", {class: "scroll"}, html("table", {},
    html("caption", {}, html("b", {}, one.name), " ", html("button", {type: "button", onclick: () => select(one.index)}, "close")),
    html("thead", {}, html("tr", {}, ...heads.map(([name, unit, text]) =>
      html("th", {scope: "col", class: text ? "text" : null}, name, html("small", {}, unit || "\u00a0"))))),
    html("tbody", {}, ...rows.map(row => html("tr", {}, ...row.map((text, at) =>
      html("td", {class: heads[at][2] ? "text" : null}, String(text))))))));
  const undrawn = one.kernels.filter(launch_obstacle).map(kernel => `${kernel.scope} (${launch_obstacle(kernel)})`);
  const warnings = value(one.index, "warnings"), reason = value(one.index, "reason");
  place.replaceChildren(...one.kernels.length ? [table] : [html("p", {class: "hint"}, `${one.name}: no launches are stored in this page.`)],
    ...undrawn.length ? [html("p", {class: "hint"}, `Launches not drawn: ${undrawn.join(", ")}.`)] : [],
    ...[reason, warnings].filter(Boolean).map(text => html("p", {class: "note"}, text)),
    html("p", {class: "hint"}, `Runs again as: attnprof run "${value(one.index, "id")}"`));
}

function draw_once() {
  if (report.roofs.length > 1) {
    by_id("roofline-controls").append(html("label", {}, "Roofs of ", html("select", {
      onchange: event => { state.roofs = Number(event.target.value); render(); },
    }, ...report.roofs.map((roofs, index) => html("option", {value: index}, roofs.name)))));
  }
  by_id("kernels-controls").append(html("label", {}, html("input", {type: "checkbox", checked: "",
    onchange: event => { state.share = event.target.checked; render(); }}), " each bar is the whole of its case"));
  const constants = Object.entries(report.constants).filter(([, content]) => content !== null);
  by_id("constants").append(html("details", {}, html("summary", {}, "The same in all cases"),
    html("dl", {class: "facts"}, ...constants.flatMap(([name, content]) =>
      [html("dt", {}, name), html("dd", {}, String(content))]))));
  const most = 30, warned = report.warnings;
  by_id("warnings").replaceChildren(...warned.length === 0 ? [html("p", {class: "hint"}, "None.")] : [html("ul", {},
    ...warned.slice(0, most).map(text => html("li", {}, text)),
    warned.length > most ? html("li", {}, `and ${warned.length - most} more, see the column warnings`) : null)]);
  const heads = ["column", "unit", "group", "origin", "definition", "formula"];
  by_id("glossary").append(html("table", {}, html("thead", {}, html("tr", {}, ...heads.map(head => html("th", {class: "text"}, head)))),
    html("tbody", {}, ...report.glossary.map(column => html("tr", {}, ...heads.map((head, at) =>
      html("td", {class: at > 3 ? "text long" : "text"}, at === 0 ? column.name : column[head])))))));
  by_id("filter").addEventListener("input", event => { state.filter = event.target.value.trim(); state.page = 0; render(); });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; render(); } });
  addEventListener("keydown", event => { if (event.key === "Escape") { hide_tooltip(); if (state.selected !== null) select(state.selected); } });
}

draw_once();
render();
