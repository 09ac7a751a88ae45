#include "mstx/dialects.h"

namespace plat::mstx {
namespace {

constexpr Dialect kPlain{"", false, false};

constexpr Dialect kDialects[] = {
    {"ptaCaching", true, true},        // torch_npu, caching allocator
    {"ptaWorkspace", true, true},      // torch_npu, workspaces
    {"mindsporeMemPool", true, true},  // MindSpore
};

}  // namespace

const Dialect& dialect_of(std::string_view domain_name) {
  for (const Dialect& dialect : kDialects)
    if (dialect.domain == domain_name) return dialect;
  return kPlain;
}

}  // namespace plat::mstx
