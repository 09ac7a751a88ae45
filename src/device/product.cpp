#include "device/product.h"

#include <strings.h>

#include <array>
#include <string>

#include "base/units.h"

namespace plat::device {

namespace {

using rules::Generation;

// Memory sizes are those of the common card of each family.
constexpr std::array kProducts = {
    Product{"a2", "Atlas A2 training and inference products", "Ascend910B3", Generation::V2, 64_GiB, 32,
            /*has_hbm=*/true, /*runs_on_device=*/false, /*virtual_memory=*/true, /*giant_pages=*/true,
            /*expected_address=*/true, /*cross_server=*/false, /*peer_access=*/true},
    Product{"a3", "Atlas A3 training and inference products", "Ascend910_9391", Generation::V2, 64_GiB, 32,
            true, false, true, true, true, true, true},
    Product{"950", "Ascend 950", "Ascend950PR_9599", Generation::V3, 128_GiB, 0, true, false, true, false,
            false, false, true},
    Product{"training", "Atlas training products", "Ascend910A", Generation::V2, 32_GiB, 32, true, false,
            true, false, true, false, true},
    Product{"inference", "Atlas inference products", "Ascend310P3", Generation::V2, 24_GiB, 32, false, false,
            true, false, true, false, true},
    Product{"200i-a2", "Atlas 200I/500 A2 inference products, EP form", "Ascend310B1", Generation::V2, 12_GiB,
            32, false, false, true, false, true, false, false},
    Product{"200i-a2-rc", "Atlas 200I/500 A2 inference products, RC form", "Ascend310B1", Generation::V2,
            12_GiB, 32, false, true, false, false, false, false, false},
    Product{"200", "Atlas 200/300/500 inference products", "Ascend310", Generation::V2, 8_GiB, 32, false,
            false, false, false, false, false, false},
};

}  // namespace

std::span<const Product> products() { return kProducts; }

const Product* find_product(std::string_view key) {
  for (const Product& product : kProducts)
    if (strcasecmp(product.key, std::string(key).c_str()) == 0) return &product;
  return nullptr;
}

const Product& default_product() { return kProducts[0]; }

}  // namespace plat::device
