// SPDX-License-Identifier: Apache-2.0
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
    Product{
        .key = "a2",
        .name = "Atlas A2 training and inference products",
        .soc_name = "Ascend910B3",
        .generation = Generation::V2,
        .memory_bytes = 64_GiB,
        .padding_bytes = 32,
        .has_hbm = true,
        .runs_on_device = false,
        .virtual_memory = true,
        .giant_pages = true,
        .expected_address = true,
        .cross_server = false,
        .peer_access = true,
        .streams_max = 1984,
        .events_max = 65536,
    },
    Product{
        .key = "a3",
        .name = "Atlas A3 training and inference products",
        .soc_name = "Ascend910_9391",
        .generation = Generation::V2,
        .memory_bytes = 64_GiB,
        .padding_bytes = 32,
        .has_hbm = true,
        .runs_on_device = false,
        .virtual_memory = true,
        .giant_pages = true,
        .expected_address = true,
        .cross_server = true,
        .peer_access = true,
        .streams_max = 1984,
        .events_max = 65536,
    },
    Product{
        .key = "950",
        .name = "Ascend 950",
        .soc_name = "Ascend950PR_9599",
        .generation = Generation::V3,
        .memory_bytes = 128_GiB,
        .padding_bytes = 0,
        .has_hbm = true,
        .runs_on_device = false,
        .virtual_memory = true,
        .giant_pages = false,
        .expected_address = false,
        .cross_server = false,
        .peer_access = true,
        .streams_max = 1984,
        .events_max = 65536,
    },
    Product{
        .key = "training",
        .name = "Atlas training products",
        .soc_name = "Ascend910A",
        .generation = Generation::V2,
        .memory_bytes = 32_GiB,
        .padding_bytes = 32,
        .has_hbm = true,
        .runs_on_device = false,
        .virtual_memory = true,
        .giant_pages = false,
        .expected_address = true,
        .cross_server = false,
        .peer_access = true,
        .streams_max = 2048,
        .events_max = 65535,
    },
    Product{
        .key = "inference",
        .name = "Atlas inference products",
        .soc_name = "Ascend310P3",
        .generation = Generation::V2,
        .memory_bytes = 24_GiB,
        .padding_bytes = 32,
        .has_hbm = false,
        .runs_on_device = false,
        .virtual_memory = true,
        .giant_pages = false,
        .expected_address = true,
        .cross_server = false,
        .peer_access = true,
        .streams_max = 1024,
        .events_max = 1023,
    },
    Product{
        .key = "200i-a2",
        .name = "Atlas 200I/500 A2 inference products, EP form",
        .soc_name = "Ascend310B1",
        .generation = Generation::V2,
        .memory_bytes = 12_GiB,
        .padding_bytes = 32,
        .has_hbm = false,
        .runs_on_device = false,
        .virtual_memory = true,
        .giant_pages = false,
        .expected_address = true,
        .cross_server = false,
        .peer_access = false,
        .streams_max = 512,
        .events_max = 65536,
    },
    Product{
        .key = "200i-a2-rc",
        .name = "Atlas 200I/500 A2 inference products, RC form",
        .soc_name = "Ascend310B1",
        .generation = Generation::V2,
        .memory_bytes = 12_GiB,
        .padding_bytes = 32,
        .has_hbm = false,
        .runs_on_device = true,
        .virtual_memory = false,
        .giant_pages = false,
        .expected_address = false,
        .cross_server = false,
        .peer_access = false,
        .streams_max = 512,
        .events_max = 65536,
    },
    Product{
        .key = "200",
        .name = "Atlas 200/300/500 inference products",
        .soc_name = "Ascend310",
        .generation = Generation::V2,
        .memory_bytes = 8_GiB,
        .padding_bytes = 32,
        .has_hbm = false,
        .runs_on_device = false,
        .virtual_memory = false,
        .giant_pages = false,
        .expected_address = false,
        .cross_server = false,
        .peer_access = false,
        .streams_max = 1024,
        .events_max = 1023,
    },
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
