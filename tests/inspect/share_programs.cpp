// SPDX-License-Identifier: Apache-2.0
// Memory of another process: imported, used, and given back or not.
#include <sys/wait.h>
#include <unistd.h>

#include "inspect/program.h"

namespace programs {

namespace {

constexpr size_t kKeyBytes = 65;

// What the other process tells: both ways to reach memory of its own.
struct Offer {
  char key[kKeyBytes] = {};
  uint64_t number = 0;
};

// Another process with a block of 4 KiB and a page of physical memory that it shares: offer() has the key of
// the one and the number of the other. It holds them until the end of the block.
class Owner {
 public:
  Owner() {
    int offer[2], stay[2];
    if (pipe(offer) != 0 || pipe(stay) != 0) std::exit(97);
    child_ = fork();
    if (child_ == 0) {
      close(stay[1]);
      hold(offer[1], stay[0]);
    }
    close(offer[1]);
    close(stay[0]);
    stay_ = stay[1];
    if (::read(offer[0], &offer_, sizeof offer_) != sizeof offer_) std::exit(97);
    close(offer[0]);
  }
  ~Owner() {
    close(stay_);
    int status = 0;
    while (waitpid(child_, &status, 0) < 0) continue;
    if (status != 0) std::_Exit(97);
  }
  const Offer& offer() const { return offer_; }

 private:
  [[noreturn]] static void hold(int tell, int stay) {
    {
      Device device;
      char* const memory = block(4096);
      Mapped mapped(1);
      MUST(write(mapped.at(0), 4096));
      Offer offer;
      MUST(aclrtIpcMemGetExportKey(memory, 4096, offer.key, sizeof offer.key,
                                   ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
      MUST(aclrtMemExportToShareableHandle(mapped.handles[0], ACL_MEM_HANDLE_TYPE_NONE,
                                           ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION, &offer.number));
      if (::write(tell, &offer, sizeof offer) != sizeof offer) std::_Exit(97);
      char none = 0;
      static_cast<void>(::read(stay, &none, 1) == 0);
      MUST(aclrtIpcMemClose(offer.key));
      MUST(aclrtFree(memory));
      mapped.release();
    }
    std::exit(0);
  }

  pid_t child_ = -1;
  int stay_ = -1;
  Offer offer_;
};

// Uses memory that was imported by its number, but for giving the handle back.
void use_imported(aclrtDrvMemHandle handle) {
  void* address = nullptr;
  MUST(aclrtReserveMemAddress(&address, Mapped::kPage, 0, nullptr, 0));
  MUST(aclrtMapMem(address, Mapped::kPage, 0, handle, 0));
  MUST(read(address, 4096));  // written by the owner, which this trace does not show
  MUST(aclrtUnmapMem(address));
  MUST(aclrtReleaseMemAddress(address));
}

}  // namespace

void add_share_programs(Programs& all) {
  all["leak_import_key"] = [] {
    Owner owner;  // before this process opens the device: a child must open it for itself
    Device device;
    void* memory = nullptr;
    MUST(PLANTED(aclrtIpcMemImportByKey(&memory, owner.offer().key, ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT)));
    MUST(read(memory, 4096));
  };
  all["import_key"] = [] {
    Owner owner;
    Device device;
    void* memory = nullptr;
    MUST(aclrtIpcMemImportByKey(&memory, owner.offer().key, ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT));
    MUST(read(memory, 4096));
    MUST(aclrtIpcMemClose(owner.offer().key));
  };
  all["leak_import_number"] = [] {
    Owner owner;
    Device device;
    aclrtDrvMemHandle handle = nullptr;
    MUST(PLANTED(aclrtMemImportFromShareableHandle(owner.offer().number, 0, &handle)));
    use_imported(handle);
  };
  all["import_number"] = [] {
    Owner owner;
    Device device;
    aclrtDrvMemHandle handle = nullptr;
    MUST(aclrtMemImportFromShareableHandle(owner.offer().number, 0, &handle));
    use_imported(handle);
    MUST(aclrtFreePhysical(handle));
  };
}

}  // namespace programs
