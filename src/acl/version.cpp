// SPDX-License-Identifier: Apache-2.0
// Versions: of the interface, of the toolkit that is played, and of the software device.
#include <cstring>
#include <string_view>

#include "acl/acl_rt_process.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

struct Package {
  std::string_view name;
  const char* version;
};
constexpr Package kPackages[] = {
    {"runtime", "9.0.0"},  // clients compare it with what they need, so it is the bare number
    {"plat", PLAT_VERSION " (software device)"},
};

Result<const char*> version_of(const char* package) {
  PLAT_TRY(want(package, "pkgName"));
  for (const Package& known : kPackages)
    if (known.name == package) return known.version;
  return fail(RuleId::VersionPackage, "pkgName", "there is no package '{}'", package);
}

// "9.0.0" -> 90000000.
int32_t number_of(const char* version) {
  int32_t number = 0;
  for (const int32_t weight : {10'000'000, 100'000, 1'000}) {
    char* end = nullptr;
    number += static_cast<int32_t>(std::strtol(version, &end, 10)) * weight;
    version = *end == '.' ? end + 1 : end;
  }
  return number;
}

}  // namespace

extern "C" {

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return entry("aclrtGetVersion", [&](Runtime&) -> Result<> {
    PLAT_TRY(want(majorVersion, "majorVersion"));
    PLAT_TRY(want(minorVersion, "minorVersion"));
    PLAT_TRY(want(patchVersion, "patchVersion"));
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return {};
  });
}

aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  return entry("aclsysGetVersionStr", [&](Runtime&) -> Result<> {
    PLAT_TRY(want(versionStr, "versionStr"));
    PLAT_ASSIGN(version, version_of(pkgName));
    std::memcpy(versionStr, version, std::strlen(version) + 1);
    return {};
  });
}

aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
  return entry("aclsysGetVersionNum", [&](Runtime&) -> Result<> {
    PLAT_TRY(want(versionNum, "versionNum"));
    PLAT_ASSIGN(version, version_of(pkgName));
    *versionNum = number_of(version);
    return {};
  });
}

}  // extern "C"
