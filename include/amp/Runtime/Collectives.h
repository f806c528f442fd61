//===- Collectives.h - How ranks of a run talk ------------------*- C++ -*-===//
// The few operations data-parallel training needs, and who implements them.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_COLLECTIVES_H
#define AMP_RUNTIME_COLLECTIVES_H

#include "amp/Runtime/Array.h"
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace amp::runtime {

enum class Reduction { Sum, Max };

/// One rank's end. All ranks make the same calls in the same order; a call
/// fails, on every rank that waits, when another one gives up or does not come
/// within the time-out.
class Collectives {
public:
  Collectives() = default;
  Collectives(const Collectives &) = delete;
  Collectives &operator=(const Collectives &) = delete;
  virtual ~Collectives() = default;

  virtual unsigned getRank() const = 0;
  virtual unsigned getSize() const = 0;
  /// Replaces `count` elements, f32 or f64, by their reduction over all ranks,
  /// the same bits on each.
  virtual void allReduce(void *data, DType dtype, size_t count,
                         Reduction reduction) = 0;
  /// Replaces bytes by those of rank 0.
  virtual void broadcast(void *data, size_t bytes) = 0;
  /// Tells the others that this rank gives up, so that none waits for it.
  virtual void abort(const std::string &why) noexcept = 0;
};

using TimeOut = std::chrono::seconds;

/// The ends of `count` ranks that are threads of this process. Sums are made
/// in the order of ranks.
std::vector<std::unique_ptr<Collectives>> makeThreadRanks(unsigned count,
                                                          TimeOut timeOut);

/// Whether Open MPI's mpirun started this process; with how many others, in
/// all and on this machine.
struct MpiWorld {
  unsigned size, localSize;
};
std::optional<MpiWorld> getMpiWorld();
/// This process's end among those that mpirun started. Open MPI is loaded when
/// it is called: nothing is linked.
std::unique_ptr<Collectives> connectMpi(TimeOut timeOut);

} // namespace amp::runtime

#endif // AMP_RUNTIME_COLLECTIVES_H
