//===- WriteArtifactTest.cpp - A compiled step as a directory -------------===//
// What is written, what is replaced, what is refused, and that failures leave
// nothing.
//===----------------------------------------------------------------------===//

#include "amp/Target/Artifact/WriteArtifact.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/resource.h>

using namespace mlir;
using namespace amp;

namespace {

class WriteArtifact : public ::testing::Test {
protected:
  void SetUp() override {
    SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("artifact", path));
    folder = path.str().str();
    target = folder + "/step";
    artifact.cpu = "x86-64-v3";
    artifact.features = "+avx2";
    artifact.model = "model.onnx";
    artifact.code = code;
    artifact.entries.push_back(
        {"train_step", {0, 1}, 128, "amp_train_step", {}});
    artifact.tensors.push_back(
        {"w", "parameter", "", builder.getF32Type(), {3}, weights({1, 2, 3})});
    artifact.tensors.push_back(
        {"loss", "loss", "", builder.getF32Type(), {}, {}});
    artifact.fingerprint = getFingerprint(artifact, "graph");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  ElementsAttr weights(ArrayRef<float> values) {
    auto type =
        RankedTensorType::get({int64_t(values.size())}, builder.getF32Type());
    return DenseElementsAttr::get(type, values);
  }
  ElementsAttr number(double value) {
    auto type = RankedTensorType::get({}, builder.getF32Type());
    return DenseElementsAttr::get(type,
                                  Attribute(builder.getF32FloatAttr(value)));
  }
  std::string read(StringRef file) {
    auto buffer = llvm::MemoryBuffer::getFile(target + "/" + file);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  std::string write() {
    return llvm::toString(writeArtifact(artifact, target));
  }
  /// Names of what lies in `folder`.
  std::vector<std::string> list() {
    std::vector<std::string> names;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(folder, error), end;
         it != end && !error; it.increment(error))
      names.push_back(llvm::sys::path::filename(it->path()).str());
    return names;
  }

  MLIRContext context;
  Builder builder{&context};
  SmallVector<char, 0> code{'E', 'L', 'F'};
  Artifact artifact;
  std::string folder, target;
};

TEST_F(WriteArtifact, writes_three_files) {
  ASSERT_EQ(write(), "");
  EXPECT_EQ(read("libstep.so"), "ELF");
  std::string init = read("init.safetensors");
  uint64_t length;
  ASSERT_GT(init.size(), 8u);
  std::memcpy(&length, init.data(), 8);
  EXPECT_EQ((8 + length) % 64, 0u);
  EXPECT_EQ(StringRef(init).substr(8, length).rtrim(),
            R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})");
  const float expected[] = {1, 2, 3};
  EXPECT_EQ(StringRef(init).substr(8 + length),
            StringRef(reinterpret_cast<const char *>(expected), 12));
  auto manifest = llvm::json::parse(read("manifest.json"));
  ASSERT_TRUE(bool(manifest));
  const llvm::json::Object &object = *manifest->getAsObject();
  EXPECT_EQ(object.getString("format"), "amp-mlir-artifact");
  const llvm::json::Object &w = *(*object.getArray("tensors"))[0].getAsObject();
  EXPECT_EQ(w.getString("dtype"), "f32");
  EXPECT_EQ(w.getString("init"), "w");
  const llvm::json::Object &loss =
      *(*object.getArray("tensors"))[1].getAsObject();
  EXPECT_EQ(loss.get("init"), nullptr);
}

TEST_F(WriteArtifact, equal_elements_are_a_number_in_the_manifest) {
  artifact.tensors.push_back(
      {"lr", "hyper", "", builder.getF32Type(), {}, number(0.125)});
  ASSERT_EQ(write(), "");
  auto manifest = llvm::json::parse(read("manifest.json"));
  ASSERT_TRUE(bool(manifest));
  const llvm::json::Array &tensors =
      *manifest->getAsObject()->getArray("tensors");
  EXPECT_EQ(tensors[2].getAsObject()->getObject("init")->getNumber("value"),
            0.125);
}

TEST_F(WriteArtifact, replaces_an_artifact_and_keeps_other_files) {
  ASSERT_EQ(write(), "");
  std::error_code error;
  llvm::raw_fd_ostream(target + "/last.safetensors", error) << "mine";
  code = {'N', 'E', 'W'};
  artifact.code = code;
  ASSERT_EQ(write(), "");
  EXPECT_EQ(read("libstep.so"), "NEW");
  EXPECT_EQ(read("last.safetensors"), "mine");
  EXPECT_EQ(list(), std::vector<std::string>{"step"});
}

TEST_F(WriteArtifact, refuses_what_is_no_artifact) {
  ASSERT_FALSE(llvm::sys::fs::create_directory(target));
  std::error_code error;
  llvm::raw_fd_ostream(target + "/thesis.txt", error) << "years of work";
  EXPECT_EQ(write(), "the folder '" + target +
                         "' exists and is no artifact; give another name or "
                         "remove it");
  EXPECT_EQ(read("thesis.txt"), "years of work");
}

TEST_F(WriteArtifact, refuses_a_file) {
  std::error_code error;
  llvm::raw_fd_ostream(target, error) << "x";
  EXPECT_EQ(write(), "'" + target +
                         "' exists and is no folder; give the artifact "
                         "another name");
}

TEST_F(WriteArtifact, state_without_initial_value_is_an_error) {
  artifact.tensors.push_back(
      {"m", "optimizer_state", "w", builder.getF32Type(), {3}, {}});
  EXPECT_EQ(write(),
            "tensor 'm' has the role optimizer_state, but no initial value");
  EXPECT_EQ(list(), std::vector<std::string>{});
}

TEST_F(WriteArtifact, two_tensors_of_one_name_are_an_error) {
  artifact.tensors.push_back(artifact.tensors.front());
  EXPECT_EQ(write(), "two tensors have the name 'w'");
}

TEST_F(WriteArtifact, full_disk_leaves_nothing) {
  code.assign(100000, 'x');
  artifact.code = code;
  auto old = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before, small{50000, RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &before);
  small.rlim_max = before.rlim_max;
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message = write();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old);
  EXPECT_NE(message.find("File too large"), std::string::npos) << message;
  EXPECT_EQ(list(), std::vector<std::string>{});
}

TEST_F(WriteArtifact, fingerprint_is_of_the_program_not_the_weights) {
  std::string first = artifact.fingerprint;
  EXPECT_EQ(first.size(), 64u);
  artifact.tensors[0].init = weights({4, 5, 6});
  EXPECT_EQ(getFingerprint(artifact, "graph"), first);
  EXPECT_NE(getFingerprint(artifact, "another graph"), first);
  artifact.tensors[0].name = "v";
  EXPECT_NE(getFingerprint(artifact, "graph"), first);
}

} // namespace
