//===- MinCutTest.cpp - Minimum cut of a directed network -----------------===//
//
// Against all cuts of small random networks; size, ties and limits.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/Transforms/MinCut.h"
#include "gtest/gtest.h"
#include <random>

using namespace amp;

namespace {

using Capacity = MinCut::Capacity;

/// A network kept as a matrix; rows and columns 0 and 1 are source and sink.
struct Network {
  unsigned size;
  std::vector<std::vector<Capacity>> cost;

  explicit Network(unsigned size)
      : size(size), cost(size + 2, std::vector<Capacity>(size + 2)) {}

  MinCut build() const {
    MinCut cut;
    for (unsigned i = 0; i < size; ++i)
      cut.addNode();
    for (unsigned i = 0; i < size; ++i) {
      cut.addSource(i, cost[0][i + 2]);
      cut.addSink(i, cost[i + 2][1]);
      for (unsigned j = i + 1; j < size; ++j)
        cut.addEdge(i, j, cost[i + 2][j + 2], cost[j + 2][i + 2]);
    }
    return cut;
  }

  /// Cost of the cut whose source side holds the nodes with a bit in `side`.
  Capacity costOf(unsigned side) const {
    auto onSource = [&](unsigned node) {
      return node == 0 || (node > 1 && (side >> (node - 2) & 1));
    };
    Capacity total = 0;
    for (unsigned i = 0; i < size + 2; ++i)
      for (unsigned j = 0; j < size + 2; ++j)
        if (onSource(i) && !onSource(j))
          total += cost[i][j];
    return total;
  }
};

unsigned sideOf(const MinCut &cut) {
  unsigned side = 0;
  for (unsigned i = 0; i < cut.size(); ++i)
    side |= unsigned(cut.isOnSourceSide(i)) << i;
  return side;
}

TEST(MinCutTest, random_networks_agree_with_all_cuts) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 3000; ++round) {
    Network network(1 + random() % 8);
    for (auto &row : network.cost)
      for (Capacity &cost : row)
        cost = random() % 3 ? random() % 7 : 0;
    // Edges into the source and out of the sink are never built.
    for (unsigned i = 0; i < network.size + 2; ++i)
      network.cost[i][0] = network.cost[1][i] = 0;
    network.cost[0][1] = 0;

    Capacity best = std::numeric_limits<Capacity>::max();
    unsigned common = ~0u;
    for (unsigned side = 0; side < 1u << network.size; ++side) {
      Capacity cost = network.costOf(side);
      if (cost < best) {
        best = cost;
        common = side;
      } else if (cost == best) {
        common &= side;
      }
    }
    MinCut cut = network.build();
    std::optional<Capacity> found = cut.solve();
    ASSERT_TRUE(found);
    ASSERT_EQ(*found, best);
    // Cheapest cuts are closed under intersection.
    ASSERT_EQ(sideOf(cut), common);
  }
}

TEST(MinCutTest, tie_leaves_nodes_with_the_sink) {
  MinCut cut;
  unsigned a = cut.addNode(), b = cut.addNode();
  cut.addSource(a, 5);
  cut.addEdge(a, b, 5);
  cut.addSink(b, 5);
  EXPECT_EQ(cut.solve(), 5);
  EXPECT_FALSE(cut.isOnSourceSide(a));
  EXPECT_FALSE(cut.isOnSourceSide(b));
}

TEST(MinCutTest, infinite_edges_hold) {
  MinCut cut;
  unsigned a = cut.addNode(), b = cut.addNode();
  cut.addSource(a, MinCut::infinite);
  cut.addEdge(a, b, MinCut::infinite);
  cut.addSink(b, 7);
  EXPECT_EQ(cut.solve(), 7);
  EXPECT_TRUE(cut.isOnSourceSide(a));
  EXPECT_TRUE(cut.isOnSourceSide(b));
}

TEST(MinCutTest, contradiction_has_no_cut) {
  MinCut cut;
  unsigned a = cut.addNode();
  cut.addSource(a, MinCut::infinite);
  cut.addSink(a, MinCut::infinite);
  EXPECT_FALSE(cut.solve());
}

TEST(MinCutTest, empty_network) {
  MinCut cut;
  EXPECT_EQ(cut.solve(), 0);
}

/// A chain as long as a big model: no recursion, and few phases.
TEST(MinCutTest, long_chain) {
  MinCut cut;
  constexpr unsigned length = 1000000;
  for (unsigned i = 0; i < length; ++i)
    cut.addNode();
  for (unsigned i = 0; i + 1 < length; ++i)
    cut.addEdge(i, i + 1, i == length / 2 ? 3 : 4, 4);
  cut.addSource(0, 10);
  cut.addSink(length - 1, 10);
  EXPECT_EQ(cut.solve(), 3);
  EXPECT_TRUE(cut.isOnSourceSide(length / 2));
  EXPECT_FALSE(cut.isOnSourceSide(length / 2 + 1));
}

TEST(MinCutTest, gives_up_when_out_of_steps) {
  MinCut cut;
  for (unsigned i = 0; i < 1000; ++i)
    cut.addNode();
  for (unsigned i = 0; i + 1 < 1000; ++i)
    cut.addEdge(i, i + 1, 4);
  cut.addSource(0, 10);
  cut.addSink(999, 10);
  EXPECT_FALSE(cut.solve(/*maxSteps=*/100));
}

} // namespace
