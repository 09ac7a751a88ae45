// SPDX-License-Identifier: Apache-2.0
// Who held memory at the peak, and what came most often.

import { colourOf } from "./colours.js";
import { stackElement } from "./flame.js";
import { bytesText, countText, make, tableOf } from "./words.js";

const kOwnersShown = 100;

export function showOwners(place, app) {
  const { ground } = app, { trace } = ground;
  const rows = ground.order.slice(0, kOwnersShown), most = Math.max(...rows.map(owner => owner.peakBytes), 1);
  if (rows.length === 0) return place.replaceChildren(make("p", { class: "said" }, "Nobody."));
  place.replaceChildren(
    make("p", { class: "said" }, "The colours are those of the picture. Sorted by what they held at its peak."),
    tableOf(["Owner", "#At the peak", "#At the end", "#Blocks ever", "Allocated by"], rows.map(owner => [
      make("span", {}, make("span", { class: "chip", style: "background:" + colourOf(owner.rank) }), ground.ownerTitle(owner)),
      make("span", {}, bytesText(owner.peakBytes),
        make("div", { class: "bar", style: `width:${Math.max(1, 100 * owner.peakBytes / most)}%;background:${colourOf(owner.rank)}` })),
      bytesText(owner.endBytes), countText(owner.births),
      ground.way === "stack" ? stackElement(trace, trace.life.bornStack[owner.first], 3) : "several"])),
    ground.order.length > kOwnersShown ? make("p", { class: "said" }, `and ${ground.order.length - kOwnersShown} more`) : "");
}

export function showGrowth(place, app) {
  const { growth } = app.trace;
  if (growth.length === 0) return place.replaceChildren(make("p", { class: "said" }, "Nothing grew from mark to mark. Marks of mstx with the same text are compared."));
  place.replaceChildren(tableOf(["What", "Mark", "#Rises", "#First", "#Last", "Allocated by"], growth.map(line => [
    line.kind + (line.neverStops ? ", never stops" : ""), line.mark, `${line.rises} of ${line.marks}`,
    `${countText(line.firstCount)} (${bytesText(line.firstBytes)})`, `${countText(line.lastCount)} (${bytesText(line.lastBytes)})`,
    stackElement(app.trace, line.stack, 3)])));
}
