// SPDX-License-Identifier: Apache-2.0
// What else happened, on the same axis: how full pools were, ranges and marks of the program, work on streams.

import { cursor } from "./blocks.js";
import { fitText, hover, penFor } from "./canvas.js";
import { colourOf } from "./colours.js";
import { Series } from "./series.js";
import { kDivided, streamTitle } from "./trace.js";
import { bytesText, countText, styleOf, timeText } from "./words.js";

const kPoolHeight = 46, kRangeHeight = 15, kStreamHeight = 26, kMarkHeight = 16, kGap = 6;
const kRangesDeep = 8, kStreamsMost = 24, kPoolsMost = 8;

// What each pool had taken from the device, and what of that it had handed out.
function readPools(trace) {
  const pools = new Map(), all = trace.step.life, { born, died, size, pool, flags } = trace.life;
  const of = number => {
    if (!pools.has(number)) pools.set(number, { name: trace.texts[number], taken: [[], []], used: [[], []], sums: [0, 0] });
    return pools.get(number);
  };
  const region = trace.kinds.indexOf("region");
  for (let i = 0; i < all.length; ++i) {
    const life = all[i] >>> 1, birth = all[i] & 1;
    const isUsed = trace.life.kind[life] === region, isTaken = (flags[life] & kDivided) !== 0;
    if (pool[life] === 0 || !(isUsed || isTaken)) continue;
    const entry = of(pool[life]), which = isUsed ? 1 : 0, [times, totals] = isUsed ? entry.used : entry.taken;
    entry.sums[which] += birth ? size[life] : -size[life];
    times.push(birth ? born[life] : died[life]);
    totals.push(entry.sums[which]);
  }
  return [...pools.values()].map(({ name, taken, used }) => {
    const series = ([times, totals]) => new Series(Float64Array.from(times), Float64Array.from(totals));
    const made = { name, taken: series(taken), used: series(used) };
    made.most = Math.max(made.taken.totals.reduce((a, b) => Math.max(a, b), 0), made.used.totals.reduce((a, b) => Math.max(a, b), 0));
    return made;
  }).sort((a, b) => b.most - a.most).slice(0, kPoolsMost);
}

// Ranges of one thread nest, or nearly: each goes to the first row that is free.
function readRanges(trace) {
  const { from, to, text, thread } = trace.range, rows = [], list = [];
  for (let i = 0; i < from.length; ++i) {
    const end = to[i] < 0 ? Infinity : to[i];
    let row = 0;
    while (row < kRangesDeep - 1 && rows[row] > from[i]) ++row;
    rows[row] = Math.max(rows[row] || 0, end);
    list.push({ from: from[i], to: end, text: trace.texts[text[i]], thread: thread[i], row, open: to[i] < 0 });
  }
  return { list, rows: rows.length };
}

// The times of a stream's calls, side by side, and when the latest of those up to each ended: hundreds of thousands are gone through
// for a picture.
function readTimes(stream, { from, to }) {
  stream.items.sort((a, b) => from[a] - from[b]);  // waits were noted when they ended
  const { items } = stream, times = stream.times = { from: new Float64Array(items.length), to: new Float64Array(items.length), latest: new Float64Array(items.length) };
  let latest = -Infinity;
  for (let i = 0; i < items.length; ++i) {
    times.from[i] = from[items[i]];
    times.to[i] = Math.max(from[items[i]], to[items[i]]);
    times.latest[i] = latest = Math.max(latest, times.to[i]);
  }
}

// The first place at which numbers that rise are not below one.
function firstAt(numbers, number) {
  let low = 0, high = numbers.length;
  while (low < high) { const middle = (low + high) >> 1; if (numbers[middle] < number) low = middle + 1; else high = middle; }
  return low;
}

export class Timeline {
  constructor(canvas, app) {
    this.canvas = canvas;
    this.app = app;
    this.drawn = [];
    app.axis.follow(canvas, x => app.axis.choose(app.axis.ns(x, canvas.clientWidth)));
    hover(canvas, (x, y) => this.tipAt(x, y));
  }

  read(trace) {
    this.trace = trace;
    this.pools = readPools(trace);
    this.ranges = readRanges(trace);
    this.streams = trace.streams.map((handle, i) => ({ handle, items: [], number: i }));
    for (let i = 0; i < trace.work.from.length; ++i) this.streams[trace.work.stream[i]].items.push(i);
    this.streams = this.streams.filter(stream => stream.items.length > 0);
    for (const stream of this.streams) readTimes(stream, trace.work);
  }

  get height() {
    const pools = this.pools.length * (kPoolHeight + kGap), streams = Math.min(this.streams.length, kStreamsMost) * kStreamHeight;
    const marks = this.trace.mark.ns.length > 0 ? kMarkHeight : 0, ranges = this.ranges.rows * kRangeHeight;
    return pools + marks + ranges + (ranges || marks ? kGap : 0) + streams + 2;
  }

  draw() {
    const { canvas } = this, width = canvas.clientWidth, height = this.height;
    canvas.style.display = height > 2 ? "block" : "none";
    if (width === 0 || height <= 2) return;
    const pen = penFor(canvas, height);
    this.drawn = [];
    let y = 0;
    for (const pool of this.pools) { this.drawPool(pen, pool, y, width); y += kPoolHeight + kGap; }
    y = this.drawMarks(pen, y, width);
    y = this.drawRanges(pen, y, width);
    for (const stream of this.streams.slice(0, kStreamsMost)) { this.drawStream(pen, stream, y, width); y += kStreamHeight; }
    cursor(pen, this.app.axis, width, height);
  }

  drawPool(pen, pool, y, width) {
    const { axis } = this.app, most = Math.max(pool.most, 1), tall = kPoolHeight - 14, base = y + kPoolHeight;
    const area = (series, colour) => {
      const samples = series.columns(axis.from, axis.to, width);
      pen.fillStyle = colour;
      for (let x = 0; x < width; ++x) {
        if (samples[x] < 0) continue;
        const high = series.totals[samples[x]] / most * tall;
        pen.fillRect(x, base - high, 1, high);
      }
    };
    area(pool.taken, styleOf("--hole"));
    area(pool.used, colourOf(0));
    pen.fillStyle = styleOf("--text");
    const now = `${bytesText(pool.used.at(axis.moment))} of ${bytesText(pool.taken.at(axis.moment))} used`;
    pen.fillText(fitText(pen, `Pool '${pool.name}': ${now}`, width - 8), 4, y + 11);
    this.drawn.push({ top: y, bottom: base, tip: x => {
      const ns = axis.ns(x, width), used = pool.used.at(ns), taken = pool.taken.at(ns);
      return `pool '${pool.name}' at ${timeText(ns)}\n${bytesText(used)} handed out\n${bytesText(taken)} taken from the device\n${bytesText(Math.max(taken - used, 0))} idle`;
    } });
  }

  drawMarks(pen, y, width) {
    const { ns, text } = this.trace.mark, { axis } = this.app;
    if (ns.length === 0) return y;
    const near = [], places = [];  // all that are shown, and those that have a pixel of their own
    for (let i = 0; i < ns.length; ++i) {
      if (ns[i] < axis.from || ns[i] > axis.to) continue;
      near.push(i);
      const x = axis.x(ns[i], width);
      if (places.length === 0 || x - places.at(-1).x >= 1) places.push({ x, text: this.trace.texts[text[i]] });
    }
    pen.fillStyle = styleOf("--strong");
    places.forEach(({ x }, i) => {
      const isCrowded = (i > 0 && x - places[i - 1].x < 10) || (places[i + 1]?.x ?? Infinity) - x < 10;
      if (isCrowded) return pen.fillRect(x, y + 2, 1, 9);
      pen.beginPath(); pen.moveTo(x, y + 2); pen.lineTo(x - 4, y + 10); pen.lineTo(x + 4, y + 10); pen.fill();
    });
    pen.fillStyle = styleOf("--soft");
    places.forEach(({ x, text }, i) => {
      const room = Math.min((places[i + 1]?.x ?? width) - x - 14, 140);
      if (room > 0 && room >= Math.min(pen.measureText(text).width, 36)) pen.fillText(fitText(pen, text, room), x + 6, y + 11);
    });
    this.drawn.push({ top: y, bottom: y + kMarkHeight, tip: x => near.filter(i => Math.abs(axis.x(ns[i], width) - x) < 6).slice(0, 8)
      .map(i => `mark '${this.trace.texts[text[i]]}' at ${timeText(ns[i])}`).join("\n") });
    return y + kMarkHeight;
  }

  drawRanges(pen, y, width) {
    const { list, rows } = this.ranges, { axis } = this.app, painted = new Float64Array(rows).fill(-1), shown = [];
    const area = styleOf("--area"), strong = styleOf("--strong"), ink = styleOf("--text");
    for (const range of list) {
      if (range.to < axis.from || range.from > axis.to) continue;
      const left = Math.max(axis.x(range.from, width), -1), right = Math.max(Math.min(axis.x(range.to, width), width + 1), left + 1);
      // One that is no wider than a pixel waits for a pixel of its own.
      if (right <= painted[range.row] || (right - left <= 1 && left < painted[range.row])) continue;
      painted[range.row] = right;
      const top = y + range.row * kRangeHeight;
      pen.fillStyle = area;
      pen.fillRect(left, top, right - left, kRangeHeight - 1);
      pen.fillStyle = strong;
      pen.fillRect(left, top, 1, kRangeHeight - 1);
      const text = fitText(pen, range.text, right - Math.max(left, 0) - 6);
      if (text !== "") {
        pen.fillStyle = ink;
        pen.fillText(text, Math.max(left, 0) + 4, top + 11);
      }
      shown.push({ range, left, right, top });
    }
    this.drawn.push({ top: y, bottom: y + rows * kRangeHeight, tip: (x, at) => {
      const hit = shown.find(item => x >= item.left && x <= item.right && at >= item.top && at < item.top + kRangeHeight);
      return hit ? `range '${hit.range.text}'\nfrom ${timeText(hit.range.from)}${hit.range.open ? ", never ended" : `, ${timeText(hit.range.to - hit.range.from)} long`}` : "";
    } });
    return y + rows * kRangeHeight + (rows > 0 || this.trace.mark.ns.length > 0 ? kGap : 0);
  }

  drawStream(pen, stream, y, width) {
    const { axis } = this.app, { from, to, op } = this.trace.work, top = y + 12, tall = kStreamHeight - 14, middle = top + tall / 2;
    const title = streamTitle(stream.handle);
    pen.fillStyle = styleOf("--soft");
    const told = `${title} (tick: work is queued, bar: the host waits)`, isTold = stream === this.streams[0] && pen.measureText(told).width <= width - 8;
    pen.fillText(fitText(pen, isTold ? told : title, width - 8), 4, y + 10);
    pen.strokeStyle = styleOf("--line");
    pen.beginPath(); pen.moveTo(0, middle); pen.lineTo(width, middle); pen.stroke();
    let last = -Infinity, count = 0;
    const wait = styleOf("--soft"), work = colourOf(stream.number + 1), { times } = stream, pixel = axis.span / width;
    for (let i = firstAt(times.latest, axis.from); i < times.from.length && times.from[i] <= axis.to; ++i) {
      const start = times.from[i], end = times.to[i];
      if (end < axis.from) continue;
      ++count;
      if (start - last < pixel && end - start < 1.5 * pixel) continue;
      last = start;
      const long = (end - start) / pixel;
      pen.fillStyle = long > 0 ? wait : work;  // what has a length is the host, waiting
      pen.fillRect(axis.x(start, width), top + (long > 0 ? 3 : 0), Math.max(long, 1.5), tall - (long > 0 ? 6 : 0));
    }
    this.drawn.push({ top: y, bottom: y + kStreamHeight, tip: x => {
      const near = stream.items.filter(i => axis.x(from[i], width) <= x + 3 && axis.x(Math.max(to[i], from[i]), width) >= x - 3);
      const names = near.slice(0, 6).map(i => `${this.trace.ops[op[i]]} at ${timeText(from[i])}${to[i] > from[i] ? `: the host waits ${timeText(to[i] - from[i])}` : ""}`);
      return [`${title}: ${countText(count)} calls shown; bars are waits of the host`, ...names, ...(near.length > 6 ? [`and ${near.length - 6} more`] : [])].join("\n");
    } });
  }

  tipAt(x, y) { return this.drawn.find(row => y >= row.top && y < row.bottom)?.tip(x, y) ?? ""; }
}
