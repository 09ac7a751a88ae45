// SPDX-License-Identifier: Apache-2.0
#define MSTX_NO_IMPL
#include <dlfcn.h>

#include <mstx/ms_tools_ext.h>
#include <string_view>

#include "notes.h"

namespace plat::inspect_python {

namespace {

constexpr std::string_view kRecorder = "libplat_inspect.so";

// The slots that the recorder fills. Recorder and process live equally long.
mstxDomainCreateAFunc g_create = nullptr;
mstxDomainRangeStartAFunc g_start = nullptr;
mstxDomainRangeEndFunc g_end = nullptr;
mstxDomainHandle_t g_domain = nullptr;

int functions_of(mstxFuncModule module, mstxFuncTable* table, unsigned int* size) {
  static mstxFuncPointer unused[MSTX_API_CORE2_SIZE] = {};
  static mstxFuncPointer* slots[MSTX_API_CORE2_SIZE] = {
      &unused[0], reinterpret_cast<mstxFuncPointer*>(&g_create), &unused[1],
      &unused[2], reinterpret_cast<mstxFuncPointer*>(&g_start),  reinterpret_cast<mstxFuncPointer*>(&g_end)};
  if (module != MSTX_API_MODULE_CORE_DOMAIN || table == nullptr || size == nullptr) return MSTX_FAIL;
  *table = slots;
  *size = MSTX_API_CORE2_SIZE;
  return MSTX_SUCCESS;
}

// The file that a call would go to, if it is a recorder's.
const char* file_of_recorder() {
  void* const call = dlsym(RTLD_DEFAULT, "aclrtMalloc");
  Dl_info info{};
  if (call == nullptr || dladdr(call, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  return std::string_view(info.dli_fname).ends_with(kRecorder) ? info.dli_fname : nullptr;
}

}  // namespace

std::string NoteWriter::load(const std::string& path) {
  return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr ? "" : dlerror();
}

bool NoteWriter::is_loaded() { return file_of_recorder() != nullptr; }

bool NoteWriter::connect() {
  const char* const file = file_of_recorder();
  void* const library = file != nullptr ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  void* const symbol = library != nullptr ? dlsym(library, "InitInjectionMstx") : nullptr;
  if (symbol == nullptr || reinterpret_cast<mstxInitInjectionFunc>(symbol)(functions_of) != MSTX_SUCCESS)
    return false;
  g_domain = g_create != nullptr ? g_create(kDomain) : nullptr;
  return g_domain != nullptr && g_start != nullptr && g_end != nullptr;
}

uint64_t NoteWriter::begin(uint64_t number, const char* text) const {
  return g_domain != nullptr ? g_start(g_domain, text, reinterpret_cast<aclrtStream>(number)) : 0;
}

void NoteWriter::end(uint64_t id) const {
  if (g_domain != nullptr) g_end(g_domain, id);
}

}  // namespace plat::inspect_python
