//===- Ranks.cpp - Data-parallel training ---------------------------------===//
// Ranks as threads, or as processes of mpirun. Rank 0 logs and saves.
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/ThreadPool.h"
#include <algorithm>
#include <cstdio>
#include <exception>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace amp::run;
using namespace amp::runtime;

/// The options of one of several ranks, `local` of them on this machine.
static Options getRankOptions(const Options &options, unsigned rank,
                              unsigned local) {
  Options own = options;
  if (own.threads == 0) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    own.threads =
        std::max(1u, std::min(ThreadPool::countProcessors(),
                              static_cast<unsigned>(processors) / local));
  }
  if (rank == 0)
    return own;
  own.quiet = true;
  own.saveEvery.reset();
  for (std::string *file : {&own.log, &own.save, &own.plot})
    file->clear();
  return own;
}

namespace {
/// The failure that came first: the others are its consequence.
class FirstFailure {
public:
  void set(std::exception_ptr failure) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!first)
      first = std::move(failure);
  }
  void rethrow() const {
    if (first)
      std::rethrow_exception(first);
  }

private:
  std::mutex mutex;
  std::exception_ptr first;
};
} // namespace

static int trainInThread(const Options &options, Collectives &ranks,
                         FirstFailure &failure) {
  std::string where = "rank " + std::to_string(ranks.getRank()) + ": ";
  try {
    return trainRank(options, &ranks);
  } catch (const Failure &caught) {
    failure.set(
        std::make_exception_ptr(Failure(caught.status, where + caught.what())));
    ranks.abort(caught.what());
  } catch (const std::bad_alloc &) {
    failure.set(std::current_exception());
    ranks.abort("there is not enough memory");
  }
  return 1;
}

static int trainThreads(const Options &options) {
  auto count = static_cast<unsigned>(*options.ranks);
  std::vector<std::unique_ptr<Collectives>> ranks =
      makeThreadRanks(count, TimeOut(options.rankTimeOut));
  std::vector<int> codes(count, 1);
  FirstFailure failure;
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      Options own = getRankOptions(options, rank, count);
      codes[rank] = trainInThread(own, *ranks[rank], failure);
    });
  for (std::thread &thread : threads)
    thread.join();
  failure.rethrow();
  return codes[0];
}

static int trainProcess(const Options &options, const MpiWorld &world) {
  std::unique_ptr<Collectives> ranks = connectMpi(TimeOut(options.rankTimeOut));
  unsigned rank = ranks->getRank();
  std::string error;
  try {
    return trainRank(getRankOptions(options, rank, world.localSize),
                     ranks.get());
  } catch (const Failure &failure) {
    error = failure.what();
  } catch (const std::bad_alloc &) {
    error = "there is not enough memory";
  }
  // Said here: this process does not return from abort.
  std::fprintf(stderr, "amp-run: error: rank %u: %s\n", rank, error.c_str());
  ranks->abort(error);
  return 1;
}

int amp::run::runTrain(const Options &options) {
  std::optional<MpiWorld> world = getMpiWorld();
  bool underMpi = world && world->size > 1;
  if (underMpi && options.ranks)
    fail(AMP_INVALID_ARGUMENT,
         "--ranks makes ranks in one process, but mpirun started several: "
         "leave it out");
  if (underMpi)
    return trainProcess(options, *world);
  return options.ranks ? trainThreads(options) : trainRank(options, nullptr);
}
