//===- ArenaTest.cpp - Buffers of the arena never meet --------------------===//
//
// Properties of layouts over random lifetimes, and the cases with one answer.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Plan/Arena.h"
#include "gtest/gtest.h"
#include <random>

using namespace amp::plan;

/// No two buffers that live at one time share a byte, and all lie within.
static void expectSound(llvm::ArrayRef<Lifetime> buffers,
                        const ArenaLayout &layout) {
  ASSERT_EQ(layout.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t begin = layout.offsets[i], end = begin + buffers[i].bytes;
    EXPECT_EQ(begin % arenaAlignment, 0);
    EXPECT_LE(end, layout.bytes);
    for (size_t j = 0; j < i; ++j) {
      int64_t other = layout.offsets[j];
      bool shares = begin < other + buffers[j].bytes && other < end;
      EXPECT_FALSE(shares && buffers[i].meets(buffers[j]))
          << "buffers " << i << " and " << j;
    }
  }
  EXPECT_GE(layout.bytes, layout.needed);
}

TEST(Arena, NothingNeedsNothing) {
  ArenaLayout layout = layOut({});
  EXPECT_EQ(layout.bytes, 0);
  EXPECT_EQ(layout.needed, 0);
}

TEST(Arena, BuffersOfOneTimeLieBesideEachOther) {
  llvm::SmallVector<Lifetime> buffers{{100, 0, 3}, {64, 2, 5}, {1, 3, 3}};
  ArenaLayout layout = layOut(buffers);
  expectSound(buffers, layout);
  EXPECT_EQ(layout.bytes, 128 + 64 + 64);
  EXPECT_EQ(layout.needed, layout.bytes);
}

TEST(Arena, BuffersOfDifferentTimesShareMemory) {
  llvm::SmallVector<Lifetime> buffers{{640, 0, 1}, {640, 2, 3}, {640, 4, 9}};
  ArenaLayout layout = layOut(buffers);
  expectSound(buffers, layout);
  EXPECT_EQ(layout.bytes, 640);
}

/// A buffer that ends in the step where another begins lives beside it.
TEST(Arena, TheLastStepCounts) {
  llvm::SmallVector<Lifetime> buffers{{64, 0, 2}, {64, 2, 4}};
  EXPECT_EQ(layOut(buffers).bytes, 128);
}

TEST(Arena, RandomLifetimesNeverMeet) {
  std::mt19937 random(7);
  auto pick = [&](int64_t below) { return int64_t(random() % below); };
  for (int round = 0; round < 200; ++round) {
    llvm::SmallVector<Lifetime> buffers;
    int64_t steps = 1 + pick(60);
    for (int64_t i = 0, e = pick(80); i < e; ++i) {
      int64_t first = pick(steps);
      int64_t last = std::min(steps - 1, first + pick(10));
      buffers.push_back({pick(5) == 0 ? pick(2) : pick(10000), first, last});
    }
    ArenaLayout layout = layOut(buffers);
    expectSound(buffers, layout);
    // First fit by size stays near what is needed.
    EXPECT_LE(layout.bytes, layout.needed * 2);
  }
}
