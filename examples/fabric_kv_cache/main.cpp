// SPDX-License-Identifier: Apache-2.0
// A KV cache that three servers share: one has the memory, a second fills it (prefill), a third reads it
// (decode). Each role is a process; run.sh gives each a server of its own. Only the 128 bytes of the handle
// go from process to process, through a file.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"

namespace {

constexpr size_t kBlockBytes = size_t{2} << 20;  // of one layer and sequence
constexpr size_t kBlocks = 8;
constexpr size_t kBytes = kBlocks * kBlockBytes;

void check(aclError code, const char* what) {
  if (code == ACL_SUCCESS) return;
  std::fprintf(stderr, "%s: %d: %s\n", what, code, aclGetRecentErrMsg());
  std::exit(1);
}
#define CHECK(call) check((call), #call)

void* map(aclrtDrvMemHandle handle) {
  void* cache = nullptr;
  CHECK(aclrtReserveMemAddress(&cache, kBytes, 0, nullptr, 1));
  CHECK(aclrtMapMem(cache, kBytes, 0, handle, 0));
  return cache;
}

void unmap(void* cache, aclrtDrvMemHandle handle) {
  CHECK(aclrtUnmapMem(cache));
  CHECK(aclrtFreePhysical(handle));
  CHECK(aclrtReleaseMemAddress(cache));
}

// What prefill computes for a block; decode knows what to expect.
std::vector<unsigned> attention_of(size_t block) {
  std::vector<unsigned> words(kBlockBytes / sizeof(unsigned));
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<unsigned>(block * 2654435761u + i);
  return words;
}

// Hands the handle to whoever reads the file, and keeps the memory until the second file has been written to.
int cache(const char* handle_path, const char* end_path) {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle handle = nullptr;
  CHECK(aclrtMallocPhysical(&handle, kBytes, &prop, 0));
  aclrtMemFabricHandle fabric{};
  CHECK(aclrtMemExportToShareableHandleV2(handle, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                          ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric));
  for (int readers = 0; readers < 2; ++readers) {
    std::FILE* out = std::fopen(handle_path, "wb");
    if (out == nullptr || std::fwrite(&fabric, sizeof fabric, 1, out) != 1) return 1;
    std::fclose(out);
    std::FILE* end = std::fopen(end_path, "rb");  // the reader is done
    if (end == nullptr) return 1;
    std::fclose(end);
  }
  CHECK(aclrtFreePhysical(handle));
  std::puts("cache: the memory went to two servers and came back");
  return 0;
}

aclrtDrvMemHandle import(const char* handle_path) {
  aclrtMemFabricHandle fabric{};
  std::FILE* in = std::fopen(handle_path, "rb");
  if (in == nullptr || std::fread(&fabric, sizeof fabric, 1, in) != 1) std::exit(1);
  std::fclose(in);
  aclrtDrvMemHandle handle = nullptr;
  CHECK(aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &handle));
  return handle;
}

// Computes on its own device, and sends block after block in stream order.
int prefill(const char* handle_path) {
  aclrtDrvMemHandle handle = import(handle_path);
  char* far = static_cast<char*>(map(handle));
  void* near = nullptr;
  aclrtStream stream = nullptr;
  CHECK(aclrtMalloc(&near, kBlockBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtCreateStream(&stream));
  for (size_t block = 0; block < kBlocks; ++block) {
    const auto words = attention_of(block);
    CHECK(aclrtMemcpy(near, kBlockBytes, words.data(), kBlockBytes, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemcpyAsync(far + block * kBlockBytes, kBlockBytes, near, kBlockBytes,
                           ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CHECK(aclrtSynchronizeStream(stream));
  }
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtFree(near));
  unmap(far, handle);
  std::printf("prefill: wrote %zu blocks to the other server\n", kBlocks);
  return 0;
}

int decode(const char* handle_path) {
  aclrtDrvMemHandle handle = import(handle_path);
  char* far = static_cast<char*>(map(handle));
  void* near = nullptr;
  CHECK(aclrtMalloc(&near, kBlockBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<unsigned> seen(kBlockBytes / sizeof(unsigned));
  for (size_t block = kBlocks; block-- > 0;) {
    CHECK(aclrtMemcpyAsync(near, kBlockBytes, far + block * kBlockBytes, kBlockBytes,
                           ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr));
    CHECK(aclrtSynchronizeStream(nullptr));
    CHECK(aclrtMemcpy(seen.data(), kBlockBytes, near, kBlockBytes, ACL_MEMCPY_DEVICE_TO_HOST));
    if (seen == attention_of(block)) continue;
    std::fprintf(stderr, "decode: block %zu is wrong\n", block);
    return 1;
  }
  CHECK(aclrtFree(near));
  unmap(far, handle);
  std::printf("decode: all %zu blocks are what prefill wrote\n", kBlocks);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 2 ? argv[1] : "";
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  int result = 2;
  if (role == "cache" && argc == 4) result = cache(argv[2], argv[3]);
  if (role == "prefill" && argc == 3) result = prefill(argv[2]);
  if (role == "decode" && argc == 3) result = decode(argv[2]);
  if (result == 2)
    std::fprintf(stderr, "usage: %s cache HANDLE END | prefill HANDLE | decode HANDLE\n", argv[0]);
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return result;
}
