//===- AssignPrecision.h - Decides the types of a function's ops ----------===//
//
// The parts of amp-assign-precision share this class: classes and constants,
// the two placements, regions, what the user fixed.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISION_H
#define AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISION_H

#include "AssignPrecisionGraph.h"
#include "amp/Support/HalfConversion.h"

namespace amp::assign {

/// What becomes of an op whose constant a half type cannot hold.
enum class LossyConstants : uint8_t {
  ByPolicy, ///< `Wide` where casts are fewest, else `Keep`
  Wide,     ///< the op runs in float32
  Keep,     ///< the op is not asked: clamped or converted later
};

struct AssignOptions {
  LossyConstants lossyConstants = LossyConstants::ByPolicy;
  bool keepOutputs = true;
};

/// A constant that loses values in a half type.
struct Loss {
  uint32_t root = none;
  NarrowingStats stats;
  uint64_t size = 0;
  /// One number that rounding makes another one.
  bool distorted = false;
  /// Bad enough to keep the op in float32.
  bool forbids = false;
};

/// Decides one function.
class Assigner {
public:
  Assigner(Graph &graph, const AssignOptions &options)
      : graph(graph), options(options) {}

  /// Gives each op its class; what overrides the class may be set after.
  void classify();
  /// Sets the types of all slots.
  void decide();
  /// Writes the decisions as attributes.
  void emit();

  /// Sets the slots of a node that must run in `half`, or in float32.
  void setHalf(Node &node, Kind half, DecisionRule rule);
  void setWide(Node &node, DecisionRule rule);

  Graph &graph;

private:
  // AssignPrecision.cpp
  void classifyOp(Node &node);
  OpClass classOf(const Node &node);
  void followConstants(const Node &node);
  void markAssumed();

  // AssignPrecisionForward.cpp
  void forward();
  void decideOp(Node &node);
  void decideKept(Node &node);
  void decideForced(Node &node);
  void decideNarrow(Node &node);
  void decideFewestCasts(Node &node);
  void decideFixed(Node &node);
  void leaveOpen(Node &node);
  void finishResults(Node &node);
  void applySlotPins(Node &node);
  Range rangeOfResults(const Node &node);
  Range rangeOfKept(const Node &node);
  Kind arrivingKind(const Node &node, int var);
  bool isLegal(const Node &node, Kind half) const;

  // AssignPrecisionProgramOrder.cpp
  void decideProgramOrder(Node &node);
  Kind promotedKind(const Node &node);

  // AssignPrecisionRegions.cpp
  void enterRegion(Node &node);
  /// The node to go on with: the one after `node`, or the region's first.
  uint32_t leaveRegion(uint32_t number);
  void leaveIf(const Node &node, const RegionState &region);
  bool leaveLoop(const Node &node, RegionState &region);
  void setResult(Slot &slot, Kind kind, Range range);
  void decideBoundary(Node &node);

  // AssignPrecisionConstants.cpp
  const NarrowingStats &getStats(uint32_t root, Kind half);
  Loss findLoss(const Node &node, Kind half, bool scanLarge);
  bool keepsLossyWide(const Node &node) const;
  void explainLoss(Node &node, const Loss &loss);
  void noteLosses();

  // AssignPrecisionGuards.cpp
  void findGuards();
  void protectGuard(uint32_t holder, uint32_t constant);
  bool protectsDivision(uint32_t holder);
  std::optional<float> getTinyConstant(const Node &node, uint32_t &constant);

  // AssignPrecisionPlacement.cpp
  void countUses();
  int64_t gainOfWidening(const Node &node);
  void widenBeforeWide();
  bool place();
  bool placeGroup(llvm::ArrayRef<uint32_t> group);
  bool scanGroup(llvm::ArrayRef<uint32_t> group);
  std::vector<llvm::SmallVector<uint32_t>> groupOpenNodes();

  AssignOptions options;
  /// Per root and half type.
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, NarrowingStats> stats;
};

} // namespace amp::assign

#endif // AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISION_H
