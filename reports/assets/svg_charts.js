"use strict";
// Charts as plain SVG.

function log_ticks(low, high, most) { // as fine as there is room for: 1 2 5, 1 3, or 1 of each decade, then every few
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const ticks_of = (digits, step) => {
    const ticks = [];
    for (let decade = first; decade <= last; decade += step)
      for (const digit of digits) {
        const tick = Number(`${digit}e${decade}`);
        if (tick >= low && tick <= high) ticks.push(tick);
      }
    return ticks;
  };
  for (const digits of [[1, 2, 5], [1, 3], [1]])
    if (ticks_of(digits, 1).length <= most) return ticks_of(digits, 1);
  return ticks_of([1], Math.max(1, Math.ceil((last - first) / most)));
}
function even_ticks(low, high, most) {
  const rough = (high - low) / most, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find(each => each * unit >= rough);
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high; ++at) ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}
const ticks_of = (axis, most) => axis.log ? log_ticks(axis.low, axis.high, most)
  : even_ticks(axis.low, axis.high, most).filter(tick => !axis.whole || Number.isInteger(tick));
// Below 1, seconds have prefixes ("20 us") and ratios have none ("0.02").
const tick_text = (tick, axis) => axis.format === "time" ? seconds(tick).replace(/\.0+(?= )/, "")
  : tick < 1 ? plain(tick) : si(tick, "").replace(/\.0+(?= |$)/, "");

function draw_svg(chart, geometry) {
  const {left, right, top, bottom, x, y, width, height} = geometry;
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": chart.label});
  for (const tick of ticks_of(chart.x, Math.max(3, Math.floor(width / 80))))
    root.append(svg("line", {class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: bottom}),
      svg("text", {x: x(tick), y: bottom + 16, "text-anchor": "middle"}, tick_text(tick, chart.x)));
  for (const tick of chart.rows ? [] : ticks_of(chart.y, 10))
    root.append(svg("line", {class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick)}),
      svg("text", {x: left - 6, y: y(tick) + 4, "text-anchor": "end"}, tick_text(tick, chart.y)));
  root.append(svg("text", {class: "soft", x: (left + right) / 2, y: height - 8, "text-anchor": "middle"}, chart.x.title));
  if (!chart.rows) root.append(svg("text", {class: "soft", x: 8, y: 16}, chart.y.title));
  (chart.rows || []).forEach((name, row) => root.append(svg("text", {x: left, y: y(row) - bar_height / 2 - 4},
    svg("title", {}, name), shortened(name, right - left))));
  const plot = svg("g", {});
  root.append(plot);
  const path = (xs, ys) => xs.map((each, at) => `${at ? "L" : "M"}${x(each).toFixed(1)},${y(ys[at]).toFixed(1)}`).join("");
  for (const band of chart.bands || [])
    plot.append(svg("path", {class: "band", d: path([...band.x, ...band.x.slice().reverse()], [...band.high, ...band.low.slice().reverse()]) + "Z"}));
  for (const line of chart.lines || []) {
    const style = style_of(line);
    plot.append(svg("path", {d: path(line.x, line.y), fill: "none", stroke: `var(${style.colour})`, "stroke-width": style.width,
      "stroke-dasharray": style.dash ? style.dash.join(" ") : null}));
  }
  for (const arrow of chart.arrows || [])
    plot.append(svg("line", {class: "arrow", x1: x(arrow.from[0]), y1: y(arrow.from[1]), x2: x(arrow.to[0]), y2: y(arrow.to[1]),
      "marker-end": "url(#arrow-head)"}));
  const focusable = [...svg_bars(plot, chart, geometry), ...svg_marks(plot, chart, geometry)];
  for (const label of labels_of(chart, geometry)) {
    const at = label.beside ? {x: label.px + (label.flips ? -8 : 8), y: label.py + 4, "text-anchor": label.flips ? "end" : "start"}
      : {x: label.px, y: label.py - 6, "text-anchor": label.end ? "end" : "start",
        transform: label.angle ? `rotate(${label.angle} ${label.px} ${label.py})` : null};
    plot.append(svg("text", {class: label.soft ? "halo soft" : "halo", ...at}, label.text));
  }
  move_by_arrows(focusable);
  return root;
}

function svg_marks(plot, chart, {x, y}) {
  return (chart.marks || []).map(one => {
    const mark = svg("g", {class: "mark" + (one.selected ? " selected" : "") + (one.dim ? " dim" : ""), tabindex: -1, role: "button",
      transform: `translate(${x(one.x).toFixed(1)},${y(one.y).toFixed(1)})`, "aria-label": one.label},
      svg("circle", {class: "ring", r: one.radius + 6}), symbol(one.series, one.radius, one.filled, one.unsteady));
    plot.append(mark);
    return wired(mark, one);
  });
}
function svg_bars(plot, chart, {x, y}) {
  return (chart.bars || []).map(one => {
    const from = x(one.from), to = Math.max(x(one.to), from + 0.5), top = y(one.row) - bar_height / 2;
    const bar = svg("g", {class: "mark", tabindex: -1, role: "button", "aria-label": one.label},
      svg("rect", {class: "segment", x: from, y: top, width: to - from, height: bar_height, fill: one.colour}),
      one.text && to - from > text_width(one.text) + 8
        ? svg("text", {class: "segment-label", x: from + 5, y: top + 14}, one.text) : null);
    plot.append(bar);
    return wired(bar, one);
  });
}
function wired(node, one) {
  const tip = () => one.tip && one.tip();
  node.addEventListener("mouseenter", event => one.tip && show_tooltip(tip(), event.clientX, event.clientY));
  node.addEventListener("mouseleave", hide_tooltip);
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    if (one.tip && node.matches(":focus-visible")) show_tooltip(tip(), box.right, box.bottom);
  });
  node.addEventListener("blur", hide_tooltip);
  if (one.select) node.addEventListener("click", one.select);
  return node;
}

// One tab stop for all marks of a chart; arrow keys move among them in the order they were given.
function move_by_arrows(marks) {
  if (marks.length === 0) return;
  marks[0].setAttribute("tabindex", 0);
  marks.forEach((mark, index) => mark.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[event.key];
    if (step) {
      const next = marks[(index + step + marks.length) % marks.length];
      mark.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
      event.preventDefault();
    } else if (event.key === "Enter" || event.key === " ") {
      mark.dispatchEvent(new MouseEvent("click"));
      event.preventDefault();
    }
  }));
}
