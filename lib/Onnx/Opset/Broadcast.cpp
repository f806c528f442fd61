//===- Broadcast.cpp - Broadcasting before opset 7 and 8
//-------------------===//
// Binary ops had `broadcast` and `axis`, n-ary ops took equal shapes only,
// PRelu and Gemm had rules of their own.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace amp::onnx_opset;
using llvm::Error;
using llvm::StringRef;
using onnx::TensorProto;
using Dimension = onnx::TensorShapeProto::Dimension;
using DimensionList = llvm::SmallVector<const Dimension *, 6>;

static std::optional<DimensionList> getDimensions(const Rewriter &rewriter,
                                                  StringRef value) {
  const onnx::TypeProto *type = rewriter.type(value);
  if (!type || !type->has_tensor_type() || !type->tensor_type().has_shape())
    return std::nullopt;
  DimensionList list;
  for (const Dimension &dim : type->tensor_type().shape().dim())
    list.push_back(&dim);
  return list;
}

static bool isOne(const Dimension *dim) {
  return dim->has_dim_value() && dim->dim_value() == 1;
}

/// Whether two dimensions are known to be the same.
static bool isSame(const Dimension *a, const Dimension *b) {
  if (a->has_dim_value() && b->has_dim_value())
    return a->dim_value() == b->dim_value();
  return a->has_dim_param() && b->has_dim_param() && !a->dim_param().empty() &&
         a->dim_param() == b->dim_param();
}

static bool isSameShape(llvm::ArrayRef<const Dimension *> a,
                        llvm::ArrayRef<const Dimension *> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return isSame(std::get<0>(pair), std::get<1>(pair));
         });
}

//===----------------------------------------------------------------------===//
// Binary operators
//===----------------------------------------------------------------------===//

/// op(a, b) {broadcast, axis} -> op(a, unsqueeze(b)), such that the dimensions
/// of b meet those of a from `axis` on
Error amp::onnx_opset::raiseBroadcast(Rewriter &rewriter) {
  bool broadcast = rewriter.intAttribute("broadcast", 0) != 0;
  bool hasAxis = rewriter.hasAttribute("axis");
  int64_t axis = rewriter.intAttribute("axis", 0);
  rewriter.erase("broadcast");
  rewriter.erase("axis");
  if (!broadcast || !hasAxis)
    return Error::success();
  std::optional<Dims> b = rewriter.dims(rewriter.input(1));
  if (b && llvm::all_of(*b, [](int64_t size) { return size == 1; }))
    return Error::success();
  std::optional<int64_t> rank = rewriter.rank(rewriter.input(0));
  if (!b || !rank)
    return rewriter.fail(
        "the ranks of the inputs are not known, so 'axis' cannot be replaced");
  int64_t room = *rank - static_cast<int64_t>(b->size());
  if (axis < 0 || axis > room)
    return rewriter.fail(
        "the second input does not fit the first one from axis " +
        llvm::Twine(axis) + " on");
  int64_t trailing = room - axis;
  if (trailing == 0)
    return Error::success();
  Ints axes;
  for (int64_t i = 0; i != trailing; ++i)
    axes.push_back(b->size() + i);
  std::string aligned = rewriter.freshName("aligned");
  addAttribute(rewriter.addBefore("Unsqueeze", {rewriter.input(1)}, aligned),
               "axes", axes);
  rewriter.setInput(1, aligned);
  return Error::success();
}

/// What an Unsqueeze has made input 1 of, if it has these dimensions: the
/// inverse of a step up. Empty otherwise.
static StringRef getUnsqueezed(const Rewriter &rewriter,
                               llvm::ArrayRef<const Dimension *> wanted) {
  StringRef source = rewriter.unsqueezed(rewriter.input(1));
  std::optional<DimensionList> dims =
      source.empty() ? std::nullopt : getDimensions(rewriter, source);
  return dims && isSameShape(*dims, wanted) ? source : StringRef();
}

/// Sets `broadcast` and `axis` such that input 1 goes onto input 0, if the
/// older rule can do it. Dimensions of size 1 around those that meet the other
/// input are squeezed away.
static bool lowerOneWay(Rewriter &rewriter, const DimensionList &a,
                        const DimensionList &b) {
  if (isSameShape(a, b))
    return true;
  if (b.size() > a.size())
    return false;
  if (llvm::all_of(b, isOne)) {
    rewriter.set("broadcast", 1);
    return true;
  }
  size_t begin = llvm::find_if_not(b, isOne) - b.begin();
  size_t end =
      b.size() - (llvm::find_if_not(llvm::reverse(b), isOne) - b.rbegin());
  size_t axis = a.size() - b.size() + begin;
  llvm::ArrayRef<const Dimension *> meeting =
      llvm::ArrayRef(b).slice(begin, end - begin);
  if (!isSameShape(llvm::ArrayRef(a).slice(axis, end - begin), meeting))
    return false;
  rewriter.set("broadcast", 1);
  if (begin == 0 && end == b.size())
    return true;
  // The last dimensions are met without it.
  if (axis + meeting.size() != a.size())
    rewriter.set("axis", static_cast<int64_t>(axis));
  if (StringRef source = getUnsqueezed(rewriter, meeting); !source.empty()) {
    rewriter.setInput(1, source.str());
    return true;
  }
  Ints ones;
  for (size_t i = 0; i != b.size(); ++i)
    if (i < begin || i >= end)
      ones.push_back(i);
  std::string squeezed = rewriter.freshName("squeezed");
  addAttribute(rewriter.addBefore("Squeeze", {rewriter.input(1)}, squeezed),
               "axes", ones);
  rewriter.setInput(1, squeezed);
  return true;
}

Error amp::onnx_opset::lowerBroadcast(Rewriter &rewriter) {
  std::optional<DimensionList> a = getDimensions(rewriter, rewriter.input(0));
  std::optional<DimensionList> b = getDimensions(rewriter, rewriter.input(1));
  if (!a || !b)
    return rewriter.fail("the shapes of the inputs are not known, which "
                         "broadcasting before opset 7 depends on");
  if (lowerOneWay(rewriter, *a, *b))
    return Error::success();
  bool commutes = llvm::StringSwitch<bool>(rewriter.node.op_type())
                      .Cases({"Add", "Mul", "And", "Or", "Xor", "Equal"}, true)
                      .Default(false);
  if (commutes) {
    rewriter.node.mutable_input()->SwapElements(0, 1);
    if (lowerOneWay(rewriter, *b, *a))
      return Error::success();
  }
  return rewriter.fail(
      "broadcasting before opset 7 cannot combine these shapes");
}

/// Before opset 8 (Max, Mean, Min, Sum) the inputs have equal shapes.
Error amp::onnx_opset::lowerEqualShapes(Rewriter &rewriter) {
  std::optional<DimensionList> first =
      getDimensions(rewriter, rewriter.input(0));
  for (int i = 1, e = rewriter.node.input_size(); i < e; ++i) {
    std::optional<DimensionList> other =
        getDimensions(rewriter, rewriter.input(i));
    if (!first || !other || !isSameShape(*first, *other))
      return rewriter.fail(
          "inputs that are not known to have equal shapes need opset 8");
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// PRelu and Gemm
//===----------------------------------------------------------------------===//

/// A slope per channel -> a slope that meets dimension 1 of x
Error amp::onnx_opset::raisePRelu(Rewriter &rewriter) {
  std::optional<Dims> slope = rewriter.dims(rewriter.input(1));
  if (slope && llvm::all_of(*slope, [](int64_t size) { return size == 1; }))
    return Error::success();
  std::optional<int64_t> rank = rewriter.rank(rewriter.input(0));
  if (!slope || !rank)
    return rewriter.fail(
        "the shape of the slope or the rank of the input is not known");
  if (slope->size() != 1 || *rank <= 2)
    return Error::success();
  Ints axes;
  for (int64_t i = 1; i <= *rank - 2; ++i)
    axes.push_back(i);
  std::string aligned = rewriter.freshName("slope");
  addAttribute(rewriter.addBefore("Unsqueeze", {rewriter.input(1)}, aligned),
               "axes", axes);
  rewriter.setInput(1, aligned);
  return Error::success();
}

Error amp::onnx_opset::lowerPRelu(Rewriter &rewriter) {
  std::optional<Dims> slope = rewriter.dims(rewriter.input(1));
  std::optional<int64_t> rank = rewriter.rank(rewriter.input(0));
  if (slope && llvm::all_of(*slope, [](int64_t size) { return size == 1; }))
    return Error::success();
  bool perChannel = slope && rank &&
                    static_cast<int64_t>(slope->size()) + 1 == *rank &&
                    llvm::all_of(llvm::drop_begin(*slope),
                                 [](int64_t size) { return size == 1; });
  if (!perChannel)
    return rewriter.fail(
        "a slope that is neither one number nor one per channel needs opset 7");
  if (slope->size() == 1)
    return Error::success();
  std::optional<DimensionList> dims =
      getDimensions(rewriter, rewriter.input(1));
  if (StringRef source =
          getUnsqueezed(rewriter, llvm::ArrayRef(*dims).take_front());
      !source.empty()) {
    rewriter.setInput(1, source.str());
    return Error::success();
  }
  std::string row = rewriter.addInts("row", {-1});
  std::string flat = rewriter.freshName("slope");
  rewriter.addBefore("Reshape", {rewriter.input(1), row}, flat);
  rewriter.setInput(1, flat);
  return Error::success();
}

/// Opset 7 broadcasts C in the same way without being told to.
Error amp::onnx_opset::raiseGemmBroadcast(Rewriter &rewriter) {
  rewriter.erase("broadcast");
  return Error::success();
}

Error amp::onnx_opset::lowerGemmBroadcast(Rewriter &rewriter) {
  std::optional<Dims> c = rewriter.dims(rewriter.input(2));
  if (!c || c->size() > 2)
    return rewriter.fail("the rank of input 2 ('C') is not known");
  bool isRow = c->size() < 2,
       isOneElement = llvm::all_of(*c, [](int64_t size) { return size == 1; });
  bool isMatrix = c->size() == 2 && llvm::none_of(*c, [](int64_t size) {
                    return size == 1 || size < 0;
                  });
  if (!isRow && !isOneElement && !isMatrix)
    return rewriter.fail(
        "broadcasting before opset 7 cannot combine these shapes");
  rewriter.set("broadcast", isMatrix ? 0 : 1);
  return Error::success();
}

/// Before opset 11, C must be there.
Error amp::onnx_opset::lowerGemmC(Rewriter &rewriter) {
  if (rewriter.hasInput(2))
    return Error::success();
  int type = rewriter.elementType(rewriter.input(0));
  if (type != TensorProto::FLOAT && type != TensorProto::DOUBLE &&
      type != TensorProto::FLOAT16)
    return rewriter.fail("no C needs opset 11 where the input is not known to "
                         "be floating-point");
  rewriter.setInput(2, rewriter.addFloats("C", type, 0.0));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Tile
//===----------------------------------------------------------------------===//

/// The one number that a constant holds, whatever its type.
static std::optional<int64_t> getNumber(const Rewriter &rewriter,
                                        StringRef value) {
  if (std::optional<Ints> values = rewriter.ints(value);
      values && values->size() == 1)
    return values->front();
  if (auto values = rewriter.floats(value);
      values && values->size() == 1 && std::abs(values->front()) < 1e9)
    return static_cast<int64_t>(values->front());
  return std::nullopt;
}

/// tile(x, count, axis) -> tile(x, repeats)
Error amp::onnx_opset::raiseTile(Rewriter &rewriter) {
  std::optional<int64_t> count = getNumber(rewriter, rewriter.input(1));
  std::optional<int64_t> axis = getNumber(rewriter, rewriter.input(2));
  std::optional<int64_t> rank = rewriter.rank(rewriter.input(0));
  if (!count || !axis || !rank || *axis < 0 || *axis >= *rank)
    return rewriter.fail("tiles and axis are not constant, or the rank of the "
                         "input is not known");
  Ints repeats(*rank, 1);
  repeats[*axis] = *count;
  rewriter.dropInput(2);
  rewriter.setInput(1, rewriter.addInts("repeats", repeats));
  return Error::success();
}

Error amp::onnx_opset::lowerTile(Rewriter &rewriter) {
  std::optional<Ints> repeats = rewriter.ints(rewriter.input(1));
  int type = rewriter.elementType(rewriter.input(0));
  if (type != TensorProto::FLOAT && type != TensorProto::DOUBLE &&
      type != TensorProto::FLOAT16)
    return rewriter.fail("the input is not known to be floating-point");
  if (!repeats ||
      llvm::count_if(*repeats, [](int64_t count) { return count != 1; }) > 1)
    return rewriter.fail(
        "repeats are not constant, or repeat more than one axis");
  auto repeated =
      llvm::find_if(*repeats, [](int64_t count) { return count != 1; });
  int64_t axis = repeated == repeats->end() ? 0 : repeated - repeats->begin();
  int64_t count = repeated == repeats->end() ? 1 : *repeated;
  rewriter.setInput(
      1, rewriter.addFloats("tiles", type, static_cast<double>(count)));
  rewriter.setInput(
      2, rewriter.addFloats("axis", type, static_cast<double>(axis)));
  return Error::success();
}
