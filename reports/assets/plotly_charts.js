"use strict";
// Charts by plotly: zoom, pan and pictures to save. Tooltips and keys are the page's own, so that both drawers have them.

const css_colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const resolved = colour => colour.startsWith("var(") ? css_colour(colour.slice(4, -1)) : colour;
const with_alpha = (colour, alpha) => colour + Math.round(alpha * 255).toString(16).padStart(2, "0");
// Plotly reads a few tags in texts; names are no markup.
const plotly_text = text => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const on_axis = (axis, value) => axis.log ? Math.log10(value) : value;

function draw_plotly(place, chart, geometry) {
  const theme = {text: css_colour("--text"), soft: css_colour("--soft"), line: css_colour("--line"),
    panel: css_colour("--panel"), accent: css_colour("--accent"), back: css_colour("--back")};
  const {traces, targets} = plotly_traces(chart, theme, geometry);
  if (!place.plotted) place.replaceChildren();
  place.targets = targets;
  Plotly.react(place, traces, plotly_layout(chart, theme, geometry), {displaylogo: false, responsive: false,
    displayModeBar: geometry.width >= 600 && !printing && !chart.rows, scrollZoom: false, doubleClick: "reset",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: {format: "svg", filename: `attnprof-${place.id}`}});
  if (!place.plotted) wire_plotly(place);
  place.plotted = true;
  place.setAttribute("role", "group");
  place.setAttribute("tabindex", 0);
  place.setAttribute("aria-label", `${chart.label}. ${targets.length} marks; arrow keys move among them.`);
}

// 1 2 5 of each decade where there is room, else every decade, or every few.
function log_step(axis, most) {
  const decades = Math.log10(axis.high / axis.low);
  return decades * 3 <= most ? "D2" : Math.max(1, Math.ceil(decades / most));
}

function plotly_axis(axis, theme, most, extra) {
  const format = axis.format === "g" ? {tickformat: "~g"} : {tickformat: "~s"};
  return {type: axis.log ? "log" : "linear", range: [on_axis(axis, axis.low), on_axis(axis, axis.high)], autorange: false,
    ...format, ...axis.log ? {dtick: log_step(axis, most)} : axis.whole ? {dtick: Math.ceil((axis.high - axis.low) / most)} : {nticks: most},
    gridcolor: theme.line, zeroline: false, linecolor: theme.line, fixedrange: false,
    title: {text: plotly_text(axis.title), font: {size: 12, color: theme.soft}, standoff: 6}, ...extra};
}

function plotly_layout(chart, theme, geometry) {
  const margin = margins(chart);
  const layout = {width: geometry.width, height: geometry.height, margin: {l: margin.left, r: margin.right, t: margin.top, b: margin.bottom, pad: 0},
    paper_bgcolor: theme.panel, plot_bgcolor: theme.panel, font: {color: theme.text, size: 12, family: "system-ui, sans-serif"},
    showlegend: false, hovermode: "closest", hoverdistance: 14, barmode: "overlay", bargap: 0,
    dragmode: matchMedia("(pointer: coarse)").matches || geometry.width < 600 ? false : "zoom",
    xaxis: plotly_axis(chart.x, theme, Math.max(3, Math.floor(geometry.width / 62)), {})};
  layout.yaxis = chart.rows
    ? {range: [chart.rows.length - 0.38, -0.62], showticklabels: false, showgrid: false, zeroline: false, fixedrange: true}
    : plotly_axis(chart.y, theme, 12, {title: {text: ""}, ticklabelstandoff: 2});
  layout.annotations = [...plotly_labels(chart, theme, geometry), ...plotly_arrows(chart, theme)];
  return layout;
}

function plotly_labels(chart, theme, geometry) {
  const labels = labels_of(chart, geometry).map(label => ({
    x: on_axis(chart.x, label.x), y: on_axis(chart.y || {}, label.y), text: plotly_text(label.text), showarrow: false,
    textangle: label.angle, xanchor: label.beside ? (label.flips ? "right" : "left") : label.end ? "right" : label.angle ? "center" : "left",
    yanchor: label.beside ? "middle" : label.angle ? "middle" : "bottom", ...shift_of(label),
    font: {size: 12, color: label.soft ? theme.soft : theme.text}, bgcolor: label.soft ? undefined : with_alpha(theme.panel, 0.7), borderpad: 0}));
  if (chart.rows) chart.rows.forEach((name, row) => labels.push({xref: "paper", x: 0, y: row, text: plotly_text(shortened(name, geometry.right - geometry.left)),
    showarrow: false, xanchor: "left", yanchor: "bottom", yshift: bar_height / 2 - 1, font: {size: 12, color: theme.text}, borderpad: 0}));
  else labels.push({xref: "paper", yref: "paper", x: 0, y: 1, xshift: -54, yshift: 4, text: plotly_text(chart.y.title), showarrow: false,
    xanchor: "left", yanchor: "bottom", font: {size: 12, color: theme.soft}});
  return labels;
}
// A turned text is anchored by its middle: half its length along the line, and off it.
function shift_of(label) {
  if (label.beside) return {xshift: label.flips ? -6 : 6};
  if (!label.angle) return {yshift: 1};
  const half = text_width(label.text) / 2 + 3, turn = label.angle * Math.PI / 180;
  return {xshift: half * Math.cos(turn) + 9 * Math.sin(turn), yshift: -half * Math.sin(turn) + 9 * Math.cos(turn)};
}

const most_arrows = 150; // beyond, the links have no heads: each head is an element of its own
function plotly_arrows(chart, theme) {
  if (!chart.arrows || chart.arrows.length > most_arrows) return [];
  return chart.arrows.map(arrow => ({x: on_axis(chart.x, arrow.to[0]), y: on_axis(chart.y, arrow.to[1]),
    ax: on_axis(chart.x, arrow.from[0]), ay: on_axis(chart.y, arrow.from[1]), axref: "x", ayref: "y", xref: "x", yref: "y", text: "",
    showarrow: true, arrowhead: 2, arrowsize: 0.9, arrowwidth: 1.3, arrowcolor: theme.soft, standoff: 6, startstandoff: 6}));
}

function plotly_traces(chart, theme, geometry) {
  const traces = [], targets = [];
  const still = {type: "scatter", hoverinfo: "skip", mode: "lines"};
  for (const band of chart.bands || [])
    traces.push({...still, x: [...band.x, ...band.x.slice().reverse()], y: [...band.high, ...band.low.slice().reverse()],
      fill: "toself", fillcolor: with_alpha(theme.soft, 0.16), line: {width: 0}});
  for (const line of chart.lines || []) {
    const style = style_of(line);
    traces.push({...still, x: line.x, y: line.y, name: line.kind, line: {color: css_colour(style.colour), width: style.width,
      dash: style.dash ? style.dash.map(each => each + "px").join(",") : "solid"}});
  }
  if (chart.arrows && chart.arrows.length > most_arrows)
    traces.push({...still, x: chart.arrows.flatMap(({from, to}) => [from[0], to[0], null]),
      y: chart.arrows.flatMap(({from, to}) => [from[1], to[1], null]), line: {color: theme.soft, width: 1}});
  const chosen = (chart.marks || []).filter(mark => mark.selected);
  if (chosen.length > 0)
    traces.push({...still, mode: "markers", x: chosen.map(mark => mark.x), y: chosen.map(mark => mark.y), cliponaxis: false,
      marker: {symbol: "circle-open", size: chosen.map(mark => 2 * mark.radius + 12), color: theme.accent, line: {width: 2.5}}});
  if ((chart.bars || []).length > 0) traces.push(bars_trace(chart, theme, geometry, targets));
  if ((chart.marks || []).length > 0) traces.push(marks_trace(chart, theme, targets));
  return {traces, targets};
}

function marks_trace(chart, theme, targets) {
  const marks = chart.marks;
  marks.forEach(mark => targets.push({...mark, curve: "marks"}));
  const colours = Array.from({length: 8}, (_, at) => css_colour(`--s${at}`)); // asked once: each question styles the page
  const colour = mark => mark.series === null ? theme.soft : colours[mark.series % 8];
  return {type: "scatter", mode: "markers", name: "marks", hoverinfo: "none", cliponaxis: false,
    x: marks.map(mark => mark.x), y: marks.map(mark => mark.y),
    marker: {symbol: marks.map(mark => plotly_shape(mark.series) + (mark.filled ? "" : "-open") + (mark.unsteady ? "-dot" : "")),
      size: marks.map(mark => 2 * mark.radius + (mark.filled && mark.unsteady ? 3 : 0)), color: marks.map(colour), opacity: marks.map(mark => mark.dim ? 0.22 : 0.85),
      // The dot of an unsteady mark has the colour of its line.
      line: {color: marks.map(mark => mark.filled && mark.unsteady ? theme.panel : colour(mark)), width: 1.6}}};
}

function bars_trace(chart, theme, geometry, targets) {
  const bars = chart.bars, labelled = bar => bar.text && geometry.x(bar.to) - geometry.x(bar.from) > text_width(bar.text) + 8;
  bars.forEach(bar => targets.push({...bar, x: bar.to, y: bar.row, curve: "bars"}));
  return {type: "bar", orientation: "h", name: "bars", hoverinfo: "none", y: bars.map(bar => bar.row), x: bars.map(bar => bar.to - bar.from),
    base: bars.map(bar => bar.from), width: bar_height / row_height,
    marker: {color: bars.map(bar => resolved(bar.colour)), line: {color: theme.panel, width: 1}},
    text: bars.map(bar => labelled(bar) ? plotly_text(bar.text) : ""), textposition: "inside", insidetextanchor: "start", textangle: 0,
    insidetextfont: {color: theme.back, size: 12}};
}

function wire_plotly(place) {
  const target_of = event => {
    const point = event.points && event.points[0];
    const of_curve = point ? place.targets.filter(target => target.curve === point.data.name) : [];
    return of_curve[point ? point.pointIndex ?? point.pointNumber : 0];
  };
  place.on("plotly_hover", event => {
    const target = target_of(event);
    if (target && target.tip) show_tooltip(target.tip(), event.event.clientX, event.event.clientY);
  });
  place.on("plotly_unhover", hide_tooltip);
  place.on("plotly_click", event => {
    const target = target_of(event);
    if (target && target.select) target.select();
  });
  if (!place.has_keys) wire_keys(place);
  place.has_keys = true;
}

function wire_keys(place) {
  let at = -1;
  place.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[event.key], count = place.plotted ? place.targets.length : 0;
    if (step && count > 0) {
      at = at < 0 ? 0 : (at + step + count) % count;
      point_at(place, place.targets[at]);
      event.preventDefault();
    } else if ((event.key === "Enter" || event.key === " ") && place.targets[at] && place.targets[at].select) {
      place.targets[at].select();
      event.preventDefault();
    }
  });
  place.addEventListener("blur", () => { hide_tooltip(); at = -1; focus_ring.hidden = true; });
}

// Where the keys are: a ring over the chart, its tooltip, and its name for readers of the screen.
const focus_ring = html("div", {class: "focus-ring", "aria-hidden": "true"});
focus_ring.hidden = true;
function point_at(place, target) {
  const {xaxis, yaxis} = place._fullLayout, box = place.getBoundingClientRect();
  const x = xaxis._offset + xaxis.d2p(target.x), y = yaxis._offset + yaxis.d2p(target.y);
  place.append(focus_ring);
  focus_ring.style.left = x + "px";
  focus_ring.style.top = y + "px";
  focus_ring.hidden = false;
  by_id("spoken").textContent = target.label || "";
  if (target.tip) show_tooltip(target.tip(), box.left + x, box.top + y);
}
