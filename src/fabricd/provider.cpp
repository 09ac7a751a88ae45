// SPDX-License-Identifier: Apache-2.0
#include "fabricd/provider.h"

#include "device/config.h"

namespace plat::fabricd {

Outcome<Info> find_provider(const std::string& host, const std::string& port, uint64_t flags) {
  const Info hints(fi_allocinfo());
  if (hints == nullptr) return trouble(Cause::Full, "libfabric has no memory");
  hints->caps = FI_MSG | FI_RMA;
  hints->ep_attr->type = FI_EP_MSG;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->fabric_attr->prov_name = strdup("tcp");
  hints->addr_format = FI_FORMAT_UNSPEC;
  fi_info* found = nullptr;
  const int error = fi_getinfo(FI_VERSION(1, 17), host.c_str(), port.c_str(), flags, hints.get(), &found);
  if (error != 0 && (flags & FI_SOURCE) != 0)
    return trouble(Cause::Unreachable, "libfabric cannot listen at {}: {}; is it an address of this machine?",
                   host, fi_text(error));
  if (error != 0)
    return trouble(Cause::Unreachable, "libfabric has no way to {}:{}: {}", host, port, fi_text(error));
  return Info(found);
}

bool Adapter::open(Info chosen, size_t transfers, long& error) {
  info = std::move(chosen);
  fi_eq_attr event_queue{};
  event_queue.wait_obj = FI_WAIT_FD;
  fi_cq_attr transfer_queue{};
  transfer_queue.wait_obj = FI_WAIT_FD;
  transfer_queue.format = FI_CQ_FORMAT_CONTEXT;
  transfer_queue.size = transfers;
  return opened(fabric, error, [&](auto** made) { return fi_fabric(info->fabric_attr, made, nullptr); }) &&
         opened(domain, error,
                [&](auto** made) { return fi_domain(fabric.get(), info.get(), made, nullptr); }) &&
         opened(events, error,
                [&](auto** made) { return fi_eq_open(fabric.get(), &event_queue, made, nullptr); }) &&
         opened(done, error,
                [&](auto** made) { return fi_cq_open(domain.get(), &transfer_queue, made, nullptr); }) &&
         (error = fi_control(&done->fid, FI_GETWAIT, &ready)) == 0;
}

}  // namespace plat::fabricd
