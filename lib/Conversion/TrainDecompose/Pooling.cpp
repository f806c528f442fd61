//===- Pooling.cpp - Gradients of pooling as ONNX operators ---------------===//
//
// Windows are taken apart by kernel offset: strided slices read them, zeros
// between the elements and around them put what they get back in place.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// Windows over an input framed by its padding: wide enough for the last one.
class Windows {
public:
  template <typename OpTy>
  Windows(onnx::OnnxBuilder &builder, OpTy op)
      : builder(builder), strides(op.getStrides()),
        dilations(op.getDilations()), pads(op.getPads()),
        kernel(op.getKernelShape()), input(op.getType().getShape()),
        output(op.getGradient().getType().getShape()) {
    for (size_t i = 0; i < kernel.size(); ++i)
      frame.push_back(std::max((output[i + 2] - 1) * strides[i] +
                                   (kernel[i] - 1) * dilations[i] + 1,
                               pads[i] + input[i + 2]));
  }

  /// All offsets in a window, in row-major order.
  SmallVector<SmallVector<int64_t>> getOffsets() const;
  /// Whether one window covers exactly the input.
  bool isGlobal() const;
  /// `x` in its frame.
  Value framed(Value x) const;
  /// The element at `offset` of each window of a framed tensor.
  Value read(Value framedX, ArrayRef<int64_t> offset) const;
  /// The inverse of `read`: zeros elsewhere.
  Value write(Value perWindow, ArrayRef<int64_t> offset) const;
  /// The input's part of a framed tensor.
  Value unframed(Value framedX) const;
  /// Position of `offset` of window `index` in dimension `i` of the input.
  int64_t position(size_t i, int64_t index, int64_t offset) const {
    return index * strides[i] + offset * dilations[i] - pads[i];
  }
  /// Calls `visit` with the index of each window, in row-major order.
  void forEachWindow(function_ref<void(ArrayRef<int64_t>)> visit) const;

  ArrayRef<int64_t> getInput() const { return input.drop_front(2); }
  ArrayRef<int64_t> getOutput() const { return output; }
  ArrayRef<int64_t> getKernel() const { return kernel; }
  int64_t getPadAfter(size_t i) const { return pads[i + kernel.size()]; }

private:
  SmallVector<int64_t> spatialAxes() const {
    return llvm::to_vector(llvm::seq<int64_t>(2, kernel.size() + 2));
  }

  onnx::OnnxBuilder &builder;
  ArrayRef<int64_t> strides, dilations, pads, kernel, input, output;
  SmallVector<int64_t> frame;
};

/// Calls `visit` with each index below `sizes`, in row-major order.
void forEachIndex(ArrayRef<int64_t> sizes,
                  function_ref<void(ArrayRef<int64_t>)> visit) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  SmallVector<int64_t> index(sizes.size());
  for (int64_t number = 0; number < count; ++number) {
    for (int64_t i = sizes.size() - 1, rest = number; i >= 0; --i) {
      index[i] = rest % sizes[i];
      rest /= sizes[i];
    }
    visit(index);
  }
}

SmallVector<SmallVector<int64_t>> Windows::getOffsets() const {
  SmallVector<SmallVector<int64_t>> offsets;
  forEachIndex(kernel,
               [&](ArrayRef<int64_t> offset) { offsets.emplace_back(offset); });
  return offsets;
}

void Windows::forEachWindow(function_ref<void(ArrayRef<int64_t>)> visit) const {
  forEachIndex(output.drop_front(2), visit);
}

bool Windows::isGlobal() const {
  auto isOne = [](int64_t value) { return value == 1; };
  return kernel == getInput() && llvm::all_of(output.drop_front(2), isOne) &&
         llvm::all_of(dilations, isOne) &&
         llvm::all_of(pads, [](int64_t pad) { return pad == 0; });
}

Value Windows::framed(Value x) const {
  SmallVector<int64_t> before(2), after(2);
  for (size_t i = 0; i < kernel.size(); ++i) {
    before.push_back(pads[i]);
    after.push_back(frame[i] - pads[i] - input[i + 2]);
  }
  return builder.pad(x, before, after);
}

Value Windows::unframed(Value framedX) const {
  SmallVector<int64_t> ends;
  for (size_t i = 0; i < kernel.size(); ++i)
    ends.push_back(pads[i] + input[i + 2]);
  if (onnx::getStaticShape(framedX) == input)
    return framedX;
  return builder.slice(framedX, pads.take_front(kernel.size()), ends,
                       spatialAxes());
}

Value Windows::read(Value framedX, ArrayRef<int64_t> offset) const {
  SmallVector<int64_t> starts, ends;
  for (size_t i = 0; i < kernel.size(); ++i) {
    starts.push_back(offset[i] * dilations[i]);
    ends.push_back(starts[i] + (output[i + 2] - 1) * strides[i] + 1);
  }
  return builder.slice(framedX, starts, ends, spatialAxes(), strides);
}

Value Windows::write(Value value, ArrayRef<int64_t> offset) const {
  SmallVector<int64_t> shape(output), before(2), after(2), ends;
  // Strides: zeros after each element, as a dimension of its own.
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (strides[i] == 1)
      continue;
    SmallVector<int64_t> split(shape), zeros;
    split.insert(split.begin() + i + 3, 1);
    zeros.assign(split.size(), 0);
    SmallVector<int64_t> after(zeros);
    after[i + 3] = strides[i] - 1;
    value = builder.pad(builder.reshape(value, split), zeros, after);
    shape[i + 2] *= strides[i];
    value = builder.reshape(value, shape);
  }
  for (size_t i = 0; i < kernel.size(); ++i) {
    ends.push_back((output[i + 2] - 1) * strides[i] + 1);
    before.push_back(offset[i] * dilations[i]);
    after.push_back(frame[i] - before.back() - ends[i]);
  }
  if (ArrayRef(shape).drop_front(2) != ArrayRef(ends))
    value = builder.slice(value, SmallVector<int64_t>(ends.size()), ends,
                          spatialAxes());
  return builder.pad(value, before, after);
}

/// g / count at each element of the window
struct AveragePoolGradientToOnnx : OpRewritePattern<AveragePoolGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AveragePoolGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    Windows windows(builder, op);
    Value g = builder.widen(op.getGradient());
    Value share =
        builder.div(g, counts(builder, windows, g, op.getCountIncludePad()));
    SmallVector<Value> parts;
    for (ArrayRef<int64_t> offset : windows.getOffsets())
      parts.push_back(windows.write(share, offset));
    Value dx = windows.unframed(builder.create("Sum", parts));
    rewriter.replaceOp(op, builder.cast(dx, op.getType().getElementType()));
    return success();
  }

  /// How many elements each window averages.
  static Value counts(onnx::OnnxBuilder &builder, const Windows &windows,
                      Value like, bool includePad) {
    ArrayRef<int64_t> input = windows.getInput(), kernel = windows.getKernel();
    SmallVector<Attribute> values;
    auto element = cast<FloatType>(onnx::getElementType(like));
    windows.forEachWindow([&](ArrayRef<int64_t> window) {
      int64_t count = 1;
      for (size_t i = 0; i < kernel.size(); ++i)
        count *= llvm::count_if(
            llvm::seq<int64_t>(0, kernel[i]), [&](int64_t offset) {
              int64_t p = windows.position(i, window[i], offset);
              return includePad ? p < input[i] + windows.getPadAfter(i)
                                : p >= 0 && p < input[i];
            });
      values.push_back(FloatAttr::get(element, count));
    });
    SmallVector<int64_t> shape(windows.getOutput());
    shape[0] = shape[1] = 1;
    return builder.constant(
        DenseElementsAttr::get(RankedTensorType::get(shape, element), values));
  }
};

/// g at the first maximum, or the first NaN, of each window
struct MaxPoolGradientToOnnx : OpRewritePattern<MaxPoolGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MaxPoolGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    Windows windows(builder, op);
    SmallVector<int64_t> shape(windows.getOutput());
    int64_t last = shape.size();
    shape.push_back(1);
    Value g = builder.reshape(builder.widen(op.getGradient()), shape);
    Value mask = winners(builder, windows, gather(builder, windows, op.getX()));
    Value routed = builder.where(mask, g, builder.scalarLike(0, g));
    SmallVector<Value> parts;
    auto offsets = windows.getOffsets();
    if (windows.isGlobal()) {
      parts.push_back(builder.reshape(routed, op.getType().getShape()));
    } else {
      for (auto [number, offset] : llvm::enumerate(offsets)) {
        int64_t start = number;
        Value part = builder.slice(routed, {start}, {start + 1}, {last});
        part = builder.reshape(part, windows.getOutput());
        parts.push_back(windows.write(part, offset));
      }
    }
    Value dx = parts.size() == 1 ? parts.front() : builder.create("Sum", parts);
    if (!windows.isGlobal())
      dx = windows.unframed(dx);
    rewriter.replaceOp(op, builder.cast(dx, op.getType().getElementType()));
    return success();
  }

  /// The windows of `x`, their elements along a new last dimension.
  static Value gather(onnx::OnnxBuilder &builder, const Windows &windows,
                      Value x) {
    SmallVector<int64_t> shape(windows.getOutput());
    x = builder.widen(x);
    auto offsets = windows.getOffsets();
    if (windows.isGlobal()) {
      shape.push_back(offsets.size());
      return builder.reshape(x, shape);
    }
    shape.push_back(1);
    Value framed = windows.framed(x);
    SmallVector<Value> parts;
    for (ArrayRef<int64_t> offset : offsets)
      parts.push_back(builder.reshape(windows.read(framed, offset), shape));
    return builder.create("Concat", parts,
                          builder.attr("axis", int64_t(shape.size() - 1)));
  }

  /// Which element of each window lies in the input: a constant.
  static Value valid(onnx::OnnxBuilder &builder, const Windows &windows) {
    SmallVector<bool> values;
    auto offsets = windows.getOffsets();
    windows.forEachWindow([&](ArrayRef<int64_t> window) {
      for (ArrayRef<int64_t> offset : offsets) {
        bool inside = true;
        for (size_t i = 0; i < offset.size(); ++i) {
          int64_t p = windows.position(i, window[i], offset[i]);
          inside &= p >= 0 && p < windows.getInput()[i];
        }
        values.push_back(inside);
      }
    });
    SmallVector<int64_t> shape(windows.getOutput());
    shape[0] = shape[1] = 1;
    shape.push_back(offsets.size());
    return builder.constant(DenseElementsAttr::get(
        RankedTensorType::get(shape, builder.getBuilder().getI1Type()),
        values));
  }

  /// The one element of each window, along the last dimension, that wins.
  static Value winners(onnx::OnnxBuilder &builder, const Windows &windows,
                       Value x) {
    int64_t last = onnx::getStaticShape(x).size() - 1;
    int64_t count = onnx::getStaticShape(x).back();
    Value inside = valid(builder, windows);
    Value least =
        builder.scalarLike(-std::numeric_limits<double>::infinity(), x);
    x = builder.where(inside, x, least);
    Value isNan = builder.unary("IsNaN", x);
    OpBuilder &types = builder.getBuilder();
    Value anyNan = builder.cast(
        builder.reduce("ReduceMax", builder.cast(isNan, types.getI32Type()),
                       {last}),
        types.getI1Type());
    // An evaluator's maximum may or may not be NaN: it is not used then.
    Value largest = builder.reduce("ReduceMax", x, {last});
    Value wins = builder.create(
        "And", {inside, builder.where(anyNan, isNan,
                                      builder.create("Equal", {x, largest}))});
    Value numbers = builder.ints(llvm::to_vector(llvm::seq<int64_t>(0, count)));
    Value first = builder.reduce(
        "ReduceMin",
        builder.where(wins, numbers, builder.scalarLike(count, numbers)),
        {last});
    return builder.create("Equal", {numbers, first});
  }
};

} // namespace

void amp::train::populatePoolingToOnnxPatterns(RewritePatternSet &patterns) {
  patterns.add<AveragePoolGradientToOnnx, MaxPoolGradientToOnnx>(
      patterns.getContext());
}
