// SPDX-License-Identifier: Apache-2.0
// Random programs of streams, events, copies and fills, whose outcome is known: the same steps done one after
// the other on plain arrays. Steps that touch the same bytes are ordered by events and by nothing else, so a
// wait that comes too early shows as a wrong byte. Memory comes and goes meanwhile, blocks and mappings,
// while the streams are at work on the rest of it: what is given up has its contents, what is new has
// nobody's.
#include <acl/acl.h>

#include <array>
#include <deque>
#include <vector>

#include "soak/campaign.h"

namespace plat::soak {
namespace {

constexpr size_t kBuffers = 6;
constexpr size_t kBytes = 4096;
constexpr size_t kPage = 2 << 20;
constexpr size_t kStreams = 5;
constexpr int kSteps = 120;

class Program {
 public:
  Program(Campaign& campaign, uint64_t seed) : campaign_(campaign), random_(seed) {
    for (auto& stream : streams_) expect(aclrtCreateStream(&stream), "aclrtCreateStream");
    for (size_t i = 0; i < kBuffers; ++i) take(i);
  }

  void run() {
    for (int step = 0; step < kSteps; ++step) {
      const size_t stream = random_() % kStreams;
      const size_t target = random_() % kBuffers;
      const size_t source = random_() % kBuffers;
      const size_t count = 1 + random_() % (kBytes - 1);
      const size_t to = random_() % (kBytes - count);
      const size_t from = random_() % (kBytes - count);
      if (random_() % 3 == 0 || source == target)
        fill(stream, target, to, count, static_cast<int>(random_() % 256));
      else
        copy(stream, target, to, source, from, count);
      if (random_() % 20 == 0)
        expect(aclrtSynchronizeStream(streams_[random_() % kStreams]), "aclrtSynchronizeStream");
      if (random_() % 10 == 0) replace(random_() % kBuffers);
    }
    for (auto& stream : streams_) expect(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    for (size_t i = 0; i < kBuffers; ++i) compare(i);
    take_down();
  }

 private:
  // A step that was queued: on which stream, and the event behind it.
  struct Step {
    size_t stream;
    aclrtEvent event;
  };
  struct Touched {
    std::vector<Step> writers;  // the last one
    std::vector<Step> readers;  // since
  };

  void expect(aclError code, const char* what) {
    ++campaign_.calls;
    if (code != 0) campaign_.violation(fmt::format("{}: {} {}", what, code, aclGetRecentErrMsg()));
  }

  void wait_for(size_t stream, const std::vector<Step>& steps) {
    for (const Step& step : steps)
      if (step.stream != stream)
        expect(aclrtStreamWaitEvent(streams_[stream], step.event), "aclrtStreamWaitEvent");
  }

  Step note(size_t stream) {
    aclrtEvent event = nullptr;
    expect(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), "aclrtCreateEventExWithFlag");
    expect(aclrtRecordEvent(event, streams_[stream]), "aclrtRecordEvent");
    events_.push_back(event);
    return {stream, event};
  }

  void will_write(size_t stream, size_t buffer) {
    wait_for(stream, touched_[buffer].writers);
    wait_for(stream, touched_[buffer].readers);
  }
  void has_written(const Step& step, size_t buffer) { touched_[buffer] = {{step}, {}}; }

  void fill(size_t stream, size_t target, size_t to, size_t count, int value) {
    will_write(stream, target);
    expect(aclrtMemsetAsync(at(target, to), count, value, count, streams_[stream]), "aclrtMemsetAsync");
    std::memset(&model_[target][to], value, count);
    has_written(note(stream), target);
  }

  void copy(size_t stream, size_t target, size_t to, size_t source, size_t from, size_t count) {
    will_write(stream, target);
    wait_for(stream, touched_[source].writers);
    expect(aclrtMemcpyAsync(at(target, to), count, at(source, from), count, ACL_MEMCPY_DEVICE_TO_DEVICE,
                            streams_[stream]),
           "aclrtMemcpyAsync");
    std::memcpy(&model_[target][to], &model_[source][from], count);
    const Step step = note(stream);
    has_written(step, target);
    touched_[source].readers.push_back(step);
  }

  // A block, or pages that are mapped for it.
  void take(size_t buffer) {
    model_[buffer].fill(0);
    is_mapped_[buffer] = random_() % 2 == 0;
    if (!is_mapped_[buffer]) {
      expect(aclrtMalloc(&buffers_[buffer], kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
      expect(aclrtMemset(buffers_[buffer], kBytes, 0, kBytes), "aclrtMemset");
      return;
    }
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtDrvMemHandle handle = nullptr;
    expect(aclrtMallocPhysical(&handle, kPage, &prop, 0), "aclrtMallocPhysical");
    expect(aclrtReserveMemAddress(&buffers_[buffer], kPage, 0, nullptr, 0), "aclrtReserveMemAddress");
    expect(aclrtMapMem(buffers_[buffer], kPage, 0, handle, 0), "aclrtMapMem");
    expect(aclrtFreePhysical(handle), "aclrtFreePhysical");  // the mapping keeps it
    compare(buffer);                                         // pages have no contents of others
  }

  void give_up(size_t buffer) {
    if (!is_mapped_[buffer]) return expect(aclrtFree(buffers_[buffer]), "aclrtFree");
    expect(aclrtUnmapMem(buffers_[buffer]), "aclrtUnmapMem");
    expect(aclrtReleaseMemAddress(buffers_[buffer]), "aclrtReleaseMemAddress");
  }

  // The host waits for the steps that touch it, and for no others.
  void replace(size_t buffer) {
    for (const auto& steps : {touched_[buffer].writers, touched_[buffer].readers})
      for (const Step& step : steps) expect(aclrtSynchronizeEvent(step.event), "aclrtSynchronizeEvent");
    touched_[buffer] = {};
    compare(buffer);
    give_up(buffer);
    take(buffer);
  }

  void* at(size_t buffer, size_t offset) const { return static_cast<char*>(buffers_[buffer]) + offset; }

  void compare(size_t buffer) {
    std::array<uint8_t, kBytes> bytes{};
    expect(aclrtMemcpy(bytes.data(), kBytes, buffers_[buffer], kBytes, ACL_MEMCPY_DEVICE_TO_HOST),
           "aclrtMemcpy");
    for (size_t k = 0; k < kBytes; ++k)
      if (bytes[k] != model_[buffer][k])
        return campaign_.violation(
            fmt::format("buffer {} holds {} at {}, wanted {}", buffer, bytes[k], k, model_[buffer][k]));
  }

  void take_down() {
    for (size_t i = 0; i < kBuffers; ++i) give_up(i);
    for (auto& event : events_) expect(aclrtDestroyEvent(event), "aclrtDestroyEvent");
    for (auto& stream : streams_) expect(aclrtDestroyStream(stream), "aclrtDestroyStream");
  }

  Campaign& campaign_;
  std::mt19937_64 random_;
  std::array<aclrtStream, kStreams> streams_{};
  std::array<void*, kBuffers> buffers_{};
  std::array<bool, kBuffers> is_mapped_{};
  std::array<std::array<uint8_t, kBytes>, kBuffers> model_{};
  std::array<Touched, kBuffers> touched_;
  std::vector<aclrtEvent> events_;
};

int run(Campaign& campaign) {
  campaign.use_machine("32MiB", "1");
  // Threads on one half of the seeds, a repeatable interleaving on the other.
  if (campaign.seed() % 2 == 0) setenv("PLAT_STREAMS", fmt::format("seeded:{}", campaign.seed()).c_str(), 1);
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) campaign.violation(aclGetRecentErrMsg());
  for (uint64_t number = 0; campaign.time_left() && campaign.is_clean(); ++number) {
    Program(campaign, campaign.seed() * 1000003 + number).run();
    ++campaign.rounds;
  }
  return campaign.finish();
}

}  // namespace
}  // namespace plat::soak

int main(int argc, char** argv) {
  plat::soak::Campaign campaign("graph", argc, argv);
  return plat::soak::run(campaign);
}
