// SPDX-License-Identifier: Apache-2.0
// What the toolkit around the device can do, and its versions.
#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "acl/acl_rt_device_info.h"
#include "acl/entry.h"
#include "base/text.h"
#include "os/environment.h"
#include "os/file.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

// Programs choose how to treat overflow by these. Nothing is compiled here.
constexpr aclCannAttr kRecentAttributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16};

std::span<const aclCannAttr> attributes_of(const Runtime& runtime) {
  if (!runtime.node.product().inf_nan) return {};
  return kRecentAttributes;
}

constexpr const char* kCannPackages[] = {"cann",    "runtime", "compiler",   "hccl",
                                         "toolkit", "opp",     "opp_kernel", "driver"};

// The next part of a version, up to a point; what is longer than its field is cut.
void take_part(std::string_view& version, std::span<char> part) {
  const size_t point = std::min(version.find('.'), version.size());
  const size_t length = std::min(point, part.size() - 1);
  std::memcpy(part.data(), version.data(), length);
  version.remove_prefix(std::min(point + 1, version.size()));
}

Result<std::string> installed_version(const char* package) {
  const auto home = os::variable("ASCEND_HOME_PATH");
  if (!home || home->empty()) return fail(RuleId::VersionFile, "name", "ASCEND_HOME_PATH is not set");
  const std::string path = fmt::format("{}/share/info/{}/version.info", *home, package);
  const auto text = os::read_small_file(path);
  if (!text) return fail(RuleId::VersionFile, "name", "{} cannot be read", path);
  constexpr std::string_view kKey = "Version=";
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with(kKey)) return std::string(trim(line.substr(kKey.size())));
  }
  return fail(RuleId::VersionFile, "name", "{} has no line '{}'", path, kKey);
}

}  // namespace

extern "C" {

aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  return entry("aclGetCannAttributeList", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(cannAttrList, "cannAttrList"));
    PLAT_TRY(want(num, "num"));
    *cannAttrList = kRecentAttributes;
    *num = attributes_of(runtime).size();
    return {};
  });
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  return entry("aclGetCannAttribute", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    const int asked = static_cast<int>(cannAttr);
    if (asked < ACL_CANN_ATTR_INF_NAN || asked > ACL_CANN_ATTR_JIT_COMPILE)
      return fail(RuleId::ArgEnum, "cannAttr", "cannAttr is {}", asked);
    const auto there = attributes_of(runtime);
    *value = std::find(there.begin(), there.end(), cannAttr) != there.end() ? 1 : 0;
    return {};
  });
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  return entry("aclsysGetCANNVersion", [&](Runtime&) -> Result<> {
    PLAT_TRY(want(version, "version"));
    const auto package = static_cast<unsigned>(name);
    if (package >= std::size(kCannPackages)) return fail(RuleId::ArgEnum, "name", "name is {}", package);
    PLAT_ASSIGN(text, installed_version(kCannPackages[package]));
    aclCANNPackageVersion found{};
    std::memcpy(found.version, text.data(), std::min(text.size(), sizeof(found.version) - 1));
    std::string_view rest = text;
    take_part(rest, found.majorVersion);
    take_part(rest, found.minorVersion);
    take_part(rest, found.releaseVersion);
    take_part(rest, found.patchVersion);
    *version = found;
    return {};
  });
}

}  // extern "C"
