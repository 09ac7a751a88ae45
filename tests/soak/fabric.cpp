// SPDX-License-Identifier: Apache-2.0
// Three servers with a bad network before the first. A keeper there exports memory, workers of the two others
// import it, write to it and read it back; a squatter takes whatever memory becomes free. Everybody, daemons
// and network too, is killed or stopped at random moments. Every word says to which life of the memory it
// belongs: nobody ever sees a word of another life, nobody waits longer than the deadline, and when all
// programs are gone no memory is held.
#include <acl/acl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/units.h"
#include "fabric/cluster.h"
#include "fabric/proxy.h"
#include "soak/campaign.h"
#include "support/machine.h"

namespace plat::soak {
namespace {

using test::Cluster;
using test::Proxy;

constexpr uint32_t kServers = 3;
constexpr size_t kBlockBytes = 8_MiB;
constexpr size_t kRegions = 16;  // of a block; each life of a worker writes to one of its own
constexpr size_t kRegionBytes = kBlockBytes / kRegions;
constexpr size_t kRegionWords = kRegionBytes / 8;
constexpr uint64_t kDeadlineMs = 1500;
constexpr uint64_t kPatienceNs = uint64_t{40} * 1000000000;  // on a machine that does much else
constexpr uint64_t kSquatter = 0xFFFF;                       // a life that no keeper has

enum Party : size_t { Keeper, FirstWorker, SecondWorker, ThirdWorker, Squatter, Network, kParties };

// What all processes see.
struct Board {
  std::atomic<uint64_t> version;  // odd: the keeper is writing
  std::array<std::atomic<uint64_t>, sizeof(aclrtMemFabricHandle) / 8> handle;
  std::atomic<uint64_t> life;  // of the memory that it stands for
  struct Work {
    std::atomic<uint64_t> began_ns;  // the call that runs; 0: none
    std::atomic<uint64_t> copies, refused, broken;
  };
  std::array<Work, kParties> work;
  std::atomic<bool> is_wrong;
  char wrong[400];

  void complain(const std::string& text) {
    if (!is_wrong.exchange(true)) snprintf(wrong, sizeof wrong, "%s", text.c_str());
    pause();
  }
};

uint64_t word_of(uint64_t life, uint64_t writer, uint64_t number) {
  return life << 48 | (writer & 0xFFFF) << 32 | (number & 0xFFFFFFFF);
}

// A call of the library, watched by the controller.
template <class Call>
aclError timed(Board::Work& work, Call&& call) {
  work.began_ns = os::monotonic_nanoseconds();
  const aclError code = call();
  work.began_ns = 0;
  return code;
}

void must(Board& board, aclError code, const char* what) {
  if (code != ACL_SUCCESS) board.complain(fmt::format("{}: {} {}", what, code, aclGetRecentErrMsg()));
}

[[noreturn]] void keep(Board& board, uint64_t life) {
  must(board, aclrtSetDevice(0), "the keeper's device");
  std::vector<uint64_t> words(kBlockBytes / 8);
  for (;; ++life) {
    if (life >= kSquatter) life = 1;
    aclrtDrvMemHandle handle = nullptr;
    // The squatter, and servers that still hold earlier lives, may have all of it.
    while ((handle = test::allocate(kBlockBytes)) == nullptr) os::sleep_microseconds(1000);
    void* va = nullptr;
    must(board, aclrtReserveMemAddress(&va, kBlockBytes, 0, nullptr, 1), "the keeper's addresses");
    must(board, aclrtMapMem(va, kBlockBytes, 0, handle, 0), "the keeper's mapping");
    for (size_t i = 0; i < words.size(); ++i) words[i] = word_of(life, 0, i);
    must(board, aclrtMemcpy(va, kBlockBytes, words.data(), kBlockBytes, ACL_MEMCPY_HOST_TO_DEVICE),
         "the filling");
    aclrtMemFabricHandle fabric{};
    must(board, aclrtMemExportToShareableHandleV2(handle, 1, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric),
         "the export");
    std::array<uint64_t, sizeof fabric / 8> bytes{};
    memcpy(bytes.data(), &fabric, sizeof fabric);
    board.version |= 1;
    for (size_t i = 0; i < bytes.size(); ++i) board.handle[i] = bytes[i];
    board.life = life;
    board.version += 1;
    // Some time later it lets go, whoever may still use it.
    os::sleep_microseconds(static_cast<uint32_t>(100000 + os::random_number() % 900000));
    must(board, aclrtUnmapMem(va), "the keeper's unmapping");
    must(board, aclrtReleaseMemAddress(va), "the keeper's release");
    must(board, aclrtFreePhysical(handle), "the keeper's end");
  }
}

// Writes to a region of its own and reads that and others, until something breaks.
class Worker {
 public:
  Worker(Board& board, size_t party, uint64_t number, size_t region)
      : board_(board),
        work_(board.work[party]),
        number_(number),
        region_(region),
        random_(os::random_number()) {}

  [[noreturn]] void run() {
    must(board_, aclrtSetDevice(0), "the worker's device");
    for (;; os::sleep_microseconds(500)) {
      const uint64_t version = board_.version;
      std::array<uint64_t, sizeof(aclrtMemFabricHandle) / 8> bytes{};
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = board_.handle[i];
      const uint64_t life = board_.life;
      if (version == 0 || version % 2 != 0 || board_.version != version) continue;
      aclrtMemFabricHandle fabric;
      memcpy(&fabric, bytes.data(), sizeof fabric);
      aclrtDrvMemHandle handle = nullptr;
      const aclError code = timed(work_, [&] {
        return aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &handle);
      });
      if (code == ACL_SUCCESS) {
        use(handle, life);
      } else {
        if (code != 107017) must(board_, code, "an import");
        ++work_.refused;
      }
    }
  }

 private:
  void use(aclrtDrvMemHandle handle, uint64_t life) {
    void* va = nullptr;
    must(board_, aclrtReserveMemAddress(&va, kBlockBytes, 0, nullptr, 1), "the worker's addresses");
    must(board_, aclrtMapMem(va, kBlockBytes, 0, handle, 0), "the worker's mapping");
    for (uint64_t copies = random_() % 30; copies > 0; --copies)
      if (!write_and_read(static_cast<char*>(va), life)) break;
    must(board_, aclrtUnmapMem(va), "the worker's unmapping");
    must(board_, aclrtReleaseMemAddress(va), "the worker's release");
    must(board_, timed(work_, [&] { return aclrtFreePhysical(handle); }), "the worker's end");
  }

  bool write_and_read(char* va, uint64_t life) {
    const size_t words = 1 + random_() % (random_() % 4 == 0 ? kRegionWords : 64);
    const size_t first = random_() % (kRegionWords - words + 1);
    char* const own = va + region_ * kRegionBytes + first * 8;
    std::vector<uint64_t> sent(words), seen(words);
    for (uint64_t& word : sent) word = word_of(life, number_, ++written_);
    if (!copy(own, sent.data(), words * 8, ACL_MEMCPY_HOST_TO_DEVICE)) return false;
    if (!copy(seen.data(), own, words * 8, ACL_MEMCPY_DEVICE_TO_HOST)) return false;
    if (seen != sent) board_.complain(fmt::format("worker {}: not what it wrote", number_));
    char* const other = va + random_() % kRegions * kRegionBytes;
    if (!copy(seen.data(), other, words * 8, ACL_MEMCPY_DEVICE_TO_HOST)) return false;
    for (const uint64_t word : seen)
      if (word >> 48 != life)
        board_.complain(fmt::format("worker {} of life {} reads {:#x}", number_, life, word));
    return true;
  }

  bool copy(void* to, const void* from, size_t size, aclrtMemcpyKind kind) {
    const aclError code = timed(work_, [&] { return aclrtMemcpy(to, size, from, size, kind); });
    ++work_.copies;
    if (code == ACL_SUCCESS) return true;
    if (code != 507899) must(board_, code, "a copy");
    ++work_.broken;
    return false;
  }

  Board& board_;
  Board::Work& work_;
  const uint64_t number_;
  const size_t region_;
  uint64_t written_ = 0;
  std::mt19937_64 random_;
};

// Nothing of anybody else's may land in what it has.
[[noreturn]] void squat(Board& board) {
  must(board, aclrtSetDevice(0), "the squatter's device");
  std::vector<uint64_t> words(2_MiB / 8, word_of(kSquatter, 0, 0)), seen(words.size());
  for (;;) {
    struct Held {
      aclrtDrvMemHandle handle;
      void* va;
    };
    std::vector<Held> all;
    for (uint64_t count = 1 + os::random_number() % 12; count > 0; --count) {
      Held held{test::allocate(2_MiB), nullptr};
      if (held.handle == nullptr) break;
      must(board, aclrtReserveMemAddress(&held.va, 2_MiB, 0, nullptr, 1), "the squatter's addresses");
      must(board, aclrtMapMem(held.va, 2_MiB, 0, held.handle, 0), "the squatter's mapping");
      must(board, aclrtMemcpy(held.va, 2_MiB, words.data(), 2_MiB, ACL_MEMCPY_HOST_TO_DEVICE), "its filling");
      all.push_back(held);
    }
    os::sleep_microseconds(static_cast<uint32_t>(os::random_number() % 20000));
    for (const Held& held : all) {
      must(board, aclrtMemcpy(seen.data(), 2_MiB, held.va, 2_MiB, ACL_MEMCPY_DEVICE_TO_HOST), "its look");
      if (seen != words) board.complain("something landed in memory that went on");
      must(board, aclrtUnmapMem(held.va), "the squatter's unmapping");
      must(board, aclrtReleaseMemAddress(held.va), "the squatter's release");
      must(board, aclrtFreePhysical(held.handle), "the squatter's end");
    }
  }
}

class Play {
 public:
  explicit Play(Campaign& campaign) : campaign_(campaign), random_(campaign.seed()) {
    setenv("PLAT_FABRIC_DEADLINE", std::to_string(kDeadlineMs).c_str(), 1);
    board_ =
        new (mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Board{};
    for (uint32_t server = 1; server < kServers; ++server) cluster_.route(server, 0, test::kProxyHost);
    for (uint32_t server = 0; server < kServers; ++server) cluster_.start(server);
    for (size_t party = 0; party < kParties; ++party) start(party);
  }
  ~Play() {
    for (size_t party = 0; party < kParties; ++party) end(party);
  }

  void run() {
    await_first_copy();
    while (campaign_.time_left() && sound()) {
      disturb();
      look();
      ++campaign_.rounds;
      if (campaign_.rounds % 40 == 0) rest();
    }
    if (sound()) rest();
    for (const Board::Work& work : board_->work) {
      campaign_.calls += work.copies + work.refused;
      fprintf(stderr, "copies %llu, of them broken %llu; imports refused %llu\n",
              static_cast<unsigned long long>(work.copies), static_cast<unsigned long long>(work.broken),
              static_cast<unsigned long long>(work.refused));
    }
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  static uint32_t server_of(size_t party) {
    return party == FirstWorker || party == ThirdWorker ? 1 : party == SecondWorker ? 2 : 0;
  }

  void start(size_t party) {
    const uint64_t number = ++lives_;
    const std::vector<uint16_t> ports = party == Network ? cluster_.ports(0) : std::vector<uint16_t>{};
    const bool is_bad = below(2) == 0;
    const uint64_t seed = random_();
    board_->work[party].began_ns = 0;
    if (party >= FirstWorker && party <= ThirdWorker) regions_[party] = fresh_region();
    const pid_t child = fork();
    if (child != 0) {
      processes_[party] = child;
      return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (party == Network)
      Proxy::run(ports, is_bad ? Proxy::Manners{0.01, 30000, 0.002, 20000} : Proxy::Manners{}, seed);
    cluster_.join(server_of(party));
    if (party == Keeper) keep(*board_, board_->life + 1);
    if (party == Squatter) squat(*board_);
    Worker(*board_, party, number, regions_[party]).run();
  }

  // What a worker sent before it was killed may still be on its way to its region: the next ones have others.
  size_t fresh_region() {
    do region_ = (region_ + 1) % kRegions;
    while (std::count(regions_.begin() + FirstWorker, regions_.begin() + Squatter, region_) != 0);
    return region_;
  }

  void end(size_t party) {
    kill(processes_[party], SIGKILL);
    waitpid(processes_[party], nullptr, 0);
    ++campaign_.kills;
  }

  void disturb() {
    const auto some_time = [&] { os::sleep_microseconds(static_cast<uint32_t>(below(120000))); };
    some_time();
    const bool is_daemon = below(3) == 0;
    const size_t party = below(kParties);
    const auto server = static_cast<uint32_t>(below(kServers));
    const pid_t victim = is_daemon ? cluster_.daemon(server) : processes_[party];
    if (below(2) == 0) {
      // Now and then longer than the others believe it to be alive.
      const uint64_t stop_us = below(8) == 0 ? 6000000 : below(1500000);
      kill(victim, SIGSTOP);
      os::sleep_microseconds(static_cast<uint32_t>(stop_us));
      kill(victim, SIGCONT);
      return;
    }
    if (!is_daemon) {
      end(party);
      some_time();
      start(party);
      return;
    }
    cluster_.kill_daemon(server);
    ++campaign_.kills;
    some_time();
    cluster_.start(server);
    if (server != 0) return;
    end(Network);  // its data port is another one now
    start(Network);
  }

  bool sound() {
    if (board_->is_wrong) campaign_.violation(board_->wrong);
    return !board_->is_wrong && campaign_.is_clean();
  }

  // Nobody is in a call for longer than the deadline allows.
  void look() {
    for (size_t party = 0; party < kParties; ++party) {
      const uint64_t began = board_->work[party].began_ns, now = os::monotonic_nanoseconds();
      if (began != 0 && now > began && now - began > kPatienceNs)
        campaign_.violation(fmt::format("party {} is in a call for {} s", party, (now - began) / 1000000000));
    }
    for (size_t party = 0; party < kParties; ++party) {
      int status = 0;
      if (waitpid(processes_[party], &status, WNOHANG) == processes_[party])
        campaign_.violation(fmt::format("party {} ended by itself, with {:#x}", party, status));
    }
    for (uint32_t server = 0; server < kServers; ++server) {
      int status = 0;
      if (waitpid(cluster_.daemon(server), &status, WNOHANG) > 0)
        campaign_.violation(
            fmt::format("the daemon of server {} ended by itself, with {:#x}", server, status));
    }
  }

  // Servers take their time on a busy machine, and a turn in which nobody worked proves nothing.
  void await_first_copy() {
    const uint64_t last = os::monotonic_nanoseconds() + kPatienceNs;
    const auto has_copied = [](const Board::Work& work) { return work.copies != 0; };
    while (std::none_of(board_->work.begin(), board_->work.end(), has_copied) && sound() &&
           os::monotonic_nanoseconds() < last)
      os::sleep_microseconds(2000);
  }

  // All programs end; then nobody holds anything.
  void rest() {
    for (size_t party = 0; party < kParties; ++party) end(party);
    for (uint32_t server = 0; server < kServers; ++server) {
      const pid_t witness = fork();
      if (witness == 0) {
        cluster_.join(server);
        const uint64_t last = os::monotonic_nanoseconds() + kPatienceNs;
        if (aclrtSetDevice(0) != ACL_SUCCESS) _exit(1);
        while (test::used_bytes() != 0 && os::monotonic_nanoseconds() < last) os::sleep_microseconds(2000);
        _exit(test::used_bytes() == 0 ? 0 : 2);
      }
      int status = 0;
      waitpid(witness, &status, 0);
      if (status != 0)
        campaign_.violation(fmt::format("memory of server {} is still held: {:#x}", server, status));
    }
    for (size_t party = 0; party < kParties; ++party) start(party);
  }

  Campaign& campaign_;
  std::mt19937_64 random_;
  Cluster cluster_{kServers, "48MiB", Cluster::Daemons::AreStartedLater};
  Board* board_ = nullptr;
  std::array<pid_t, kParties> processes_{};
  std::array<size_t, kParties> regions_{};  // of the workers
  size_t region_ = 0;
  uint64_t lives_ = 0;
};

}  // namespace
}  // namespace plat::soak

int main(int argc, char** argv) {
  plat::soak::Campaign campaign("fabric", argc, argv);
  plat::soak::Play(campaign).run();
  return campaign.finish();
}
