// SPDX-License-Identifier: Apache-2.0
// A disk that is full: the machine's files, and in half of the rounds the trace of a recorder, lie in a file
// system with room for a part of what they need. A process does ordinary work there, of which any call may
// fail, but with an error; a program that is recorded ends as it would have ended alone, and what there is of
// its trace can be read. Then there is room, and the whole device can be had and written.
//   soak_disk --seed N --seconds S
//   soak_disk --work SEED        the program that is recorded
#include <acl/acl.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <vector>

#include "soak/campaign.h"
#include "soak/ordinary_work.h"

namespace plat::soak {
namespace {

constexpr unsigned kChildSeconds = 120;
constexpr int kRounds = 40;
constexpr size_t kCapacity = 64 << 20;

int work(uint64_t seed) {
  alarm(kChildSeconds);
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 0;  // an error is an answer
  return OrdinaryWork(seed).run(kRounds) ? 0 : 20;
}

// Everything is there again: all of the device can be had, and takes what is written.
int use_all() {
  alarm(kChildSeconds);
  size_t free_bytes = 0, total_bytes = 1;
  void* all = nullptr;
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 30;
  (void)aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes);
  if (free_bytes != total_bytes || total_bytes != kCapacity) return 31;
  if (aclrtMalloc(&all, kCapacity - 64, ACL_MEM_MALLOC_HUGE_ONLY) != 0) return 32;
  return aclrtMemset(all, kCapacity - 64, 5, kCapacity - 64) == ACL_SUCCESS ? 0 : 33;
}

int run_in_child(const auto& body) {
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

int run_command(const std::vector<std::string>& words) {
  return run_in_child([&] {
    alarm(kChildSeconds);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    return 127;
  });
}

class Disk {
 public:
  Disk() {
    if (mkdtemp(path_) == nullptr) return;
    const bool may = unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) == 0 &&
                     mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    is_there_ = may && mount("none", path_, "tmpfs", 0, "mode=700,size=64k") == 0;
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  ~Disk() {
    if (is_there_) umount(path_);
    rmdir(path_);
  }

  bool is_there() const { return is_there_; }
  const char* path() const { return path_; }
  bool resize(uint64_t bytes) const {
    return mount("none", path_, "tmpfs", MS_REMOUNT, fmt::format("mode=700,size={}", bytes).c_str()) == 0;
  }
  void empty() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      std::filesystem::remove_all(entry.path());
  }

 private:
  char path_[24] = "/tmp/plat-soak-XXXXXX";
  bool is_there_ = false;
};

// The same work with a recorder; then a look at what it left.
int recorded(const Disk& disk, const char* self, uint64_t seed) {
  const std::string trace = fmt::format("{}/trace", disk.path());
  const int status =
      run_command({PLAT_COMMAND, "record", "-o", trace, "--", self, "--work", std::to_string(seed)});
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) return 0;  // there is no room for a first page
  if (status != 0 || !std::filesystem::exists(trace)) return status;
  const int looked = run_command({PLAT_COMMAND, "check", trace});
  // 1: what it left is said to be wrong, or an event that is lost was needed; 2: not a single page of it.
  return WIFEXITED(looked) && WEXITSTATUS(looked) <= 2 ? 0 : looked;
}

int run(Campaign& campaign, const char* self) {
  const Disk disk;
  if (!disk.is_there()) return campaign.skip("no file system can be mounted here");
  campaign.use_machine("64MiB", "1");
  setenv("PLAT_DIR", disk.path(), 1);
  std::mt19937_64 random(campaign.seed());
  while (campaign.time_left()) {
    const uint64_t bytes = (16 << 10) + (random() % (80ull << 20) >> random() % 13);
    const uint64_t seed = random();
    const bool records = random() % 2 == 0;
    if (!disk.resize(bytes)) campaign.violation("the disk cannot be resized");
    const int status = records ? recorded(disk, self, seed) : run_in_child([&] { return work(seed); });
    if (status != 0)
      campaign.violation(fmt::format("on a disk of {} bytes the process (seed {}{}) ended with status {:#x}",
                                     bytes, seed, records ? ", recorded" : "", status));
    if (!disk.resize(256 << 20)) campaign.violation("the disk cannot be resized");
    if (const int after = run_in_child(use_all); after != 0)
      campaign.violation(fmt::format(
          "with room again after {} bytes (seed {}) a process ended with status {:#x}", bytes, seed, after));
    disk.empty();
    campaign.calls += kRounds * OrdinaryWork::kCallsARound;
    ++campaign.rounds;
  }
  return campaign.finish();
}

}  // namespace
}  // namespace plat::soak

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--work") == 0)
    return plat::soak::work(strtoull(argv[2], nullptr, 10));
  plat::soak::Campaign campaign("disk", argc, argv);
  return plat::soak::run(campaign, std::filesystem::read_symlink("/proc/self/exe").c_str());
}
