// SPDX-License-Identifier: Apache-2.0
// Words, numbers and elements.

const kUnits = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytesText(count) {
  const sign = count < 0 ? "-" : "";
  let left = Math.abs(count), unit = 0;
  while (left >= 1024 && unit < kUnits.length - 1) { left /= 1024; ++unit; }
  const digits = unit === 0 || Number.isInteger(left) ? 0 : left < 10 ? 2 : left < 100 ? 1 : 0;
  return sign + left.toFixed(digits) + " " + (unit === 0 && left === 1 ? "byte" : kUnits[unit]);
}

export function timeText(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return ns.toFixed(0) + " ns";
  if (size < 1e6) return (ns / 1e3).toFixed(size < 1e5 ? 2 : 1) + " µs";
  return size < 1e9 ? (ns / 1e6).toFixed(size < 1e8 ? 2 : 1) + " ms" : (ns / 1e9).toFixed(3) + " s";
}

// The same for a line of an axis that ends at `end` and has lines this far apart: no more digits than it takes to tell them apart.
export function tickText(ns, apart, end) {
  const [unit, name] = end >= 1e9 ? [1e9, "s"] : end >= 1e6 ? [1e6, "ms"] : end >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  return (ns / unit).toFixed(Math.max(0, Math.ceil(-Math.log10(apart / unit) - 1e-9))) + " " + name;
}

export function countText(count) { return count.toLocaleString("en").replaceAll(",", "\u202f"); }
export function hexText(address) { return "0x" + address.toString(16); }
export function many(count, word) { return `${countText(count)} ${word}${count === 1 ? "" : "s"}`; }

// An element with attributes, listeners ("onclick") and children.
export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value;
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

export function tableOf(columns, rows) {
  const cell = (tag, column, content) => make(tag, column.startsWith("#") ? { class: "n" } : {}, content);
  return make("table", {},
    make("thead", {}, make("tr", {}, ...columns.map(column => cell("th", column, column.replace("#", ""))))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map((content, i) => cell("td", columns[i], content))))));
}

// Round distances between the lines of an axis: 1, 2 and 5 times a power of ten, or a power of two for bytes.
export function roundStep(span, lines, isBytes) {
  const rough = Math.max(span / Math.max(lines, 1), 1e-9);
  if (isBytes) return Math.max(1, 2 ** Math.ceil(Math.log2(rough)));
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find(factor => factor * power >= rough);
}

// Asked for thousands of times in a drawing, and the same until the next one.
const styles = new Map();
export function styleOf(name) {
  if (!styles.has(name)) styles.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return styles.get(name);
}
export function forgetStyles() { styles.clear(); }
