// SPDX-License-Identifier: Apache-2.0
// Flame graphs: whose memory it is, by call stack, the outermost frame on top.

import { fitText, hover, penFor } from "./canvas.js";
import { frameText } from "./trace.js";
import { bytesText, countText, make, many, styleOf, tableOf, timeText } from "./words.js";

const kRow = 19, kDeepest = 60;

export const kSets = {
  peak: "live at the peak",
  moment: "live at the chosen moment",
  window: "allocated in the time shown and not freed in it",
  temporary: "temporary: freed before anything else came",
  all: "everything allocated in the time shown",
};

// Weights by stack.
export function weigh(ground, axis, set, byCount) {
  const { trace, series, inside } = ground, weights = new Float64Array(trace.stack.first.length - 1);
  const at = set === "peak" ? ground.peakStep : series.until(axis.moment) - 1;
  const first = series.before(axis.from), last = series.until(axis.to);  // steps that are shown
  let count = 0, bytes = 0;
  for (let life = 0; life < trace.lives; ++life) {
    if (!inside[life]) continue;
    const born = ground.born[life], died = ground.died[life];
    const isIn = set === "peak" || set === "moment" ? born <= at && died > at
      : born >= first && born < last && (set === "all" || (set === "window" ? died >= last : died === born + 1));
    if (!isIn) continue;
    const size = trace.life.size[life];
    weights[trace.life.bornStack[life]] += byCount ? 1 : size;
    ++count;
    bytes += size;
  }
  return { weights, count, bytes };
}

// One node for each frame below the same callers.
export function treeOf(trace, weights) {
  const root = { frame: -1, weight: 0, own: 0, children: new Map(), depth: 0 };
  for (let stack = 0; stack < weights.length; ++stack) {
    if (weights[stack] === 0) continue;
    root.weight += weights[stack];
    let node = root;
    for (let i = trace.stack.first[stack + 1] - 1; i >= trace.stack.first[stack]; --i) {
      const frame = trace.stack.frames[i];
      if (!node.children.has(frame)) node.children.set(frame, { frame, weight: 0, own: 0, children: new Map(), depth: node.depth + 1, parent: node });
      node = node.children.get(frame);
      node.weight += weights[stack];
    }
    node.own += weights[stack];
  }
  return root;
}

export class Flame {
  constructor(place, app) {
    this.app = app;
    this.set = "peak";
    this.byCount = false;
    this.focus = null;
    const choose = make("select", { "aria-label": "Which memory the flame graph shows", onchange: () => { this.set = choose.value; this.update(); } },
      ...Object.entries(kSets).map(([value, text]) => make("option", { value }, text)));
    const weight = make("select", { "aria-label": "What makes a bar wide", onchange: () => { this.byCount = weight.value === "count"; this.update(); } },
      make("option", { value: "bytes" }, "by bytes"), make("option", { value: "count" }, "by count"));
    this.back = make("button", { onclick: () => { this.focus = null; this.draw(); } }, "Whole graph");
    this.line = make("p", { class: "said" });
    this.canvas = make("canvas", { role: "img", tabindex: 0, "aria-label": "flame graph" });
    this.list = make("details", {}, make("summary", {}, "The same as a table"), this.rows = make("div"));
    this.list.addEventListener("toggle", () => this.tabulate());
    this.chooser = choose;
    place.append(make("div", { class: "row" }, choose, weight, this.back), this.line, this.canvas, this.list);
    this.canvas.addEventListener("click", event => {
      const box = this.canvas.getBoundingClientRect(), hit = this.barAt(event.clientX - box.left, event.clientY - box.top);
      if (hit) { this.focus = hit.node === this.root ? null : hit.node; this.draw(); }
    });
    this.canvas.addEventListener("keydown", event => { if (event.key === "Escape" && this.focus) { this.focus = null; this.draw(); event.stopPropagation(); } });
    hover(this.canvas, (x, y) => { const hit = this.barAt(x, y); return hit ? this.tip(hit.node) : ""; });
  }

  // Only what depends on it is made again.
  changed(what) {
    if (what === "moment" ? this.set === "moment" : ["window", "temporary", "all"].includes(this.set)) this.update();
  }

  update() {
    const { ground, axis } = this.app;
    const { weights, count, bytes } = weigh(ground, axis, this.set, this.byCount);
    this.weights = weights;
    this.root = treeOf(ground.trace, weights);
    this.focus = null;
    const when = { peak: ground.isEmpty ? "" : ` at ${timeText(ground.series.times[ground.peakStep])}`, moment: ` at ${timeText(axis.moment)}` }[this.set]
      ?? ` from ${timeText(axis.from)} to ${timeText(axis.to)}`;
    this.line.textContent = `${many(count, "block")}, ${bytesText(bytes)}, ${kSets[this.set].split(":")[0]}${when}.`;
    this.draw();
    this.tabulate();
  }

  say(weight) { return this.byCount ? many(weight, "block") : bytesText(weight); }
  tip(node) {
    const text = node === this.root ? "everything" : frameText(this.app.ground.trace.frames[node.frame]);
    const file = node === this.root ? "" : this.app.ground.trace.frames[node.frame][1];
    return `${text}\n${this.say(node.weight)}, ${(100 * node.weight / this.root.weight).toFixed(1)} % of all` + (file ? `\n${file}` : "");
  }
  barAt(x, y) { return this.bars?.find(bar => x >= bar.x && x < bar.x + bar.width && y >= bar.y && y < bar.y + kRow); }

  draw() {
    const { canvas, root } = this, width = canvas.clientWidth;
    if (!root || width === 0) return;
    this.back.disabled = !this.focus;
    this.bars = [];
    // The callers of what is in focus stand over it, whole.
    const callers = [];
    for (let node = this.focus; node; node = node.parent) callers.unshift(node);
    const shown = callers.length > 0 ? callers : [root];
    shown.forEach((node, i) => this.bars.push({ node, x: 0, y: i * kRow, width, pale: i < shown.length - 1 }));
    const place = (node, x, wide, depth) => {
      if (depth > kDeepest) return;
      let at = x;
      for (const child of [...node.children.values()].sort((a, b) => b.weight - a.weight)) {
        const part = wide * child.weight / node.weight;
        if (part < 0.4) break;
        this.bars.push({ node: child, x: at, y: depth * kRow, width: part });
        place(child, at, part, depth + 1);
        at += part;
      }
    };
    if (root.weight > 0) place(shown[shown.length - 1], 0, width, shown.length);
    const pen = penFor(canvas, Math.max(...this.bars.map(bar => bar.y)) + kRow + 2);
    const { frames } = this.app.ground.trace;
    for (const bar of this.bars) {
      const { node } = bar, text = node === root ? `all: ${this.say(root.weight)}` : frameText(frames[node.frame]);
      pen.fillStyle = flameColour(node === root ? "" : frames[node.frame][0], bar.pale || node === root);
      pen.fillRect(bar.x, bar.y, Math.max(bar.width - 0.7, 0.5), kRow - 1);
      pen.fillStyle = bar.pale || node === root ? styleOf("--text") : "#1c1408";
      pen.fillText(fitText(pen, text, bar.width - 8), bar.x + 4, bar.y + 13);
    }
  }

  tabulate() {
    if (!this.list.open || !this.root) return;
    const { trace } = this.app.ground;
    const stacks = [...this.weights.keys()].filter(stack => this.weights[stack] > 0).sort((a, b) => this.weights[b] - this.weights[a]).slice(0, 100);
    this.rows.replaceChildren(tableOf([this.byCount ? "#Blocks" : "#Bytes", "#Share", "Call stack"], stacks.map(stack => [
      this.byCount ? countText(this.weights[stack]) : bytesText(this.weights[stack]), (100 * this.weights[stack] / this.root.weight).toFixed(1) + " %",
      stackElement(trace, stack, 3)])));
  }
}

// The same function has the same colour in every graph.
function flameColour(name, isPale) {
  if (isPale) return styleOf("--hole");
  let hash = 0;
  for (let i = 0; i < name.length; ++i) hash = Math.imul(hash, 31) + name.charCodeAt(i) | 0;
  return `hsl(${12 + (hash >>> 0) % 42} ${68 + (hash >>> 8) % 20}% ${58 + (hash >>> 16) % 12}%)`;
}

// The first frames of a stack, and all of them when asked for: the innermost alone is often an allocator of the program's own.
export function stackElement(trace, stack, shown = 1) {
  const lines = [];
  for (let i = trace.stack.first[stack]; i < trace.stack.first[stack + 1]; ++i) lines.push(frameText(trace.frames[trace.stack.frames[i]]));
  return linesElement(lines, shown);
}
export function linesElement(lines, shown) {
  const first = lines.slice(0, shown).join(" ← ");
  if (lines.length <= shown) return make("span", { class: "where" }, first || "no call stack was recorded");
  return make("details", {}, make("summary", { class: "where" }, first), make("ol", {}, ...lines.map(line => make("li", { class: "where" }, line))));
}
