// SPDX-License-Identifier: Apache-2.0
// Which life each pixel of a stacked picture shows.
//
// A column shows the moment at which there was most in its time, so a peak is never lost, however far out one is. Only lives that
// are there at the moment of some column count; their sizes are kept in a tree of sums (Fenwick), which finds the one at a height.

export class Picture {
  // grain: how many units of the page a pixel is wide and high.
  constructor(width, height, grain) {
    this.grain = grain;
    this.width = Math.ceil(width / grain);
    this.height = Math.ceil(height / grain);
    this.lives = new Int32Array(this.width * this.height);  // column by column, from the bottom; -1: none
    this.most = 0;
  }

  // In units of the page.
  liveAt(left, bottom) {
    const x = Math.floor(left / this.grain), fromBottom = Math.floor(bottom / this.grain);
    if (x < 0 || fromBottom < 0 || x >= this.width || fromBottom >= this.height) return -1;
    return this.lives[x * this.height + fromBottom];
  }

  draw(ground, from, to) {
    const { width, height } = this, { series } = ground;
    const samples = series.columns(from, to, width);
    this.samples = samples;
    this.most = 0;
    for (const step of samples) if (step >= 0 && series.totals[step] > this.most) this.most = series.totals[step];
    this.lives.fill(-1);
    if (this.most === 0) return;
    const changes = collect(ground, samples);
    const sums = new SizeTree(changes.sizes, changes.first, changes.count);
    const scale = this.most / height;
    for (let x = 0; x < width; ++x) {
      let changed = x === 0;
      for (let i = changes.start[x]; i < changes.start[x + 1]; ++i, changed = true) {
        const item = changes.items[i] >>> 1;
        sums.add(item, changes.items[i] & 1 ? changes.sizes[item] : -changes.sizes[item]);
      }
      const column = x * height;
      if (!changed) { this.lives.copyWithin(column, column - height, column); continue; }
      const total = samples[x] >= 0 ? series.totals[samples[x]] : 0;
      for (let row = 0; row < height && (row + 0.5) * scale < total;) {
        const item = sums.find((row + 0.5) * scale);
        if (item >= changes.count) break;
        const end = sums.below + changes.sizes[item], life = changes.lives[item];
        do { this.lives[column + row++] = life; } while (row < height && (row + 0.5) * scale < end);
      }
    }
  }
}

// The lives that some column shows, in the order of the stack, and where each comes and goes.
function collect(ground, samples) {
  const width = samples.length, first = samples[0], last = samples[width - 1];
  // The first column that shows a step or a later one.
  const columnOf = new Uint16Array(last - first + 1);
  for (let x = 1; x < width; ++x) columnOf.fill(x, samples[x - 1] + 1 - first, samples[x] + 1 - first);
  const { ranked } = ground, count = ranked.life.length;
  const lives = new Uint32Array(count), comes = new Uint16Array(count), goes = new Uint16Array(count), sizes = new Float64Array(count);
  let found = 0;
  for (let i = 0; i < count; ++i) {
    const born = ranked.born[i], died = ranked.died[i];
    if (born > last || died <= first) continue;
    const come = born <= first ? 0 : columnOf[born - first], go = died > last ? width : columnOf[died - first];
    if (come >= go) continue;  // between two columns
    lives[found] = ranked.life[i];
    comes[found] = come;
    goes[found] = go;
    sizes[found++] = ranked.size[i];
  }
  // What is there in the first column, and the changes by column: twice the item, and one more if it comes.
  const present = new Uint8Array(found), start = new Uint32Array(width + 2);
  for (let i = 0; i < found; ++i) {
    if (comes[i] === 0) present[i] = 1; else ++start[comes[i] + 1];
    if (goes[i] < width) ++start[goes[i] + 1];
  }
  for (let x = 1; x < start.length; ++x) start[x] += start[x - 1];
  const items = new Uint32Array(start[width + 1]), next = start.slice();
  for (let i = 0; i < found; ++i) {
    if (comes[i] > 0) items[next[comes[i]]++] = 2 * i + 1;
    if (goes[i] < width) items[next[goes[i]]++] = 2 * i;
  }
  return { lives, sizes, count: found, first: present, start, items };
}

class SizeTree {
  constructor(sizes, present, count) {
    const sums = this.sums = new Float64Array(count + 1);
    for (let i = 1; i <= count; ++i) {
      if (present[i - 1]) sums[i] += sizes[i - 1];
      const up = i + (i & -i);
      if (up <= count) sums[up] += sums[i];
    }
    this.top = 1;
    while (this.top * 2 <= count) this.top *= 2;
    this.below = 0;
  }
  add(item, size) {
    const { sums } = this;
    for (let i = item + 1; i < sums.length; i += i & -i) sums[i] += size;
  }
  // The item at a height; `below` is then what is under it.
  find(height) {
    const { sums } = this;
    let place = 0;
    this.below = 0;
    for (let bit = this.top; bit > 0; bit >>= 1) {
      const next = place + bit;
      if (next < sums.length && this.below + sums[next] <= height) { place = next; this.below += sums[next]; }
    }
    return place;
  }
}
