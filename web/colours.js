// SPDX-License-Identifier: Apache-2.0
// Colours of owners: 137.5 degrees from one to the next, so neighbours in the list never look alike.

function channel(n, hue, saturation, light) {
  const k = (n + hue / 30) % 12, a = saturation * Math.min(light, 1 - light);
  return Math.round(255 * (light - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
}

function parts(rank, light) {
  if (rank < 0) return [138, 143, 152];
  const hue = (rank * 137.508 + 205) % 360, saturation = rank < 40 ? 0.58 : 0.25;
  return [channel(0, hue, saturation, light), channel(8, hue, saturation, light), channel(4, hue, saturation, light)];
}

export function colourOf(rank) { return `rgb(${parts(rank, 0.54).join(" ")})`; }

// #rrggbb as a pixel of a picture.
export function pixelOf(colour) {
  const [red, green, blue] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

// The colours of owners as such. Blocks of one owner differ a little, so that one sees where one ends.
const kShades = [0.5, 0.56, 0.53, 0.6];
export function pixelsOf(owners) {
  const pixels = new Uint32Array(owners.length * 5);
  for (const owner of owners) {
    for (let shade = 0; shade < 5; ++shade) {
      const [red, green, blue] = parts(owner.rank, shade < 4 ? kShades[shade] : 0.3);  // the last one: its edge
      pixels[owner.number * 5 + shade] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    }
  }
  return pixels;
}
