//===- ThreadRanks.cpp - Ranks that are threads of one process ------------===//
// They meet at a barrier; each reduces a share in the order of ranks.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Collectives.h"
#include "amp/Runtime/Failure.h"
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>

using namespace amp::runtime;

namespace {
/// What the ranks share.
class Team {
public:
  Team(unsigned size, TimeOut timeOut)
      : memory(size, nullptr), size(size), timeOut(timeOut) {}

  /// Shows a rank's memory and waits for that of the others. The last one to
  /// come makes `scratch` as large as `bytes`: nobody reads it any more.
  void meet(unsigned rank, void *data, size_t bytes);
  /// Waits for the others.
  void meet();
  void fail(const std::string &why);

  std::vector<void *> memory;
  std::vector<char> scratch;
  const unsigned size;

private:
  void arrive(std::unique_lock<std::mutex> &lock, size_t bytes);

  const TimeOut timeOut;
  std::mutex mutex;
  std::condition_variable changed;
  unsigned arrived = 0;
  uint64_t generation = 0;
  std::string failure;
};
} // namespace

void Team::meet(unsigned rank, void *data, size_t bytes) {
  std::unique_lock<std::mutex> lock(mutex);
  memory[rank] = data;
  arrive(lock, bytes);
}

void Team::meet() {
  std::unique_lock<std::mutex> lock(mutex);
  arrive(lock, 0);
}

void Team::arrive(std::unique_lock<std::mutex> &lock, size_t bytes) {
  uint64_t mine = generation;
  if (failure.empty() && ++arrived == size) {
    arrived = 0;
    ++generation;
    if (scratch.size() < bytes)
      scratch.resize(bytes);
    changed.notify_all();
    return;
  }
  bool came = changed.wait_for(
      lock, timeOut, [&] { return generation != mine || !failure.empty(); });
  if (!came) {
    failure = std::to_string(size - arrived) + " of " + std::to_string(size) +
              " ranks did not come within " + std::to_string(timeOut.count()) +
              " seconds (--rank-timeout)";
    changed.notify_all();
  }
  if (generation == mine)
    amp::runtime::fail(AMP_FAILED, failure);
}

void Team::fail(const std::string &why) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failure.empty())
    failure = why;
  changed.notify_all();
}

template <typename T>
static void reduceShare(const Team &team, size_t first, size_t last,
                        Reduction reduction, T *target) {
  std::memcpy(target + first, static_cast<const T *>(team.memory[0]) + first,
              (last - first) * sizeof(T));
  for (unsigned rank = 1; rank < team.size; ++rank) {
    const T *other = static_cast<const T *>(team.memory[rank]);
    if (reduction == Reduction::Sum)
      for (size_t i = first; i < last; ++i)
        target[i] += other[i];
    else
      for (size_t i = first; i < last; ++i)
        target[i] = std::max(target[i], other[i]);
  }
}

namespace {
class ThreadRank : public Collectives {
public:
  ThreadRank(std::shared_ptr<Team> team, unsigned rank)
      : team(std::move(team)), rank(rank) {}

  unsigned getRank() const override { return rank; }
  unsigned getSize() const override { return team->size; }

  void allReduce(void *data, DType dtype, size_t count,
                 Reduction reduction) override {
    size_t bytes = count * amp::runtime::getSize(dtype);
    team->meet(rank, data, bytes);
    size_t first = count * rank / team->size,
           last = count * (rank + 1) / team->size;
    if (dtype == DType::F32)
      reduceShare(*team, first, last, reduction,
                  reinterpret_cast<float *>(team->scratch.data()));
    else
      reduceShare(*team, first, last, reduction,
                  reinterpret_cast<double *>(team->scratch.data()));
    team->meet();
    if (bytes)
      std::memcpy(data, team->scratch.data(), bytes);
  }

  void broadcast(void *data, size_t bytes) override {
    team->meet(rank, data, 0);
    if (rank != 0 && bytes)
      std::memcpy(data, team->memory[0], bytes);
    team->meet();
  }

  void abort(const std::string &why) noexcept override {
    team->fail("rank " + std::to_string(rank) + " gave up: " + why);
  }

private:
  std::shared_ptr<Team> team;
  const unsigned rank;
};
} // namespace

std::vector<std::unique_ptr<Collectives>>
amp::runtime::makeThreadRanks(unsigned count, TimeOut timeOut) {
  auto team = std::make_shared<Team>(count, timeOut);
  std::vector<std::unique_ptr<Collectives>> ranks;
  for (unsigned rank = 0; rank < count; ++rank)
    ranks.push_back(std::make_unique<ThreadRank>(team, rank));
  return ranks;
}
