// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/device_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "base/elf_note.h"

namespace plat::inspect {

namespace {

struct Search {
  uint64_t address;
  bool is_ours = false;
};

bool has_our_note(const dl_phdr_info& file, const ElfW(Phdr) & part) {
  const auto* at = reinterpret_cast<const char*>(file.dlpi_addr + part.p_vaddr);
  const char* const end = at + part.p_memsz;
  const uint64_t alignment = part.p_align == 8 ? 8 : 4;
  const auto padded = [&](uint64_t bytes) { return (bytes + alignment - 1) & ~(alignment - 1); };
  while (static_cast<size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, at, sizeof head);
    const uint64_t bytes = sizeof head + padded(head.n_namesz) + padded(head.n_descsz);
    if (bytes > static_cast<size_t>(end - at)) return false;
    if (head.n_namesz == kDeviceNote.name_bytes && head.n_type == kDeviceNote.type &&
        std::memcmp(at + sizeof head, kDeviceNote.name, head.n_namesz) == 0)
      return true;
    at += bytes;
  }
  return false;
}

int look_at(dl_phdr_info* file, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool inside = false, noted = false;
  for (unsigned i = 0; i < file->dlpi_phnum; ++i) {
    const auto& part = file->dlpi_phdr[i];
    inside |= part.p_type == PT_LOAD && search.address - (file->dlpi_addr + part.p_vaddr) < part.p_memsz;
    noted |= part.p_type == PT_NOTE && has_our_note(*file, part);
  }
  search.is_ours = inside && noted;
  return inside ? 1 : 0;
}

}  // namespace

const char* foreign_file_of(const void* function) {
  Search search{reinterpret_cast<uint64_t>(function)};
  Dl_info file{};
  if (function == nullptr || dl_iterate_phdr(look_at, &search) == 0 || search.is_ours) return nullptr;
  return dladdr(function, &file) != 0 ? file.dli_fname : nullptr;
}

}  // namespace plat::inspect
