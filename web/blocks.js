// SPDX-License-Identifier: Apache-2.0
// Blocks over time: what lived, stacked by owner.

import { hover, penFor } from "./canvas.js";
import { pixelOf, pixelsOf } from "./colours.js";
import { Picture } from "./picture.js";
import { framesOf, frameText, titleOf } from "./trace.js";
import { bytesText, roundStep, styleOf, tickText, timeText } from "./words.js";

const kRuler = 18;  // the line of times below
const kHead = 14;   // room above
const kManySteps = 20000;

export class Blocks {
  // app: { axis, ground, selected, select(life) }
  constructor(canvas, app) {
    this.canvas = canvas;
    this.app = app;
    this.marked = null;
    this.paper = document.createElement("canvas");
    app.axis.follow(canvas, (x, y) => this.clicked(x, y));
    app.axis.onChange(what => { if (what.marked !== undefined) { this.marked = what.marked; this.draw(); } });
    hover(canvas, (x, y) => this.tipAt(x, y));
  }

  get height() { return innerWidth < 700 ? 260 : Math.max(280, Math.min(460, innerHeight * 0.42)); }

  lifeAt(x, y) {
    return this.picture ? this.picture.liveAt(x, this.height - kRuler - y) : -1;
  }

  // Which block of a moment is how far up, when one moves with keys.
  neighbourOf(life, up) {
    const { picture } = this, x = Math.min(Math.max(Math.floor(this.app.axis.x(this.app.axis.moment, picture.width)), 0), picture.width - 1);
    const order = [...new Set(picture.lives.subarray(x * picture.height, (x + 1) * picture.height))].filter(one => one >= 0);
    const at = order.indexOf(life);
    return order[at < 0 ? 0 : Math.min(Math.max(at + up, 0), order.length - 1)] ?? -1;
  }

  clicked(x, y) {
    this.app.axis.choose(this.momentAt(x));
    this.app.select(this.lifeAt(x, y));
  }

  // A click means what it shows: the moment of the column, which is the highest in its time.
  momentAt(x) {
    const { picture, app } = this, column = picture ? Math.floor(x / picture.grain) : 0, step = picture?.samples?.[column] ?? -1;
    return step < 0 ? app.axis.ns(x, this.canvas.clientWidth) : Math.max(app.ground.series.times[step], app.axis.ns(column, picture.width));
  }

  tipAt(x, y) {
    const { axis, ground } = this.app, ns = this.momentAt(x), life = this.lifeAt(x, y), { trace } = ground;
    const lines = [`${timeText(ns)}: ${bytesText(ground.series.at(ns))} in all`];
    if (life >= 0) {
      lines.push(`${bytesText(trace.life.size[life])}, ${titleOf(trace, life)}`);
      lines.push(...framesOf(trace, trace.life.bornStack[life]).slice(0, 3).map(frameText));
    }
    return axis.span > 0 ? lines.join("\n") : "";
  }

  draw() {
    const { canvas, app } = this, { axis, ground } = app, height = this.height, width = canvas.clientWidth;
    if (width === 0) return;
    const pen = penFor(canvas, height), tall = height - kRuler;
    // Where thousands of blocks come and go in a column, one of them is less than a pixel anyway.
    const { series } = ground, grain = series.until(axis.to) - series.before(axis.from) > kManySteps ? 2 : 1, shape = `${width} ${tall} ${grain}`;
    if (this.shape !== shape) { this.picture = new Picture(width, tall - kHead, grain); this.shape = shape; }
    const { picture } = this;
    if (ground.isEmpty) {
      picture.lives.fill(-1);
      pen.fillStyle = styleOf("--soft");
      pen.fillText("Nothing of this kind lived in this run.", 12, 40);
      return;
    }
    picture.draw(ground, axis.from, axis.to);
    this.paint(pen, tall);
    this.rule(pen, width, height, tall);
  }

  paint(pen, tall) {
    const { picture, app } = this, { ground } = app, { width, height: down, grain } = picture;
    if (this.paintedFor !== ground) { this.pixels = pixelsOf(ground.owners); this.paintedFor = ground; }
    this.paper.width = width;
    this.paper.height = down;
    const paper = this.paper.getContext("2d"), image = paper.createImageData(width, down), out = new Uint32Array(image.data.buffer);
    const { lives } = picture, { pixels } = this, { owner } = ground;
    // The chosen one has the colour of letters: no owner has it, and it is seen on either ground.
    const ink = pixelOf(styleOf("--text")), rim = pixelOf(styleOf("--ground"));
    for (let x = 0; x < width; ++x) {
      for (let row = 0; row < down;) {
        const life = lives[x * down + row];
        if (life < 0) break;  // nothing is above nothing
        let end = row + 1;
        while (end < down && lives[x * down + end] === life) ++end;
        const base = owner[life] * 5, chosen = life === app.selected;
        const colour = chosen ? ink : pixels[base + (Math.imul(life, 0x9e3779b1) >>> 30)], edge = chosen ? rim : pixels[base + 4];
        // A block that is high enough to be seen has an edge, above and where it begins.
        const high = (end - row) * grain >= 4, starts = high && x > 0 && lives[(x - 1) * down + row] !== life && lives[(x - 1) * down + end - 1] !== life;
        for (let y = row; y < end; ++y) out[(down - 1 - y) * width + x] = starts ? edge : colour;
        if (high) out[(down - end) * width + x] = edge;
        row = end;
      }
    }
    paper.putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.paper, 0, tall - down * grain, width * grain, down * grain);
  }

  rule(pen, width, height, tall) {
    const { axis } = this.app, { most } = this.picture, down = this.picture.height * this.picture.grain;
    pen.strokeStyle = styleOf("--grid");
    pen.fillStyle = styleOf("--soft");
    pen.lineWidth = 1;
    const step = roundStep(most, down / 60, true);
    const label = (text, x, y) => {
      const wide = pen.measureText(text).width;
      pen.fillStyle = styleOf("--shade");
      pen.fillRect(x - 2, y - 11, wide + 4, 14);
      pen.fillStyle = styleOf("--text");
      pen.fillText(text, x, y);
    };
    for (let bytes = step; bytes <= most; bytes += step) {
      const y = Math.round(tall - bytes / most * down) + 0.5;
      pen.beginPath(); pen.moveTo(0, y); pen.lineTo(width, y); pen.stroke();
      label(bytesText(bytes), 4, y - 2);
    }
    const apart = roundStep(axis.span, width / 110, false);
    pen.fillStyle = styleOf("--soft");
    for (let ns = Math.ceil(axis.from / apart) * apart; ns <= axis.to; ns += apart) {
      const x = Math.round(axis.x(ns, width)) + 0.5;
      pen.beginPath(); pen.moveTo(x, tall); pen.lineTo(x, tall + 4); pen.stroke();
      const text = tickText(ns, apart, axis.to);
      if (x + 3 + pen.measureText(text).width <= width) pen.fillText(text, x + 3, height - 4);
    }
    cursor(pen, axis, width, tall);
    if (this.marked) {
      pen.fillStyle = styleOf("--area");
      const [low, high] = [...this.marked].sort((a, b) => a - b);
      pen.fillRect(low * width, 0, (high - low) * width, tall);
    }
  }
}

// The chosen moment, on every picture of the axis.
export function cursor(pen, axis, width, height) {
  const x = Math.round(axis.x(axis.moment, width)) + 0.5;
  if (x < 0 || x > width) return;
  pen.save();
  pen.strokeStyle = styleOf("--strong");
  pen.lineWidth = 1.5;
  pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, height); pen.stroke();
  pen.restore();
}
