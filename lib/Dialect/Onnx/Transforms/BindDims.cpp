//===- BindDims.cpp - Replace symbolic dimensions by numbers --------------===//
//
// Sizes go into the signature; inference and folding carry them on.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/FoldUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace amp::onnx;

namespace amp::onnx {
#define GEN_PASS_DEF_BINDDIMSPASS
#include "amp/Dialect/Onnx/Transforms/Passes.h.inc"
} // namespace amp::onnx

namespace {

class BindDimsPass : public amp::onnx::impl::BindDimsPassBase<BindDimsPass> {
public:
  using BindDimsPassBase::BindDimsPassBase;

  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult bindArguments(func::FuncOp function);
  Type bindNames(Type type) const;
  LogicalResult propagate(func::FuncOp function);

  llvm::StringMap<int64_t> sizes;
};

/// The name of dimension `axis` of an argument: the symbol, or else the
/// argument's name and the axis.
std::string getDimName(func::FuncOp function, unsigned argument,
                       RankedTensorType type, unsigned axis) {
  if (auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding()))
    if (StringRef name = dims.getName(axis); !name.empty())
      return name.str();
  StringRef name = getValueName(function.getArgument(argument));
  return ((name.empty() ? "input" + Twine(argument) : Twine(name)) + "." +
          Twine(axis))
      .str();
}

/// `type` with other sizes; it keeps names only while a dimension is open.
RankedTensorType withSizes(RankedTensorType type, ArrayRef<int64_t> sizes) {
  bool isStatic = !llvm::is_contained(sizes, ShapedType::kDynamic);
  return RankedTensorType::get(sizes, type.getElementType(),
                               isStatic ? Attribute() : type.getEncoding());
}

std::string quote(ArrayRef<std::string> names) {
  return "'" + llvm::join(names, "', '") + "'";
}

size_t countOpenTypes(func::FuncOp function) {
  size_t count = 0;
  function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<TensorType>(type))
        count += !tensor.hasRank() || !tensor.hasStaticShape();
  });
  return count;
}

} // namespace

LogicalResult BindDimsPass::initialize(MLIRContext *context) {
  sizes.clear();
  auto fail = [&](StringRef entry, const Twine &why) {
    return emitError(UnknownLoc::get(context))
           << "onnx-bind-dims: '" << entry << "' " << why
           << "; dimensions are bound as name=size";
  };
  for (StringRef entry : bind) {
    // A symbol may itself contain '='.
    auto [name, text] = entry.rsplit('=');
    int64_t size;
    if (name.empty() || text.empty())
      return fail(entry, "is no binding");
    if (text.getAsInteger(10, size) || size < 0)
      return fail(entry, "has the size '" + text + "', which is no number");
    if (!sizes.try_emplace(name, size).second)
      return fail(entry, "binds a dimension for the second time");
  }
  return success();
}

/// Sizes by name, for types anywhere in the function.
Type BindDimsPass::bindNames(Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto dims =
      tensor ? dyn_cast_or_null<DimsAttr>(tensor.getEncoding()) : DimsAttr();
  if (!dims)
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [axis, size] : llvm::enumerate(shape))
    if (auto found = sizes.find(dims.getName(axis));
        ShapedType::isDynamic(size) && found != sizes.end())
      size = found->second;
  return withSizes(tensor, shape);
}

/// Gives the arguments their sizes; errors list the names in question.
LogicalResult BindDimsPass::bindArguments(func::FuncOp function) {
  SmallVector<std::string> names, open;
  auto note = [](SmallVectorImpl<std::string> &list, const std::string &name) {
    if (!llvm::is_contained(list, name))
      list.push_back(name);
  };
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    SmallVector<int64_t> shape(type.getShape());
    for (auto [axis, size] : llvm::enumerate(shape)) {
      if (!ShapedType::isDynamic(size))
        continue;
      std::string name =
          getDimName(function, argument.getArgNumber(), type, axis);
      note(names, name);
      auto found = sizes.find(name);
      if (found == sizes.end())
        note(open, name);
      else
        size = found->second;
    }
    argument.setType(withSizes(type, shape));
  }
  for (StringRef entry : bind)
    if (StringRef name = entry.rsplit('=').first;
        !llvm::is_contained(names, name.str()))
      return function.emitError()
             << "no input has a symbolic dimension '" << name << "'; "
             << (names.empty() ? "all their sizes are known"
                               : "there is " + quote(names));
  if (open.empty())
    return success();
  return function.emitError()
         << "symbolic dimensions are left without a size: " << quote(open)
         << "; bind each as name=size";
}

/// Whether `op` reads a weight. Folding would leave a constant without the
/// weight's name, and training would not find it.
static bool readsWeight(Operation *op) {
  return llvm::any_of(op->getOperands(), [](Value operand) {
    return isa_and_nonnull<InitializerOp>(operand.getDefiningOp()) &&
           isa_and_nonnull<FloatType>(getTensorElementType(operand.getType()));
  });
}

/// Folds what computes with shapes, and drops what nobody reads then.
static void foldShapes(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (op != function)
      ops.push_back(op);
  });
  OperationFolder folder(function.getContext());
  SmallVector<Operation *> left;
  for (Operation *op : ops) {
    bool isConstant =
        isa<InitializerOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
    if (isConstant || readsWeight(op) || failed(folder.tryToFold(op)))
      left.push_back(op);
  }
  for (Operation *op : llvm::reverse(left))
    if (isOpTriviallyDead(op))
      op->erase();
}

/// Infers and folds in turns, as long as that closes open types.
LogicalResult BindDimsPass::propagate(func::FuncOp function) {
  OpPassManager inference(func::FuncOp::getOperationName());
  inference.addPass(createInferTypesPass());
  size_t open = SIZE_MAX;
  for (size_t now = SIZE_MAX - 1; now != 0 && now < open;
       now = countOpenTypes(function)) {
    open = now;
    if (failed(runPipeline(inference, function)))
      return failure();
    foldShapes(function);
  }
  return success();
}

void BindDimsPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  if (failed(bindArguments(function)))
    return signalPassFailure();
  function.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(bindNames(argument.getType()));
    for (Value result : op->getResults())
      result.setType(bindNames(result.getType()));
  });
  auto results = function.front().getTerminator()->getOperandTypes();
  function.setType(FunctionType::get(&getContext(),
                                     function.front().getArgumentTypes(),
                                     llvm::to_vector(results)));
  if (failed(propagate(function)))
    signalPassFailure();
}
