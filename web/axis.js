// SPDX-License-Identifier: Apache-2.0
// The time that is shown: one axis for all pictures, moved by wheel, drag, touch and keys.

// Programs take their time before they allocate. Where that is most of a run, what comes after it is shown first.
export function beginOf(first, end) {
  const rest = end - first;
  return first > rest ? first - 0.05 * rest : 0;
}

export class Axis {
  constructor(end) {
    this.end = Math.max(end, 1);
    this.from = 0;
    this.to = this.end;
    this.moment = 0;
    this.listeners = [];
  }

  get span() { return this.to - this.from; }
  onChange(listener) { this.listeners.push(listener); }
  tell(what) { for (const listener of this.listeners) listener(what); }

  show(from, to) {
    const span = Math.min(Math.max(to - from, 16), this.end);
    this.from = Math.min(Math.max(from, 0), this.end - span);
    this.to = this.from + span;
    this.tell("window");
  }
  // Makes what is shown `factor` times as long; a place, as a part of the width, stays where it is.
  zoom(factor, place) {
    const at = this.from + place * this.span, span = this.span * factor;
    this.show(at - place * span, at + (1 - place) * span);
  }
  pan(parts) { this.show(this.from + parts * this.span, this.to + parts * this.span); }
  choose(ns) {
    this.moment = Math.min(Math.max(ns, 0), this.end);
    this.tell("moment");
  }
  // Brings a time into view, in the middle unless it is there already.
  reveal(ns) {
    if (ns < this.from || ns > this.to) this.show(ns - this.span / 2, ns + this.span / 2);
  }
  grow(end) {
    const all = this.from === 0 && this.to === this.end;
    this.end = Math.max(end, 1);
    if (all) this.to = this.end;
  }

  x(ns, width) { return (ns - this.from) / this.span * width; }
  ns(x, width) { return this.from + x / width * this.span; }

  // A picture whose width is the axis. `clicked(x, y)` for what was no drag.
  follow(canvas, clicked) {
    const fingers = new Map();
    let moved = 0, marked = null;
    const place = event => (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth;
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) / canvas.clientWidth);
      else this.zoom(Math.exp(event.deltaY * 0.0022), place(event));
    }, { passive: false });
    canvas.addEventListener("pointerdown", event => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, place(event));
      moved = 0;
      marked = event.shiftKey ? place(event) : null;
    });
    canvas.addEventListener("pointermove", event => {
      if (!fingers.has(event.pointerId)) return;
      const before = fingers.get(event.pointerId), now = place(event);
      moved += Math.abs(now - before) * canvas.clientWidth;
      fingers.set(event.pointerId, now);
      if (marked !== null) return this.tell({ marked: [marked, now] });
      if (fingers.size === 1) { if (moved > 3) this.pan(before - now); return; }
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      this.zoom(Math.min(Math.max(Math.abs(before - other) / Math.max(Math.abs(now - other), 0.01), 0.2), 5), other);
    });
    const ended = event => {
      if (!fingers.delete(event.pointerId)) return;
      if (marked !== null) {
        const [low, high] = [marked, place(event)].sort((a, b) => a - b), { from, span } = this;
        marked = null;
        this.tell({ marked: null });
        if (high - low > 0.005) this.show(from + low * span, from + high * span);
      } else if (event.type === "pointerup" && moved <= 3) {
        const box = canvas.getBoundingClientRect();
        clicked(event.clientX - box.left, event.clientY - box.top);
      }
    };
    canvas.addEventListener("pointerup", ended);
    canvas.addEventListener("pointercancel", ended);
  }
}
