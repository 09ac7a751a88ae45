// SPDX-License-Identifier: Apache-2.0
// Whether what is derived in a ledger agrees with its ground truth. Works on a live ledger under its lock,
// and on a copy.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "device/ledger_layout.h"

namespace plat::device {

struct LedgerTables {
  const LedgerHeader& header;
  std::span<const HandleRecord> handles;
  std::span<const PageRecord> pages;
  std::span<const uint64_t> page_bits;
  std::span<const uint64_t> handle_bits;
  // May be left out; then whitelists are not looked at.
  std::span<const WhitelistBlock> whitelist = {};
  std::span<const IpcRecord> ipc = {};
};

// Whether what a header says of its file can be true: sizes that follow from each other, texts that end.
bool is_consistent(const LedgerHeader& header);

// The first difference, or "".
std::string verify_tables(const LedgerTables& tables);

}  // namespace plat::device
