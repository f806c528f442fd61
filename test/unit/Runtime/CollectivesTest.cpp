//===- CollectivesTest.cpp - Ranks that are threads -----------------------===//
// Reductions in the order of ranks; nobody waits for ever.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Collectives.h"
#include "amp/Runtime/Failure.h"
#include "gtest/gtest.h"
#include <limits>
#include <thread>

using namespace amp::runtime;

/// Runs `body` on every rank, each in its thread.
template <typename Body> static void onRanks(unsigned count, Body body) {
  auto ranks = makeThreadRanks(count, TimeOut(60));
  std::vector<std::thread> threads;
  for (auto &rank : ranks)
    threads.emplace_back([&] { body(*rank); });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Collectives, SumsInTheOrderOfRanks) {
  for (unsigned count : {1u, 2u, 3u, 4u})
    onRanks(count, [&](Collectives &rank) {
      for (size_t elements : {0, 1, 2, 5, 1000}) {
        std::vector<float> data(elements);
        for (size_t i = 0; i < elements; ++i)
          data[i] = 1.0f / static_cast<float>(i + 3 + rank.getRank());
        rank.allReduce(data.data(), DType::F32, elements, Reduction::Sum);
        for (size_t i = 0; i < elements; ++i) {
          float sum = 1.0f / static_cast<float>(i + 3);
          for (unsigned r = 1; r < count; ++r)
            sum += 1.0f / static_cast<float>(i + 3 + r);
          EXPECT_EQ(data[i], sum);
        }
      }
    });
}

TEST(Collectives, AnInfinityAnywhereIsEverywhere) {
  onRanks(3, [](Collectives &rank) {
    float value =
        rank.getRank() == 1 ? std::numeric_limits<float>::infinity() : -1.0f;
    rank.allReduce(&value, DType::F32, 1, Reduction::Sum);
    EXPECT_EQ(value, std::numeric_limits<float>::infinity());
    double flag = rank.getRank() == 2;
    rank.allReduce(&flag, DType::F64, 1, Reduction::Max);
    EXPECT_EQ(flag, 1);
  });
}

TEST(Collectives, BroadcastsFromRankZero) {
  onRanks(4, [](Collectives &rank) {
    std::string text = "rank " + std::to_string(rank.getRank());
    rank.broadcast(text.data(), text.size());
    EXPECT_EQ(text, "rank 0");
  });
}

TEST(Collectives, ARankThatGivesUpEndsTheWaitOfTheOthers) {
  onRanks(3, [](Collectives &rank) {
    if (rank.getRank() == 1)
      return rank.abort("no data");
    float value = 0;
    try {
      rank.allReduce(&value, DType::F32, 1, Reduction::Sum);
      FAIL() << "rank 1 never came";
    } catch (const Failure &failure) {
      EXPECT_STREQ(failure.what(), "rank 1 gave up: no data");
    }
  });
}

TEST(Collectives, WaitsNoLongerThanTheTimeOut) {
  auto ranks = makeThreadRanks(2, TimeOut(1));
  float value = 0;
  try {
    ranks[0]->allReduce(&value, DType::F32, 1, Reduction::Sum);
    FAIL() << "rank 1 never came";
  } catch (const Failure &failure) {
    EXPECT_STREQ(failure.what(), "1 of 2 ranks did not come within 1 seconds "
                                 "(--rank-timeout)");
  }
}
