"use strict";
// Tables: sorted by any column, turned page by page, copied whole as CSV.
//   {columns: [{head, unit, text, title, cell(row), show(value, row)}], rows, row_class(row), choose(row), caption}
// `cell` gives the raw value, null where there is none; `show` its text for people.

const rows_per_page = 100;
const table_states = new Map();
const table_state = id => {
  if (!table_states.has(id)) table_states.set(id, {sort: null, descending: false, page: 0});
  return table_states.get(id);
};
const shown_text = value => value === null || value === undefined ? "-" : String(value);

// Absent values stand last either way; equal ones keep their order.
function sorted_rows(spec, state) {
  const column = spec.columns[state.sort];
  if (!column) return spec.rows;
  const sign = state.descending ? -1 : 1;
  return spec.rows.map((row, at) => ({row, at, key: column.cell(row) ?? null})).sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.at - b.at;
    return sign * (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) || a.at - b.at;
  }).map(each => each.row);
}

// RFC 4180, numbers whole, absent ones empty.
const csv_field = value => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
function csv_of(spec, rows) {
  const heads = spec.columns.map(column => csv_field(column.key || column.head + (column.unit ? ` (${column.unit})` : "")));
  return [heads, ...rows.map(row => spec.columns.map(column => csv_field(column.cell(row))))].map(line => line.join(",") + "\r\n").join("");
}

function copy_text(text, button) {
  const said = button.textContent;
  const say = word => { button.textContent = word; setTimeout(() => { button.textContent = said; }, 1500); };
  const by_selection = () => {
    const area = html("textarea", {class: "off-screen", "aria-hidden": "true"});
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    button.focus();
    say(done ? "copied" : "the browser refused");
  };
  if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(text).then(() => say("copied"), by_selection);
  else by_selection();
}

function header_cell(spec, column, at, state, redraw) {
  const sorted = state.sort === at, direction = sorted ? (state.descending ? "descending" : "ascending") : null;
  return html("th", {class: column.text ? "text" : null, "aria-sort": direction, scope: "col", title: column.title},
    html("button", {type: "button", onclick: () => {
      state.descending = sorted ? !state.descending : !column.text;
      state.sort = at;
      state.page = 0;
      redraw(at);
    }}, column.head + (sorted ? (state.descending ? " \u2193" : " \u2191") : "")),
    html("small", {}, column.unit && column.unit !== "1" ? column.unit : "\u00a0"));
}

function draw_table(id, spec, controls) {
  const place = by_id(id), state = table_state(id);
  const redraw = column => {
    draw_table(id, spec, controls);
    if (column !== undefined) place.querySelectorAll("thead button")[column].focus();
  };
  const rows = sorted_rows(spec, state), pages = Math.max(1, Math.ceil(rows.length / rows_per_page));
  state.page = Math.min(state.page, pages - 1);
  const turn = step => () => { state.page += step; redraw(); };
  const body = rows.slice(state.page * rows_per_page, (state.page + 1) * rows_per_page).map(row => html("tr",
    {class: ((spec.choose ? "case " : "") + (spec.row_class ? spec.row_class(row) : "")).trim() || null,
      onclick: spec.choose ? () => spec.choose(row) : undefined},
    ...spec.columns.map((column, at) => {
      const value = column.cell(row) ?? null, text = column.show ? column.show(value, row) : shown_text(value);
      const content = at === 0 && spec.choose ? html("button", {type: "button", class: "link",
        onclick: event => { event.stopPropagation(); spec.choose(row); }}, text) : text;
      return html("td", {class: column.text ? "text" + (String(text).length > 40 ? " long" : "") : null}, content);
    })));
  const copy = html("button", {type: "button", class: "copy", onclick: () => copy_text(csv_of(spec, rows), copy)}, "Copy CSV");
  place.csv = () => csv_of(spec, rows);
  place.replaceChildren(
    html("div", {class: "controls"}, ...(controls || []), html("span", {}, `${rows.length} ${rows.length === 1 ? "row" : "rows"}`), copy,
      ...pages < 2 ? [] : [
        html("button", {type: "button", disabled: state.page === 0 ? "" : null, onclick: turn(-1)}, "previous"),
        html("span", {}, `page ${state.page + 1} of ${pages}`),
        html("button", {type: "button", disabled: state.page + 1 === pages ? "" : null, onclick: turn(1)}, "next")]),
    html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": spec.label}, html("table", {},
      spec.caption ? html("caption", {}, spec.caption) : null,
      html("thead", {}, html("tr", {}, ...spec.columns.map((column, at) => header_cell(spec, column, at, state, redraw)))),
      html("tbody", {}, ...body))));
}

// The table beside a chart: the same figures, drawn when it is opened. It stands in `<details data-twin="id">`.
function draw_twin(id, make) {
  const place = by_id(id), fold = place.closest("details");
  const draw = () => { if (fold.open) draw_table(id, make()); };
  fold.ontoggle = draw;
  fold.hidden = false;
  draw();
}
const hide_twin = id => { by_id(id).closest("details").hidden = true; };

// Columns that many tables have.
const case_head = {head: "case", key: "case", text: true, cell: one => one.name};
const figure = (head, unit, cell, show, title) => ({head, unit, cell, show, title});
const text_figure = (head, cell) => ({head, text: true, cell});
const of_column = (name, head) => {
  const column = column_named(name);
  return {head: head || head_of(column), key: name, unit: column.unit, text: is_text(column), title: title_of(column),
    cell: one => value(one.index, name), show: content => cell_text(column, content)};
};
