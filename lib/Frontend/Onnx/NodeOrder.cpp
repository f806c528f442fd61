//===- NodeOrder.cpp - Reads before writes --------------------------------===//
//
// ONNX demands sorted nodes; files with nodes in another order exist and are
// sorted here.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace amp::importer;

namespace {

/// Reads and writes of one node; its graphs read what they do not define.
struct NodeUses {
  llvm::SmallVector<StringRef, 8> reads, writes;

  void clear() {
    reads.clear();
    writes.clear();
  }
};

} // namespace

static llvm::Error collectUses(StringRef nodeBytes, NodeSpine &node,
                               NodeUses &uses, unsigned depth);

/// Names that the nodes and outputs of a graph read from outside.
static llvm::Error collectCaptures(StringRef graphBytes,
                                   llvm::SmallVectorImpl<StringRef> &captures,
                                   unsigned depth) {
  if (depth > maxGraphDepth)
    return llvm::createStringError("graphs are nested too deeply (more than " +
                                   llvm::Twine(maxGraphDepth) + ")");
  GraphSpine graph;
  if (llvm::Error error = scanGraph(graphBytes, graph))
    return error;
  llvm::DenseSet<StringRef> own;
  llvm::SmallVector<StringRef> reads;
  for (StringRef bytes : graph.inputs) {
    ValueInfoSpine info;
    if (llvm::Error error = scanValueInfo(bytes, info))
      return error;
    own.insert(info.name);
  }
  for (StringRef bytes : graph.initializers) {
    llvm::Expected<StringRef> name = scanTensorName(bytes);
    if (!name)
      return name.takeError();
    own.insert(*name);
  }
  NodeSpine node;
  NodeUses uses;
  for (StringRef bytes : graph.nodes) {
    uses.clear();
    if (llvm::Error error = collectUses(bytes, node, uses, depth))
      return error;
    reads.append(uses.reads);
    own.insert(uses.writes.begin(), uses.writes.end());
  }
  for (StringRef bytes : graph.outputs) {
    ValueInfoSpine info;
    if (llvm::Error error = scanValueInfo(bytes, info))
      return error;
    reads.push_back(info.name);
  }
  for (StringRef name : reads)
    if (!own.contains(name))
      captures.push_back(name);
  return llvm::Error::success();
}

/// `node` is memory to scan into.
static llvm::Error collectUses(StringRef nodeBytes, NodeSpine &node,
                               NodeUses &uses, unsigned depth) {
  if (llvm::Error error = scanNode(nodeBytes, node))
    return error;
  auto notEmpty = [](StringRef name) { return !name.empty(); };
  llvm::copy_if(node.inputs, std::back_inserter(uses.reads), notEmpty);
  llvm::copy_if(node.outputs, std::back_inserter(uses.writes), notEmpty);
  for (StringRef bytes : node.attributes) {
    AttributeSpine attribute;
    if (llvm::Error error = scanAttribute(bytes, attribute))
      return error;
    if (attribute.graph)
      if (llvm::Error error =
              collectCaptures(*attribute.graph, uses.reads, depth + 1))
        return error;
  }
  return llvm::Error::success();
}

llvm::Error amp::importer::collectReadNames(StringRef graphBytes,
                                            llvm::DenseSet<StringRef> &names,
                                            unsigned depth) {
  if (depth > maxGraphDepth)
    return llvm::createStringError("graphs are nested too deeply");
  GraphSpine graph;
  if (llvm::Error error = scanGraph(graphBytes, graph))
    return error;
  for (StringRef bytes : graph.outputs) {
    ValueInfoSpine info;
    if (llvm::Error error = scanValueInfo(bytes, info))
      return error;
    names.insert(info.name);
  }
  for (StringRef bytes : graph.nodes) {
    NodeSpine node;
    if (llvm::Error error = scanNode(bytes, node))
      return error;
    names.insert(node.inputs.begin(), node.inputs.end());
    for (StringRef attributeBytes : node.attributes) {
      AttributeSpine attribute;
      if (llvm::Error error = scanAttribute(attributeBytes, attribute))
        return error;
      if (attribute.graph)
        if (llvm::Error error =
                collectReadNames(*attribute.graph, names, depth + 1))
          return error;
    }
  }
  return llvm::Error::success();
}

/// The nodes of one cycle among those that were not `placed`, as text.
static llvm::Error describeCycle(const GraphSpine &graph,
                                 llvm::ArrayRef<NodeUses> uses,
                                 llvm::ArrayRef<std::vector<unsigned>> needs,
                                 const std::vector<bool> &placed) {
  unsigned current =
      std::find(placed.begin(), placed.end(), false) - placed.begin();
  llvm::SmallSetVector<unsigned, 8> path;
  // Each node left needs another one left, so this walk comes back to a node.
  while (path.insert(current))
    current = *llvm::find_if(needs[current],
                             [&](unsigned node) { return !placed[node]; });
  llvm::ArrayRef<unsigned> cycle = path.getArrayRef().drop_until(
      [&](unsigned node) { return node == current; });
  constexpr size_t maxTold = 8;
  std::string text = "the graph has a cycle: ";
  for (auto [position, index] : llvm::enumerate(cycle.take_front(maxTold))) {
    NodeSpine node;
    llvm::consumeError(scanNode(graph.nodes[index], node));
    unsigned producer = cycle[(position + 1) % cycle.size()];
    const StringRef *name =
        llvm::find_if(uses[index].reads, [&](StringRef read) {
          return llvm::is_contained(uses[producer].writes, read);
        });
    text += (position ? "; " : "") + describeNode(node) + " reads '" +
            name->str() + "'";
  }
  if (cycle.size() > maxTold)
    text += " and so on over " + std::to_string(cycle.size()) + " nodes";
  return llvm::createStringError(text);
}

/// Places nodes whose reads are all made, lowest index first.
static llvm::Expected<std::vector<unsigned>>
sortNodes(const GraphSpine &graph, const Scope &scope,
          llvm::ArrayRef<NodeUses> uses) {
  unsigned count = uses.size();
  llvm::DenseMap<StringRef, unsigned> producers;
  for (unsigned index = 0; index < count; ++index)
    for (StringRef name : uses[index].writes)
      producers.try_emplace(name, index);
  std::vector<std::vector<unsigned>> needs(count), users(count);
  std::vector<unsigned> missing(count);
  for (unsigned index = 0; index < count; ++index)
    for (StringRef name : uses[index].reads) {
      auto producer = producers.find(name);
      if (producer == producers.end() || scope.lookup(name))
        continue;
      needs[index].push_back(producer->second);
      users[producer->second].push_back(index);
      ++missing[index];
    }
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (unsigned index = 0; index < count; ++index)
    if (missing[index] == 0)
      ready.push(index);
  std::vector<unsigned> order;
  std::vector<bool> placed(count);
  while (!ready.empty()) {
    unsigned index = ready.top();
    ready.pop();
    order.push_back(index);
    placed[index] = true;
    for (unsigned user : users[index])
      if (--missing[user] == 0)
        ready.push(user);
  }
  if (order.size() < count)
    return describeCycle(graph, uses, needs, placed);
  return order;
}

llvm::Expected<std::vector<unsigned>>
amp::importer::orderNodes(const GraphSpine &graph, const Scope &scope,
                          bool &sorted) {
  llvm::DenseSet<StringRef> written;
  written.reserve(graph.nodes.size());
  auto isReady = [&](StringRef name) {
    return written.contains(name) || scope.lookup(name);
  };
  sorted = true;
  NodeSpine node;
  NodeUses uses;
  for (StringRef bytes : graph.nodes) {
    uses.clear();
    if (llvm::Error error = collectUses(bytes, node, uses, scope.depth))
      return std::move(error);
    sorted &= llvm::all_of(uses.reads, isReady);
    written.insert(uses.writes.begin(), uses.writes.end());
  }
  if (sorted) {
    std::vector<unsigned> order(graph.nodes.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  std::vector<NodeUses> all(graph.nodes.size());
  for (auto [bytes, one] : llvm::zip_equal(graph.nodes, all))
    if (llvm::Error error = collectUses(bytes, node, one, scope.depth))
      return std::move(error);
  llvm::Expected<std::vector<unsigned>> order = sortNodes(graph, scope, all);
  // Where something is missing altogether, the order may still be the file's.
  sorted = order && llvm::is_sorted(*order);
  return order;
}
