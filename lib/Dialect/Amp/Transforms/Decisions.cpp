//===- Decisions.cpp - Decisions in a file --------------------------------===//
//
// JSON, one line per op.
//
//===----------------------------------------------------------------------===//

#include "Decisions.h"
#include "NodeNames.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Support/AtomicFile.h"
#include "amp/Support/Json.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace amp;
using namespace amp::assign;

/// What decision files call a node: its name if no other has it.
static std::string getKey(const Node &node, const Graph &graph,
                          const llvm::StringMap<unsigned> &nameCounts) {
  StringRef name = onnx::getNodeName(node.op);
  if (!name.empty() && nameCounts.lookup(name) == 1)
    return name.str();
  return graph.keyOf(node);
}

static bool isDecided(const Node &node) {
  return node.step == Step::Leave || node.step == Step::Op;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static void writeTypes(llvm::json::OStream &json, StringRef key,
                       ArrayRef<Type> types) {
  json.attributeArray(key, [&] {
    for (Type type : types) {
      if (isa<NoneType>(type))
        json.value(nullptr);
      else
        json.value(type.isF32() ? "f32" : type.isF16() ? "f16" : "bf16");
    }
  });
}

static void writeEntry(llvm::raw_ostream &os, StringRef key, const Node &node,
                       DecisionAttr decision) {
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("name", key);
    json.attribute("op", onnx::getOpType(node.op));
    json.attribute("class", stringifyOpClass(decision.getOpClass()));
    writeTypes(json, "operands", decision.getOperands());
    writeTypes(json, "results", decision.getResults());
    json.attribute("rule", stringifyDecisionRule(decision.getRule()));
    if (!decision.getBy().empty())
      json.attribute("by", decision.getBy());
    if (!decision.getNote().empty())
      json.attribute("note", decision.getNote());
  });
}

llvm::Error DecisionFile::write(StringRef path, ModuleOp module,
                                ArrayRef<std::unique_ptr<Graph>> graphs) {
  llvm::StringMap<unsigned> nameCounts = countNodeNames(module);
  std::string text = "{\n \"version\": 1,\n \"ops\": [";
  llvm::raw_string_ostream os(text);
  StringRef separator = "\n  ";
  for (const std::unique_ptr<Graph> &graph : graphs)
    for (const Node &node : graph->nodes) {
      DecisionAttr decision = getDecision(node.op);
      if (!isDecided(node) || !decision)
        continue;
      os << separator;
      writeEntry(os, getKey(node, *graph, nameCounts), node, decision);
      separator = ",\n  ";
    }
  os << "\n ]\n}\n";
  return writeTextFile(path, text);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static llvm::Error fail(const Twine &message) {
  return llvm::createStringError(message);
}

llvm::Error DecisionFile::read(StringRef givenPath) {
  path = givenPath.str();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fail("cannot read decision file '" + path +
                "': " + buffer.getError().message());
  llvm::Expected<llvm::json::Value> value = parseJson((*buffer)->getBuffer());
  if (!value)
    return fail("decision file '" + path +
                "': " + llvm::toString(value.takeError()));
  const llvm::json::Object *object = value->getAsObject();
  std::optional<int64_t> version =
      object ? object->getInteger("version") : std::nullopt;
  if (version != 1)
    return fail("decision file '" + path +
                "': expects an object with version 1");
  const llvm::json::Array *ops = object->getArray("ops");
  if (!ops)
    return fail("decision file '" + path + "': expects an array 'ops'");
  for (auto [number, entry] : llvm::enumerate(*ops))
    if (llvm::Error error = readEntry(entry, number))
      return error;
  return llvm::Error::success();
}

static llvm::Error readTypes(const llvm::json::Object &object, StringRef key,
                             const Twine &where, std::vector<Kind> &kinds) {
  const llvm::json::Array *types = object.getArray(key);
  if (!types)
    return fail(where + ": expects an array '" + key + "'");
  for (const llvm::json::Value &type : *types) {
    std::optional<StringRef> word = type.getAsString();
    std::optional<Kind> kind = word ? parseKind(*word) : std::nullopt;
    if (!kind && !type.getAsNull())
      return fail(where + ": expects f32, f16, bf16 or null in '" + key + "'");
    kinds.push_back(kind.value_or(Kind::Other));
  }
  return llvm::Error::success();
}

llvm::Error DecisionFile::readEntry(const llvm::json::Value &value,
                                    unsigned number) {
  std::string where =
      ("decision file '" + path + "': entry " + Twine(number)).str();
  const llvm::json::Object *object = value.getAsObject();
  std::optional<StringRef> name =
      object ? object->getString("name") : std::nullopt;
  if (!name)
    return fail(where + ": expects an object with a 'name'");
  where += (" '" + *name + "'").str();
  Entry entry;
  entry.op = object->getString("op").value_or("").str();
  if (llvm::Error error = readTypes(*object, "operands", where, entry.operands))
    return error;
  if (llvm::Error error = readTypes(*object, "results", where, entry.results))
    return error;
  if (!entries.try_emplace(*name, std::move(entry)).second)
    return fail(where + ": has been given before");
  order.push_back(name->str());
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Applying
//===----------------------------------------------------------------------===//

LogicalResult DecisionFile::checkSlots(ArrayRef<Slot> slots,
                                       ArrayRef<Kind> kinds, StringRef word,
                                       const Node &node, StringRef key,
                                       const Graph &graph,
                                       MutableArrayRef<Kind> ofVar) {
  auto refuse = [&](unsigned number) {
    return node.op->emitError()
           << "decision file '" << path << "': '" << key << "': " << word << " "
           << number << " cannot be " << stringifyKind(kinds[number]) << ": ";
  };
  llvm::BitVector floats(kinds.size());
  for (const Slot &slot : slots) {
    floats.set(slot.number);
    Kind kind = kinds[slot.number];
    Kind declared = graph.values[slot.value].declared;
    if (kind == Kind::Other || (kind == declared && !slot.eligible))
      continue;
    if (!slot.eligible)
      return refuse(slot.number) << "it keeps its type";
    if (isHalf(kind) && !contains(node.info->legal(kind), slot.var))
      return refuse(slot.number)
             << node.info->spec->name << " does not take it";
    Kind &known = ofVar[slot.var];
    if (known != Kind::Other && known != kind)
      return refuse(slot.number)
             << "type variable " << node.info->spec->typeVars[slot.var]
             << " is " << stringifyKind(known) << " in another place";
    known = kind;
  }
  for (auto [number, kind] : llvm::enumerate(kinds))
    if (kind != Kind::Other && !floats.test(number))
      return refuse(number) << "it is no float tensor";
  return success();
}

LogicalResult DecisionFile::applyEntry(const Entry &entry, StringRef key,
                                       Node &node, Graph &graph) {
  auto refuse = [&]() {
    return node.op->emitError()
           << "decision file '" << path << "': '" << key << "' ";
  };
  StringRef type = onnx::getOpType(node.op);
  if (!entry.op.empty() && entry.op != type)
    return refuse() << "is a " << type << " here, but a " << entry.op
                    << " in the file";
  if (entry.operands.size() != node.op->getNumOperands() ||
      entry.results.size() != node.op->getNumResults())
    return refuse() << "has " << node.op->getNumOperands() << " operands and "
                    << node.op->getNumResults() << " results here, but "
                    << entry.operands.size() << " and " << entry.results.size()
                    << " in the file";
  // Region ops and casts have the types of what is around them.
  if (node.step == Step::Leave || !node.info || node.keeps)
    return success();
  SmallVector<Kind, 8> ofVar(node.info->spec->typeVars.size(), Kind::Other);
  if (failed(checkSlots(graph.operandsOf(node), entry.operands, "operand", node,
                        key, graph, ofVar)) ||
      failed(checkSlots(graph.resultsOf(node), entry.results, "result", node,
                        key, graph, ofVar)))
    return failure();
  bool differs = false;
  auto set = [&](Slot &slot) {
    if (!slot.eligible || ofVar[slot.var] == Kind::Other)
      return;
    differs |= slot.kind != ofVar[slot.var];
    slot.kind = ofVar[slot.var];
  };
  llvm::for_each(graph.operandsOf(node), set);
  llvm::for_each(graph.resultsOf(node), set);
  node.fixed = true;
  if (!differs)
    return success();
  node.rule = DecisionRule::File;
  node.by = StringAttr::get(node.op->getContext(), path);
  return success();
}

LogicalResult DecisionFile::apply(ArrayRef<std::unique_ptr<Graph>> graphs,
                                  ModuleOp module) {
  llvm::StringMap<unsigned> nameCounts = countNodeNames(module);
  llvm::StringMap<std::pair<Node *, Graph *>> nodes;
  for (const std::unique_ptr<Graph> &graph : graphs)
    for (Node &node : graph->nodes)
      if (isDecided(node))
        nodes[getKey(node, *graph, nameCounts)] = {&node, graph.get()};
  for (const std::string &key : order) {
    auto it = nodes.find(key);
    if (it == nodes.end())
      return emitError(module.getLoc())
             << "decision file '" << path << "': no node is called '" << key
             << "'; remove the entry, or make the file anew with "
                "save-decisions";
    auto [node, graph] = it->second;
    if (failed(applyEntry(entries[key], key, *node, *graph)))
      return failure();
  }
  return success();
}
