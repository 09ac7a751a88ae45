// SPDX-License-Identifier: Apache-2.0
#include "fabricd/link.h"

#include <poll.h>
#include <rdma/fi_cm.h>

namespace plat::fabricd {

Outcome<std::unique_ptr<Link>> Link::connect(const Address& address, const Opening& opening, Memory memory,
                                             const fabric::Deadline& deadline) {
  auto info = find_provider(address.host, std::to_string(address.port), 0);
  if (!info) return pass_on(info.error());
  std::unique_ptr<Link> link(new Link);
  long error = 0;
  const bool has_adapter = link->adapter_.open(std::move(*info), size_t{2} * fabric::kBuffers, error);
  fi_info* chosen = link->adapter_.info.get();
  const bool ready =
      has_adapter &&
      opened(link->endpoint_, error,
             [&](auto** made) { return fi_endpoint(link->adapter_.domain.get(), chosen, made, nullptr); }) &&
      (error = fi_ep_bind(link->endpoint_.get(), &link->adapter_.events->fid, 0)) == 0 &&
      (error = fi_ep_bind(link->endpoint_.get(), &link->adapter_.done->fid, FI_TRANSMIT | FI_RECV)) == 0 &&
      (error = fi_enable(link->endpoint_.get())) == 0 &&
      (!wants_local_registration(*chosen) || opened(link->local_, error, [&](auto** made) {
        return fi_mr_reg(link->adapter_.domain.get(), memory.start, memory.size_bytes, FI_READ | FI_WRITE, 0,
                         0, 0, made, nullptr);
      }));
  if (!ready) return trouble(Cause::Full, "no data connection can be made: {}", fi_text(error));
  error = fi_connect(link->endpoint_.get(), chosen->dest_addr, &opening, sizeof opening);
  if (error != 0) return trouble(Cause::Unreachable, "{}:{}: {}", address.host, address.port, fi_text(error));
  for (;;) {
    uint32_t event = 0;
    // An event is followed by what the other side said.
    alignas(fi_eq_cm_entry) char entry[sizeof(fi_eq_cm_entry) + 256];
    const ssize_t got = fi_eq_sread(link->adapter_.events.get(), &event, entry, sizeof entry,
                                    static_cast<int>(deadline.left_ms()), 0);
    if (got >= 0 && event == FI_CONNECTED) return link;
    if (got == -FI_EAVAIL) {
      fi_eq_err_entry why{};
      fi_eq_readerr(link->adapter_.events.get(), &why, 0);
      return trouble(Cause::Unreachable, "the data port {}:{} refused: {}", address.host, address.port,
                     fi_text(why.err));
    }
    if (got >= 0)
      return trouble(Cause::Gone, "the data connection to {}:{} ended at once", address.host, address.port);
    if (got != -FI_EAGAIN && got != -FI_EINTR)
      return trouble(Cause::Unreachable, "{}:{}: {}", address.host, address.port, fi_text(got));
    if (deadline.is_over())
      return trouble(Cause::Timeout, "the data port {}:{} did not answer in {} ms", address.host,
                     address.port, deadline.length_ms());
  }
}

Outcome<> Link::post(Operation& operation, const fabric::Deadline& deadline) {
  iovec local{operation.local, operation.size_bytes};
  void* descriptor = local_ ? fi_mr_desc(local_.get()) : nullptr;
  fi_rma_iov remote{operation.remote, operation.size_bytes, operation.key};
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  message.context = &operation.context;
  for (;;) {
    // A write is done when the bytes are in the memory, not when they have left.
    const ssize_t error = operation.is_write
                              ? fi_writemsg(endpoint_.get(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE)
                              : fi_readmsg(endpoint_.get(), &message, FI_COMPLETION);
    if (error == 0) {
      outstanding_ += 1;
      return {};
    }
    if (error != -FI_EAGAIN) return trouble(Cause::Gone, "the data connection has ended: {}", fi_text(error));
    fi_cq_read(adapter_.done.get(), nullptr, 0);  // lets it get on
    if (deadline.is_over())
      return trouble(Cause::Timeout, "the data connection took nothing in {} ms", deadline.length_ms());
  }
}

Outcome<Link::Operation*> Link::wait(uint32_t timeout_ms, int other) {
  fi_cq_entry entry{};
  ssize_t got = fi_cq_read(adapter_.done.get(), &entry, 1);
  if (got == -FI_EAGAIN) {
    pollfd watched[2] = {{adapter_.ready, POLLIN, 0}, {other, POLLIN, 0}};
    const auto wait_ms = [&](uint32_t ms) { return poll(watched, 2, static_cast<int>(ms)) > 0; };
    const auto has_come = [&] {
      return lookout_.wait([&] { return wait_ms(0); }, [&] { return wait_ms(timeout_ms); });
    };
    if (adapter_.may_wait() && (!has_come() || watched[0].revents == 0)) return nullptr;
    got = fi_cq_read(adapter_.done.get(), &entry, 1);
  }
  if (got == 1) {
    outstanding_ -= 1;
    return static_cast<Operation*>(entry.op_context);
  }
  if (got == -FI_EAGAIN || got == -FI_EINTR || got == 0) return nullptr;
  fi_cq_err_entry why{};
  if (got == -FI_EAVAIL && fi_cq_readerr(adapter_.done.get(), &why, 0) == 1) outstanding_ -= 1;
  return trouble(Cause::Gone, "the data connection broke: {}", fi_text(why.err != 0 ? why.err : got));
}

void Link::cut() {
  if (!endpoint_) return;
  fi_shutdown(endpoint_.get(), 0);
  // What is under way comes back now, cancelled or done.
  const fabric::Deadline patience(1000);
  while (outstanding_ > 0 && !patience.is_over()) (void)wait(10);
  endpoint_.reset();
}

}  // namespace plat::fabricd
