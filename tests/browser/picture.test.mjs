// SPDX-License-Identifier: Apache-2.0
// Random histories: what the picture shows in a column is what a plain list of live blocks gives at that moment.
import assert from "node:assert/strict";
import { test } from "node:test";
import { beginOf } from "../../web/axis.js";
import { Ground } from "../../web/ground.js";
import { Picture } from "../../web/picture.js";
import { Series } from "../../web/series.js";
import { weigh } from "../../web/flame.js";
import { tickText } from "../../web/words.js";

function random(seed) { return () => { seed = Math.imul(seed ^ (seed >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0; return ((seed ^ (seed >>> 13)) >>> 0) / 2 ** 32; }; }

function makeTrace(next, steps) {
  const life = { kind: [], flags: [], device: [], size: [], born: [], died: [], bornStack: [], name: [], pool: [], bornThread: [] }, order = [], alive = [];
  let ns = 0;
  for (let i = 0; i < steps; ++i) {
    ns += Math.floor(next() * 3) * 10;  // often several at one moment
    if (alive.length > 0 && next() < 0.48) {
      const [gone] = alive.splice(Math.floor(next() * alive.length), 1);
      life.died[gone] = ns;
      order.push(gone * 2);
    } else {
      const made = life.kind.length;
      for (const [name, value] of Object.entries({ kind: 0, flags: next() < 0.9 ? 1 : 0, device: 0, size: 1 + Math.floor(next() * 1000), born: ns, died: -1,
        bornStack: Math.floor(next() * 5), name: 0, pool: 0, bornThread: 0 })) life[name].push(value);
      alive.push(made);
      order.push(made * 2 + 1);
    }
  }
  return { lives: life.kind.length, life, step: { life: order }, kinds: ["device block"], texts: [""], stack: { first: [0, 0, 0, 0, 0, 0], frames: [] }, end: ns + 10 };
}

// The stack after a step, bottom first.
function stackAfter(trace, ground, step) {
  const there = [];
  for (let i = 0; i < trace.lives; ++i) if (ground.inside[i] && ground.born[i] <= step && ground.died[i] > step) there.push(i);
  return there.sort((a, b) => ground.owners[ground.owner[a]].rank - ground.owners[ground.owner[b]].rank || a - b);
}

test("the picture is what a plain list gives", () => {
  for (let seed = 1; seed <= 60; ++seed) {
    const next = random(seed), trace = makeTrace(next, 20 + Math.floor(next() * 400)), ground = new Ground(trace, "device", "stack");
    if (ground.isEmpty) continue;
    const from = next() * trace.end * 0.5, to = from + 1 + next() * (trace.end - from), picture = new Picture(40, 60, seed % 2 + 1);
    picture.draw(ground, from, to);
    for (let x = 0; x < picture.width; ++x) {
      const low = from + (to - from) * x / picture.width, high = from + (to - from) * (x + 1) / picture.width, step = picture.samples[x];
      // The highest of what holds at the beginning and of the steps in the column.
      let best = 0;
      ground.series.times.forEach((ns, i) => {
        const next = i + 1 < ground.series.length ? ground.series.times[i + 1] : Infinity;
        if ((ns >= low && ns < high) || (ns < low && next >= low)) best = Math.max(best, ground.series.totals[i]);
      });
      const shown = step < 0 ? 0 : ground.series.totals[step];
      assert.equal(shown, best, `seed ${seed}, column ${x}`);
      const expected = new Int32Array(picture.height).fill(-1), scale = picture.most / picture.height;
      let top = 0;
      for (const life of step < 0 ? [] : stackAfter(trace, ground, step)) {
        for (let row = 0; row < picture.height; ++row) { const middle = (row + 0.5) * scale; if (middle >= top && middle < top + trace.life.size[life]) expected[row] = life; }
        top += trace.life.size[life];
      }
      assert.deepEqual([...picture.lives.subarray(x * picture.height, (x + 1) * picture.height)], [...expected], `seed ${seed}, column ${x}`);
    }
  }
});

test("the highest of any window is found", () => {
  const next = random(7), totals = Float64Array.from({ length: 20000 }, () => Math.floor(next() * 1e6)), series = new Series(Float64Array.from(totals, (_, i) => i), totals);
  for (let i = 0; i < 2000; ++i) {
    const from = Math.floor(next() * 19999), end = from + 1 + Math.floor(next() * (20000 - from - 1));
    let best = from;
    for (let j = from; j < end; ++j) if (totals[j] > totals[best]) best = j;
    assert.equal(totals[series.highest(from, end)], totals[best]);
  }
});

test("flame graphs weigh what they say", () => {
  for (let seed = 1; seed <= 40; ++seed) {
    const next = random(seed * 31), trace = makeTrace(next, 200), ground = new Ground(trace, "device", "stack");
    const from = next() * trace.end, axis = { from, to: from + next() * (trace.end - from), moment: next() * trace.end };
    const { life } = trace, all = [...Array(trace.lives).keys()].filter(i => life.flags[i] === 1), sum = list => list.reduce((total, i) => total + life.size[i], 0);
    const inWindow = all.filter(i => life.born[i] >= axis.from && life.born[i] <= axis.to);
    assert.equal(weigh(ground, axis, "moment", false).bytes, sum(all.filter(i => life.born[i] <= axis.moment && (life.died[i] < 0 || life.died[i] > axis.moment))));
    assert.equal(weigh(ground, axis, "window", false).bytes, sum(inWindow.filter(i => life.died[i] < 0 || life.died[i] > axis.to)));
    assert.equal(weigh(ground, axis, "all", true).count, inWindow.length);
    assert.equal(weigh(ground, axis, "peak", false).bytes, ground.peak);
  }
});

test("lines of the axis are told apart with as few digits as it takes", () => {
  assert.equal(tickText(20e6, 10e6, 74e6), "20 ms");
  assert.equal(tickText(18.2e6, 0.2e6, 19.2e6), "18.2 ms");
  assert.equal(tickText(18.255e6, 1000, 18.26e6), "18.255 ms");
  assert.equal(tickText(10e9, 10e9, 58e9), "10 s");
  assert.equal(tickText(0, 5, 16), "0 ns");
});

test("a long way to the first block is left out at first, a short one is not", () => {
  assert.equal(beginOf(380, 400), 379);
  assert.equal(beginOf(100, 400), 0);
  assert.equal(beginOf(0, 400), 0);
  assert.equal(beginOf(400, 400), 400);
});
