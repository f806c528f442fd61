//===- ThreadPool.h - Threads that share a range of iterations --*- C++ -*-===//
// What runs the kernels of a step: persistent threads, no allocation per call.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_THREADPOOL_H
#define AMP_RUNTIME_THREADPOOL_H

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace amp::runtime {

/// A pool whose threads run pieces of one range at a time. Pieces are
/// [i * grain, (i + 1) * grain), so what a task computes does not depend on
/// how many threads there are.
class ThreadPool {
public:
  using Task = void (*)(void *const *buffers, int64_t lo, int64_t hi);

  /// `threads` counts the caller's; 0 means one per available processor. There
  /// are never more than that: a range ends when its last piece does, and a
  /// piece whose thread waits for a processor costs a time slice.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Runs `task` over [0, n) and returns when all of it is done. When the pool
  /// is busy, with a caller on another thread or one inside a task, the caller
  /// does all pieces itself.
  void parallelFor(Task task, void *const *buffers, int64_t n, int64_t grain);

  /// The same as a plain function, for `struct amp_host`.
  static void call(void *pool, Task task, void *const *buffers, int64_t n,
                   int64_t grain) {
    static_cast<ThreadPool *>(pool)->parallelFor(task, buffers, n, grain);
  }

  unsigned size() const { return unsigned(workers.size()) + 1; }

  /// Processors this process may run on.
  static unsigned countProcessors();

private:
  void work();
  void drain();

  /// Counts ranges; sleeping threads wait for it to change.
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> sleeping{0};
  /// Whether the range below may be entered.
  std::atomic<bool> open{false};
  std::atomic<bool> stopping{false};
  std::atomic<bool> busy{false};
  /// Threads that may be looking at the range.
  alignas(64) std::atomic<uint32_t> inside{0};
  alignas(64) std::atomic<int64_t> next{0};
  Task task = nullptr;
  void *const *buffers = nullptr;
  int64_t n = 0, grain = 1;
  std::vector<std::thread> workers;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_THREADPOOL_H
