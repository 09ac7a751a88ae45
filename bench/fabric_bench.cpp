// SPDX-License-Identifier: Apache-2.0
// Memory between servers, against a plain TCP stream between the same two processes in the same run; imports
// against fallocate; and what idle daemons take.
#include <netinet/tcp.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "base/units.h"
#include "fabric/cluster.h"

namespace plat::bench {
namespace {

constexpr size_t kLargest = 1_GiB;
constexpr int kPairs = 9;  // of a raw stream and copies, taken in turn: a busy machine slows them alike

void check(aclError code) {
  if (code == ACL_SUCCESS) return;
  std::fprintf(stderr, "%d: %s\n", code, aclGetRecentErrMsg());
  _exit(1);
}

double seconds_of(const std::function<void()>& work, int repeats) {
  std::vector<double> times;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const uint64_t begin = os::monotonic_nanoseconds();
    work();
    times.push_back(static_cast<double>(os::monotonic_nanoseconds() - begin) / 1e9);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void all(int socket, char* bytes, size_t size, bool is_write) {
  while (size > 0) {
    const ssize_t done = is_write ? write(socket, bytes, size) : read(socket, bytes, size);
    if (done <= 0) _exit(1);
    bytes += done;
    size -= static_cast<size_t>(done);
  }
}

int connect_pair(pid_t& child, const std::function<void(int)>& other) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  listen(listener, 1);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int on = 1;
  child = fork();
  const int end = child == 0 ? accept(listener, nullptr, nullptr) : socket(AF_INET, SOCK_STREAM, 0);
  if (child != 0) connect(end, reinterpret_cast<sockaddr*>(&address), sizeof address);
  setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    other(end);
    _exit(0);
  }
  close(listener);
  return end;
}

void* map(aclrtDrvMemHandle handle, size_t size) {
  void* va = nullptr;
  check(aclrtReserveMemAddress(&va, size, 0, nullptr, 1));
  check(aclrtMapMem(va, size, 0, handle, 0));
  return va;
}

aclrtDrvMemHandle allocate() {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle handle = nullptr;
  check(aclrtMallocPhysical(&handle, kLargest, &prop, 0));
  return handle;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Of two that were taken in turn: what else the machine does changes from turn to turn.
double ratio(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> ratios;
  for (size_t turn = 0; turn < of.size(); ++turn) ratios.push_back(of[turn] / to[turn]);
  return median(ratios);
}

// Exports, and answers on a TCP socket: the size first, then that many bytes to take, then one back. A size
// of 0 exports another block, which nobody has touched.
void serve(const test::Cluster& cluster, int socket) {
  cluster.join(0);
  check(aclrtSetDevice(0));
  aclrtDrvMemHandle handle = nullptr;
  std::vector<char> bytes(kLargest);
  for (;;) {
    uint64_t size = 0;
    if (read(socket, &size, sizeof size) != sizeof size) return;
    if (size > 0) {
      all(socket, bytes.data(), size, false);
      all(socket, bytes.data(), 1, true);
      continue;
    }
    if (handle != nullptr) check(aclrtFreePhysical(handle));
    handle = allocate();
    aclrtMemFabricHandle fabric{};
    check(aclrtMemExportToShareableHandleV2(handle, 1, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric));
    all(socket, reinterpret_cast<char*>(&fabric), sizeof fabric, true);
  }
}

double busy_seconds(pid_t pid);
double sleeps(pid_t pid);

// What processes took of the processors, for the bytes that they moved.
class Effort {
 public:
  explicit Effort(std::vector<pid_t> who) : who_(std::move(who)), spent_(who_.size()) {}
  void during(const std::function<void()>& work) {
    for (size_t i = 0; i < who_.size(); ++i) spent_[i] -= busy_seconds(who_[i]);
    work();
    for (size_t i = 0; i < who_.size(); ++i) spent_[i] += busy_seconds(who_[i]);
  }
  std::string text(double gigabytes) const {
    std::string text;
    double sum = 0;
    for (const double spent : spent_) {
      char number[32];
      std::snprintf(number, sizeof number, "%s%.0f", text.empty() ? "" : " + ", spent / gigabytes * 1e3);
      text += number;
      sum += spent;
    }
    return text + " = " + std::to_string(static_cast<int>(sum / gigabytes * 1e3)) + " ms";
  }

 private:
  std::vector<pid_t> who_;
  std::vector<double> spent_;
};

// How often processes went to sleep for one copy: unlike its time, the machine's other work changes it
// little.
class Sleeps {
 public:
  explicit Sleeps(std::vector<pid_t> who) : who_(std::move(who)), counts_(who_.size()) {}
  void during(const std::function<void()>& work) {
    for (size_t i = 0; i < who_.size(); ++i) counts_[i] -= sleeps(who_[i]);
    work();
    for (size_t i = 0; i < who_.size(); ++i) counts_[i] += sleeps(who_[i]);
  }
  std::string text(int copies) const {
    std::string text;
    for (const double count : counts_) {
      char number[32];
      std::snprintf(number, sizeof number, "%s%.1f", text.empty() ? "" : " + ", count / copies);
      text += number;
    }
    return text;
  }

 private:
  std::vector<pid_t> who_;
  std::vector<double> counts_;
};

class Importer {
 public:
  Importer(int socket, pid_t other, const test::Cluster& cluster)
      : socket_(socket),
        senders_({getpid(), other}),
        parties_({getpid(), cluster.daemon(1), cluster.daemon(0)}),
        raw_({getpid(), other}),
        out_({getpid(), cluster.daemon(1), cluster.daemon(0)}),
        in_({getpid(), cluster.daemon(1), cluster.daemon(0)}) {
    check(aclrtSetDevice(0));
  }

  aclrtMemFabricHandle ask_for_another() const {
    uint64_t none = 0;
    aclrtMemFabricHandle fabric{};
    all(socket_, reinterpret_cast<char*>(&none), sizeof none, true);
    all(socket_, reinterpret_cast<char*>(&fabric), sizeof fabric, false);
    return fabric;
  }

  static aclrtDrvMemHandle import(aclrtMemFabricHandle fabric) {
    aclrtDrvMemHandle handle = nullptr;
    check(aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &handle));
    return handle;
  }

  void measure_imports() {
    aclrtMemFabricHandle fabric = ask_for_another();
    const double first = seconds_of([&] { check(aclrtFreePhysical(import(fabric))); }, 1);
    const double again = seconds_of([&] { check(aclrtFreePhysical(import(fabric))); }, 49);
    std::vector<double> fresh, taking;
    for (int pair = 0; pair < kPairs; ++pair) {
      fabric = ask_for_another();
      fresh.push_back(seconds_of([&] { check(aclrtFreePhysical(import(fabric))); }, 1));
      const int file = memfd_create("bench", MFD_CLOEXEC);
      taking.push_back(seconds_of([&] { (void)!fallocate(file, 0, 0, kLargest); }, 1));
      close(file);
    }
    std::printf("import and release of %zu MiB: first, with meeting, %.1f ms; of committed memory %.2f ms\n",
                kLargest >> 20, first * 1e3, again * 1e3);
    std::printf("  of memory that nobody touched %.1f ms, fallocate of its size %.1f ms: %.2f of it\n",
                median(fresh) * 1e3, median(taking) * 1e3, ratio(fresh, taking));
  }

  void measure_copies(const std::vector<size_t>& sizes) {
    char* near = static_cast<char*>(map(allocate(), kLargest));
    check(aclrtMemset(near, kLargest, 1, kLargest));
    char* far = static_cast<char*>(map(import(ask_for_another()), kLargest));
    std::vector<char> bytes(kLargest, 1);
    std::printf("%12s %14s %14s %14s %8s %8s\n", "bytes", "TCP", "to server", "from server", "ratio",
                "ratio");
    for (const size_t size : sizes) {
      const bool is_large = size >= 16_MiB;
      const int repeats = is_large ? 1 : 20;
      const int pairs = is_large ? kPairs : 5 * kPairs;
      const auto copy = [&](char* to, const char* from) {
        check(aclrtMemcpyAsync(to, size, from, size, ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr));
        check(aclrtSynchronizeStream(nullptr));
      };
      // The same without a stream, whose thread is woken and waited for.
      const auto copy_now = [&](char* to, const char* from) {
        check(aclrtMemcpy(to, size, from, size, ACL_MEMCPY_DEVICE_TO_DEVICE));
      };
      std::vector<double> raw, out, in, out_now, in_now;
      Sleeps raw_sleeps(senders_), out_sleeps(parties_), in_sleeps(parties_);
      const auto take = [&](std::vector<double>& times, Effort& effort, Sleeps& sleeps,
                            const std::function<void()>& work) {
        const auto timed = [&] { sleeps.during([&] { times.push_back(seconds_of(work, repeats)); }); };
        if (size == 256_MiB)
          effort.during(timed);
        else
          timed();
      };
      for (int pair = 0; pair < pairs; ++pair) {
        take(raw, raw_, raw_sleeps, [&] {
          uint64_t count = size;
          all(socket_, reinterpret_cast<char*>(&count), sizeof count, true);
          all(socket_, bytes.data(), size, true);
          all(socket_, bytes.data(), 1, false);
        });
        take(out, out_, out_sleeps, [&] { copy(far, near); });
        take(in, in_, in_sleeps, [&] { copy(near, far); });
        out_now.push_back(seconds_of([&] { copy_now(far, near); }, repeats));
        in_now.push_back(seconds_of([&] { copy_now(near, far); }, repeats));
      }
      std::printf("%12zu %11.1f us %11.1f us %11.1f us %8.2f %8.2f\n", size, median(raw) * 1e6,
                  median(out) * 1e6, median(in) * 1e6, ratio(raw, out), ratio(raw, in));
      std::printf("%27s %11.1f us %11.1f us %8.2f %8.2f\n", "without a stream:", median(out_now) * 1e6,
                  median(in_now) * 1e6, ratio(raw, out_now), ratio(raw, in_now));
      std::printf("%12s %s; %s; %s\n", "sleeps:", raw_sleeps.text(pairs * repeats).c_str(),
                  out_sleeps.text(pairs * repeats).c_str(), in_sleeps.text(pairs * repeats).c_str());
    }
    if (std::find(sizes.begin(), sizes.end(), 256_MiB) == sizes.end()) return;
    constexpr double kGigabytes = kPairs * 0.25;
    std::printf("processors, for each GiB of the 256 MiB copies:\n");
    std::printf("  TCP: sender + receiver:                  %s\n", raw_.text(kGigabytes).c_str());
    std::printf("  to server: process + its daemon + other: %s\n", out_.text(kGigabytes).c_str());
    std::printf("  from server:                             %s\n", in_.text(kGigabytes).c_str());
  }

 private:
  const int socket_;
  const std::vector<pid_t> senders_, parties_;
  Effort raw_, out_, in_;
};

// What a daemon has of its own: memory of devices that it maps is not its own.
double own_megabytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  double kilobytes = 0;
  for (std::string line; std::getline(status, line);)
    if (line.rfind("RssAnon:", 0) == 0 || line.rfind("RssFile:", 0) == 0)
      kilobytes += std::stod(line.substr(8));
  return kilobytes / 1000;
}

double busy_seconds(pid_t pid) {
  double sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream file(task.path() / "schedstat");
    double nanoseconds = 0;
    file >> nanoseconds;
    sum += nanoseconds / 1e9;
  }
  return sum;
}

double sleeps(pid_t pid) {
  constexpr std::string_view kName = "voluntary_ctxt_switches:";
  double sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream file(task.path() / "status");
    for (std::string line; std::getline(file, line);)
      if (line.rfind(kName, 0) == 0) sum += std::stod(line.substr(kName.size()));
  }
  return sum;
}

void measure_daemons(const test::Cluster& cluster, const char* when) {
  constexpr uint32_t kSeconds = 10;
  const double before[2] = {busy_seconds(cluster.daemon(0)), busy_seconds(cluster.daemon(1))};
  os::sleep_microseconds(kSeconds * 1000000);
  for (uint32_t server = 0; server < 2; ++server) {
    const pid_t pid = cluster.daemon(server);
    std::printf("daemon %u, idle %s: %.1f MB, %.4f %% of a core\n", server, when, own_megabytes(pid),
                (busy_seconds(pid) - before[server]) / kSeconds * 100);
  }
}

void run(const std::vector<size_t>& wanted) {
  const test::Cluster cluster(2, "4GiB");
  if (wanted.empty()) measure_daemons(cluster, "and alone");
  pid_t child = 0;
  const int socket = connect_pair(child, [&](int end) { serve(cluster, end); });
  cluster.join(1);
  Importer importer(socket, child, cluster);
  if (wanted.empty()) {
    importer.measure_imports();
    importer.measure_copies({64, 4096, 1_MiB, 16_MiB, 256_MiB, kLargest});
    measure_daemons(cluster, "with a peer");
  } else {
    importer.measure_copies(wanted);
  }
  kill(child, SIGKILL);
}

}  // namespace
}  // namespace plat::bench

// bench_fabric [BYTES...]: copies of these sizes alone, or everything.
int main(int count, char** arguments) {
  std::vector<size_t> sizes;
  for (int i = 1; i < count; ++i) sizes.push_back(std::stoull(arguments[i]));
  plat::bench::run(sizes);
}
