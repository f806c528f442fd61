//===- Raise.cpp - Nodes of older opsets ----------------------------------===//
//
// Brings a node to the dialect's opset and imports what came of it.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Onnx/Proto/Proto.h"
#include "mlir/IR/Diagnostics.h"
#include "onnx/defs/schema.h"

using namespace mlir;
using namespace amp::importer;
using amp::onnx::OnnxDialect;

/// Constants of at most this many elements are shown to the steps.
static constexpr int64_t maxShownElements = 4096;

namespace amp::importer {

/// What the steps may ask about the graph around a node.
class RaiseContext final : public onnx_opset::NodeContext {
public:
  RaiseContext(ModelImporter &importer, const Scope &scope)
      : NodeContext(importer.schemas), importer(importer), scope(scope) {}

  const ::onnx::TypeProto *getType(StringRef name) const override {
    Type type;
    if (Value value = scope.lookup(name))
      type = value.getType();
    else if (FailureOr<Type> declared = importer.getDeclaredType(scope, name);
             succeeded(declared))
      type = *declared;
    if (!isKnown(type))
      return nullptr;
    proto::exportType(type, types.emplace_back());
    return &types.back();
  }

  const ::onnx::TensorProto *getConstant(StringRef name) const override {
    Value value = scope.lookup(name);
    if (!value)
      return nullptr;
    ElementsAttr elements = onnx::getConstantValue(value);
    if (!elements) {
      std::optional<SmallVector<int64_t>> ints = onnx::getConstantInts(value);
      if (!ints)
        return nullptr;
      elements = DenseIntElementsAttr::get(
          RankedTensorType::get(cast<ShapedType>(value.getType()).getShape(),
                                importer.builder.getI64Type()),
          *ints);
    }
    if (elements.getNumElements() > maxShownElements)
      return nullptr;
    proto::exportTensor(elements, tensors.emplace_back());
    return &tensors.back();
  }

  std::string freshName(StringRef) override {
    return (freshPrefix + llvm::Twine(importer.numFresh++)).str();
  }

  bool isUsed(StringRef name) const override { return importer.isRead(name); }

private:
  ModelImporter &importer;
  const Scope &scope;
  mutable std::deque<::onnx::TypeProto> types;
  mutable std::deque<::onnx::TensorProto> tensors;
};

} // namespace amp::importer

bool ModelImporter::isRead(StringRef name) {
  if (!readNames) {
    readNames.emplace();
    // What can't be read fails where it is imported.
    llvm::consumeError(collectReadNames(*model.graph, *readNames));
  }
  return readNames->contains(name) || name.starts_with(freshPrefix);
}

LogicalResult ModelImporter::importConstant(const ::onnx::TensorProto &tensor,
                                            Location location, Scope &scope) {
  llvm::Expected<ElementsAttr> value = proto::importTensor(tensor, context);
  if (!value)
    return report(value.takeError());
  OperationState state(location, onnx::ConstantOp::getOperationName());
  state.addAttribute("value", *value);
  state.addTypes((*value).getType());
  return define(scope, texts.emplace_back(tensor.name()),
                builder.create(state)->getResult(0));
}

bool ModelImporter::needsRaising(StringRef opType) {
  auto [known, isNew] = raising.try_emplace(opType);
  if (isNew)
    known->second =
        onnx_opset::needsConversion(opType, opset, onnx::pinnedOpset);
  return known->second;
}

FailureOr<Fit> ModelImporter::importRaised(const NodeSpine &node,
                                           Scope &scope) {
  if (!needsRaising(node.opType))
    return importOperation(node, scope);
  SmallVector<Value> inputs;
  if (failed(resolveInputs(node, scope, inputs)))
    return failure();
  ::onnx::NodeProto proto;
  if (node.bytes.size() > INT32_MAX ||
      !proto.ParsePartialFromArray(node.bytes.data(), node.bytes.size()))
    return emitError(node) << "malformed NodeProto";
  RaiseContext raiseContext(*this, scope);
  llvm::Expected<onnx_opset::Rewritten> raised =
      onnx_opset::convertNode(proto, opset, onnx::pinnedOpset, raiseContext);
  if (!raised)
    return makeGeneric(
        node, "opset " + llvm::Twine(opset) +
                  " can't be raised: " + llvm::toString(raised.takeError()));
  for (const ::onnx::TensorProto &tensor : raised->constants)
    if (failed(importConstant(tensor, getLocation(node), scope)))
      return failure();
  for (const ::onnx::NodeProto &one : raised->nodes) {
    NodeSpine spine;
    if (failed(
            report(node, scanNode(texts.emplace_back(one.SerializeAsString()),
                                  spine))))
      return failure();
    FailureOr<Fit> fit = importOperation(spine, scope);
    if (failed(fit) || *fit == Fit::Generic)
      return fit;
  }
  return Fit::Operation;
}

/// Types by output position of a node whose operator came into ai.onnx only
/// after the model's opset, as runtimes let models have it
/// (LayerNormalization): those of the later operator, when the node has its
/// form. Nothing is told otherwise.
SmallVector<Type> ModelImporter::guessTypes(const NodeSpine &node,
                                            Scope &scope) {
  const onnx::OpSpec *spec = onnx::lookupSpec(node.opType);
  if (!spec || !spec->regions.empty() ||
      ::onnx::OpSchemaRegistry::Schema(node.opType.str(), opset, ""))
    return {};
  ScopedDiagnosticHandler silence(context,
                                  [](Diagnostic &) { return success(); });
  auto counts = std::make_tuple(numGeneric, firstGeneric);
  auto knownContradictions = std::move(contradictions);
  contradictions.clear();
  Block *block = builder.getInsertionBlock();
  Operation *last = block->empty() ? nullptr : &block->back();
  FailureOr<Fit> fit = importOperation(node, scope);
  std::tie(numGeneric, firstGeneric) = counts;
  contradictions = std::move(knownContradictions);
  SmallVector<Operation *> made = takeMade(block, last, scope);
  if (failed(fit) || *fit == Fit::Generic || made.size() != 1)
    return {};
  return llvm::map_to_vector(
      onnx::getPositionalOutputs(made.front()),
      [](Value value) { return value ? value.getType() : Type(); });
}
