// SPDX-License-Identifier: Apache-2.0
// Tensors from the pool, in C++: owners that give back, work on a stream, and what it all cost in memory.
#include <acl/acl.h>
#include <plat/pool.hpp>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

// One training step, as a pool sees it: activations come one by one and go in the opposite order.
void step(plat::DevicePool& pool, aclrtStream stream) {
  std::vector<plat::Buffer<float>> activations;
  for (std::size_t layer = 1; layer <= 12; ++layer) {
    activations.emplace_back(pool, layer * 100'000, stream);
    const auto& fresh = activations.back();
    aclrtMemsetAsync(fresh.data(), fresh.size_bytes(), 0, fresh.size_bytes(), stream);
  }
  // Freed on the stream: no wait here, although the work above may still be running.
  while (!activations.empty()) activations.pop_back();
}

// The weights come from the host, through pinned memory of the same pool.
bool load(plat::DevicePool& pool, const plat::Buffer<float>& weights) {
  void* staging = nullptr;
  if (plat_pool_alloc_for(pool.get(), weights.size_bytes(), PLAT_POOL_HOST, &staging) != PLAT_POOL_OK)
    return false;
  std::memset(staging, 0, weights.size_bytes());
  const aclError code = aclrtMemcpy(weights.data(), weights.size_bytes(), staging, weights.size_bytes(),
                                    ACL_MEMCPY_HOST_TO_DEVICE);
  plat_pool_free(pool.get(), staging);
  return code == ACL_SUCCESS;
}

void tell(const char* when, const plat::DevicePool& pool) {
  const plat_pool_stats stats = pool.stats();
  std::printf(
      "%-18s %4llu blocks, %6.1f MiB in use, %6.1f MiB held, %llu pages moved\n", when,
      static_cast<unsigned long long>(stats.live_blocks), static_cast<double>(stats.used_bytes) / 1048576,
      static_cast<double>(stats.reserved_bytes) / 1048576, static_cast<unsigned long long>(stats.remaps));
}

int run() {
  aclrtStream stream = nullptr;
  if (aclrtCreateStream(&stream) != ACL_SUCCESS) return 1;
  auto options = plat::DevicePool::options();
  options.name = "tensors";
  plat::DevicePool pool(options);
  const plat::Buffer<float> weights(pool, 5'000'000);
  if (!load(pool, weights)) return 1;
  tell("weights", pool);
  for (int i = 0; i < 10; ++i) step(pool, stream);
  tell("after ten steps", pool);
  aclrtSynchronizeStream(stream);
  plat_pool_forget_stream(pool.get(), stream);
  pool.trim();
  tell("after a trim", pool);
  aclrtDestroyStream(stream);
  // The weights fill ten pages of 2 MiB; all else went back.
  return pool.stats().reserved_bytes == 20u << 20 ? 0 : 1;
}

}  // namespace

int main() {
  if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
  int code = 1;
  try {
    code = run();
  } catch (const plat::PoolError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  aclFinalize();
  return code;
}
