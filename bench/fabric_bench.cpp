// SPDX-License-Identifier: Apache-2.0
// Memory between servers, against a plain TCP stream between the same two processes in the same run.
#include <netinet/tcp.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "acl/acl.h"
#include "base/units.h"
#include "fabric/cluster.h"

namespace plat::bench {
namespace {

constexpr size_t kLargest = 256_MiB;

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

// Exports, and answers on a TCP socket: the size first, then that many bytes to take, then one back.
void serve(const test::Cluster& cluster, int socket) {
  cluster.join(0);
  check(aclrtSetDevice(0));
  aclrtDrvMemHandle handle = allocate();
  aclrtMemFabricHandle fabric{};
  check(aclrtMemExportToShareableHandleV2(handle, 1, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric));
  all(socket, reinterpret_cast<char*>(&fabric), sizeof fabric, true);
  std::vector<char> bytes(kLargest);
  for (;;) {
    uint64_t size = 0;
    if (read(socket, &size, sizeof size) != sizeof size) return;
    all(socket, bytes.data(), size, false);
    all(socket, bytes.data(), 1, true);
  }
}

void run() {
  test::Cluster cluster(2, "1GiB");
  pid_t child = 0;
  const int socket = connect_pair(child, [&](int end) { serve(cluster, end); });
  aclrtMemFabricHandle fabric{};
  all(socket, reinterpret_cast<char*>(&fabric), sizeof fabric, false);
  cluster.join(1);
  check(aclrtSetDevice(0));
  char* near = static_cast<char*>(map(allocate(), kLargest));
  check(aclrtMemset(near, kLargest, 1, kLargest));
  aclrtDrvMemHandle handle = nullptr;
  const auto import = [&] {
    check(aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &handle));
  };
  const double first = seconds_of(import, 1);
  char* far = static_cast<char*>(map(handle, kLargest));
  const double next = seconds_of(
      [&] {
        aclrtDrvMemHandle kept = handle;
        import();
        check(aclrtFreePhysical(handle));
        handle = kept;
      },
      9);
  std::printf("first import of %zu MiB, with meeting and taking the memory: %.1f ms; again: %.2f ms\n",
              kLargest >> 20, first * 1e3, next * 1e3);
  std::printf("%12s %14s %14s %14s %8s %8s\n", "bytes", "TCP", "to server", "from server", "ratio", "ratio");
  std::vector<char> bytes(kLargest);
  for (const size_t size : {size_t{64}, size_t{4096}, size_t{1_MiB}, size_t{16_MiB}, kLargest}) {
    const int repeats = size >= 16_MiB ? 5 : 200;
    const double raw = seconds_of(
        [&] {
          uint64_t count = size;
          all(socket, reinterpret_cast<char*>(&count), sizeof count, true);
          all(socket, bytes.data(), size, true);
          all(socket, bytes.data(), 1, false);
        },
        repeats);
    const auto copy = [&](char* to, const char* from) {
      return seconds_of(
          [&] {
            check(aclrtMemcpyAsync(to, size, from, size, ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr));
            check(aclrtSynchronizeStream(nullptr));
          },
          repeats);
    };
    const double out = copy(far, near), in = copy(near, far);
    std::printf("%12zu %11.1f us %11.1f us %11.1f us %8.2f %8.2f\n", size, raw * 1e6, out * 1e6, in * 1e6,
                raw / out, raw / in);
  }
  kill(child, SIGKILL);
}

}  // namespace
}  // namespace plat::bench

int main() { plat::bench::run(); }
