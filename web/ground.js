// SPDX-License-Identifier: Apache-2.0
// A ground is what one picture is about: some of the lives of a trace, one stacked on the other by owner.

import { Series } from "./series.js";
import { kCounts, kDivided, kindOf, nameOf } from "./trace.js";

export const kGrounds = [
  { key: "device", title: "Device memory", holds: (trace, life) => (trace.life.flags[life] & kCounts) !== 0 },
  { key: "pools", title: "Blocks of pools", holds: (trace, life) => kindOf(trace, life) === "region" },
  { key: "host", title: "Host memory", holds: (trace, life) => ["host block", "host registration", "managed block", "mbuf"].includes(kindOf(trace, life)) },
  { key: "space", title: "Address space",
    holds: (trace, life) => ["reservation", "heap", "mapping", "import"].includes(kindOf(trace, life)) },
];

// Whose a life is, by what is asked: a number for each owner. Texts and stacks are far fewer than 2^20.
const kOwners = {
  stack: (life, i) => (life.bornStack[i] * 0x100000 + life.name[i]) * 32 + life.kind[i],
  pool: (life, i) => (life.pool[i] || life.name[i]) * 32 + life.kind[i],
  kind: (life, i) => life.kind[i],
  device: (life, i) => life.device[i],
  thread: (life, i) => life.bornThread[i],
};
export const kWays = { stack: "call stack", pool: "pool", kind: "kind", device: "device", thread: "thread" };

// Whether a life is on a ground depends on its kind and flags alone: 1 for those that are.
function sortsOf(trace, { holds }) {
  const isIn = new Uint8Array(256 * 32), seen = new Uint8Array(256 * 32);
  for (let life = 0; life < trace.lives; ++life) {
    const sort = trace.life.flags[life] * 32 + trace.life.kind[life];
    if (seen[sort]) continue;
    seen[sort] = 1;
    isIn[sort] = holds(trace, life) ? 1 : 0;
  }
  return isIn;
}

export function groundsOf(trace) { return kGrounds.filter(ground => sortsOf(trace, ground).includes(1)); }

export class Ground {
  constructor(trace, key, way) {
    this.trace = trace;
    this.key = key;
    this.way = way;
    const isIn = sortsOf(trace, kGrounds.find(ground => ground.key === key));
    this.inside = new Uint8Array(trace.lives);
    for (let life = 0; life < trace.lives; ++life) this.inside[life] = isIn[trace.life.flags[life] * 32 + trace.life.kind[life]];
    this.readSteps();
    this.findOwners(way);
    this.rank();
  }

  readSteps() {
    const { trace, inside } = this, all = trace.step.life, { born, died, size } = trace.life;
    let count = 0;
    for (let i = 0; i < all.length; ++i) count += inside[all[i] >>> 1];
    const times = new Float64Array(count), totals = new Float64Array(count);
    this.born = new Uint32Array(trace.lives).fill(0xffffffff);
    this.died = new Uint32Array(trace.lives).fill(count);
    let at = 0, total = 0;
    for (let i = 0; i < all.length; ++i) {
      const life = all[i] >>> 1, birth = all[i] & 1;
      if (!inside[life]) continue;
      times[at] = birth ? born[life] : died[life];
      total += birth ? size[life] : -size[life];
      totals[at] = total;
      (birth ? this.born : this.died)[life] = at++;
    }
    this.series = new Series(times, totals);
    this.peakStep = count > 0 ? this.series.highest(0, count) : -1;
    this.peak = count > 0 ? totals[this.peakStep] : 0;
  }

  get isEmpty() { return this.series.length === 0; }

  findOwners(way) {
    const { trace, inside } = this, keyOf = kOwners[way], numbers = new Map();
    this.owner = new Uint32Array(trace.lives);
    this.owners = [];
    for (let life = 0; life < trace.lives; ++life) {
      if (!inside[life]) continue;
      const key = keyOf(trace.life, life);
      let number = numbers.get(key);
      if (number === undefined) {
        numbers.set(key, number = this.owners.length);
        this.owners.push({ number, first: life, births: 0, bornBytes: 0, peakBytes: 0, peakCount: 0, endBytes: 0, rank: 0 });
      }
      const owner = this.owners[number], size = trace.life.size[life];
      this.owner[life] = number;
      ++owner.births;
      owner.bornBytes += size;
      if (this.born[life] <= this.peakStep && this.died[life] > this.peakStep) { owner.peakBytes += size; ++owner.peakCount; }
      if (this.died[life] === this.series.length) owner.endBytes += size;
    }
  }

  // The order of the stack: who had most at the peak is at the bottom, and of one owner the oldest.
  rank() {
    const { trace, inside, owners } = this;
    const order = [...owners].sort((a, b) => b.peakBytes - a.peakBytes || b.bornBytes - a.bornBytes || a.number - b.number);
    let start = 0;
    order.forEach((owner, rank) => { owner.rank = rank; owner.start = start; start += owner.births; });
    this.order = order;
    this.ranked = { life: new Uint32Array(start), born: new Uint32Array(start), died: new Uint32Array(start), size: new Float64Array(start) };
    const next = Uint32Array.from(owners, owner => owner.start);
    for (let life = 0; life < trace.lives; ++life) {
      if (!inside[life]) continue;
      const place = next[this.owner[life]]++;
      this.ranked.life[place] = life;
      this.ranked.born[place] = this.born[life];
      this.ranked.died[place] = this.died[life];
      this.ranked.size[place] = trace.life.size[life];
    }
  }

  ownerTitle(owner) {
    const { trace } = this, life = owner.first;
    if (this.way === "device") return `device ${trace.life.device[life]}`;
    if (this.way === "thread") return trace.texts[trace.threads[trace.life.bornThread[life]]] || "thread";
    if (this.way === "kind") return kindOf(trace, life);
    const pool = this.way === "pool" ? trace.texts[trace.life.pool[life]] : "", name = pool || nameOf(trace, life);
    const what = trace.life.flags[life] & kDivided ? `${kindOf(trace, life)} taken by a pool` : kindOf(trace, life);
    return what + (name ? ` of '${name}'` : "");
  }
}
