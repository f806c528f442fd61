//===- MinCut.h - Minimum cut of a directed network -----------------------===//
//
// Splits nodes between two sides at the least cost: Dinic's algorithm on
// adjacency arrays, without recursion.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_TRANSFORMS_MINCUT_H
#define AMP_DIALECT_AMP_TRANSFORMS_MINCUT_H

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace amp {

/// A network between a source and a sink. Every node ends on one of the two
/// sides; an edge whose tail is on the source's side and whose head is on the
/// sink's costs its capacity. Among the cheapest cuts `solve` takes the one
/// with the smallest source side, so the answer depends on costs alone and not
/// on the order of edges.
class MinCut {
public:
  using Capacity = int64_t;
  /// Capacity of an edge that must not be cut.
  static constexpr Capacity infinite =
      std::numeric_limits<Capacity>::max() / 1024;

  MinCut();

  /// Adds a node and returns its number; numbers count up from 0.
  unsigned addNode();
  unsigned size() const { return numNodes - 2; }

  /// `from` on the source's side and `to` on the sink's costs `capacity`; the
  /// other way around `reverse`.
  void addEdge(unsigned from, unsigned to, Capacity capacity,
               Capacity reverse = 0);
  /// `node` on the sink's side costs `capacity`.
  void addSource(unsigned node, Capacity capacity);
  /// `node` on the source's side costs `capacity`.
  void addSink(unsigned node, Capacity capacity);

  /// Cost of the cheapest cut, to be asked once. None when more than `maxSteps`
  /// looks at an edge would be needed, or when every cut costs `infinite`.
  std::optional<Capacity>
  solve(uint64_t maxSteps = std::numeric_limits<uint64_t>::max());

  /// The side of `node` after a `solve` that succeeded.
  bool isOnSourceSide(unsigned node) const { return level[node + 2] >= 0; }

private:
  struct Edge {
    uint32_t head;
    Capacity left;
  };

  void link(uint32_t from, uint32_t to, Capacity capacity, Capacity reverse);
  void buildAdjacency();
  bool findLevels();
  std::optional<Capacity> augmentAll();
  Capacity augmentPath();

  static constexpr uint32_t source = 0, sink = 1;
  uint32_t numNodes = 2;
  /// An edge and its reverse are neighbours: `e ^ 1`.
  std::vector<Edge> edges;
  /// Edges of node `n`: `adjacent[first[n]] .. adjacent[first[n + 1] - 1]`.
  std::vector<uint32_t> first, adjacent, cursor, path, queue;
  std::vector<int32_t> level;
  uint64_t stepsLeft = 0;
};

} // namespace amp

#endif // AMP_DIALECT_AMP_TRANSFORMS_MINCUT_H
