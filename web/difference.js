// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: what grew from the first to the one that is shown, or to the second, by call stack.

import { linesElement } from "./flame.js";
import { Ground } from "./ground.js";
import { framesOf, frameText } from "./trace.js";
import { bytesText, make, tableOf } from "./words.js";

const kGrownShown = 100;

// What lived at the peak of a run, by the functions and files of its stack.
function byStack(trace) {
  const ground = new Ground(trace, "device", "stack"), sums = new Map();
  for (const owner of ground.owners) {
    // Lines move when a program is worked on.
    const stack = framesOf(trace, trace.life.bornStack[owner.first]), frames = stack.map(frameText), key = stack.map(([name, file]) => `${name} ${file}`).join("\n");
    const sum = sums.get(key) ?? { frames, bytes: 0, count: 0 };
    sum.bytes += owner.peakBytes;
    sum.count += owner.peakCount;
    sums.set(key, sum);
  }
  return sums;
}

export function showDifference(place, app) {
  const first = app.traces[0], second = app.traces[Math.max(app.index, 1)], before = byStack(first), after = byStack(second);
  const rows = [...new Set([...before.keys(), ...after.keys()])].map(key => {
    const was = before.get(key), is = after.get(key);
    return { frames: (is ?? was).frames, was: was?.bytes ?? 0, is: is?.bytes ?? 0, grown: (is?.bytes ?? 0) - (was?.bytes ?? 0) };
  }).filter(row => row.was !== row.is).sort((a, b) => Math.abs(b.grown) - Math.abs(a.grown));
  place.replaceChildren(make("p", { class: "said" }, `Device memory at the peaks: ${bytesText(first.process.peak)} in ${first.process.title}, ` +
    `${bytesText(second.process.peak)} in ${second.process.title}.` + (rows.length === 0 ? " No call stack has more or less." : "")),
    rows.length === 0 ? "" : tableOf(["#Grown", "#Before", "#After", "Allocated by"], rows.slice(0, kGrownShown).map(row => [
      make("span", row.grown > 0 ? { class: "bad" } : {}, (row.grown > 0 ? "+" : "") + bytesText(row.grown)), bytesText(row.was), bytesText(row.is),
      linesElement(row.frames, 3)])));
}
