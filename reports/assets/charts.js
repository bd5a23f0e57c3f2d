"use strict";
// Drawing: scales, axes, marks, tooltips. Knows nothing of the report; replaceable by a chart library.

const svg_namespace = document.getElementById("svg-namespace").namespaceURI;

function element(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}
const html = (tag, attributes, ...children) => element(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  element(document.createElementNS(svg_namespace, tag), attributes, children);

// Numbers for people. Absent is "-".

function three_digits(value) {
  return value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0);
}
function si(value, unit) {
  if (value === null || value === undefined || !isFinite(value)) return "-";
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  let scaled = Math.abs(value), prefix = 0;
  while (scaled >= 999.5 && prefix + 1 < prefixes.length) { scaled /= 1000; ++prefix; }
  const text = scaled !== 0 && scaled < 0.995 ? String(Number(scaled.toPrecision(3)))
    : prefix === 0 && Number.isInteger(scaled) ? String(scaled) : three_digits(scaled);
  const suffix = prefixes[prefix] + (unit || "");
  return (value < 0 ? "-" : "") + text + (suffix ? " " + suffix : "");
}
function seconds(value) {
  if (value === null || value === undefined) return "-";
  if (value === 0) return "0 s";
  for (const [scale, unit] of [[1, "s"], [1e3, "ms"], [1e6, "us"], [1e9, "ns"]]) {
    const scaled = value * scale;
    if (scaled >= 0.9995 || unit === "ns")
      return (scaled < 0.9995 ? String(Number(scaled.toPrecision(3))) : three_digits(scaled)) + " " + unit;
  }
  return "-";
}
function percent(value) {
  if (value === null || value === undefined || !isFinite(value)) return "-";
  const scaled = value * 100;
  return (scaled >= 99.95 || scaled === 0 ? scaled.toFixed(0)
    : scaled < 0.095 ? String(Number(scaled.toPrecision(2))) : scaled.toFixed(1)) + " %";
}
function plain(value) {
  return value === null || value === undefined ? "-" : String(Number(value.toPrecision(4)));
}

// Marks: a colour and a shape for each series, so that either is enough to tell them apart.

const shapes = [
  r => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`,
  r => `M${-r * 0.9},${-r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}Z`,
  r => `M0,${-r * 1.2}L${r * 1.1},${r * 0.8}H${-r * 1.1}Z`,
  r => `M0,${-r * 1.3}L${r * 1.1},0L0,${r * 1.3}L${-r * 1.1},0Z`,
  r => `M0,${r * 1.2}L${r * 1.1},${-r * 0.8}H${-r * 1.1}Z`,
  r => `M${-r * 0.4},${-r}h${r * 0.8}v${r * 0.6}h${r * 0.6}v${r * 0.8}h${-r * 0.6}v${r * 0.6}h${-r * 0.8}v${-r * 0.6}h${-r * 0.6}v${-r * 0.8}h${r * 0.6}Z`,
  r => star(r, 5),
  r => `M${-r},${-r * 0.55}L0,${-r * 1.15}L${r},${-r * 0.55}V${r * 0.55}L0,${r * 1.15}L${-r},${r * 0.55}Z`,
];
function star(r, points) {
  let path = "";
  for (let i = 0; i < 2 * points; ++i) {
    const reach = i % 2 ? r * 0.55 : r * 1.3, angle = Math.PI * i / points;
    path += `${i ? "L" : "M"}${(reach * Math.sin(angle)).toFixed(2)},${(-reach * Math.cos(angle)).toFixed(2)}`;
  }
  return path + "Z";
}
// Null stands for any series: a plain circle.
const series_colour = series => series === null ? "var(--soft)" : `var(--s${series % 8})`;
// Past eight series colours repeat, with another shape each time.
const series_shape = series => shapes[series === null ? 0 : (series + Math.floor(series / 8)) % shapes.length];

function symbol(series, radius, filled, unsteady) {
  return svg("path", {
    d: series_shape(series)(radius), stroke: series_colour(series),
    fill: filled ? series_colour(series) : "var(--panel)", "fill-opacity": filled ? 0.8 : 0.6,
    class: unsteady ? "unsteady" : null,
  });
}
function legend_symbol(series, filled, unsteady) {
  return svg("svg", {viewBox: "-9 -9 18 18", "aria-hidden": "true"}, symbol(series, 6, filled, unsteady));
}

// Logarithmic axes.

function log_scale(low, high, from, to) {
  const start = Math.log10(low), factor = (to - from) / (Math.log10(high) - start);
  return value => from + (Math.log10(value) - start) * factor;
}
// As fine as there is room for: 1 2 5, 1 3, or 1 of each decade, then every few decades.
function log_ticks(low, high, most) {
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

const tick_text = tick => tick < 1 ? plain(tick) : si(tick, "").replace(/\.0+(?= |$)/, "");

// Labels of a chart: a text whose box would cover another one is left out; its figures stand elsewhere too.
const text_width = text => 6.8 * text.length;
function label_place() {
  const taken = [];
  return (left, right, top, bottom) => {
    if (taken.some(box => left < box.right && right > box.left && top < box.bottom && bottom > box.top)) return false;
    taken.push({left, right, top, bottom});
    return true;
  };
}
const shortened = (text, width) => text_width(text) <= width ? text
  : text.slice(0, Math.max(1, Math.floor(width / 6.8) - 1)) + "\u2026";

// Axes in an svg of its own; returns {root, plot, x, y, left, right, top, bottom}.
function log_chart(width, height, x_axis, y_axis, label) {
  const left = 62, right = width - 14, top = 26, bottom = height - 44;
  const x = log_scale(x_axis.low, x_axis.high, left, right), y = log_scale(y_axis.low, y_axis.high, bottom, top);
  const root = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label});
  for (const tick of log_ticks(x_axis.low, x_axis.high, Math.max(3, Math.floor(width / 80)))) {
    root.append(svg("line", {class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: bottom}),
      svg("text", {x: x(tick), y: bottom + 16, "text-anchor": "middle"}, tick_text(tick)));
  }
  for (const tick of log_ticks(y_axis.low, y_axis.high, 10)) {
    root.append(svg("line", {class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick)}),
      svg("text", {x: left - 6, y: y(tick) + 4, "text-anchor": "end"}, tick_text(tick)));
  }
  root.append(svg("text", {class: "soft", x: (left + right) / 2, y: height - 8, "text-anchor": "middle"}, x_axis.title),
    svg("text", {class: "soft", x: 8, y: 16}, y_axis.title));
  const plot = svg("g", {});
  root.append(plot);
  return {root, plot, x, y, left, right, top, bottom};
}

// A focusable mark at a place; `tip` gives the lines of its tooltip: [name, value, origin].
function add_mark(chart, place, options) {
  const mark = svg("g", {
    class: "mark" + (options.selected ? " selected" : "") + (options.dim ? " dim" : ""), tabindex: -1, role: "button",
    transform: `translate(${place.x.toFixed(1)},${place.y.toFixed(1)})`, "aria-label": options.label,
  }, svg("circle", {class: "ring", r: options.radius + 6}), symbol(options.series, options.radius, options.filled, options.unsteady));
  mark.addEventListener("mouseenter", event => show_tooltip(options.tip(), event.clientX, event.clientY));
  mark.addEventListener("mouseleave", hide_tooltip);
  mark.addEventListener("focus", () => {
    const box = mark.getBoundingClientRect();
    if (mark.matches(":focus-visible")) show_tooltip(options.tip(), box.right, box.bottom);
  });
  mark.addEventListener("blur", hide_tooltip);
  if (options.select) mark.addEventListener("click", options.select);
  chart.plot.append(mark);
  return mark;
}

// One tab stop for all marks of a chart; arrow keys move among them from left to right.
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

const tooltip = document.getElementById("tooltip");
function show_tooltip(lines, x, y) {
  tooltip.replaceChildren(html("b", {}, lines.title), ...lines.rows.map(([name, value, origin]) =>
    html("div", {class: "row"}, html("span", {}, `${name} ${value}`), html("span", {}, origin || ""))));
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
  tooltip.style.top = Math.max(4, y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16) + "px";
}
function hide_tooltip() { tooltip.hidden = true; }
