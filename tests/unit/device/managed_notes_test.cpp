// SPDX-License-Identifier: Apache-2.0
// What a process tells of its managed memory, as others find it.
#include "device/managed_notes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plat::device {
namespace {

ManagedNote note(uint64_t start) { return {start, 4096, 0, {1, 3}, {}, 5, 1}; }

TEST(ManagedNotes, AreFoundByTheProcess) {
  EXPECT_TRUE(ManagedNotes::of(getpid()).empty());
  ManagedNotes notes;
  notes.tell(std::vector{note(1 << 21)});
  EXPECT_TRUE(ManagedNotes::of(getpid()).empty()) << "there is no file yet";
  notes.prepare();
  EXPECT_TRUE(ManagedNotes::of(getpid()).empty());
  const std::vector<ManagedNote> told{note(1 << 21), note(1 << 22)};
  notes.tell(told);
  EXPECT_EQ(ManagedNotes::of(getpid()), told);
  notes.tell(std::span(told).first(1));
  EXPECT_EQ(ManagedNotes::of(getpid()), std::vector{told.front()});
  notes.tell({});
  EXPECT_TRUE(ManagedNotes::of(getpid()).empty());
}

TEST(ManagedNotes, OfManyBlocksTellTheFirst) {
  ManagedNotes notes;
  notes.prepare();
  std::vector<ManagedNote> told;
  for (uint64_t i = 0; i < 2 * ManagedNotes::kBlocksMax; ++i) told.push_back(note(i << 21));
  notes.tell(told);
  told.resize(ManagedNotes::kBlocksMax);
  EXPECT_EQ(ManagedNotes::of(getpid()), told);
}

TEST(ManagedNotes, OfAParentAreNotThoseOfItsChild) {
  ManagedNotes notes;
  notes.prepare();
  notes.tell(std::vector{note(1 << 21)});
  const pid_t child = fork();
  if (child == 0)
    _exit(ManagedNotes::of(getpid()).empty() && ManagedNotes::of(getppid()).size() == 1 ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ManagedNotes, AreGoneWithTheirOwner) {
  {
    ManagedNotes notes;
    notes.prepare();
    notes.tell(std::vector{note(1 << 21)});
    EXPECT_EQ(ManagedNotes::of(getpid()).size(), 1u);
  }
  EXPECT_TRUE(ManagedNotes::of(getpid()).empty());
}

}  // namespace
}  // namespace plat::device
