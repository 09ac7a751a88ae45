// SPDX-License-Identifier: Apache-2.0
// Looking at a device without its lock: src/device/ledger_recovery.cpp (acquire, give_up) and
// src/device/observer.cpp (read_all, is_of_one_moment) in small. The programs are written from these; whoever
// changes one changes the other.
//
// An observer reads the file by system calls, here loads in the order in which they are made. What follows a
// change under the lock is ordered by the lock of the kernel and is not shown.
#include <gtest/gtest.h>

#include <memory>

#include "model/orders.h"

namespace plat::model {
namespace {

constexpr Order kRelaxed = Order::relaxed;

struct Books {
  Atomic transaction{0};
  Atomic changes{0};
  Atomic first{0}, second{0};  // of the books: a change makes both one more
};

void change_books(Orders& orders, Books& books) {
  books.transaction.store(1, kRelaxed);
  books.changes.store(books.changes.load(kRelaxed) + 1, orders.store("count", Order::release));
  if (orders.has("both before the books change")) fence(Order::release);
  books.first.fetch_add(1, kRelaxed);
  books.second.fetch_add(1, kRelaxed);
  books.transaction.store(0, orders.store("done", Order::release));
}

// `counts`: as it is; without it only the mark of who is inside is looked at.
void look(Orders& orders, Books& books, bool counts) {
  const uint64_t changes = books.changes.load(kRelaxed);
  if (orders.has("the count before who is inside")) fence(Order::acquire);
  if (books.transaction.load(kRelaxed) != 0) return;
  if (orders.has("who is inside before the books")) fence(Order::acquire);
  const uint64_t first = books.first.load(kRelaxed);
  const uint64_t second = books.second.load(kRelaxed);
  if (orders.has("the books before the second look")) fence(Order::acquire);
  if (counts && books.changes.load(kRelaxed) != changes) return;
  if (!counts && books.transaction.load(kRelaxed) != 0) return;
  expect(first == second, "a copy of two moments");
}

std::vector<Program> observed(Orders& orders, bool counts) {
  auto books = std::make_shared<Books>();
  return {[=, &orders] {
            change_books(orders, *books);
            change_books(orders, *books);
          },
          [=, &orders] { look(orders, *books, counts); }};
}

TEST(Model, ObserverOfALedger) {
  expect_needs_all_its_orders([](Orders& orders) { return observed(orders, true); });
}

TEST(Model, ObserversMustCountChanges) {
  Orders orders;
  EXPECT_NE(explore([&] { return observed(orders, false); }).violation, "");
}

}  // namespace
}  // namespace plat::model
