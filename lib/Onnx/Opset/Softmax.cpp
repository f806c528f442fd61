//===- Softmax.cpp - Softmax, LogSoftmax and Hardmax before opset 13
//-------===//
// The older versions flatten their input to a matrix at `axis`; the newer ones
// work along one axis.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace amp::onnx_opset;
using llvm::Error;
using llvm::StringRef;

/// The axis such that working along it is the same as working on all of [axis,
/// rank), if there is one: at most one of these dimensions may have a size
/// other than 1.
static std::optional<int64_t> findOnlyAxis(const Dims &dims, int64_t axis) {
  int64_t only = dims.size() - 1;
  int count = 0;
  for (int64_t i = axis, e = dims.size(); i != e; ++i) {
    if (dims[i] == 1)
      continue;
    only = i;
    ++count;
  }
  if (count > 1)
    return std::nullopt;
  return only;
}

/// op(x) -> reshape(op(flatten(x)), shape(x))
static void flattenAround(Rewriter &rewriter, int64_t axis) {
  std::string x = rewriter.input(0).str(), y = rewriter.node.output(0);
  std::string shape = rewriter.freshName("shape");
  std::string flat = rewriter.freshName("flat");
  std::string result = rewriter.freshName("matrix");
  rewriter.addBefore("Shape", {x}, shape);
  addAttribute(rewriter.addBefore("Flatten", {x}, flat), "axis", axis);
  rewriter.node.set_input(0, flat);
  rewriter.node.set_output(0, result);
  rewriter.set("axis", -1);
  rewriter.addAfter("Reshape", {result, shape}, y);
}

Error amp::onnx_opset::raiseSoftmax(Rewriter &rewriter) {
  int64_t axis = rewriter.intAttribute("axis", 1);
  if (axis == -1)
    return Error::success();
  std::optional<Dims> dims = rewriter.dims(rewriter.input(0));
  if (dims) {
    int64_t rank = dims->size();
    int64_t start = axis < 0 ? axis + rank : axis;
    if (start < 0 || start >= rank)
      return rewriter.fail("axis " + llvm::Twine(axis) + " is not one of the " +
                           llvm::Twine(rank) + " axes of the input");
    if (std::optional<int64_t> only = findOnlyAxis(*dims, start)) {
      rewriter.set("axis", *only);
      return Error::success();
    }
  }
  flattenAround(rewriter, axis);
  return Error::success();
}

/// op(x) -> transpose(op(transpose(x))), with `axis` and the last one swapped
static void transposeAround(Rewriter &rewriter, int64_t axis, int64_t rank) {
  std::string x = rewriter.input(0).str(), y = rewriter.node.output(0);
  Ints permutation = llvm::to_vector<6>(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[axis], permutation.back());
  std::string turned = rewriter.freshName("turned");
  std::string result = rewriter.freshName("along_last");
  addAttribute(rewriter.addBefore("Transpose", {x}, turned), "perm",
               permutation);
  rewriter.node.set_input(0, turned);
  rewriter.node.set_output(0, result);
  rewriter.set("axis", rank - 1);
  addAttribute(rewriter.addAfter("Transpose", {result}, y), "perm",
               permutation);
}

Error amp::onnx_opset::lowerSoftmax(Rewriter &rewriter) {
  int64_t axis = rewriter.intAttribute("axis", -1);
  if (axis == -1) {
    rewriter.set("axis", -1);
    return Error::success();
  }
  std::optional<Dims> dims = rewriter.dims(rewriter.input(0));
  if (!dims)
    return rewriter.fail(
        "the rank of the input is not known, and axis is not the last one");
  int64_t rank = dims->size();
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis >= rank)
    return rewriter.fail("axis is not one of the " + llvm::Twine(rank) +
                         " axes of the input");
  if (llvm::all_of(llvm::drop_begin(*dims, axis + 1),
                   [](int64_t size) { return size == 1; }))
    rewriter.set("axis", axis);
  else
    transposeAround(rewriter, axis, rank);
  return Error::success();
}
