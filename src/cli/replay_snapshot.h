// The allocation history of a PyTorch memory snapshot. A snapshot is a pickle; this reads the handful of
// opcodes that plain lists, dictionaries, strings and numbers need and refuses everything that could call or
// construct something.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace plat::replay {

using SnapshotVisitor = std::function<void(bool allocate, uint64_t address, uint64_t bytes, uint64_t stream)>;

bool read_snapshot(const std::string& pickle, const SnapshotVisitor& visit, std::string& why);
bool read_snapshot_json(const std::string& text, const SnapshotVisitor& visit, std::string& why);

}  // namespace plat::replay
