// SPDX-License-Identifier: Apache-2.0
// Canvases that fit their place, and what appears when one points at them.

import { make } from "./words.js";

// A pen for a canvas of this height in units of the page, cleared.
export function penFor(canvas, height) {
  const width = canvas.clientWidth, scale = devicePixelRatio || 1;
  canvas.style.height = height + "px";
  const across = Math.max(1, Math.round(width * scale)), down = Math.max(1, Math.round(height * scale));
  if (canvas.width !== across || canvas.height !== down) { canvas.width = across; canvas.height = down; }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  return pen;
}

// As much of a text as fits, or nothing.
export function fitText(pen, text, room) {
  if (room < 16) return "";
  if (pen.measureText(text).width <= room) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(text.slice(0, middle) + "…").width <= room) low = middle; else high = middle - 1;
  }
  return low > 1 ? text.slice(0, low) + "…" : "";
}

let tip = null;
export function hover(canvas, textAt) {
  tip ??= document.body.appendChild(make("div", { id: "tip", role: "status" }));
  const hide = () => { tip.style.display = "none"; };
  canvas.addEventListener("pointermove", event => {
    const box = canvas.getBoundingClientRect();
    const text = event.buttons === 0 ? textAt(event.clientX - box.left, event.clientY - box.top) : "";
    if (!text) return hide();
    tip.style.display = "block";
    tip.textContent = text;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    const below = event.clientY + 18;
    tip.style.top = (below + tip.offsetHeight > innerHeight ? Math.max(4, event.clientY - tip.offsetHeight - 10) : below) + "px";
  });
  canvas.addEventListener("pointerleave", hide);
  canvas.addEventListener("pointerdown", hide);
}
