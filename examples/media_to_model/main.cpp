// SPDX-License-Identifier: Apache-2.0
// From a picture to the input of a model: a frame in media memory is cropped into device memory.
//
// Media memory comes from acldvppMalloc or hi_mpi_dvpp_malloc, starts at 128 bytes, and its rows are padded
// to a stride; the model wants its input dense. The decoder and the model are played by copies.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "acl/dvpp/hi_dvpp.h"
#include "acl/ops/acl_dvpp.h"

#define CHECK_ACL(call)                                                                   \
  do {                                                                                    \
    const aclError code_ = (call);                                                        \
    if (code_ != ACL_SUCCESS) {                                                           \
      std::fprintf(stderr, "[ERROR] %s:%d %s: %d %s\n", __FILE__, __LINE__, #call, code_, \
                   aclGetRecentErrMsg());                                                 \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

namespace {

constexpr size_t kWidth = 1000, kHeight = 600, kStride = 1024;
constexpr size_t kCropX = 312, kCropY = 100, kModelWidth = 224, kModelHeight = 224;
constexpr size_t kModelBytes = kModelWidth * kModelHeight;

uint8_t pixel(int frame, size_t x, size_t y) { return static_cast<uint8_t>(frame * 50 + x * 3 + y * 5); }

bool starts_right(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 128 == 0; }

// Brings one frame through the chain.
void process(int frame, void* media, void* model_input, aclrtStream stream) {
  std::vector<uint8_t> picture(kWidth * kHeight);
  for (size_t y = 0; y < kHeight; ++y)
    for (size_t x = 0; x < kWidth; ++x) picture[y * kWidth + x] = pixel(frame, x, y);
  // "Decode": rows of the picture into rows of the frame.
  CHECK_ACL(
      aclrtMemcpy2d(media, kStride, picture.data(), kWidth, kWidth, kHeight, ACL_MEMCPY_HOST_TO_DEVICE));
  // Crop, on the device, in stream order; the model's input has no padding between its rows.
  const auto* corner = static_cast<const uint8_t*>(media) + kCropY * kStride + kCropX;
  CHECK_ACL(aclrtMemcpy2dAsync(model_input, kModelWidth, corner, kStride, kModelWidth, kModelHeight,
                               ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  CHECK_ACL(aclrtSynchronizeStream(stream));
  std::vector<uint8_t> input(kModelBytes);
  CHECK_ACL(aclrtMemcpy(input.data(), kModelBytes, model_input, kModelBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  for (size_t y = 0; y < kModelHeight; ++y)
    for (size_t x = 0; x < kModelWidth; ++x)
      if (input[y * kModelWidth + x] != pixel(frame, x + kCropX, y + kCropY)) {
        std::fprintf(stderr, "[ERROR] frame %d is wrong at %zu,%zu\n", frame, x, y);
        std::exit(1);
      }
}

}  // namespace

int main() {
  CHECK_ACL(aclInit(nullptr));
  CHECK_ACL(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  CHECK_ACL(aclrtCreateStream(&stream));
  void* model_input = nullptr;
  CHECK_ACL(aclrtMalloc(&model_input, kModelBytes, ACL_MEM_MALLOC_HUGE_FIRST));

  void* first_version = nullptr;
  CHECK_ACL(acldvppMalloc(&first_version, kStride * kHeight));
  void* second_version = nullptr;
  if (hi_mpi_dvpp_malloc(0, &second_version, kStride * kHeight) != HI_SUCCESS) return 1;
  if (!starts_right(first_version) || !starts_right(second_version)) {
    std::fprintf(stderr, "[ERROR] media memory does not start at 128 bytes\n");
    return 1;
  }
  for (int frame = 0; frame < 6; ++frame)
    process(frame, frame % 2 == 0 ? first_version : second_version, model_input, stream);

  CHECK_ACL(acldvppFree(first_version));
  if (hi_mpi_dvpp_free(second_version) != HI_SUCCESS) return 1;
  CHECK_ACL(aclrtFree(model_input));
  CHECK_ACL(aclrtDestroyStream(stream));
  CHECK_ACL(aclrtResetDevice(0));
  CHECK_ACL(aclFinalize());
  std::printf("6 frames cropped from media memory into the input of a model\n");
  return 0;
}
