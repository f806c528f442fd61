//===- DataParallel.h - One step on several ranks ---------------*- C++ -*-===//
// Every rank has the whole state and a share of the batch.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_DATAPARALLEL_H
#define AMP_RUNTIME_DATAPARALLEL_H

#include "amp/Runtime/Collectives.h"
#include "amp/Runtime/Session.h"

namespace amp::runtime {

/// A number that must be the same on all ranks, for messages.
struct SharedFact {
  std::string name;
  int64_t value;
};

/// Trains one session per rank, all of the same artifact, in step.
class DataParallel {
public:
  /// Fails on every rank when the ranks' artifacts or `facts` differ; else
  /// gives all of them the state of rank 0.
  DataParallel(Session &session, Collectives &ranks,
               const std::vector<SharedFact> &facts);

  /// Gradients of this rank's share, averaged over ranks, then the update.
  /// `loss` and `found_inf` are those of all ranks.
  void step(const std::vector<Binding> &inputs);
  /// Whether any rank says so.
  bool any(bool here);
  /// Fails on every rank when one's parameters or optimizer state are not bit
  /// for bit rank 0's. Buffers are each rank's own.
  void checkReplicas();

private:
  void findReduced();
  void checkFingerprints();
  void checkFacts(const std::vector<SharedFact> &facts);
  void runGradients(const std::vector<Binding> &inputs);
  void average(size_t id);
  void agree(const std::string &complaint, const char *others);

  Session &session;
  Collectives &ranks;
  /// Loss and gradients.
  std::vector<size_t> averaged;
  /// Whether a gradient of some rank is not finite.
  size_t foundInf = 0;
  std::optional<size_t> iteration;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_DATAPARALLEL_H
