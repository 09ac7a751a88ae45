// SPDX-License-Identifier: Apache-2.0
// The data of one process: columns of numbers, as the command has packed them (src/inspect/view/pack.h).

const kTypes = { u8: Uint8Array, u16: Uint16Array, i16: Int16Array, u32: Uint32Array, f64: Float64Array };

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

async function unpack(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

export async function readTrace(base64) { return traceOf(await unpack(bytesOfBase64(base64))); }
export async function readPacked(packed) { return traceOf(await unpack(packed)); }

// A length, that much JSON, and columns behind it.
function traceOf(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const trace = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  for (const [name, column] of Object.entries(trace.columns)) {
    const [group, field] = name.split(".");
    (trace[group] ??= {})[field] = new kTypes[column.type](buffer, 8 + length + column.at, column.count);
  }
  trace.lives = trace.life.kind.length;
  return trace;
}

export const kCounts = 1;   // its bytes are device memory
export const kDivided = 2;  // a pool took it, to hand it out in regions

export function streamTitle(handle) { return handle === "0x0" ? "default stream" : `stream ${handle}`; }
export function kindOf(trace, life) { return trace.kinds[trace.life.kind[life]]; }
export function nameOf(trace, life) { return trace.texts[trace.life.name[life]]; }

// "region of 'my pool'"
export function titleOf(trace, life) {
  const label = trace.texts[trace.life.label[life]], name = nameOf(trace, life);
  return kindOf(trace, life) + (label ? ` '${label}'` : "") + (name ? ` of '${name}'` : "");
}

// The frames of a stack, innermost first.
export function framesOf(trace, stack) {
  const frames = [];
  for (let i = trace.stack.first[stack]; i < trace.stack.first[stack + 1]; ++i) frames.push(trace.frames[trace.stack.frames[i]]);
  return frames;
}

export function frameText(frame) {
  const [name, file, line] = frame;
  return line > 0 ? `${name} at ${file.slice(file.lastIndexOf("/") + 1)}:${line}` : name;
}

export function isAlive(trace, life, ns) {
  const { born, died } = trace.life;
  return born[life] <= ns && (died[life] < 0 || died[life] > ns);
}
