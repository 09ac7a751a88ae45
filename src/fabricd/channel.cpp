// SPDX-License-Identifier: Apache-2.0
#include "fabricd/channel.h"

#include <algorithm>

#include "fabric/message.h"

namespace plat::fabricd {

using fabric::Ask;
using fabric::Request;

namespace {
constexpr uint32_t kLookMs = 100;  // how often a wait looks whether its process is still there
}

void Channel::serve() {
  while (!session_->has_ended()) {
    if (busy_ < fabric::kBuffers) {
      Request request;
      const auto got = fabric::receive(socket_, request, busy_ == 0 ? -1 : 0);
      if (got == fabric::Received::End) break;
      if (got == fabric::Received::Message) {
        take(request);
        continue;
      }
    }
    if (busy_ > 0) wait();
  }
  if (busy_ > 0) give_up({Cause::Gone, "the process has ended"});
}

void Channel::take(const Request& request) {
  // Whoever breaks this is not our library.
  const bool sound = request.version == fabric::kWireVersion &&
                     (request.ask == Ask::Write || request.ask == Ask::Read) &&
                     request.buffer < fabric::kBuffers && !slots_[request.buffer].busy &&
                     request.size_bytes <= fabric::kBufferBytes;
  if (!sound) {
    fabric::Reply reply;
    reply.cause = Cause::BadRequest;
    reply.buffer = request.buffer;
    fabric::send(socket_, reply, "the request makes no sense");
    return;
  }
  if (auto started = start(request, slots_[request.buffer]); !started) {
    if (busy_ > 0) give_up(started.error());  // the rest of the copy is worth nothing without this piece
    answer(request.buffer, started.error());
  }
  if (busy_ == 0) peer_.reset();
}

Outcome<> Channel::start(const Request& request, Slot& slot) {
  auto imported = session_->find(request.import);
  if (!imported) return pass_on(imported.error());
  // By subtraction, so that nothing wraps; the far side does not look so closely.
  if (request.size_bytes > imported->size_bytes || request.offset > imported->size_bytes - request.size_bytes)
    return trouble(Cause::BadRequest, "{} bytes at {} pass the end of {} bytes", request.size_bytes,
                   request.offset, imported->size_bytes);
  const fabric::Deadline deadline(request.deadline_ms);
  if (auto ready = use(*imported, deadline); !ready) return ready;
  slot.operation.is_write = request.ask == Ask::Write;
  slot.operation.local = buffers_.start + request.buffer * fabric::kBufferBytes;
  slot.operation.size_bytes = request.size_bytes;
  slot.operation.remote = imported->base + request.offset;
  slot.operation.key = imported->key;
  slot.deadline = deadline;
  if (auto posted = connection_.link->post(slot.operation, deadline); !posted) {
    const Trouble why{posted.error().cause, fmt::format("{}: {}", peer_->describe(), posted.error().text)};
    give_up(why);
    return pass_on(why);
  }
  slot.busy = true;
  busy_ += 1;
  return {};
}

// Makes the connection lead to where the memory is.
Outcome<> Channel::use(const Imported& imported, const fabric::Deadline& deadline) {
  if (!imported.peer->is_alive())
    return trouble(Cause::Gone, "{}: this life of its daemon has ended", imported.peer->describe());
  if (busy_ > 0 && peer_ != imported.peer)
    return trouble(Cause::BadRequest, "copies with two servers at once");
  peer_ = imported.peer;
  if (connection_.link && leads_to_.lock() == peer_) return {};
  connection_ = {};
  leads_to_ = peer_;
  auto made = peer_->connect(buffers_, deadline);
  if (!made) return pass_on(made.error());
  connection_ = std::move(*made);
  return {};
}

void Channel::wait() {
  const auto done = connection_.link->wait(kLookMs);
  if (!done) return give_up({Cause::Gone, fmt::format("{}: {}", peer_->describe(), done.error().text)});
  if (*done != nullptr) {
    Slot& slot = *reinterpret_cast<Slot*>(*done);
    slot.busy = false;
    busy_ -= 1;
    peer_->count(slot.operation.size_bytes, slot.operation.is_write);
    answer(static_cast<size_t>(&slot - slots_.data()), {});
    if (busy_ == 0) peer_.reset();
    return;
  }
  if (!peer_->is_alive())
    return give_up({Cause::Gone, fmt::format("{}: its daemon has ended, or is cut off", peer_->describe())});
  for (const Slot& slot : slots_)
    if (slot.busy && slot.deadline.is_over())
      return give_up({Cause::Timeout, fmt::format("{}: {} bytes did not arrive in {} ms", peer_->describe(),
                                                  slot.operation.size_bytes, slot.deadline.length_ms())});
}

void Channel::answer(size_t buffer, const Trouble& why) {
  fabric::Reply reply;
  reply.cause = why.cause;
  reply.buffer = static_cast<uint32_t>(buffer);
  fabric::send(socket_, reply, why.text);
}

void Channel::give_up(const Trouble& why) {
  connection_.link->cut();  // the buffers are the process's again
  const uint64_t number = connection_.number;
  connection_ = {};
  // Half of a write may be on its way: nobody is told that it is over before it is.
  peer_->cut(number);
  for (size_t buffer = 0; buffer < slots_.size(); ++buffer) {
    if (!slots_[buffer].busy) continue;
    slots_[buffer].busy = false;
    answer(buffer, why);
  }
  busy_ = 0;
  peer_.reset();
}

}  // namespace plat::fabricd
