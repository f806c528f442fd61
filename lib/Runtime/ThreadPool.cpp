//===- ThreadPool.cpp - Threads that share a range of iterations ----------===//
// Threads spin a little for the next range, then sleep on a futex.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/ThreadPool.h"
#include <algorithm>
#include <climits>
#include <immintrin.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace amp::runtime;

/// Some 50 microseconds: longer than the gaps between the kernels of a step.
static constexpr int spins = 4000;

static void futexWait(std::atomic<uint32_t> &word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

static void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

unsigned ThreadPool::countProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(unsigned threads) {
  unsigned available = countProcessors();
  unsigned wanted = threads == 0 ? available : std::min(threads, available);
  workers.reserve(wanted - 1);
  for (unsigned i = 1; i < wanted; ++i)
    workers.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  stopping = true;
  ++generation;
  futexWakeAll(generation);
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::drain() {
  for (int64_t lo; (lo = next.fetch_add(grain, std::memory_order_relaxed)) < n;)
    task(buffers, lo, std::min(lo + grain, n));
}

void ThreadPool::work() {
  uint32_t seen = 0;
  for (;;) {
    for (int i = 0; generation == seen && i < spins; ++i)
      _mm_pause();
    while (generation == seen) {
      ++sleeping;
      futexWait(generation, seen);
      --sleeping;
    }
    seen = generation;
    if (stopping)
      return;
    // The caller closes the range, then waits for `inside` to be zero; we
    // enter, then look whether it is open. One of us sees the other.
    ++inside;
    if (open)
      drain();
    --inside;
  }
}

void ThreadPool::parallelFor(Task newTask, void *const *newBuffers,
                             int64_t newN, int64_t newGrain) {
  bool alone = workers.empty() || newN <= newGrain;
  if (alone || busy.exchange(true)) {
    for (int64_t lo = 0; lo < newN; lo += newGrain)
      newTask(newBuffers, lo, std::min(lo + newGrain, newN));
    return;
  }
  task = newTask;
  buffers = newBuffers;
  n = newN;
  grain = newGrain;
  next = 0;
  open = true;
  ++generation;
  if (sleeping != 0)
    futexWakeAll(generation);
  drain();
  open = false;
  for (int i = 0; inside != 0; ++i)
    // A thread that lost its processor inside a piece: let it have ours.
    if (i < spins)
      _mm_pause();
    else
      sched_yield();
  busy = false;
}
