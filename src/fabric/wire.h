// SPDX-License-Identifier: Apache-2.0
// What a process and the daemon of its server say to each other, over a Unix socket of whole messages.
//
// Memory goes through buffers that both have mapped; each connection has its own. A message is a Request, or
// a Reply with text behind it. Both sides are of one user on one machine, so numbers lie in them as they lie
// in memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace plat::fabric {

inline constexpr uint32_t kWireVersion = 3;
// As many as the caches near a processor hold: what a copy puts into a buffer is still there when it is sent.
inline constexpr uint64_t kBufferBytes = 256_KiB;
inline constexpr uint32_t kBuffers = 8;
static_assert(kBuffers < 32);  // a reply has a bit for each
inline constexpr uint64_t kLongestText = 32768;

// Join: a further connection of a session that asks, so that threads need not wait for each other's imports.
enum class Ask : uint32_t { Hello = 1, Import, Release, Write, Read, Status, Join };

// The version stays first, and a Reply keeps its length, so that two versions can tell each other so.
struct Request {
  uint32_t version = kWireVersion;
  Ask ask = Ask::Status;
  uint64_t session = 0;  // Hello, Join: which one the connection is for; Hello with 0 begins one
  uint64_t import = 0;
  uint64_t offset = 0;  // Write, Read: in the imported memory
  uint64_t size_bytes = 0;
  uint32_t buffer = 0;
  uint32_t deadline_ms = 0;
  uint32_t server = 0;  // Import: who has the memory,
  uint32_t padding = 0;
  uint64_t share = 0;   // what its ledger calls it,
  uint64_t secret = 0;  // and what proves that somebody gave us the handle
};

// Why something did not work. The numbers go between servers too.
enum class Cause : uint32_t {
  None = 0,
  NoServer = 1,     // the table names no such server
  Unreachable = 2,  // nobody answers there
  Untrusted = 3,    // keys do not fit
  Version = 4,      // another version of the daemon
  Unknown = 5,      // no live export has this number
  Full = 6,         // no memory, or no room
  Timeout = 7,
  Gone = 8,  // the server that had the memory, or this life of its daemon, is no more
  BadRequest = 9,
  KeyPrivate = 10,  // of the own daemon: others can read its key,
  KeyExpired = 11,  // its certificate is no longer good,
  KeyForeign = 12,  // or is of another authority, key or server
};

struct Reply {
  uint32_t version = kWireVersion;
  Cause cause = Cause::None;
  uint64_t session = 0;
  uint64_t import = 0;
  uint64_t size_bytes = 0;  // Import: of the memory
  uint32_t buffers = 0;     // Write, Read: a bit for each one that this answers for
  uint32_t attribute = 0;   // Import: as the exporter asked for it
  uint32_t location_type = 0;
  uint32_t location_id = 0;
};

// Of the daemon of a node.
inline std::string socket_path(const std::string& directory, const std::string& node) {
  return directory + "/" + node + "-fabric";
}

}  // namespace plat::fabric
