//===- Manifest.cpp - What an artifact says about itself ------------------===//
//
// The text of manifest.json; the runtime has the reader.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace amp;
using namespace amp::artifact;
namespace json = llvm::json;

/// The calling convention of entries (amp-c/amp_host.h).
static constexpr int abiVersion = 1;

bool ArtifactTensor::isState() const {
  return llvm::StringSwitch<bool>(role)
      .Cases({"parameter", "buffer", "optimizer_state", "scaler_state",
              "counter", "hyper", "constant"},
             true)
      .Default(false);
}

TypeNames amp::artifact::getTypeNames(Type type) {
  if (type.isF32())
    return {"f32", "F32"};
  if (type.isF16())
    return {"f16", "F16"};
  if (type.isBF16())
    return {"bf16", "BF16"};
  if (type.isF64())
    return {"f64", "F64"};
  if (type.isSignlessInteger(64))
    return {"i64", "I64"};
  if (type.isSignlessInteger(32))
    return {"i32", "I32"};
  if (type.isSignlessInteger(8))
    return {"i8", "I8"};
  if (type.isUnsignedInteger(8))
    return {"u8", "U8"};
  if (type.isInteger(1))
    return {"i1", "BOOL"};
  return {};
}

static void printNumbers(json::OStream &os, StringRef key,
                         ArrayRef<int64_t> numbers) {
  os.attributeArray(key, [&] {
    for (int64_t number : numbers)
      os.value(number);
  });
}

static void printIndices(json::OStream &os, const ArtifactIndices &indices) {
  os.object([&] {
    os.attribute("node", indices.node);
    os.attribute("low", indices.low);
    os.attribute("high", indices.high);
    if (indices.ignored)
      os.attribute("ignored", *indices.ignored);
    printNumbers(os, "begin", indices.begin);
    printNumbers(os, "end", indices.end);
  });
}

static void printTensor(json::OStream &os, const ArtifactTensor &tensor) {
  os.object([&] {
    os.attribute("name", tensor.name);
    os.attribute("role", tensor.role);
    os.attribute("dtype", getTypeNames(tensor.elementType).manifest);
    printNumbers(os, "shape", tensor.shape);
    os.attribute("of", tensor.of);
    if (!tensor.indices.empty())
      os.attributeArray("indices", [&] {
        for (const ArtifactIndices &indices : tensor.indices)
          printIndices(os, indices);
      });
    if (!tensor.isState())
      return;
    if (std::optional<double> number = getUniformNumber(tensor.init))
      os.attributeObject("init", [&] { os.attribute("value", *number); });
    else
      os.attribute("init", tensor.name);
  });
}

std::string amp::artifact::getKernelFile(StringRef kernel, StringRef chip) {
  std::string path = (kernelsName + "/" + kernel).str();
  return chip.empty() ? path + ".ptx" : path + "." + chip.str() + ".cubin";
}

static void printBinary(json::OStream &os, const ArtifactKernel &kernel,
                        const ArtifactBinary &binary) {
  os.object([&] {
    os.attribute("chip", binary.chip);
    os.attribute("file", getKernelFile(kernel.name, binary.chip));
    os.attribute("registers", binary.registers);
    os.attribute("shared", binary.sharedBytes);
    os.attribute("stack", binary.stackBytes);
    os.attribute("spills", binary.spillBytes);
  });
}

static void printKernel(json::OStream &os, const ArtifactKernel &kernel) {
  os.object([&] {
    os.attribute("name", kernel.name);
    os.attribute("ptx", getKernelFile(kernel.name));
    os.attributeArray("binaries", [&] {
      for (const ArtifactBinary &binary : kernel.binaries)
        printBinary(os, kernel, binary);
    });
  });
}

static void printBuffer(json::OStream &os, const ArtifactBuffer &buffer) {
  if (!buffer.inArena)
    return os.value(buffer.number);
  os.object([&] { os.attribute("arena", buffer.number); });
}

static void printNode(json::OStream &os, const ArtifactNode &node) {
  auto printNumbers = [&](StringRef name, auto &&numbers) {
    os.attributeArray(name, [&] {
      for (auto number : numbers)
        os.value(int64_t(number));
    });
  };
  os.object([&] {
    if (node.kernel) {
      os.attribute("kernel", int64_t(*node.kernel));
      printNumbers("grid", node.grid);
      printNumbers("block", node.block);
      os.attribute("shared", node.sharedBytes);
    } else {
      os.attribute("copy", node.bytes);
    }
    os.attributeArray("buffers", [&] {
      for (const ArtifactBuffer &buffer : node.buffers)
        printBuffer(os, buffer);
    });
    printNumbers("after", node.after);
  });
}

static void printEntry(json::OStream &os, const ArtifactEntry &entry,
                       Artifact::Kind kind) {
  os.object([&] {
    os.attribute("name", entry.name);
    os.attributeArray("tensors", [&] {
      for (unsigned id : entry.tensors)
        os.value(id);
    });
    os.attribute("workspace", int64_t(entry.workspace));
    if (kind == Artifact::Kind::Cpu)
      os.attribute("symbol", entry.symbol);
    else
      os.attributeArray("nodes", [&] {
        for (const ArtifactNode &node : entry.nodes)
          printNode(os, node);
      });
  });
}

static void printTarget(json::OStream &os, const Artifact &artifact) {
  if (artifact.kind == Artifact::Kind::Cpu) {
    os.attributeObject("target", [&] {
      os.attribute("kind", "cpu");
      os.attribute("cpu", artifact.cpu);
      os.attribute("features", artifact.features);
    });
    os.attribute("code", codeName);
    return;
  }
  os.attributeObject("target", [&] {
    os.attribute("kind", "cuda");
    os.attributeArray("chips", [&] {
      for (const std::string &chip : artifact.chips)
        os.value(chip);
    });
  });
  os.attributeArray("kernels", [&] {
    for (const ArtifactKernel &kernel : artifact.kernels)
      printKernel(os, kernel);
  });
}

static void printHead(json::OStream &os, const Artifact &artifact) {
  os.attribute("format", "amp-mlir-artifact");
  os.attribute("abi", abiVersion);
  os.attribute("version", AMP_VERSION);
  os.attribute("fingerprint", artifact.fingerprint);
  printTarget(os, artifact);
  os.attribute("init", initName);
  os.attributeObject("source", [&] {
    os.attribute("model", artifact.model);
    os.attribute("config", json::Object(artifact.config));
  });
}

std::string amp::artifact::printManifest(const Artifact &artifact) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream os(stream, /*IndentSize=*/1);
  os.object([&] {
    printHead(os, artifact);
    os.attributeArray("tensors", [&] {
      for (const ArtifactTensor &tensor : artifact.tensors)
        printTensor(os, tensor);
    });
    os.attributeArray("entries", [&] {
      for (const ArtifactEntry &entry : artifact.entries)
        printEntry(os, entry, artifact.kind);
    });
    os.attribute("optimizer", json::Object(artifact.optimizer));
    os.attribute("scaler", json::Object(artifact.scaler));
    os.attribute("autocast", json::Object(artifact.autocast));
    os.attribute("accumulate", artifact.accumulate);
  });
  text += '\n';
  return text;
}
