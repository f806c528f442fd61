//===- MpiRanks.cpp - Ranks that are processes of Open MPI ----------------===//
// libmpi is loaded by name, so that a machine without it runs everything else.
// Types and constants are those of Open MPI's C interface.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Collectives.h"
#include "amp/Runtime/Failure.h"
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <thread>

using namespace amp::runtime;

/// Elements of one call: MPI counts with int.
static constexpr size_t mostElements = size_t(1) << 30;

static unsigned readCount(const char *variable) {
  const char *text = std::getenv(variable);
  long value = text ? std::strtol(text, nullptr, 10) : 0;
  return value > 0 && value < INT_MAX ? static_cast<unsigned>(value) : 0;
}

std::optional<MpiWorld> amp::runtime::getMpiWorld() {
  unsigned size = readCount("OMPI_COMM_WORLD_SIZE");
  if (size == 0)
    return std::nullopt;
  return MpiWorld{size, std::max(1u, readCount("OMPI_COMM_WORLD_LOCAL_SIZE"))};
}

namespace {
/// A handle of Open MPI: the address of an object of its library.
using Handle = void *;

struct OpenMpi {
  OpenMpi();

  int (*init)(int *, char ***);
  int (*finalize)();
  int (*rank)(Handle, int *);
  int (*size)(Handle, int *);
  int (*allReduce)(const void *, void *, int, Handle, Handle, Handle, Handle *);
  int (*broadcast)(void *, int, Handle, int, Handle, Handle *);
  int (*test)(Handle *, int *, void *);
  int (*abort)(Handle, int);
  Handle world, f32, f64, byte, sum, max;

private:
  template <typename T> void find(T &target, const char *name) {
    target = reinterpret_cast<T>(dlsym(library, name));
    if (!target)
      fail(AMP_UNSUPPORTED,
           std::string("the MPI library of this machine has no symbol ") +
               quote(name) + ": it is not Open MPI");
  }

  void *library;
};

class MpiRank : public Collectives {
public:
  explicit MpiRank(TimeOut timeOut);
  ~MpiRank() override;

  unsigned getRank() const override { return static_cast<unsigned>(rank); }
  unsigned getSize() const override { return static_cast<unsigned>(size); }
  void allReduce(void *data, DType dtype, size_t count,
                 Reduction reduction) override;
  void broadcast(void *data, size_t bytes) override;
  void abort(const std::string &why) noexcept override;

private:
  void wait(Handle request);

  OpenMpi mpi;
  const TimeOut timeOut;
  int rank = 0, size = 0;
};
} // namespace

OpenMpi::OpenMpi() {
  // Its plug-ins look for its symbols, so they are made global.
  for (const char *name : {"libmpi.so.40", "libmpi.so"})
    if ((library = dlopen(name, RTLD_NOW | RTLD_GLOBAL)))
      break;
  if (!library)
    fail(AMP_UNSUPPORTED,
         std::string("mpirun started this process, but Open MPI's library "
                     "cannot be loaded: ") +
             dlerror());
  find(init, "MPI_Init");
  find(finalize, "MPI_Finalize");
  find(rank, "MPI_Comm_rank");
  find(size, "MPI_Comm_size");
  find(allReduce, "MPI_Iallreduce");
  find(broadcast, "MPI_Ibcast");
  find(test, "MPI_Test");
  find(abort, "MPI_Abort");
  find(world, "ompi_mpi_comm_world");
  find(f32, "ompi_mpi_float");
  find(f64, "ompi_mpi_double");
  find(byte, "ompi_mpi_byte");
  find(sum, "ompi_mpi_op_sum");
  find(max, "ompi_mpi_op_max");
}

static void check(int code, const char *what) {
  if (code != 0)
    fail(AMP_FAILED, std::string("MPI: ") + what + " failed with code " +
                         std::to_string(code));
}

MpiRank::MpiRank(TimeOut timeOut) : timeOut(timeOut) {
  check(mpi.init(nullptr, nullptr), "MPI_Init");
  check(mpi.rank(mpi.world, &rank), "MPI_Comm_rank");
  check(mpi.size(mpi.world, &size), "MPI_Comm_size");
}

MpiRank::~MpiRank() { mpi.finalize(); }

/// Waits for a call that has begun, but not for ever.
void MpiRank::wait(Handle request) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point end = Clock::now() + timeOut;
  for (int done = 0;;) {
    check(mpi.test(&request, &done, /*MPI_STATUS_IGNORE*/ nullptr), "MPI_Test");
    if (done)
      return;
    if (Clock::now() > end)
      fail(AMP_FAILED, "the other ranks did not come within " +
                           std::to_string(timeOut.count()) +
                           " seconds (--rank-timeout)");
    std::this_thread::yield();
  }
}

void MpiRank::allReduce(void *data, DType dtype, size_t count,
                        Reduction reduction) {
  void *const inPlace = reinterpret_cast<void *>(1);
  for (size_t first = 0; first < count; first += mostElements) {
    char *target =
        static_cast<char *>(data) + first * amp::runtime::getSize(dtype);
    Handle request = nullptr;
    check(mpi.allReduce(inPlace, target,
                        static_cast<int>(std::min(mostElements, count - first)),
                        dtype == DType::F32 ? mpi.f32 : mpi.f64,
                        reduction == Reduction::Sum ? mpi.sum : mpi.max,
                        mpi.world, &request),
          "MPI_Iallreduce");
    wait(request);
  }
}

void MpiRank::broadcast(void *data, size_t bytes) {
  for (size_t first = 0; first < bytes; first += mostElements) {
    Handle request = nullptr;
    check(mpi.broadcast(static_cast<char *>(data) + first,
                        static_cast<int>(std::min(mostElements, bytes - first)),
                        mpi.byte, 0, mpi.world, &request),
          "MPI_Ibcast");
    wait(request);
  }
}

/// Ends all processes: the others may wait in a call for this one.
void MpiRank::abort(const std::string &) noexcept { mpi.abort(mpi.world, 1); }

std::unique_ptr<Collectives> amp::runtime::connectMpi(TimeOut timeOut) {
  return std::make_unique<MpiRank>(timeOut);
}
