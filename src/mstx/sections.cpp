// SPDX-License-Identifier: Apache-2.0
#include "mstx/sections.h"

namespace plat::mstx {

ChangeSection::~ChangeSection() {
  for (const platMstxNotice_t& notice : notices_)
    tell_all<Ext<PLAT_MSTX_FUNC_NOTICE, platMstxNoticeFunc>>(*this, [&](Tool&, auto call) { call(&notice); });
  owner_.gate_.leave(thread_);
}

bool ChangeSection::memory_matters() const {
  if (remembers()) return true;
  for (const Tool* tool : *tools_)
    if (tool->functions->hears_memory()) return true;
  return false;
}

}  // namespace plat::mstx
