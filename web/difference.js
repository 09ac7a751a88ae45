// Two runs side by side: what grew from the first to the one that is shown, by call stack.

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
  const other = app.traces[app.index === 0 ? 1 : 0], before = byStack(other), after = byStack(app.trace);
  const rows = [...new Set([...before.keys(), ...after.keys()])].map(key => {
    const was = before.get(key), is = after.get(key);
    return { frames: (is ?? was).frames, was: was?.bytes ?? 0, is: is?.bytes ?? 0, grown: (is?.bytes ?? 0) - (was?.bytes ?? 0) };
  }).filter(row => row.was !== row.is).sort((a, b) => Math.abs(b.grown) - Math.abs(a.grown));
  place.replaceChildren(make("p", { class: "said" }, `Device memory at the peaks: ${bytesText(other.process.peak)} in ${other.process.title}, ` +
    `${bytesText(app.trace.process.peak)} in this one.` + (rows.length === 0 ? " No call stack has more or less." : "")),
    rows.length === 0 ? "" : tableOf(["#Grown", "#Before", "#Now", "Allocated by"], rows.slice(0, kGrownShown).map(row => [
      make("span", row.grown > 0 ? { class: "bad" } : {}, (row.grown > 0 ? "+" : "") + bytesText(row.grown)), bytesText(row.was), bytesText(row.is),
      row.frames.length < 2 ? make("span", { class: "where" }, row.frames[0] ?? "")
        : make("details", {}, make("summary", { class: "where" }, row.frames[0]), make("ol", { start: 2 }, ...row.frames.slice(1).map(text => make("li", { class: "where" }, text))))])));
}
