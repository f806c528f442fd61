//===- Safetensors.cpp - Initial values in the safetensors format ---------===//
//
// Eight bytes with the header's length, a JSON header, the tensors' bytes
// without gaps.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Endian.h"
#include <cmath>

using namespace mlir;
using namespace amp;
using namespace amp::artifact;
using llvm::Error;

/// The data begins at a multiple of this, so that a mapped file serves as it
/// is.
static constexpr size_t dataAlignment = 64;
/// Integers up to here are doubles, too.
static constexpr int64_t largestExact = int64_t(1) << 53;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

std::optional<double> amp::artifact::getUniformNumber(ElementsAttr value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || !dense.isSplat() || !dense.getElementType().isIntOrFloat())
    return std::nullopt;
  if (auto integer = dyn_cast<IntegerType>(dense.getElementType())) {
    APInt element = dense.getSplatValue<APInt>();
    if (integer.getWidth() == 1 || integer.isUnsigned())
      return element.ule(largestExact)
                 ? std::optional<double>(element.getZExtValue())
                 : std::nullopt;
    int64_t number = element.getSExtValue();
    return std::abs(number) <= largestExact ? std::optional<double>(number)
                                            : std::nullopt;
  }
  APFloat element = dense.getSplatValue<APFloat>();
  bool loses;
  element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  double number = element.convertToDouble();
  // JSON has no other numbers, and a reader may drop the sign of zero.
  if (!std::isfinite(number) || (number == 0 && std::signbit(number)))
    return std::nullopt;
  return number;
}

/// All elements of a splat, a block at a time.
static Error streamSplat(ArrayRef<char> element, int64_t count,
                         llvm::function_ref<Error(ArrayRef<char>)> sink) {
  constexpr int64_t blockSize = 4096;
  SmallVector<char> block;
  for (int64_t i = 0; i < std::min(count, blockSize); ++i)
    block.append(element.begin(), element.end());
  for (int64_t left = count; left > 0; left -= blockSize)
    if (Error error = sink(ArrayRef<char>(block).take_front(
            std::min(left, blockSize) * element.size())))
      return error;
  return Error::success();
}

Error amp::artifact::streamElements(
    ElementsAttr value, llvm::function_ref<Error(ArrayRef<char>)> sink) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return llvm::createStringError("its data is missing");
    return sink(blob->getData());
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return llvm::createStringError("its data has a form that is not stored");
  // Bools may be packed.
  if (dense.getElementType().isInteger(1)) {
    SmallVector<char> bytes;
    for (bool element : dense.getValues<bool>())
      bytes.push_back(element);
    return sink(bytes);
  }
  if (dense.isSplat())
    return streamSplat(dense.getRawData(), dense.getNumElements(), sink);
  return sink(dense.getRawData());
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static uint64_t getSize(const ArtifactTensor &tensor) {
  uint64_t size =
      llvm::divideCeil(tensor.elementType.getIntOrFloatBitWidth(), 8);
  for (int64_t dimension : tensor.shape)
    size *= dimension;
  return size;
}

static std::vector<const ArtifactTensor *> getStored(const Artifact &artifact) {
  std::vector<const ArtifactTensor *> stored;
  for (const ArtifactTensor &tensor : artifact.tensors)
    if (tensor.isState() && !getUniformNumber(tensor.init))
      stored.push_back(&tensor);
  return stored;
}

static std::string printHeader(ArrayRef<const ArtifactTensor *> stored) {
  std::string header;
  llvm::raw_string_ostream stream(header);
  llvm::json::OStream os(stream);
  uint64_t offset = 0;
  os.object([&] {
    for (const ArtifactTensor *tensor : stored)
      os.attributeObject(tensor->name, [&] {
        os.attribute("dtype", getTypeNames(tensor->elementType).safetensors);
        os.attributeArray("shape", [&] {
          for (int64_t size : tensor->shape)
            os.value(size);
        });
        uint64_t begin = offset;
        offset += getSize(*tensor);
        os.attributeArray("data_offsets", [&] {
          os.value(int64_t(begin));
          os.value(int64_t(offset));
        });
      });
  });
  header.resize(llvm::alignTo(header.size() + sizeof(uint64_t), dataAlignment) -
                    sizeof(uint64_t),
                ' ');
  return header;
}

Error amp::artifact::writeSafetensors(const Artifact &artifact,
                                      AtomicFile &file) {
  std::vector<const ArtifactTensor *> stored = getStored(artifact);
  std::string header = printHeader(stored);
  uint64_t total = sizeof(uint64_t) + header.size();
  for (const ArtifactTensor *tensor : stored)
    total += getSize(*tensor);
  if (Error error = file.reserve(total))
    return error;
  char length[sizeof(uint64_t)];
  llvm::support::endian::write64le(length, header.size());
  if (Error error = file.write(ArrayRef<char>(length)))
    return error;
  if (Error error = file.write(StringRef(header)))
    return error;
  for (const ArtifactTensor *tensor : stored) {
    uint64_t written = 0;
    auto sink = [&](ArrayRef<char> bytes) {
      written += bytes.size();
      return file.write(bytes);
    };
    if (Error error = streamElements(tensor->init, sink))
      return llvm::createStringError("initial value of '" + tensor->name +
                                     "': " + llvm::toString(std::move(error)));
    if (written != getSize(*tensor))
      return llvm::createStringError("initial value of '" + tensor->name +
                                     "' has " + std::to_string(written) +
                                     " bytes; its type has " +
                                     std::to_string(getSize(*tensor)));
  }
  return Error::success();
}
