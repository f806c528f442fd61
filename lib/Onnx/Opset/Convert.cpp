//===- Convert.cpp - Move a node from one ONNX opset to another
//------------===//
// Walks the versions of an op between two opsets and applies the steps of the
// table, to what the steps make, too.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <onnx/defs/schema.h>

using namespace amp::onnx_opset;
using llvm::Error;
using llvm::StringRef;
using onnx::NodeProto;
using onnx::OpSchema;

namespace {
/// Converts one node and whatever comes of it, in order, into `done`.
class Walk {
public:
  explicit Walk(Conversion &conversion) : conversion(conversion) {}

  Error convert(NodeProto node, int version);

  std::vector<NodeProto> done;

private:
  Error raise(NodeProto node, int version);
  Error lower(NodeProto node, int version);
  Error continueWith(Rewriter &rewriter, int version);

  Conversion &conversion;
};
} // namespace

int amp::onnx_opset::getNewestOpset() {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance()
      .Map()
      .at(onnx::ONNX_DOMAIN)
      .second;
}

/// Deprecated since its first version, GroupNormalization 18 has a meaning and
/// a successor.
static const OpSchema *lookupSchema(StringRef op, int version) {
  const OpSchema *schema = onnx::OpSchemaRegistry::Schema(op.str(), version);
  if (!schema || !schema->Deprecated())
    return schema;
  bool goesOn = llvm::any_of(getStepsFrom(op), [&](const Step *step) {
    return step->from == schema->since_version();
  });
  return goesOn ? schema : nullptr;
}

const OpSchema *SchemaCache::find(StringRef op, int version) {
  auto &versions = known[op];
  if (version < 0)
    return nullptr;
  if (versions.size() <= static_cast<size_t>(version))
    versions.resize(version + 1);
  std::optional<const OpSchema *> &entry = versions[version];
  if (!entry)
    entry = lookupSchema(op, version);
  return *entry;
}

static bool isDefaultDomain(const NodeProto &node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

/// The first row on the way up from `version` that has something to do, or
/// null.
static const Step *nextRaise(StringRef op, int version, int target) {
  for (const Step *step : getStepsFrom(op))
    if (step->raise && version < step->to && step->to <= target)
      return step;
  return nullptr;
}

/// `schema`: that of the operator at `from`.
static bool needsConversion(const OpSchema *schema, StringRef op, int from,
                            int to) {
  if (!schema)
    return true;
  if (to < from)
    return schema->since_version() > to;
  return nextRaise(op, from, to) != nullptr;
}

bool amp::onnx_opset::needsConversion(StringRef op, int from, int to) {
  return ::needsConversion(lookupSchema(op, from), op, from, to);
}

bool amp::onnx_opset::hasRule(StringRef op, int from, int to) {
  if (to >= from)
    return nextRaise(op, from, to) != nullptr;
  for (const OpSchema *schema = lookupSchema(op, from);
       schema && schema->since_version() > to;
       schema = lookupSchema(op, schema->since_version() - 1)) {
    const Step *step = getStepTo(op, schema->since_version());
    if (step && (step->lower || step->op != op))
      return true;
  }
  return false;
}

Error Walk::continueWith(Rewriter &rewriter, int version) {
  rewriter.trim();
  for (NodeProto &node : rewriter.before)
    if (Error error = convert(std::move(node), version))
      return error;
  if (Error error = convert(std::move(rewriter.node), version))
    return error;
  for (NodeProto &node : rewriter.after)
    if (Error error = convert(std::move(node), version))
      return error;
  return Error::success();
}

Error Walk::raise(NodeProto node, int version) {
  const Step *step = nextRaise(node.op_type(), version, conversion.target);
  if (step) {
    Rewriter rewriter(std::move(node), step, conversion);
    if (Error error = step->raise(rewriter))
      return error;
    return continueWith(rewriter, step->to);
  }
  done.push_back(std::move(node));
  return Error::success();
}

Error Walk::lower(NodeProto node, int version) {
  SchemaCache &schemas = conversion.context.schemas;
  const OpSchema *newer = schemas.find(node.op_type(), version);
  if (!newer || newer->since_version() <= conversion.target) {
    done.push_back(std::move(node));
    return Error::success();
  }
  int before = newer->since_version() - 1;
  const Step *step = getStepTo(node.op_type(), newer->since_version());
  Rewriter rewriter(std::move(node), step, conversion);
  const OpSchema *older = schemas.find(
      step ? StringRef(step->op) : rewriter.node.op_type(), before);
  if (!older)
    return rewriter.fail("there is no such operator before opset " +
                         llvm::Twine(newer->since_version()));
  if (step && step->lower)
    if (Error error = step->lower(rewriter))
      return error;
  if (Error error = narrow(rewriter, *newer, *older))
    return error;
  return continueWith(rewriter, before);
}

Error Walk::convert(NodeProto node, int version) {
  return version <= conversion.target ? raise(std::move(node), version)
                                      : lower(std::move(node), version);
}

/// Every node that a conversion made or changed must be one of the opset it was
/// made for.
static Error checkAll(std::vector<NodeProto> &nodes, Conversion &conversion) {
  for (NodeProto &node : nodes) {
    const OpSchema *schema =
        conversion.context.schemas.find(node.op_type(), conversion.target);
    Rewriter view(std::move(node), nullptr, conversion);
    if (!schema)
      return view.fail("is not an operator of opset " +
                       llvm::Twine(conversion.target));
    Error error = checkNode(view, *schema, conversion.target);
    node = std::move(view.node);
    if (error)
      return error;
  }
  return Error::success();
}

/// Hands over the constants that something still reads.
static std::vector<onnx::TensorProto>
takeConstants(const std::vector<NodeProto> &nodes, Conversion &conversion) {
  llvm::StringSet<> read;
  for (const NodeProto &node : nodes)
    for (const std::string &input : node.input())
      read.insert(input);
  std::vector<onnx::TensorProto> constants;
  for (onnx::TensorProto &constant : conversion.constants)
    if (read.contains(constant.name()))
      constants.push_back(std::move(constant));
  return constants;
}

llvm::Expected<Rewritten> amp::onnx_opset::convertNode(const NodeProto &node,
                                                       int from, int to,
                                                       NodeContext &context) {
  const OpSchema *schema = isDefaultDomain(node)
                               ? context.schemas.find(node.op_type(), from)
                               : nullptr;
  if (!isDefaultDomain(node) ||
      !::needsConversion(schema, node.op_type(), from, to))
    return Rewritten{{node}, {}};
  if (!schema)
    return llvm::createStringError(
        node.op_type() + ": is not an operator of opset " + llvm::Twine(from));
  Conversion conversion(context, to);
  if (Error error = checkForm(Rewriter(node, nullptr, conversion), *schema))
    return std::move(error);
  Walk walk(conversion);
  if (Error error = walk.convert(node, from))
    return std::move(error);
  if (Error error = checkAll(walk.done, conversion))
    return std::move(error);
  std::vector<onnx::TensorProto> constants =
      takeConstants(walk.done, conversion);
  return Rewritten{std::move(walk.done), std::move(constants)};
}
