//===- MinCut.cpp - Minimum cut of a directed network ---------------------===//
//
// Dinic's algorithm: levels by breadth-first search, then blocking flows along
// them with one cursor per node.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/Transforms/MinCut.h"
#include <algorithm>
#include <cassert>

using namespace amp;

MinCut::MinCut() = default;

unsigned MinCut::addNode() { return numNodes++ - 2; }

void MinCut::addEdge(unsigned from, unsigned to, Capacity capacity,
                     Capacity reverse) {
  link(from + 2, to + 2, capacity, reverse);
}

void MinCut::addSource(unsigned node, Capacity capacity) {
  link(source, node + 2, capacity, 0);
}

void MinCut::addSink(unsigned node, Capacity capacity) {
  link(node + 2, sink, capacity, 0);
}

void MinCut::link(uint32_t from, uint32_t to, Capacity capacity,
                  Capacity reverse) {
  assert(from < numNodes && to < numNodes && "edge of an unknown node");
  assert(capacity >= 0 && reverse >= 0 && "negative cost");
  if (from == to || (capacity == 0 && reverse == 0))
    return;
  edges.push_back({to, std::min(capacity, infinite)});
  edges.push_back({from, std::min(reverse, infinite)});
}

void MinCut::buildAdjacency() {
  first.assign(numNodes + 1, 0);
  auto tailOf = [&](size_t edge) { return edges[edge ^ 1].head; };
  for (size_t edge = 0; edge < edges.size(); ++edge)
    ++first[tailOf(edge) + 1];
  for (uint32_t node = 0; node < numNodes; ++node)
    first[node + 1] += first[node];
  adjacent.resize(edges.size());
  cursor.assign(first.begin(), first.end() - 1);
  for (size_t edge = 0; edge < edges.size(); ++edge)
    adjacent[cursor[tailOf(edge)]++] = edge;
}

/// Distance of every node from the source along edges with capacity left, -1
/// for those it does not reach. True when the sink is reached.
bool MinCut::findLevels() {
  level.assign(numNodes, -1);
  queue.assign(1, source);
  level[source] = 0;
  for (size_t next = 0; next < queue.size(); ++next) {
    uint32_t node = queue[next];
    for (uint32_t i = first[node]; i < first[node + 1]; ++i) {
      const Edge &edge = edges[adjacent[i]];
      if (edge.left == 0 || level[edge.head] >= 0)
        continue;
      level[edge.head] = level[node] + 1;
      queue.push_back(edge.head);
    }
    uint64_t steps = first[node + 1] - first[node];
    stepsLeft -= std::min(stepsLeft, steps);
  }
  return level[sink] >= 0;
}

/// Sends what `path` can carry, and cuts the path before its first full edge.
MinCut::Capacity MinCut::augmentPath() {
  Capacity flow = infinite;
  for (uint32_t edge : path)
    flow = std::min(flow, edges[edge].left);
  size_t keep = path.size();
  for (size_t i = path.size(); i-- > 0;) {
    edges[path[i]].left -= flow;
    edges[path[i] ^ 1].left += flow;
    if (edges[path[i]].left == 0)
      keep = i;
  }
  path.resize(keep);
  return flow;
}

/// A blocking flow along the levels; none when out of steps.
std::optional<MinCut::Capacity> MinCut::augmentAll() {
  cursor.assign(first.begin(), first.end() - 1);
  path.clear();
  Capacity total = 0;
  while (true) {
    uint32_t node = path.empty() ? source : edges[path.back()].head;
    if (stepsLeft == 0)
      return std::nullopt;
    --stepsLeft;
    if (node == sink) {
      stepsLeft -= std::min<uint64_t>(stepsLeft, path.size());
      total += augmentPath();
      if (total >= infinite)
        return total;
      continue;
    }
    if (cursor[node] == first[node + 1]) {
      if (path.empty())
        return total;
      level[node] = -1;
      path.pop_back();
      continue;
    }
    uint32_t edge = adjacent[cursor[node]];
    if (edges[edge].left > 0 && level[edges[edge].head] == level[node] + 1)
      path.push_back(edge);
    else
      ++cursor[node];
  }
}

std::optional<MinCut::Capacity> MinCut::solve(uint64_t maxSteps) {
  stepsLeft = maxSteps;
  buildAdjacency();
  Capacity total = 0;
  while (findLevels()) {
    std::optional<Capacity> flow = augmentAll();
    if (!flow)
      return std::nullopt;
    total += *flow;
    if (total >= infinite)
      return std::nullopt;
  }
  return total;
}
