"use strict";
// Where the time goes, by class of kernel: the layouts of one shape stand side by side.

const bars_shown = 40;
// Seconds by class of kernel.
function class_times(one) {
  const out = new Map();
  for (const kernel of one.kernels) {
    const name = report.classes[kernel.op];
    out.set(name, (out.get(name) || 0) + (kernel.time_s || 0));
  }
  return out;
}
const classes_used = class_order.filter(name => Object.values(report.classes).includes(name));

// Families of several layouts first.
function cases_by_family() {
  const families = report.families.map((family, at) => ({...family, at})).sort((a, b) => (b.layouts > 1) - (a.layouts > 1) || a.at - b.at);
  return families.flatMap(family => family.cases).filter(is_shown).map(index => cases[index]).filter(one => launch_time(one) > 0);
}
const passes_text = one => one.passes === null ? "" : `, ${one.passes} attention ${one.passes === 1 ? "pass" : "passes"}`;
const memory_text = one => value(one.index, "memory_bound_time_share") === null ? "" : `, ${percent(value(one.index, "memory_bound_time_share"))} memory bound`;

function row_name(one, width) {
  const figures = seconds(launch_time(one)) + memory_text(one) + passes_text(one);
  const name = (is_unsteady(one) ? "\u2248 " : "") + one.name;
  const room = width - text_width(figures) - 30;
  return room > 130 ? `${shortened(name, room)}: ${figures}` : `${shortened(name, width - 30 - text_width(seconds(launch_time(one))))}: ${seconds(launch_time(one))}`;
}

function layouts_chart(list, width) {
  if (list.length === 0) return null;
  const longest = Math.max(...list.map(launch_time)), bars = [];
  list.forEach((one, row) => {
    const times = class_times(one), whole = launch_time(one), scale = state.share ? 100 / whole : 1;
    let from = 0;
    for (const name of classes_used) {
      const time = times.get(name) || 0;
      if (!(time > 0)) continue;
      const kernels = one.kernels.filter(kernel => report.classes[kernel.op] === name).sort((a, b) => b.time_s - a.time_s);
      bars.push({row, from: from * scale, to: (from + time) * scale, colour: class_colour(name), text: name,
        label: `${name} in ${one.name}: ${seconds(time)}, ${percent(time / whole)}`, select: () => select(one.index), case: one.index, class: name,
        tip: () => ({title: `${name} in ${one.name}`, rows: [["time", seconds(time), percent(time / whole)],
          ...kernels.slice(0, 8).map(kernel => [kernel.scope, seconds(kernel.time_s), kernel.bound])]})});
      from += time;
    }
  });
  return {label: "Time by class of kernel for each case", rows: list.map(one => row_name(one, width)), bars,
    x: state.share ? {title: "share of the launch time (%)", log: false, low: 0, high: 100, format: "g"}
      : {title: "launch time (s)", log: false, low: 0, high: longest * 1.02, format: "time"}};
}

const layout_columns = () => [case_head, of_column("layout"), of_column("time_median_s"), figure("launch time", "s", launch_time, seconds),
  ...classes_used.map(name => figure(name, "s", one => class_times(one).get(name) ?? null, seconds)), of_column("memory_bound_time_share"),
  of_column("attention_time_share"), figure("attention passes", "", one => one.passes, shown_text), of_column("launches"), of_column("flops"), of_column("bytes")];

section("s-layouts", () => {
  const whole = cases_by_family(), drawn = whole.slice(0, bars_shown);
  draw_chart("kernels", layouts_chart(drawn, by_id("kernels").clientWidth || 900), "No launch was timed.");
  by_id("kernels-note").replaceChildren(...whole.length > drawn.length
    ? [html("p", {class: "note"}, `The first ${drawn.length} of ${whole.length} cases; filter to see others. The table has all.`)] : []);
  by_id("kernels-legend").replaceChildren(...classes_used.map(name => html("span", {class: "key"},
    svg("svg", {viewBox: "0 0 18 18", "aria-hidden": "true"}, svg("rect", {x: 2, y: 2, width: 14, height: 14, fill: class_colour(name)})), name)));
  draw_twin("kernels-table", () => ({label: "Time by class of kernel", columns: layout_columns(), rows: whole, choose: one => select(one.index),
    row_class: one => one.index === state.selected ? "selected" : ""}));
});
