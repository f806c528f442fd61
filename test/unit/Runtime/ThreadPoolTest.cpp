//===- ThreadPoolTest.cpp - Threads that share a range of iterations ------===//
// Every piece runs exactly once, also when callers nest or compete.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/ThreadPool.h"
#include "gtest/gtest.h"
#include <thread>

using amp::runtime::ThreadPool;

namespace {

/// Adds one per iteration and remembers whether a piece was cut as promised.
struct Counter {
  explicit Counter(int64_t n, int64_t grain) : n(n), grain(grain), counts(n) {}
  int64_t n, grain;
  std::vector<int> counts;
  std::atomic<bool> wellCut{true};
};

void countPiece(void *const *buffers, int64_t lo, int64_t hi) {
  auto *counter = static_cast<Counter *>(buffers[0]);
  if (lo % counter->grain != 0 ||
      hi != std::min(lo + counter->grain, counter->n))
    counter->wellCut = false;
  for (int64_t i = lo; i < hi; ++i)
    ++counter->counts[i];
}

void run(ThreadPool &pool, int64_t n, int64_t grain) {
  Counter counter(n, grain);
  void *buffers[] = {&counter};
  ThreadPool::call(&pool, countPiece, buffers, n, grain);
  EXPECT_TRUE(counter.wellCut);
  for (int64_t i = 0; i < n; ++i)
    ASSERT_EQ(counter.counts[i], 1) << i;
}

} // namespace

TEST(ThreadPool, RunsEveryIterationOnce) {
  for (unsigned threads : {1, 2, 3, 0}) {
    ThreadPool pool(threads);
    for (int64_t n : {0, 1, 2, 63, 1000})
      for (int64_t grain : {1, 7, 64, 5000})
        run(pool, n, grain);
  }
}

TEST(ThreadPool, HasNoMoreThreadsThanProcessors) {
  EXPECT_EQ(ThreadPool().size(), ThreadPool::countProcessors());
  EXPECT_EQ(ThreadPool(1).size(), 1u);
  EXPECT_LE(ThreadPool(10000).size(), ThreadPool::countProcessors());
}

TEST(ThreadPool, SurvivesManySmallRanges) {
  ThreadPool pool;
  for (int i = 0; i < 20000; ++i)
    run(pool, 1 + i % 5, 1);
}

TEST(ThreadPool, WakesSleepers) {
  ThreadPool pool;
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    run(pool, 100, 3);
  }
}

TEST(ThreadPool, RunsNestedRanges) {
  ThreadPool pool;
  std::atomic<int> total{0};
  void *buffers[] = {&pool, &total};
  ThreadPool::call(
      &pool,
      [](void *const *outer, int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i)
          ThreadPool::call(
              outer[0],
              [](void *const *inner, int64_t from, int64_t to) {
                *static_cast<std::atomic<int> *>(inner[1]) += int(to - from);
              },
              outer, 10, 2);
      },
      buffers, 8, 1);
  EXPECT_EQ(total, 80);
}

TEST(ThreadPool, ServesCompetingCallers) {
  ThreadPool pool;
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      for (int k = 0; k < 500; ++k)
        run(pool, 50, 4);
    });
  for (std::thread &caller : callers)
    caller.join();
}
