// SPDX-License-Identifier: Apache-2.0
// Numbers and keys that another process gave out, and what chance makes of them. Only what was given out can
// be imported, and only by who may; all else is an error that explains itself, and takes nothing.
//
// The input: a byte for which of them, a byte for the call, and bytes that are laid over it (xor).
#include <acl/acl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace {

constexpr size_t kPage = 2 << 20;
constexpr size_t kKeyBytes = 65;

void require(bool kept) {
  if (!kept) abort();
}
void must(aclError code) { require(code == ACL_SUCCESS); }

// What the other process gave out.
struct Given {
  uint64_t open_number;    // for everybody
  uint64_t listed_number;  // for a list on which we are not
  std::array<char, kKeyBytes> open_key;
  std::array<char, kKeyBytes> listed_key;
};

uint64_t export_block(uint64_t flags) {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle handle = nullptr;
  uint64_t number = 0;
  must(aclrtMallocPhysical(&handle, kPage, &prop, 0));
  must(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, flags, &number));
  return number;
}

std::array<char, kKeyBytes> export_key(uint64_t flags) {
  void* block = nullptr;
  std::array<char, kKeyBytes> key{};
  must(aclrtMalloc(&block, kPage, ACL_MEM_MALLOC_HUGE_ONLY));
  must(aclrtIpcMemGetExportKey(block, kPage, key.data(), key.size(), flags));
  return key;
}

// Where the machine's files are, until this process ends.
struct Directory {
  Directory() { require(mkdtemp(path) != nullptr); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { std::filesystem::remove_all(path); }
  char path[32] = "/dev/shm/plat-fuzz-XXXXXX";
};

// The process that owns it all lives as long as this one.
Given begin() {
  setenv("PLAT_DEVICES", "1", 1);
  setenv("PLAT_CAPACITY", "64MiB", 1);
  setenv("PLAT_LOG", "off", 0);
  static const Directory directory;
  setenv("PLAT_DIR", directory.path, 1);
  setenv("PLAT_NODE", "fuzz", 1);
  int ends[2];
  require(pipe(ends) == 0);
  const pid_t parent = getpid();
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    must(aclInit(nullptr));
    must(aclrtSetDevice(0));
    int32_t init = 1;
    Given given{export_block(ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION), export_block(0),
                export_key(ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION), export_key(0)};
    must(aclrtMemSetPidToShareableHandle(given.listed_number, &init, 1));
    must(aclrtIpcMemSetImportPid(given.listed_key.data(), &init, 1));
    require(write(ends[1], &given, sizeof given) == sizeof given);
    for (;;) pause();
  }
  Given given{};
  require(read(ends[0], &given, sizeof given) == sizeof given);
  close(ends[0]);
  close(ends[1]);
  must(aclInit(nullptr));
  must(aclrtSetDevice(0));
  return given;
}

void is_refused(aclError code) {
  require(code != ACL_SUCCESS);
  require(aclGetRecentErrMsg() != nullptr && *aclGetRecentErrMsg() != 0);
}

void use_number(uint64_t number, bool is_good, uint8_t call) {
  int32_t pid = getpid();
  aclrtDrvMemHandle handle = nullptr;
  if (call % 4 == 0) return is_refused(aclrtMemSetPidToShareableHandle(number, &pid, 1));  // not ours to say
  const auto device = static_cast<int32_t>(call % 4 == 1 ? call / 4 : 0);
  const aclError code = aclrtMemImportFromShareableHandle(number, device, &handle);
  if (!is_good || device != 0) return is_refused(code);
  must(code);
  must(aclrtFreePhysical(handle));
}

void use_key(const char* key, bool is_good, uint8_t call) {
  int32_t pid = getpid();
  void* memory = nullptr;
  if (call % 4 == 0) return is_refused(aclrtIpcMemSetImportPid(key, &pid, 1));
  if (call % 4 == 1) return is_refused(aclrtIpcMemClose(key));
  const aclError code = aclrtIpcMemImportByKey(&memory, key, 0);
  if (!is_good) return is_refused(code);
  must(code);
  must(aclrtIpcMemClose(key));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Given given = begin();
  if (size < 2) return 0;
  const uint8_t which = data[0] % 4;
  const uint8_t call = data[1];
  data += 2;
  size -= 2;
  if (which < 2) {
    uint64_t number = which == 0 ? given.open_number : given.listed_number;
    for (size_t i = 0; i < size && i < 8; ++i) number ^= uint64_t{data[i]} << 8 * i;
    use_number(number, number == given.open_number, call);
    return 0;
  }
  auto key = which == 2 ? given.open_key : given.listed_key;
  for (size_t i = 0; i < size && i + 1 < kKeyBytes; ++i) key[i] = static_cast<char>(key[i] ^ data[i]);
  use_key(key.data(), std::strcmp(key.data(), given.open_key.data()) == 0, call);
  return 0;
}
