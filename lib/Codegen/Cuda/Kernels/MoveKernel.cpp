//===- MoveKernel.cpp - Copies of regions ---------------------------------===//
//
// Transposes go through squares of shared memory, so that both sides move whole
// sectors; everything else is copied in vectors as wide as its rows allow.
//
//===----------------------------------------------------------------------===//

#include "MoveKernel.h"
#include "Codegen/Cpu/MovementKernels.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace amp;
using namespace amp::cuda;

/// Threads of a block that copies; a square is read by rows of a warp.
static constexpr int64_t moveThreads = 256;
static constexpr int64_t square = warpSize;

namespace {

/// A movement with as few loops as describe it.
class MovePrinter {
public:
  explicit MovePrinter(cpu::Movement given);

  int64_t getGrid() const;
  int64_t getSharedBytes() const {
    return isTransposed() ? square * (square + 1) * cellBytes() : 0;
  }
  std::string getKey() const;
  void print(KernelBuilder &b, ValueRange buffers) const;

private:
  /// The loop along which the source is contiguous while the target is so along
  /// the innermost.
  bool isTransposed() const { return fromLoop >= 0; }
  int64_t bytes() const { return cpu::getStorageBytes(bits); }
  /// Narrow elements have a bank of their own each.
  int64_t cellBytes() const { return std::max<int64_t>(4, bytes()); }
  Value getAddress(KernelBuilder &b, ArrayRef<Value> point,
                   const plan::Access &access) const;
  void printVectors(KernelBuilder &b, ValueRange buffers) const;
  void printSquares(KernelBuilder &b, ValueRange buffers) const;

  cpu::Movement movement;
  Type bits;
  SmallVector<int64_t> sizes;
  int64_t fromLoop = -1;
  /// Elements that are moved at once.
  int64_t width = 1;
};

} // namespace

MovePrinter::MovePrinter(cpu::Movement given) : movement(std::move(given)) {
  bits = cpu::getBitsType(movement.elementType);
  SmallVector<int64_t> kinds(movement.sizes.size(), 0);
  plan::CollapsedSpace space =
      plan::collapse(movement.sizes, kinds, {&movement.from, &movement.to});
  sizes = space.sizes;
  if (sizes.empty()) {
    sizes.push_back(1);
    movement.from.strides.push_back(0);
    movement.to.strides.push_back(0);
  }
  ArrayRef<int64_t> from = movement.from.strides, to = movement.to.strides;
  if (from.back() == 1 && to.back() == 1) {
    width = std::gcd(chunkBytes / bytes(), sizes.back());
    for (const plan::Access *access : {&movement.from, &movement.to}) {
      width = std::gcd(width, access->offset);
      for (int64_t stride : ArrayRef(access->strides).drop_back())
        width = std::gcd(width, stride);
    }
    return;
  }
  if (to.back() != 1 || from.back() == 0 || sizes.back() < square / 4)
    return;
  for (auto [d, stride] : llvm::enumerate(from.drop_back()))
    if (stride == 1 && sizes[d] >= square / 4)
      fromLoop = d;
}

int64_t MovePrinter::getGrid() const {
  if (!isTransposed())
    return llvm::divideCeil(plan::getNumElements(sizes) / width, moveThreads);
  int64_t squares = llvm::divideCeil(sizes[fromLoop], square) *
                    llvm::divideCeil(sizes.back(), square);
  return plan::getNumElements(sizes) / (sizes[fromLoop] * sizes.back()) *
         squares;
}

std::string MovePrinter::getKey() const {
  SmallVector<int64_t> numbers(sizes);
  numbers.append(movement.from.strides);
  numbers.append(movement.to.strides);
  numbers.append({movement.from.offset, movement.to.offset});
  return cpu::makeKey("cuda move", numbers, {bits});
}

/// In elements, as i64: strides may be negative.
Value MovePrinter::getAddress(KernelBuilder &b, ArrayRef<Value> point,
                              const plan::Access &access) const {
  Value address = b.i64(access.offset);
  for (auto [index, stride] : llvm::zip_equal(point, access.strides)) {
    if (stride == 0)
      continue;
    Value part = arith::MulIOp::create(b, b.widen(index), b.i64(stride));
    address = arith::AddIOp::create(b, address, part);
  }
  return arith::MulIOp::create(b, address, b.i64(bytes()));
}

void MovePrinter::printVectors(KernelBuilder &b, ValueRange buffers) const {
  SmallVector<int64_t> counts(sizes);
  counts.back() /= width;
  int64_t total = plan::getNumElements(counts);
  Value number = b.add(b.mul(b.block(), moveThreads), b.thread());
  Type type = width > 1 ? Type(VectorType::get({width}, bits)) : bits;
  b.onlyIf(total % moveThreads ? b.less(number, total) : Value(), [&] {
    SmallVector<Value> point = b.delinearize(number, counts);
    point.back() = b.mul(point.back(), width);
    Value value = b.load(b.at(buffers[0], getAddress(b, point, movement.from)),
                         type, width * bytes());
    b.store(value, b.at(buffers[1], getAddress(b, point, movement.to)),
            width * bytes());
  });
}

/// A square of the source's contiguous loop by the target's. Warps read its
/// rows, and write its columns as rows.
void MovePrinter::printSquares(KernelBuilder &b, ValueRange buffers) const {
  size_t toLoop = sizes.size() - 1;
  SmallVector<int64_t> counts(sizes);
  counts[fromLoop] = llvm::divideCeil(sizes[fromLoop], square);
  counts[toLoop] = llvm::divideCeil(sizes[toLoop], square);
  SmallVector<Value> first = b.delinearize(b.block(), counts);
  first[fromLoop] = b.mul(first[fromLoop], square);
  first[toLoop] = b.mul(first[toLoop], square);
  Value shared = b.shared(), lane = b.lane();
  Value warp = b.div(b.thread(), warpSize);
  int64_t warps = moveThreads / warpSize, alignment = bytes();
  auto cell = [&](Value row, Value column) {
    Value index = b.add(b.mul(row, square + 1), column);
    return b.at(shared, b.mul(index, cellBytes()));
  };
  // `along`: the loop that lanes run along; `across`: that of the rows.
  auto visit = [&](size_t along, size_t across,
                   llvm::function_ref<void(ArrayRef<Value>, Value)> body) {
    for (int64_t i = 0; i < square / warps; ++i) {
      Value row = b.add(warp, i * warps);
      SmallVector<Value> point(first);
      point[along] = b.add(first[along], lane);
      point[across] = b.add(first[across], row);
      Value inside;
      for (size_t loop : {along, across})
        if (sizes[loop] % square)
          inside = b.both(inside, b.less(point[loop], sizes[loop]));
      b.onlyIf(inside, [&] { body(point, row); });
    }
  };
  visit(fromLoop, toLoop, [&](ArrayRef<Value> point, Value row) {
    Value from = getAddress(b, point, movement.from);
    b.store(b.load(b.at(buffers[0], from), bits, alignment), cell(row, lane),
            alignment);
  });
  b.barrier();
  visit(toLoop, fromLoop, [&](ArrayRef<Value> point, Value row) {
    Value to = getAddress(b, point, movement.to);
    b.store(b.load(cell(lane, row), bits, alignment), b.at(buffers[1], to),
            alignment);
  });
}

void MovePrinter::print(KernelBuilder &b, ValueRange buffers) const {
  isTransposed() ? printSquares(b, buffers) : printVectors(b, buffers);
}

static FailureOr<KernelLaunches> emitMoves(Operation *op,
                                           KernelModule &kernels) {
  FailureOr<SmallVector<cpu::Move>> moves = cpu::findMoves(op);
  if (failed(moves))
    return failure();
  KernelLaunches result;
  for (const cpu::Move &move : *moves) {
    // Indices of elements have 32 bits.
    if (plan::getNumElements(move.movement.sizes) >= int64_t(1) << 31)
      return KernelLaunches();
    MovePrinter printer(move.movement);
    Launch launch;
    launch.grid = {printer.getGrid(), 1, 1};
    launch.block = {moveThreads, 1, 1};
    launch.sharedBytes = printer.getSharedBytes();
    launch.operands = {plan::stripViews(move.from), move.to};
    launch.kernel = kernels.getOrCreate(
        printer.getKey(), "move", 2, launch.block,
        [&](ImplicitLocOpBuilder &builder, ValueRange buffers) {
          KernelBuilder b(builder, kernels);
          printer.print(b, buffers);
        });
    result.launches.push_back(launch);
  }
  return result;
}

void amp::cuda::addMoveKernels(KernelRegistry &registry) {
  for (StringRef name : {"onnx.Concat", "onnx.Expand", "onnx.Slice",
                         "onnx.Split", "onnx.Tile", "onnx.Transpose"})
    registry.add(name, emitMoves);
}
