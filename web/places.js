// SPDX-License-Identifier: Apache-2.0
// The map of addresses at the chosen moment. Memory lies in few places of an enormous space: what is far apart is drawn as islands,
// each cut into lines like a text.

import { fitText, hover, penFor } from "./canvas.js";
import { colourOf } from "./colours.js";
import { isAlive, kDivided, kindOf, titleOf } from "./trace.js";
import { bytesText, hexText, make, many, styleOf } from "./words.js";

const kLine = 15, kTitle = 16, kIslandsMost = 40, kLinesMost = 60, kApart = 64 * 1024 * 1024;

// Addresses that are memory, at a moment: what lies there, and what a pool has handed out of it.
export function piecesAt(trace, ns) {
  const below = [], above = [], kinds = trace.kinds;
  for (let life = 0; life < trace.lives; ++life) {
    if (!isAlive(trace, life, ns)) continue;
    const kind = kinds[trace.life.kind[life]];
    if (kind === "region") above.push(life);
    else if (["device block", "pool block", "mapping", "import"].includes(kind)) below.push(life);
  }
  const byStart = (a, b) => trace.life.start[a] - trace.life.start[b];
  return { below: below.sort(byStart), above: above.sort(byStart) };
}

// Pieces that are near each other. `apart` grows until there are few enough.
export function islandsOf(trace, pieces, apart) {
  const { start, size } = trace.life, islands = [];
  for (const life of pieces) {
    const last = islands[islands.length - 1], end = start[life] + size[life];
    if (last && start[life] - last.end <= apart) { last.end = Math.max(last.end, end); last.lives.push(life); }
    else islands.push({ start: start[life], end, lives: [life] });
  }
  return islands;
}

// Bytes of a line: a power of two, so that lines begin at round addresses.
function perLine(islands) {
  const span = islands.reduce((total, island) => total + island.end - island.start, 0);
  return Math.max(4096, 2 ** Math.ceil(Math.log2(span / Math.max(kLinesMost - islands.length, 8))));
}

export class Places {
  constructor(place, app) {
    this.app = app;
    this.line = make("p", { class: "said" });
    this.canvas = make("canvas", { role: "img", "aria-label": "map of addresses at the chosen moment" });
    place.append(this.line, this.canvas);
    this.canvas.addEventListener("click", event => {
      const box = this.canvas.getBoundingClientRect(), hit = this.pieceAt(event.clientX - box.left, event.clientY - box.top);
      if (hit) app.select(hit.life);
    });
    hover(this.canvas, (x, y) => {
      const hit = this.pieceAt(x, y), { trace } = app.ground;
      return hit ? `${titleOf(trace, hit.life)}\n${bytesText(trace.life.size[hit.life])} at ${hexText(trace.life.start[hit.life])}` : "";
    });
  }

  changed(what) { if (what === "moment") this.update(); }

  update() {
    const { trace } = this.app.ground, { start, size } = trace.life;
    const { below, above } = piecesAt(trace, this.app.axis.moment);
    const all = [...below, ...above].sort((a, b) => start[a] - start[b]);
    let apart = kApart, islands = islandsOf(trace, all, apart);
    while (islands.length > kIslandsMost) islands = islandsOf(trace, all, apart *= 8);
    this.islands = islands;
    const sum = list => list.reduce((total, life) => total + size[life], 0);
    const span = islands.reduce((total, island) => total + island.end - island.start, 0);
    this.line.textContent = all.length === 0 ? "Nothing is mapped or allocated at this moment."
      : `${many(below.length, "piece")} of device memory, ${bytesText(sum(below))}` +
        (above.length > 0 ? `; inside, ${many(above.length, "block")} of pools, ${bytesText(sum(above))}` : "") +
        `. Drawn: ${bytesText(span)} of addresses in ${many(islands.length, "island")}; ${bytesText(perLine(islands))} a line; grey is memory of a pool that no block has, empty is no memory.`;
    this.draw();
  }

  draw() {
    const { canvas, islands } = this, width = canvas.clientWidth, { trace } = this.app.ground;
    if (!islands || width === 0) return;
    const wide = perLine(islands), lines = islands.map(island => Math.ceil((island.end - island.start) / wide));
    const pen = penFor(canvas, Math.max(20, lines.reduce((a, b) => a + b, 0) * kLine + islands.length * (kTitle + 4)));
    this.hits = [];
    let y = 0;
    islands.forEach((island, i) => {
      pen.fillStyle = styleOf("--soft");
      pen.fillText(fitText(pen, `${hexText(island.start)}, ${bytesText(island.end - island.start)}`, width), 0, y + 12);
      y += kTitle;
      const isRegion = life => kindOf(trace, life) === "region";
      for (const life of island.lives) if (!isRegion(life)) this.piece(pen, island, life, y, wide, width, false);
      for (const life of island.lives) if (isRegion(life)) this.piece(pen, island, life, y, wide, width, true);
      y += lines[i] * kLine + 4;
    });
  }

  // Its owner's colour, of whichever ground has it: blocks of pools are on another one than the memory around them.
  colourOf(life) {
    for (const key of [this.app.key, "device", "pools", "space"]) {
      const { inside, owner, owners } = this.app.groundOf(key);
      if (inside[life]) return colourOf(owners[owner[life]].rank);
    }
    return colourOf(-1);
  }

  // A piece may go over several lines.
  piece(pen, island, life, top, perLine, width, isRegion) {
    const { trace } = this.app.ground, { start, size } = trace.life;
    let at = start[life] - island.start;
    const end = at + size[life], isPool = !isRegion && trace.life.pool[life] !== 0 || (trace.life.flags[life] & kDivided) !== 0;
    pen.fillStyle = life === this.app.selected ? styleOf("--strong") : isPool ? styleOf("--hole") : this.colourOf(life);
    for (let line = Math.floor(at / perLine); at < end; ++line) {
      const until = Math.min(end, (line + 1) * perLine);
      const x = (at - line * perLine) / perLine * width, wide = Math.max((until - at) / perLine * width, 0.6), y = top + line * kLine;
      pen.fillRect(x, y + (isRegion ? 2 : 0), wide > 3 ? wide - 0.7 : wide, kLine - (isRegion ? 5 : 2));
      this.hits.push({ life, x, y, wide: Math.max(wide, 2) });
      at = until;
    }
  }

  // Regions were drawn last: they are on top.
  pieceAt(x, y) {
    for (let i = (this.hits?.length ?? 0) - 1; i >= 0; --i) {
      const hit = this.hits[i];
      if (x >= hit.x && x < hit.x + hit.wide && y >= hit.y && y < hit.y + kLine - 1) return hit;
    }
    return null;
  }
}
