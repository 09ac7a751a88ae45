// SPDX-License-Identifier: Apache-2.0
// Everything about the block that was clicked.

import { stackElement } from "./flame.js";
import { isAlive, kDivided, kindOf, streamTitle, titleOf } from "./trace.js";
import { bytesText, countText, hexText, make, many, timeText } from "./words.js";

const kCopiesShown = 40;
const kTakesBack = /^acl(Finalize|rtResetDevice)/;
const kNear = 2 ** 37;  // what is farther away is no neighbour

// Copies and fills that touched the addresses of a life while it lived.
export function touchesOf(trace, life) {
  const { ns, address, size } = trace.touch, found = [];
  const start = trace.life.start[life], end = start + trace.life.size[life];
  const born = trace.life.born[life], died = trace.life.died[life] < 0 ? Infinity : trace.life.died[life];
  if (start === 0) return found;
  for (let i = 0; i < ns.length; ++i)
    if (ns[i] >= born && ns[i] <= died && address[i] < end && address[i] + size[i] > start) found.push(i);
  return found;
}

// Who lay before and behind it at a moment, among its like: regions with regions, memory with memory.
export function neighboursOf(trace, life, ns) {
  const layer = kind => (kind === "region" ? "region" : ["reservation", "heap"].includes(kind) ? "space" : kind.startsWith("host") ? "host" : "memory");
  const mine = layer(kindOf(trace, life)), { start, size } = trace.life, at = start[life];
  const layers = trace.kinds.map(layer);
  let before = -1, behind = -1;
  if (at === 0) return { before, behind };
  for (let other = 0; other < trace.lives; ++other) {
    if (other === life || layers[trace.life.kind[other]] !== mine || start[other] === 0 || !isAlive(trace, other, ns)) continue;
    if (start[other] < at && at - start[other] < kNear && (before < 0 || start[other] > start[before])) before = other;
    if (start[other] > at && start[other] - at < kNear && (behind < 0 || start[other] < start[behind])) behind = other;
  }
  return { before, behind, gapBefore: before < 0 ? 0 : at - start[before] - size[before], gapBehind: behind < 0 ? 0 : start[behind] - at - size[life] };
}

export function showDetails(place, app) {
  const { trace } = app.ground, life = app.selected;
  if (life < 0) {
    place.replaceChildren(make("p", { class: "said" }, "Click a block for its size, owner, allocation, free, copies and neighbours. ",
      "Wheel or + and - zoom, drag or arrows move, shift and drag zooms to a piece, 0 shows all, ? lists the keys."));
    return;
  }
  const { size, start, born, died, bornStack, diedStack, bornOp, diedOp, bornThread, diedThread, flags, parent, pool } = trace.life;
  const thread = index => trace.texts[trace.threads[index]] || "a thread";
  const rows = [];
  const row = (name, ...content) => rows.push(make("dt", {}, name), make("dd", {}, ...content));
  const link = other => make("button", { class: "link", onclick: () => app.jump(other) }, `${bytesText(size[other])}, ${titleOf(trace, other)}`);
  row("Size", `${bytesText(size[life])}${size[life] >= 1024 ? ` (${countText(size[life])} bytes)` : ""}`);
  row("Owner", titleOf(trace, life) + (trace.life.flags[life] & kDivided ? ", taken by a pool to hand out" : ""));
  if (start[life] !== 0) row("Address", `${hexText(start[life])} to ${hexText(start[life] + size[life])}, device ${trace.life.device[life]}`);
  row("Allocated", `${timeText(born[life])}, ${trace.ops[bornOp[life]]}, ${thread(bornThread[life])}`, stackElement(trace, bornStack[life]));
  if (died[life] < 0) row("Freed", make("span", { class: "bad" }, "never: it lived to the end"));
  else if (kTakesBack.test(trace.ops[diedOp[life]]))
    row("Freed", make("span", { class: "bad" }, `never: taken back by ${trace.ops[diedOp[life]]} at ${timeText(died[life])}`), stackElement(trace, diedStack[life]));
  else row("Freed", `${timeText(died[life])} (lived ${timeText(died[life] - born[life])}), ${trace.ops[diedOp[life]]}, ${thread(diedThread[life])}`, stackElement(trace, diedStack[life]));
  if (parent[life] > 0) row("Inside", link(parent[life] - 1));
  if (pool[life] > 0 && !trace.texts[trace.life.name[life]]) row("Pool", trace.texts[pool[life]]);
  row("Copies", ...copiesOf(trace, life));
  const near = neighboursOf(trace, life, Math.max(born[life], Math.min(app.axis.moment, died[life] < 0 ? Infinity : died[life] - 1)));
  if (near.before >= 0) row("Before it", near.gapBefore > 0 ? `${bytesText(near.gapBefore)} apart: ` : "touching: ", link(near.before));
  if (near.behind >= 0) row("Behind it", near.gapBehind > 0 ? `${bytesText(near.gapBehind)} apart: ` : "touching: ", link(near.behind));
  const found = trace.findings.map((finding, i) => ({ finding, i })).filter(({ finding }) => finding.lives.includes(life));
  for (const { finding, i } of found) row(finding.severity, make("button", { class: "link", onclick: () => app.showFinding(i) }, `${finding.rule}: ${finding.message}`));
  place.replaceChildren(
    make("p", {}, make("strong", {}, `${bytesText(size[life])} ${kindOf(trace, life)}`)),
    make("div", { class: "row" },
      make("button", { onclick: () => app.showLife(life) }, "Zoom to its life"),
      make("button", { onclick: () => app.select(-1), "aria-label": "Close the details" }, "Close")),
    make("dl", {}, ...rows));
}

function copiesOf(trace, life) {
  const touches = touchesOf(trace, life), { ns, write, size, op, stream, stack } = trace.touch;
  const side = wanted => touches.filter(i => write[i] === wanted), sum = list => list.reduce((total, i) => total + size[i], 0);
  const into = side(1), out = side(0);
  if (touches.length === 0) return ["none were recorded"];
  const text = `${many(into.length, "write")} (${bytesText(sum(into))}), ${many(out.length, "read")} (${bytesText(sum(out))})`;
  const items = touches.slice(0, kCopiesShown).map(i => make("li", {}, `${timeText(ns[i])}: ${write[i] ? "in" : "out"}, ${bytesText(size[i])}, ${trace.ops[op[i]]}` +
    (stream[i] > 0 ? ", " + streamTitle(trace.streams[stream[i] - 1]) : ""), " ", stackElement(trace, stack[i])));
  if (touches.length > kCopiesShown) items.push(make("li", {}, `and ${touches.length - kCopiesShown} more`));
  return [text, make("details", {}, make("summary", {}, "each"), make("ul", {}, ...items))];
}
