// SPDX-License-Identifier: Apache-2.0
// Threads that call anything with anything: handles that live, that lived once, that never were, and numbers.
// Every answer will do, but none may crash, hang, or lose memory: at the end, what is given back is all there
// was.
#include <acl/acl.h>
#include <sys/mman.h>

#include <array>
#include <mutex>
#include <thread>
#include <vector>

#include "soak/campaign.h"

namespace plat::soak {
namespace {

constexpr size_t kPage = 2 << 20;
constexpr size_t kHostBytes = 64 << 10;
constexpr size_t kForbiddenBytes = 4 * kPage;  // more than any offset that is added to it

// Values that threads hand to each other. Old ones stay until others take their place, so most are stale
// before long.
template <size_t Size>
class Bag {
 public:
  void put(std::mt19937_64& random, void* value) { values_[random() % Size] = value; }
  void* take(std::mt19937_64& random) const { return values_[random() % Size]; }

 private:
  std::array<std::atomic<void*>, Size> values_{};
};

struct Bags {
  Bag<24> reservations, handles, blocks, host_blocks;
  Bag<12> streams, events, contexts;
  std::array<std::atomic<uint64_t>, 8> numbers{};
  std::mutex key_mutex;
  std::array<std::array<char, 65>, 4> keys{};
};

class Caller {
 public:
  Caller(Campaign& campaign, Bags& bags, uint64_t seed, char* host, char* forbidden)
      : campaign_(campaign), bags_(bags), random_(seed), host_(host), forbidden_(forbidden) {}

  void run() {
    (void)aclrtSetDevice(0);
    while (campaign_.time_left()) {
      for (int i = 0; i < 100; ++i) call();
      campaign_.calls += 100;
    }
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }

  // Never memory of the program's own: nobody but the program knows where that ends.
  void* garbage() {
    switch (below(5)) {
      case 0:
        return nullptr;
      case 1:
        return reinterpret_cast<void*>(random_());
      case 2:
        return reinterpret_cast<void*>(below(5000));
      case 3:
        return forbidden_;
      default:
        return reinterpret_cast<void*>(0x100000000000 + (random_() % (1ull << 42) & ~0xfffull));
    }
  }
  template <size_t Size>
  void* any(const Bag<Size>& bag) {
    if (below(12) == 0) return garbage();
    char* const value = static_cast<char*>(bag.take(random_));
    return below(16) == 0 && value != nullptr ? value + below(kPage) : value;
  }
  void* device_address() {
    char* const start =
        static_cast<char*>(below(2) == 0 ? bags_.reservations.take(random_) : any(bags_.blocks));
    return start == nullptr ? start : start + (below(3) == 0 ? below(2 * kPage) : 0);
  }
  void* host_address() {
    if (below(10) == 0) return forbidden_;
    if (below(4) == 0) return any(bags_.host_blocks);
    return host_ + below(kHostBytes / 2);
  }
  size_t size() { return below(20) == 0 ? random_() : below(4) * kPage + (below(4) == 0 ? below(kPage) : 0); }
  size_t bytes() { return below(30) == 0 ? random_() : 1 + below(kHostBytes / 2); }
  aclrtStream stream() { return below(5) == 0 ? nullptr : any(bags_.streams); }

  // An address to write results to that is never somebody's memory: garbage outputs are the caller's own
  // crash, as in any C library.
  template <class T>
  T* output(T& value) {
    return below(40) == 0 ? nullptr : &value;
  }

  aclrtPhysicalMemProp prop() {
    aclrtPhysicalMemProp prop{};
    prop.memAttr = below(20) == 0  ? static_cast<aclrtMemAttr>(below(30))
                   : below(4) == 0 ? ACL_HBM_MEM_NORMAL
                                   : ACL_HBM_MEM_HUGE;
    prop.location.type = below(10) == 0 ? ACL_MEM_LOCATION_TYPE_HOST : ACL_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = static_cast<uint32_t>(below(8) == 0 ? below(4) : 0);
    return prop;
  }

  void call() {
    switch (below(10)) {
      case 0:
      case 1:
      case 2:
        return map_call();
      case 3:
      case 4:
        return block_call();
      case 5:
      case 6:
        return copy_call();
      case 7:
      case 8:
        return stream_call();
      default:
        return share_call();
    }
  }

  void map_call() {
    void* address = nullptr;
    aclrtDrvMemHandle handle = nullptr;
    switch (below(9)) {
      case 0:
        if (aclrtReserveMemAddress(output(address), size(), below(30) == 0,
                                   below(10) == 0 ? garbage() : nullptr, below(3)) == 0 &&
            address)
          bags_.reservations.put(random_, address);
        return;
      case 1:
        return void(aclrtReleaseMemAddress(any(bags_.reservations)));
      case 2: {
        const aclrtPhysicalMemProp wanted = prop();
        if (aclrtMallocPhysical(output(handle), size(), below(30) == 0 ? nullptr : &wanted, below(20) == 0) ==
                0 &&
            handle)
          bags_.handles.put(random_, handle);
        return;
      }
      case 3:
        return void(aclrtFreePhysical(any(bags_.handles)));
      case 4:
      case 5:
        return void(
            aclrtMapMem(any(bags_.reservations), size(), below(30) == 0, any(bags_.handles), below(20) == 0));
      case 6:
        return void(aclrtUnmapMem(any(bags_.reservations)));
      case 7: {
        aclrtMemAccessDesc access{};
        access.flags = static_cast<aclrtMemAccessFlags>(below(4));
        access.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
        access.location.id = static_cast<uint32_t>(below(3));
        return void(aclrtMemSetAccess(any(bags_.reservations), size(), &access, below(3)));
      }
      default:
        if (aclrtMemRetainAllocationHandle(device_address(), output(handle)) == 0 && handle)
          bags_.handles.put(random_, handle);
    }
  }

  void block_call() {
    void* block = nullptr;
    size_t free_bytes = 0, total_bytes = 0;
    switch (below(8)) {
      case 0:
      case 1:
        if (aclrtMalloc(output(block), below(3) == 0 ? size() : bytes(),
                        static_cast<aclrtMemMallocPolicy>(below(7))) == 0 &&
            block)
          bags_.blocks.put(random_, block);
        return;
      case 2:
      case 3:
        return void(aclrtFree(any(bags_.blocks)));
      case 4:
        if (aclrtMallocHost(output(block), below(20) == 0 ? random_() : bytes()) == 0 && block)
          bags_.host_blocks.put(random_, block);
        return;
      case 5:
        return void(aclrtFreeHost(any(bags_.host_blocks)));
      case 6:
        return void(
            aclrtGetMemInfo(static_cast<aclrtMemAttr>(below(8)), output(free_bytes), output(total_bytes)));
      default: {
        aclrtPtrAttributes attributes{};
        return void(
            aclrtPointerGetAttributes(below(2) == 0 ? device_address() : host_address(), output(attributes)));
      }
    }
  }

  void copy_call() {
    const size_t count = bytes();
    const size_t room = below(20) == 0 ? bytes() : count;
    switch (below(6)) {
      case 0:
        return void(aclrtMemcpy(device_address(), room, host_address(), count, ACL_MEMCPY_HOST_TO_DEVICE));
      case 1:
        return void(aclrtMemcpy(host_address(), room, device_address(), count, ACL_MEMCPY_DEVICE_TO_HOST));
      case 2:
        return void(
            aclrtMemcpy(device_address(), room, device_address(), count, ACL_MEMCPY_DEVICE_TO_DEVICE));
      case 3:
        return void(aclrtMemset(device_address(), room, static_cast<int>(below(256)), count));
      case 4:
        return void(aclrtMemcpyAsync(host_address(), room, device_address(), count, ACL_MEMCPY_DEVICE_TO_HOST,
                                     stream()));
      default:
        return void(aclrtMemcpyAsync(device_address(), room, device_address(), count,
                                     ACL_MEMCPY_DEVICE_TO_DEVICE, stream()));
    }
  }

  void stream_call() {
    aclrtStream made = nullptr;
    aclrtEvent event = nullptr;
    aclrtContext context = nullptr;
    aclrtStreamStatus status{};
    switch (below(12)) {
      case 0:
        if (aclrtCreateStream(output(made)) == 0 && made) bags_.streams.put(random_, made);
        return;
      case 1:
        return void(below(2) == 0 ? aclrtDestroyStream(any(bags_.streams))
                                  : aclrtDestroyStreamForce(any(bags_.streams)));
      case 2:
        return void(aclrtSynchronizeStreamWithTimeout(stream(), static_cast<int32_t>(1 + below(5))));
      case 3:
        return void(aclrtStreamQuery(stream(), output(status)));
      case 4:
        if (aclrtCreateEvent(output(event)) == 0 && event) bags_.events.put(random_, event);
        return;
      case 5:
        return void(aclrtDestroyEvent(any(bags_.events)));
      case 6:
        return void(aclrtRecordEvent(any(bags_.events), stream()));
      case 7: {
        aclrtEventRecordedStatus recorded{};
        return void(aclrtQueryEventStatus(any(bags_.events), output(recorded)));
      }
      // A stream that waits for an event which is never recorded would wait for ever; one with a deadline
      // gives up.
      case 8:
        return void(aclrtStreamWaitEventWithTimeout(any(bags_.streams), any(bags_.events), 1));
      case 9:
        if (aclrtCreateContext(output(context), static_cast<int32_t>(below(3))) == 0 && context)
          bags_.contexts.put(random_, context);
        return void(aclrtSetDevice(0));
      case 10:
        (void)aclrtDestroyContext(any(bags_.contexts));
        return void(aclrtSetDevice(0));
      default:
        (void)aclrtSetCurrentContext(any(bags_.contexts));
        return void(aclrtSetDevice(static_cast<int32_t>(below(20) == 0 ? below(4) : 0)));
    }
  }

  void share_call() {
    uint64_t number = 0;
    aclrtDrvMemHandle handle = nullptr;
    int32_t pids[3] = {static_cast<int32_t>(getpid()), 1, static_cast<int32_t>(below(100000))};
    std::atomic<uint64_t>& shared = bags_.numbers[below(8)];
    const uint64_t old = below(4) == 0 ? random_() : shared.load();
    switch (below(7)) {
      case 0:
        if (aclrtMemExportToShareableHandle(any(bags_.handles), ACL_MEM_HANDLE_TYPE_NONE, below(3),
                                            output(number)) == 0)
          shared = number;
        return;
      case 1:
        return void(aclrtMemSetPidToShareableHandle(old, below(20) == 0 ? nullptr : pids, below(4)));
      case 2:
        if (aclrtMemImportFromShareableHandle(old, static_cast<int32_t>(below(3)), output(handle)) == 0 &&
            handle)
          bags_.handles.put(random_, handle);
        return;
      default:
        return key_call(pids);
    }
  }

  void key_call(int32_t* pids) {
    std::array<char, 65> key{};
    {
      const std::lock_guard lock(bags_.key_mutex);
      key = bags_.keys[below(4)];
    }
    if (below(6) == 0) key[below(64)] = static_cast<char>(below(256));
    void* memory = nullptr;
    switch (below(4)) {
      case 0:
        if (aclrtIpcMemGetExportKey(any(bags_.blocks), bytes(), key.data(), key.size(), below(3)) == 0) {
          const std::lock_guard lock(bags_.key_mutex);
          bags_.keys[below(4)] = key;
        }
        return;
      case 1:
        return void(aclrtIpcMemSetImportPid(key.data(), pids, below(4)));
      case 2:
        if (aclrtIpcMemImportByKey(output(memory), key.data(), below(3)) == 0 && memory)
          bags_.blocks.put(random_, memory);
        return;
      default:
        return void(aclrtIpcMemClose(key.data()));
    }
  }

  Campaign& campaign_;
  Bags& bags_;
  std::mt19937_64 random_;
  char* const host_;
  char* const forbidden_;
};

void expect_everything_back(Campaign& campaign) {
  for (int32_t device = 0; device < 2; ++device) {
    (void)aclrtSetDevice(device);
    (void)aclrtResetDeviceForce(device);
  }
  for (int32_t device = 0; device < 2; ++device) {
    size_t free_bytes = 0, total_bytes = 1;
    (void)aclrtSetDevice(device);
    (void)aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes);
    if (free_bytes != total_bytes)
      campaign.violation(fmt::format("device {}: {} of {} bytes came back", device, free_bytes, total_bytes));
  }
}

int run(Campaign& campaign) {
  campaign.use_machine("128MiB");
  constexpr unsigned kThreads = 4;
  if (aclInit(nullptr) != 0) return campaign.violation(aclGetRecentErrMsg()), campaign.finish();
  char* const host = static_cast<char*>(
      mmap(nullptr, kThreads * kHostBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  char* const forbidden =
      static_cast<char*>(mmap(nullptr, kForbiddenBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Bags bags;
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < kThreads; ++number)
    threads.emplace_back([&, number] {
      Caller(campaign, bags, campaign.seed() * 1000 + number, host + number * kHostBytes, forbidden).run();
    });
  for (std::thread& thread : threads) thread.join();
  campaign.rounds = 1;
  expect_everything_back(campaign);
  return campaign.finish();
}

}  // namespace
}  // namespace plat::soak

int main(int argc, char** argv) {
  plat::soak::Campaign campaign("chaos", argc, argv);
  return plat::soak::run(campaign);
}
