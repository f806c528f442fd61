//===- Recurrent.h - A recurrent layer being unrolled ---------------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CONVERSION_ONNXDECOMPOSE_RECURRENT_H
#define AMP_LIB_CONVERSION_ONNXDECOMPOSE_RECURRENT_H

#include "Decomposition.h"

namespace amp::onnx {

/// An activation with its parameters, where it has any.
struct RecurrentActivation {
  llvm::StringRef name;
  double alpha = 0, beta = 0;
};

/// Whether there is an activation of that name; fills its default parameters.
std::optional<RecurrentActivation> getActivation(llvm::StringRef name);
mlir::Value applyActivation(Decomposition &d,
                            const RecurrentActivation &activation,
                            mlir::Value x);

class RecurrentLayer;

/// What tells an LSTM from a GRU: how states begin and go on. The first state
/// is the layer's output.
class RecurrentCell {
public:
  virtual ~RecurrentCell() = default;
  virtual llvm::SmallVector<mlir::Value> begin(RecurrentLayer &layer) = 0;
  virtual llvm::SmallVector<mlir::Value>
  advance(RecurrentLayer &layer, int64_t step,
          llvm::ArrayRef<mlir::Value> states) = 0;
};

/// One operation; operands X, W, R, B, sequence_lens, initial_h, ... are at
/// the same positions in all of them.
class RecurrentLayer {
public:
  explicit RecurrentLayer(Decomposition &d)
      : d(d), resultType(getElementType(d.input(0))) {}

  mlir::LogicalResult run(RecurrentCell &cell);
  /// `names` of all directions, `perDirection` of them each.
  mlir::LogicalResult
  setActivations(llvm::ArrayRef<llvm::StringRef> names,
                 std::optional<llvm::ArrayRef<float>> alphas,
                 std::optional<llvm::ArrayRef<float>> betas,
                 unsigned perDirection);

  /// The current direction's part of an operand; null where absent.
  mlir::Value operand(unsigned position);
  mlir::Value initialState(unsigned position);
  /// The biases of inputs and of the state in one, for `gates` gates, wide;
  /// null without biases.
  mlir::Value sumBiases(unsigned gates);
  /// The product of the inputs of all steps with W, in f32:
  /// (steps, batch, gates * hidden).
  mlir::Value projectInputs(mlir::Value bias);
  /// h Rᵀ, in f32.
  mlir::Value projectState(mlir::Value state, mlir::Value weights);
  /// Columns of gate `index`.
  mlir::Value gate(mlir::Value gates, unsigned index);
  /// `count` gates' rows of a vector or matrix from gate `index` on.
  mlir::Value part(mlir::Value vector, unsigned index, unsigned count);
  mlir::Value activate(unsigned index, mlir::Value x);

  Decomposition &d;
  bool isBatchFirst = false, startsReverse = false;
  unsigned numDirections = 1;
  double clip = 0;
  int64_t steps = 0, batch = 0, hidden = 0;
  /// What a cell's `begin` leaves for `advance`.
  mlir::Value projected, recurrence;

private:
  mlir::Value keepPast(int64_t step, mlir::Value next, mlir::Value last);
  mlir::Value stack(llvm::ArrayRef<mlir::Value> ofSteps);
  void setResults(llvm::ArrayRef<mlir::Value> outputs,
                  llvm::ArrayRef<llvm::SmallVector<mlir::Value>> last);

  mlir::Type resultType;
  int64_t direction = 0;
  mlir::Value lengths;
  unsigned activationsPerDirection = 0;
  llvm::SmallVector<RecurrentActivation> activations;
};

} // namespace amp::onnx

#endif // AMP_LIB_CONVERSION_ONNXDECOMPOSE_RECURRENT_H
