// SPDX-License-Identifier: Apache-2.0
#include "fabricd/channel.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "fabric/message.h"

namespace plat::fabricd {

using fabric::Ask;
using fabric::Request;

namespace {
// To wake the process for every piece costs more than it gains by working on one while the next is moved.
constexpr int kToldAtOnce = 2;

constexpr uint32_t bit_of(size_t buffer) { return uint32_t{1} << buffer; }
}  // namespace

void Channel::serve() {
  while (!session_->has_ended()) {
    if (busy_ < fabric::kBuffers) {
      Request request;
      const auto got = fabric::receive(socket_, request, busy_ == 0 ? -1 : 0, &requests_);
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
                     request.buffer < fabric::kBuffers && !slots_[request.buffer].imported &&
                     request.size_bytes <= fabric::kBufferBytes;
  if (!sound) {
    fabric::Reply reply;
    reply.cause = Cause::BadRequest;
    fabric::send(socket_, reply, "the request makes no sense");
    return;
  }
  if (auto started = start(request, slots_[request.buffer]); !started) {
    if (busy_ > 0) give_up(started.error());  // the rest of the copy is worth nothing without this piece
    answer(bit_of(request.buffer), started.error());
  }
  if (busy_ == 0) peer_.reset();
}

Outcome<> Channel::start(const Request& request, Slot& slot) {
  auto found = session_->find(request.import);
  if (!found) return pass_on(found.error());
  const ImportedPtr& imported = *found;
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
  slot.imported = imported;
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
  // What the process says next is heard at once, so that one piece is sent while another one is received.
  const auto done = connection_.link->wait(look_.left_ms(), busy_ < fabric::kBuffers ? socket_ : -1);
  if (!done) return give_up({Cause::Gone, fmt::format("{}: {}", peer_->describe(), done.error().text)});
  if (*done != nullptr) {
    Slot& slot = *reinterpret_cast<Slot*>(*done);
    slot.imported.reset();  // before the process hears of it, and releases what it may take for the last use
    busy_ -= 1;
    done_ |= bit_of(static_cast<size_t>(&slot - slots_.data()));
    peer_->count(slot.operation.size_bytes, slot.operation.is_write);
    if (busy_ == 0) peer_.reset();
    if (busy_ == 0 || std::popcount(done_) >= kToldAtOnce) tell();
    return;
  }
  if (!look_.is_over()) return;  // the process has said something
  look_.renew();
  tell();
  if (!peer_->is_alive())
    return give_up({Cause::Gone, fmt::format("{}: its daemon has ended, or is cut off", peer_->describe())});
  for (const Slot& slot : slots_)
    if (slot.imported && slot.deadline.is_over())
      return give_up({Cause::Timeout, fmt::format("{}: {} bytes did not arrive in {} ms", peer_->describe(),
                                                  slot.operation.size_bytes, slot.deadline.length_ms())});
}

void Channel::tell() {
  if (done_ != 0) answer(std::exchange(done_, 0), {});
}

void Channel::answer(uint32_t buffers, const Trouble& why) {
  fabric::Reply reply;
  reply.cause = why.cause;
  reply.buffers = buffers;
  fabric::send(socket_, reply, why.text);
}

void Channel::give_up(const Trouble& why) {
  connection_.link->cut();  // the buffers are the process's again
  const uint64_t number = connection_.number;
  connection_ = {};
  // Half of a write may be on its way: nobody is told that it is over before it is.
  peer_->cut(number);
  tell();
  uint32_t failed = 0;
  for (size_t buffer = 0; buffer < slots_.size(); ++buffer)
    if (std::exchange(slots_[buffer].imported, nullptr)) failed |= bit_of(buffer);
  if (failed != 0) answer(failed, why);
  busy_ = 0;
  peer_.reset();
}

}  // namespace plat::fabricd
