"use strict";
// Elements of the page and numbers for people. Knows nothing of the report.

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

const by_id = id => document.getElementById(id);
const ratio = (a, b) => a === null || b === null || !(b > 0) ? null : a / b;
const times_text = value => value === null || value === undefined ? "-" : `${plain(Number(value.toPrecision(3)))}\u00d7`;
