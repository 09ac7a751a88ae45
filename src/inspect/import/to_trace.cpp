// SPDX-License-Identifier: Apache-2.0
// What was taken from the device becomes blocks of it, what a pool handed out becomes regions of the pool's
// domain.
#define MSTX_NO_IMPL
#include "plat/mstx_ext.h"

#include <algorithm>

#include "inspect/import/imported.h"
#include "inspect/trace/writer.h"

namespace plat::inspect {

namespace {

// Where frames without an address are said to be.
constexpr uint64_t kFrames = 0x1000;

uint64_t address_of(uint32_t frame) { return kFrames + uint64_t{frame} * 16; }

class Translator {
 public:
  Translator(const Imported& imported, const std::string& program)
      : imported_(imported), writer_(imported.pid, program) {}

  std::string run() {
    start_ns_ = imported_.steps.front().time_ns;
    writer_.event(Op::Imported, {}, {});
    write_stacks();
    const bool knows_device = std::any_of(imported_.lives.begin(), imported_.lives.end(),
                                          [](const ImportedLife& life) { return life.held == Held::Taken; });
    if (!knows_device) writer_.event(Op::MstxOnly, {}, {});
    for (const ImportedStep& step : imported_.steps) translate(step);
    return writer_.finish();
  }

 private:
  void write_stacks() {
    for (uint32_t i = 0; i < imported_.frames.size(); ++i) {
      const ImportedFrame& frame = imported_.frames[i];
      constexpr size_t kHalf = 500;
      writer_.event(Op::FrameName, {}, {address_of(i), frame.line},
                    frame.function.substr(0, kHalf) + '\n' + frame.file.substr(0, kHalf));
    }
    for (uint32_t number = 1; number < imported_.stacks.size(); ++number) {
      std::vector<uint64_t> frames;
      for (const uint32_t frame : imported_.stacks[number]) frames.push_back(address_of(frame));
      writer_.stack(number, frames);
    }
  }

  uint64_t domain_of(const std::string& pool, const TraceWriter::When& when) {
    const auto [found, is_new] = domains_.emplace(pool, domains_.size() + 1);
    if (is_new) writer_.event(Op::mstxDomainCreate, when, {found->second}, pool);
    return found->second;
  }

  void translate(const ImportedStep& step) {
    const TraceWriter::When when{step.time_ns - std::min(step.time_ns, start_ns_), step.thread, step.stack};
    if (step.what == ImportedStep::Mark)
      return writer_.event(Op::mstxMark, when, {0, 0}, imported_.marks[step.life]);
    const ImportedLife& life = imported_.lives[step.life];
    const auto device = static_cast<uint64_t>(life.device);
    const bool births = step.what == ImportedStep::Birth;
    const uint64_t number = step.life + 1;
    if (life.held == Held::Host && births)
      return writer_.event(Op::aclrtMallocHost, when, {life.address, life.size});
    if (life.held == Held::Host) return writer_.event(Op::aclrtFreeHost, when, {life.address});
    if (life.held == Held::Taken) {
      // Which device a thread speaks of.
      const auto [found, is_new] = devices_.emplace(step.thread, device);
      if (births && (is_new || found->second != device)) {
        writer_.event(Op::aclrtSetDevice, {when.time_ns, when.thread, 0}, {device});
        found->second = device;
      }
      return births ? writer_.event(Op::aclrtMalloc, when, {life.address, life.size, 0})
                    : writer_.event(Op::aclrtFree, when, {life.address});
    }
    const uint64_t domain = domain_of(life.pool, when);
    if (!births)
      return writer_.event(Op::mstxMemRegionsUnregister, when,
                           {domain, MSTX_MEM_REGION_REF_TYPE_HANDLE, number, 0});
    writer_.event(Op::mstxMemRegionsRegister, when,
                  {domain, 0, number, device, life.address, life.size, MSTX_MEM_TYPE_VIRTUAL_ADDRESS});
    if (!life.owner.empty())
      writer_.event(Op::platMstxMemRegionsName, when, {domain, MSTX_MEM_REGION_REF_TYPE_HANDLE, number, 0},
                    life.owner);
  }

  const Imported& imported_;
  TraceWriter writer_;
  std::map<std::string, uint64_t> domains_;
  std::map<uint32_t, uint64_t> devices_;  // by thread
  uint64_t start_ns_ = 0;
};

}  // namespace

std::string to_trace(const Imported& imported, const std::string& program) {
  return Translator(imported, program).run();
}

}  // namespace plat::inspect
