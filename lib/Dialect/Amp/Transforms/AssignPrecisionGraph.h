//===- AssignPrecisionGraph.h - A function as arrays of nodes and slots ---===//
//
// Ops in program order, their float operands and results as slots with a type
// each, and what is known about the values between them.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISIONGRAPH_H
#define AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISIONGRAPH_H

#include "AssignPrecisionTables.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <vector>

namespace amp::assign {

inline constexpr uint32_t none = ~0u;

/// How far a float32 value may go beyond what a half type holds.
enum class Range : uint8_t {
  Safe,    ///< of ordinary size
  Unknown, ///< comes from outside, and no narrow op reads it
  Hazard,  ///< a wide op made it, on purpose
};

/// An SSA value; a result of amp.autocast is the value its body yields.
struct ValueState {
  mlir::Value value;
  /// Node that makes it, or `none`.
  uint32_t producer = none;
  /// Index of the constant whose elements it holds, maybe moved; or `none`.
  uint32_t root = none;
  /// Readers that take float32, and a half type; open readers not counted.
  uint32_t wideUses = 0, halfUses = 0;
  Kind declared = Kind::Other;
  Kind kind = Kind::Other;
  Range range = Range::Safe;
  /// A half type in which the same value is at hand: the source of a widening
  /// cast of the user.
  Kind alsoAs = Kind::Other;
  /// The min-cut will say.
  bool open = false;
  /// An op reads it whose narrow type the value is bound to fit.
  bool assumed = false;
  bool isScalar = false;

  bool isConstant() const { return root != none; }
};

/// A float operand or result of a node.
struct Slot {
  uint32_t value;
  /// Operand or result number of the op.
  uint32_t number;
  /// Type variable, -1: none.
  int8_t var;
  /// Formal parameter.
  uint8_t formal;
  /// A float32 slot that a type variable could make half.
  bool eligible;
  Kind kind;
};

/// What a node stands for. The body of a region op lies between Enter and
/// Leave.
enum class Step : uint8_t { Op, Enter, Leave, Yield, Return };

struct Node {
  mlir::Operation *op = nullptr;
  const OpInfo *info = nullptr;
  const Scope *scope = nullptr;
  uint32_t firstOperand = 0, endOperand = 0, firstResult = 0, endResult = 0;
  /// Entry of `Graph::regions`, for region ops and their yields.
  uint32_t region = none;
  /// Number of the op in its function, for ops without a name.
  uint32_t ordinal = 0;
  Step step = Step::Op;
  OpClass opClass = OpClass::Never;
  DecisionRule rule = DecisionRule::Table;
  /// Who gave it its class.
  DecisionRule tableRule = DecisionRule::Table;
  /// Types stay as declared, whatever the class.
  bool keeps = false;
  bool open = false;
  /// Slots were set from outside and stay.
  bool fixed = false;
  /// F32 or a half type the op must take; Other: none.
  Kind forced = Kind::Other;
  /// What `forced` it.
  DecisionRule forcedRule = DecisionRule::Table;
  mlir::StringAttr forcedBy, by, note;
  /// The value that decided it, when `by` is null; or `none`.
  uint32_t byValue = none;
};

/// A type that a type variable of one node must have.
struct SlotPin {
  int8_t var;
  Kind kind;
  mlir::StringAttr by;
};

/// A region op with bodies that are decided along with the graph around it.
struct RegionState {
  uint32_t enter = none, leave = none;
  llvm::SmallVector<uint32_t, 2> yields;
  /// Values of the first body's arguments.
  llvm::SmallVector<uint32_t, 4> arguments;
  /// Carried values that must be float32.
  llvm::SmallVector<bool, 4> demoted;
};

class Graph {
public:
  std::vector<Node> nodes;
  std::vector<ValueState> values;
  std::vector<Slot> operands, results;
  std::vector<RegionState> regions;
  std::vector<AutocastOp> autocasts;
  /// Few nodes have any.
  llvm::DenseMap<uint32_t, llvm::SmallVector<SlotPin, 1>> slotPins;

  /// Fills the graph from `function`, whose ops are numbered from `firstOp`.
  mlir::LogicalResult build(mlir::func::FuncOp function, Tables &tables,
                            Scope &scope, uint32_t firstOp);
  /// The number the next op of the module would have.
  uint32_t getNextOp() const { return numOps; }

  llvm::MutableArrayRef<Slot> operandsOf(const Node &node) {
    return llvm::MutableArrayRef<Slot>(operands).slice(
        node.firstOperand, node.endOperand - node.firstOperand);
  }
  llvm::MutableArrayRef<Slot> resultsOf(const Node &node) {
    return llvm::MutableArrayRef<Slot>(results).slice(
        node.firstResult, node.endResult - node.firstResult);
  }
  /// The value of `value`, `none` when it is no float tensor.
  uint32_t lookup(mlir::Value value) const {
    auto it = index.find(value);
    return it == index.end() ? none : it->second;
  }

  /// Nodes that read a value, once per operand.
  llvm::ArrayRef<uint32_t> readersOf(uint32_t value) const {
    return llvm::ArrayRef<uint32_t>(readers).slice(
        firstReader[value], firstReader[value + 1] - firstReader[value]);
  }

  /// A name for a node without one: its number and operator.
  std::string keyOf(const Node &node) const;
  /// What to call a node in a message.
  mlir::StringAttr nameOf(const Node &node) const;
  /// What to call a value in a message.
  mlir::StringAttr nameOfValue(uint32_t value) const;

private:
  mlir::LogicalResult addBlock(mlir::Block &block, Scope &scope);
  mlir::LogicalResult addOp(mlir::Operation &op, Scope &scope);
  mlir::LogicalResult addRegionOp(mlir::Operation &op, Scope &scope);
  mlir::LogicalResult addAutocast(AutocastOp op, Scope &scope);
  void addConstant(mlir::Operation &op);
  uint32_t addNode(mlir::Operation &op, Step step, Scope &scope);
  void addOperandSlots(Node &node);
  void addResultSlots(Node &node, uint32_t producer);
  void finishNode(uint32_t number);
  uint32_t addValue(mlir::Value value, uint32_t producer);
  void indexReaders();

  Tables *tables = nullptr;
  llvm::DenseMap<mlir::Value, uint32_t> index;
  std::vector<uint32_t> firstReader, readers;
  /// "onnx.outputs".
  mlir::StringAttr outputsKey;
  /// Region ops around the op being added.
  llvm::SmallVector<uint32_t> openRegions;
  uint32_t numOps = 0;
};

/// Where the carried values of a Loop or Scan stand among its operands, its
/// body's arguments and the yielded values; result numbers start at 0.
struct CarriedLayout {
  unsigned firstOperand, firstArgument, firstYielded, count;
};
CarriedLayout getCarriedLayout(mlir::Operation *loop);

/// The slot of operand or result `number`, null when it is no float.
Slot *findSlot(llvm::MutableArrayRef<Slot> slots, uint32_t number);

} // namespace amp::assign

#endif // AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISIONGRAPH_H
