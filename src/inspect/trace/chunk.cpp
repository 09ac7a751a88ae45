// SPDX-License-Identifier: Apache-2.0
#include "inspect/trace/chunk.h"

#include "inspect/trace/format.h"

namespace plat::inspect {

bool ChunkDecoder::next(RawEvent& event) {
  if (damaged_ || bytes_.at_end()) return false;
  if (!decode(event) || !bytes_.ok()) {
    damaged_ = true;
    return false;
  }
  return true;
}

bool ChunkDecoder::decode(RawEvent& event) {
  const uint8_t op = bytes_.byte();
  if (op >= kOps.size()) return false;
  event.op = static_cast<Op>(op);
  event.flags = bytes_.byte();
  if (event.op == Op::Thread) {
    ticks_ = 0;
    last_ = {};
  }
  ticks_ += bytes_.varint();
  event.ticks = ticks_;
  event.result =
      (event.flags & kHasResult) != 0 ? static_cast<int>(static_cast<int64_t>(unzigzag(bytes_.varint()))) : 0;
  event.stack = (event.flags & kHasStack) != 0 ? static_cast<uint32_t>(bytes_.varint()) : 0;
  event.text = {};
  event.frames.clear();
  size_t count = 0;
  for (const Field field : info_of(event.op).fields) {
    const FieldKind kind = kind_of(field);
    if (kind == FieldKind::Text) {
      const uint64_t size = bytes_.varint();
      if (size > kTextMax) return false;
      event.text = bytes_.text(size);
    } else if (kind == FieldKind::Frames) {
      const uint64_t frames = bytes_.varint();
      if (frames > kFramesMax) return false;
      uint64_t last = 0;
      for (uint64_t i = 0; i < frames; ++i) event.frames.push_back(last += unzigzag(bytes_.varint()));
    } else if (kind == FieldKind::Number) {
      event.words[count++] = bytes_.varint();
    } else {
      uint64_t& last = last_[base_of(kind)];
      event.words[count++] = last += unzigzag(bytes_.varint());
    }
  }
  if (event.op == Op::Thread) thread_ = static_cast<uint32_t>(event.thread_id());
  event.thread = thread_;
  return true;
}

}  // namespace plat::inspect
