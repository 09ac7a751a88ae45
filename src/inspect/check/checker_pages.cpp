// SPDX-License-Identifier: Apache-2.0
// Blocks that pools hand out, exported or registered: these calls want the start of a page.
#include <fmt/format.h>

#include "acl/acl.h"
#include "base/text.h"
#include "base/units.h"
#include "inspect/check/checker.h"

namespace plat::inspect {

namespace {

constexpr uint64_t kSmallPage = 4_KiB;
constexpr uint64_t kHugePage = 2_MiB;
constexpr uint64_t kLargestSystemPage = 64_KiB;
// Memory that is only pinned is reached by nobody through pages.
constexpr uint64_t kReachedByPages = ACL_HOST_REG_MAPPED | ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY;

bool wants_page(const Event& event) {
  return event.op == Op::aclrtIpcMemGetExportKey || event.op == Op::aclrtHostRegister ||
         (event.op == Op::aclrtHostRegisterV2 && (event.options() & kReachedByPages) != 0);
}

}  // namespace

void Checker::check_page_start(const Event& event, const Breach* why) {
  if (!wants_page(event)) return;
  const uint64_t address = event.address();
  const bool exports = event.op == Op::aclrtIpcMemGetExportKey;
  // Which pages the memory has is known to the device alone; but none has smaller ones than these.
  const bool refused =
      why != nullptr && (why->rule->id == RuleId::IpcAligned || why->rule->id == RuleId::HostRegisterAligned);
  if (!refused && address % kSmallPage == 0) return;
  const uint64_t page = address % kSmallPage != 0 ? kSmallPage : exports ? kHugePage : kLargestSystemPage;
  for (const auto& [name, layer] : model_.layers()) {
    Ranges::Range range;
    if (!layer.regions.find(address, range)) continue;
    const Object& region = model_.object(range.value);
    const Object* const heap = region.parent != 0 ? &model_.object(region.parent) : nullptr;
    const std::string& pool = heap != nullptr && !heap->title().empty() ? heap->title() : name;
    Finding finding;
    finding.rule = RuleId::RulePageStart;
    finding.site = Site::of(event);
    finding.result = event.result;
    finding.address = address;
    finding.size = event.size();
    finding.detail =
        fmt::format("{:#x} is {} past a multiple of {}, in a block of {} that {} handed out", address,
                    format_bytes(address % page), format_bytes(page), format_bytes(region.size),
                    pool.empty() ? "a pool" : fmt::format("the pool '{}'", pool));
    finding.related.push_back(Related::of(exports ? "exported" : "registered", region));
    if (heap != nullptr) finding.related.push_back(Related::of("heap", *heap));
    add(std::move(finding));
    return;
  }
}

}  // namespace plat::inspect
