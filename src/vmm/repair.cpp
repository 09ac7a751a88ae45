// SPDX-License-Identifier: Apache-2.0
// Broken memory: what is known of it, and making it whole.
#include <algorithm>
#include <cstring>

#include "rules/rules.h"
#include "vmm/vmm.h"

namespace plat::vmm {

std::vector<Va> Vmm::broken_pages(device::BankId bank) {
  const std::lock_guard lock(mutex_);
  std::vector<Va> pages;
  space_.broken().for_each_met([&](Va page) {
    if (space_.entry(page).bank() == bank) pages.push_back(page);
  });
  return pages;
}

Result<> Vmm::repair(device::BankId bank, std::span<const Va> pages) {
  const std::lock_guard lock(mutex_);
  std::vector<Va> known;
  space_.broken().for_each_met([&](Va page) {
    if (space_.entry(page).bank() == bank) known.push_back(page);
  });
  for (const Va page : pages)
    if (std::find(known.begin(), known.end(), page) == known.end())
      return fail(RuleId::RepairRange, "memUceInfoArray", "no broken page of device {} starts at {:#x}",
                  node_.logical_id(bank.value), page.value);
  device::Bank& memory = *node_.open_bank(bank);
  for (const Va page : pages) {
    const device::PageId number = space_.entry(page).page();
    // Nobody reads or writes it: a page that is broken cannot be pinned.
    if (memory.is_committed(number)) std::memset(memory.page_memory(number), 0, core::kPageBytes);
    space_.broken().remove(page, core::kPageBytes);
  }
  return {};
}

}  // namespace plat::vmm
