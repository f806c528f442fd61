//===- NodeTypes.cpp - Result types of imported nodes ---------------------===//
//
// Inferred types joined with what the file declares.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

using namespace mlir;
using namespace amp::importer;
using amp::onnx::UnknownType;

bool amp::importer::isKnown(Type type) {
  return type && onnx::getTensorElementType(type);
}

Type ModelImporter::merge(StringRef name, Type declared, Type inferred) {
  if (!declared || isa<UnknownType>(declared))
    return inferred;
  if (!inferred || isa<UnknownType>(inferred))
    return declared;
  if (Type merged = onnx::mergeTypes(declared, inferred))
    return merged;
  tellContradiction(name, declared, inferred, /*always=*/false);
  return inferred;
}

void ModelImporter::tellContradiction(StringRef name, Type declared,
                                      Type actual, bool always) {
  bool fits = contradictions.size() < maxToldContradictions;
  bool &told = contradictions[name];
  if (told || !(fits || always))
    return;
  told = true;
  emitWarning() << "value '" << name << "' is declared as " << declared
                << ", but inferred to be " << actual
                << "; the declaration is ignored";
}

/// Whether the text of an inference error is about sizes that do not go
/// together, which wrong declarations of inputs cause, too; else the node
/// itself is wrong.
static bool isAboutShapes(StringRef problem) {
  return problem.contains_insensitive("mismatch") ||
         problem.contains_insensitive("incompatible dimension");
}

FailureOr<Fit> ModelImporter::inferResults(const NodeSpine &node,
                                           ArrayRef<unsigned> positions,
                                           Operation *op, const Scope &scope) {
  SmallVector<Type> inferred, declared;
  std::string problem;
  if (llvm::Error error = inference->infer(op, inferred))
    problem = llvm::toString(std::move(error));
  inferred.resize(op->getNumResults());
  StringRef unknown;
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    unsigned position = positions[index];
    StringRef name =
        position < node.outputs.size() ? node.outputs[position] : StringRef();
    FailureOr<Type> type = getDeclaredType(scope, name);
    if (failed(type))
      return failure();
    Type merged =
        merge(name, *type, problem.empty() ? inferred[index] : Type());
    if (isKnown(merged))
      result.setType(merged);
    else if (unknown.empty())
      unknown = name.empty() ? "(unnamed)" : name;
  }
  if (!problem.empty() && (!unknown.empty() || !isAboutShapes(problem)))
    return emitError(node) << "its types can't be inferred: " << problem;
  if (!problem.empty())
    emitWarning() << describeNode(node) << ": its types can't be inferred ("
                  << problem << "); the declared ones are taken";
  if (!unknown.empty())
    return makeGeneric(node,
                       "the type of its result '" + unknown + "' is not known");
  return Fit::Operation;
}
