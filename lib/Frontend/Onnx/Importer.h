//===- Importer.h - State of one import -----------------------------------===//
//
// Values by name and scope, declared types, and the steps that build the IR of
// one model.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_FRONTEND_ONNX_IMPORTER_H
#define AMP_LIB_FRONTEND_ONNX_IMPORTER_H

#include "Tensors.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Onnx/Inference/TypeInference.h"
#include "amp/Onnx/Opset/Opset.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <deque>

namespace amp::importer {

/// A declared type; `exact` when the IR type says all of it.
struct DeclaredType {
  mlir::Type type;
  bool exact = true;
  /// The number of a tensor's element type that is none we know; else 0.
  int32_t badElement = 0;
};

/// Names of one graph. Keys point into the file or into `ModelImporter::texts`.
struct Scope {
  const Scope *parent = nullptr;
  unsigned depth = 0;
  llvm::DenseMap<StringRef, mlir::Value> values;
  /// Serialized types of value infos and outputs.
  llvm::DenseMap<StringRef, StringRef> declared;
  /// Positions of graph inputs that have an initializer, too.
  llvm::DenseMap<StringRef, int64_t> listedInputs;
  /// Names of the arguments with a default, and the positions of these defaults
  /// among the initializers.
  llvm::SmallVector<std::pair<StringRef, int64_t>, 0> defaults;

  /// The value of this name here or in an outer graph; null if there is none.
  mlir::Value lookup(StringRef name) const;
};

/// The attributes of a node in their IR form.
struct NodeAttributes {
  mlir::NamedAttrList values;
  mlir::NamedAttrList tensorNames;
  /// Name and bytes of graph attributes.
  llvm::SmallVector<std::pair<StringRef, StringRef>, 2> graphs;
  /// A NodeProto with what the attributes say beside their values.
  std::string verbatim;
};

/// How a node came in: as its own operation, or it has to become an onnx.node.
enum class Fit { Operation, Generic };

/// Contradictions between declared and inferred types that are told one by one;
/// those of graph outputs always are.
inline constexpr unsigned maxToldContradictions = 5;

class ModelImporter {
public:
  ModelImporter(std::shared_ptr<llvm::MemoryBuffer> buffer, StringRef path,
                mlir::MLIRContext *context);
  ~ModelImporter();

  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  friend class RaiseContext;

  // Importer.cpp: the model.
  mlir::LogicalResult importModel();
  mlir::LogicalResult checkVersions();
  mlir::LogicalResult checkIrVersion();
  mlir::LogicalResult checkOpsetImports();
  mlir::LogicalResult buildModelOp();
  mlir::LogicalResult verifyModule();
  void tellCounts();

  // Graphs.cpp: graphs. Declarations.cpp: what they declare.
  mlir::LogicalResult importMainGraph(StringRef bytes);
  mlir::LogicalResult
  importInputs(const GraphSpine &graph, Scope &scope, mlir::Block *entry,
               llvm::SmallVectorImpl<mlir::DictionaryAttr> &attributes);
  /// Imports a graph attribute. `op`, when given, is the operation whose
  /// operands tell the types of the body's arguments.
  mlir::LogicalResult importBody(StringRef bytes, mlir::Region &region,
                                 mlir::Operation *op, const Scope &parent);
  mlir::Type mergeArgument(StringRef name, mlir::Type declared,
                           mlir::Type known);
  mlir::LogicalResult
  addBodyArguments(const GraphSpine &graph, mlir::Block *block,
                   llvm::ArrayRef<mlir::Type> known, Scope &scope,
                   llvm::SmallVectorImpl<mlir::Attribute> &names);
  mlir::LogicalResult readDefault(StringRef bytes, mlir::NamedAttrList &notes);
  mlir::LogicalResult importContents(GraphSpine &graph, Scope &scope);
  mlir::LogicalResult importInitializer(StringRef bytes, GraphSpine &graph,
                                        Scope &scope);
  mlir::LogicalResult importSparseInitializers(GraphSpine &graph, Scope &scope);
  mlir::LogicalResult collectDeclared(const GraphSpine &graph, Scope &scope);
  mlir::LogicalResult getOutputs(const GraphSpine &graph, const Scope &scope,
                                 llvm::SmallVectorImpl<mlir::Value> &values,
                                 llvm::SmallVectorImpl<mlir::Attribute> &names);
  mlir::FailureOr<mlir::DictionaryAttr>
  buildGraphDictionary(GraphSpine &graph, const Scope &scope,
                       mlir::NamedAttrList entries);
  mlir::LogicalResult addDeclared(llvm::ArrayRef<StringRef> infos,
                                  uint32_t field, GraphSpine &graph,
                                  const Scope &scope,
                                  mlir::NamedAttrList &declared);
  mlir::LogicalResult
  addValueInfos(GraphSpine &graph, const Scope &scope,
                llvm::SmallVectorImpl<mlir::Attribute> &entries);
  mlir::FailureOr<DeclaredType> readInfo(StringRef bytes, uint32_t field,
                                         GraphSpine &graph, StringRef &name);
  mlir::LogicalResult define(Scope &scope, StringRef name, mlir::Value value);
  mlir::FailureOr<DeclaredType> readType(StringRef bytes);
  /// The declared type of `name` in `scope`, or null.
  mlir::FailureOr<mlir::Type> getDeclaredType(const Scope &scope,
                                              StringRef name);

  // Nodes.cpp: nodes.
  mlir::LogicalResult importNode(const NodeSpine &node, Scope &scope);
  bool needsRaising(StringRef opType);
  mlir::FailureOr<Fit> importRaised(const NodeSpine &node, Scope &scope);
  mlir::FailureOr<Fit> importOperation(const NodeSpine &node, Scope &scope);
  mlir::LogicalResult importGeneric(const NodeSpine &node, Scope &scope,
                                    mlir::Operation *replaced,
                                    llvm::ArrayRef<mlir::Type> guessed = {});
  llvm::SmallVector<mlir::Type> guessTypes(const NodeSpine &node, Scope &scope);
  mlir::LogicalResult importGenericBodies(const NodeAttributes &attributes,
                                          mlir::Operation *op,
                                          mlir::Operation *replaced,
                                          const Scope &scope);
  mlir::LogicalResult resolveInputs(const NodeSpine &node, const Scope &scope,
                                    llvm::SmallVectorImpl<mlir::Value> &inputs);
  mlir::LogicalResult checkArity(const NodeSpine &node,
                                 const onnx::OpSpec &spec,
                                 llvm::ArrayRef<mlir::Value> inputs);
  mlir::LogicalResult defineResults(const NodeSpine &node,
                                    llvm::ArrayRef<unsigned> positions,
                                    mlir::Operation *op, Scope &scope);
  mlir::LogicalResult importConstant(const ::onnx::TensorProto &tensor,
                                     mlir::Location location, Scope &scope);
  void addNotes(mlir::OperationState &state, const NodeSpine &node,
                llvm::ArrayRef<unsigned> positions,
                const NodeAttributes &attributes);
  mlir::ArrayAttr getOutputNames(const NodeSpine &node,
                                 llvm::ArrayRef<unsigned> positions);
  llvm::SmallVector<mlir::Operation *>
  takeMade(mlir::Block *block, mlir::Operation *last, Scope &scope);
  mlir::Location getLocation(const NodeSpine &node);

  // NodeAttributes.cpp: attributes and graphs of nodes.
  mlir::LogicalResult readAttributes(const NodeSpine &node,
                                     NodeAttributes &attributes);
  mlir::FailureOr<mlir::Attribute> readAttribute(const NodeSpine &node,
                                                 AttributeSpine &spine,
                                                 NodeAttributes &attributes);
  mlir::FailureOr<Fit> matchAttributes(const NodeSpine &node,
                                       const onnx::OpSpec &spec,
                                       const NodeAttributes &attributes,
                                       mlir::OperationState &state);
  mlir::LogicalResult importRegions(const onnx::OpSpec &spec,
                                    const NodeAttributes &attributes,
                                    mlir::Operation *op, const Scope &scope);

  // NodeTypes.cpp: result types.
  mlir::FailureOr<Fit> inferResults(const NodeSpine &node,
                                    llvm::ArrayRef<unsigned> positions,
                                    mlir::Operation *op, const Scope &scope);
  mlir::Type merge(StringRef name, mlir::Type declared, mlir::Type inferred);
  void tellContradiction(StringRef name, mlir::Type declared, mlir::Type actual,
                         bool always);

  mlir::InFlightDiagnostic emitError();
  mlir::InFlightDiagnostic emitError(const NodeSpine &node);
  mlir::InFlightDiagnostic emitWarning();
  mlir::LogicalResult report(llvm::Error error);
  mlir::LogicalResult report(const NodeSpine &node, llvm::Error error);
  /// Counts an ai.onnx node that becomes an onnx.node, with the first one's
  /// reason.
  Fit makeGeneric(const NodeSpine &node, const llvm::Twine &reason);
  /// Whether a node or a graph output anywhere in the model reads a value of
  /// this name.
  bool isRead(StringRef name);

  std::shared_ptr<llvm::MemoryBuffer> buffer;
  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  TensorReader tensors;
  ModelSpine model;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Location fileLocation;
  int64_t opset = 0;
  llvm::DenseSet<std::pair<StringRef, StringRef>> functions;
  llvm::DenseMap<StringRef, DeclaredType> typesByBytes;
  /// Whether nodes of an operator must be brought to the dialect's opset.
  llvm::DenseMap<StringRef, bool> raising;
  onnx_opset::SchemaCache schemas;
  /// Memory of nodes and names that raising made.
  std::deque<std::string> texts;
  unsigned numFresh = 0;
  std::optional<llvm::DenseSet<StringRef>> readNames;
  /// Operations that were replaced: inference may remember their values until
  /// it is gone.
  std::vector<mlir::Operation *> discarded;
  std::unique_ptr<onnx::TypeInference> inference;
  unsigned numGeneric = 0;
  /// Values whose declared type contradicts the inferred one, and whether a
  /// warning named them.
  llvm::DenseMap<StringRef, bool> contradictions;
  std::string firstGeneric;
};

/// "node 'name' (Op)".
std::string describeNode(const NodeSpine &node);

/// Names of values that raising makes begin with this; they are no names of the
/// file.
inline constexpr llvm::StringLiteral freshPrefix = "\x01amp.";

/// Adds the names that the graph and the graphs in its nodes read.
llvm::Error collectReadNames(StringRef graphBytes,
                             llvm::DenseSet<StringRef> &names,
                             unsigned depth = 0);

/// Deepest nesting of graphs, which keeps messages within the nesting that
/// protobuf allows (100).
inline constexpr unsigned maxGraphDepth = 32;

/// Order in which the nodes of a graph can be read: each after what it reads.
/// Sets `sorted` when that is the file's order. An error names the nodes of a
/// cycle.
llvm::Expected<std::vector<unsigned>>
orderNodes(const GraphSpine &graph, const Scope &scope, bool &sorted);

/// Whether `type` tells the element type of a tensor, or of the tensors in a
/// sequence or optional.
bool isKnown(mlir::Type type);

} // namespace amp::importer

#endif // AMP_LIB_FRONTEND_ONNX_IMPORTER_H
