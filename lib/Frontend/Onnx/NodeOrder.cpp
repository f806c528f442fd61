//===- NodeOrder.cpp - Reads before writes --------------------------------===//
//
// ONNX demands sorted nodes; files with nodes in another order exist and are
// sorted here.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include <queue>

using namespace amp::importer;

namespace {

/// Reads and writes of one node; its graphs read what they do not define.
struct NodeUses {
  llvm::SmallVector<StringRef, 8> reads, writes;
};

} // namespace

static llvm::Error collectUses(StringRef nodeBytes, NodeUses &uses,
                               unsigned depth);

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
  for (StringRef bytes : graph.nodes) {
    NodeUses uses;
    if (llvm::Error error = collectUses(bytes, uses, depth))
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

static llvm::Error collectUses(StringRef nodeBytes, NodeUses &uses,
                               unsigned depth) {
  NodeSpine node;
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
                                 llvm::ArrayRef<std::vector<unsigned>> needs,
                                 const std::vector<bool> &placed) {
  unsigned current =
      std::find(placed.begin(), placed.end(), false) - placed.begin();
  std::vector<unsigned> path;
  // Each node left needs another one left, so this walk comes back to a node.
  while (!llvm::is_contained(path, current)) {
    path.push_back(current);
    current = *llvm::find_if(needs[current],
                             [&](unsigned node) { return !placed[node]; });
  }
  path.erase(path.begin(), llvm::find(path, current));
  std::string text;
  for (unsigned index : llvm::ArrayRef(path).take_front(8)) {
    NodeSpine node;
    llvm::consumeError(scanNode(graph.nodes[index], node));
    text += (text.empty() ? "" : ", ") + describeNode(node);
  }
  if (path.size() > 8)
    text += " and " + std::to_string(path.size() - 8) + " more";
  return llvm::createStringError("the graph has a cycle through " + text);
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
    return describeCycle(graph, needs, placed);
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
  NodeUses uses;
  for (StringRef bytes : graph.nodes) {
    uses.reads.clear();
    uses.writes.clear();
    if (llvm::Error error = collectUses(bytes, uses, scope.depth))
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
    if (llvm::Error error = collectUses(bytes, one, scope.depth))
      return std::move(error);
  llvm::Expected<std::vector<unsigned>> order = sortNodes(graph, scope, all);
  // Where something is missing altogether, the order may still be the file's.
  sorted = order && llvm::is_sorted(*order);
  return order;
}
