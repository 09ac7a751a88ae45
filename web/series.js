// SPDX-License-Identifier: Apache-2.0
// A number of bytes over time, and where it was highest in any window: asked for every column of every picture.

const kFan = 64;

export class Series {
  // times rise; totals[i] holds from times[i] on. Before the first there is nothing.
  constructor(times, totals) {
    this.times = times;
    this.totals = totals;
    // Of each 64 the index of the highest, and of each 64 of these, and so on.
    this.levels = [];
    let below = null;
    for (let count = Math.ceil(totals.length / kFan); count > 1; count = Math.ceil(count / kFan)) {
      const level = new Uint32Array(count), size = below ? below.length : totals.length;
      for (let i = 0; i < count; ++i) {
        let best = below ? below[i * kFan] : i * kFan;
        for (let j = i * kFan, end = Math.min(j + kFan, size); j < end; ++j) {
          const index = below ? below[j] : j;
          if (totals[index] > totals[best]) best = index;
        }
        level[i] = best;
      }
      this.levels.push(level);
      below = level;
    }
  }

  get length() { return this.times.length; }

  // How many steps are at or before a time.
  until(ns) {
    let low = 0, high = this.times.length;
    while (low < high) { const middle = (low + high) >>> 1; if (this.times[middle] <= ns) low = middle + 1; else high = middle; }
    return low;
  }

  at(ns) { const count = this.until(ns); return count === 0 ? 0 : this.totals[count - 1]; }

  // The highest of the steps from..end-1, which are not none.
  highest(from, end) {
    const totals = this.totals;
    let best = from;
    const take = index => { if (totals[index] > totals[best]) best = index; };
    let level = -1, at = from, last = end;  // on a level: at..last-1 are left to look at
    for (;;) {
      const list = level < 0 ? null : this.levels[level], above = this.levels[level + 1];
      const index = i => (list ? list[i] : i);
      if (!above || last - at < 2 * kFan) {
        for (let i = at; i < last; ++i) take(index(i));
        return best;
      }
      while (at % kFan !== 0) take(index(at++));
      while (last % kFan !== 0) take(index(--last));
      at /= kFan;
      last /= kFan;
      ++level;
    }
  }

  // For each column of a window the step that shows it: where it is highest there, or what holds all along; -1: nothing yet.
  // Times repeat, and of one moment all steps count.
  columns(from, to, width) {
    const samples = new Int32Array(width), step = (to - from) / width;
    let low = this.before(from), high = 0;
    for (let x = 0; x < width; ++x, low = high) {
      high = x === width - 1 ? this.until(to) : this.before(from + (x + 1) * step);
      const holds = low - 1;  // what was there when the column began
      if (high === low) { samples[x] = holds; continue; }
      const best = this.highest(low, high);
      samples[x] = holds >= 0 && this.totals[holds] > this.totals[best] ? holds : best;
    }
    return samples;
  }

  // How many steps are before a time.
  before(ns) {
    let low = 0, high = this.times.length;
    while (low < high) { const middle = (low + high) >>> 1; if (this.times[middle] < ns) low = middle + 1; else high = middle; }
    return low;
  }
}
