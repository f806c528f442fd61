//===- PolicyFileTest.cpp - Policy files of the user ----------------------===//
//
// Extending, and every mistake a file can hold: the message names file, row and
// remedy.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/Policy/Policy.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace amp;

namespace {
/// A folder for the files of one test; messages are compared with its path
/// taken out.
class PolicyFiles : public testing::Test {
protected:
  void SetUp() override {
    SmallString<128> unique;
    ASSERT_FALSE(sys::fs::createUniqueDirectory("amp-policy", unique));
    ASSERT_FALSE(sys::fs::real_path(unique, folder));
  }
  void TearDown() override { sys::fs::remove_directories(folder); }

  std::string path(StringRef name) const {
    SmallString<128> result(folder);
    sys::path::append(result, name);
    return result.str().str();
  }

  void write(StringRef name, StringRef text) {
    std::error_code error;
    raw_fd_ostream os(path(name), error);
    ASSERT_FALSE(error);
    os << text;
  }

  /// Writes x.json and loads it.
  Expected<Policy> load(StringRef text) {
    write("x.json", text);
    return Policy::load(path("x.json"));
  }

  std::string errorOf(Expected<Policy> policy) {
    if (policy)
      return "";
    std::string message = toString(policy.takeError());
    std::string prefix = folder.str().str() + "/";
    for (size_t at; (at = message.find(prefix)) != std::string::npos;)
      message.erase(at, prefix.size());
    return message;
  }

  /// Error of x.json with these rows, without the part that names the file.
  std::string rowError(StringRef rows) {
    std::string message = errorOf(
        load((R"({"name": "x", "extends": "balanced", "rows": [)" + rows + "]}")
                 .str()));
    StringRef rest = message;
    EXPECT_TRUE(rest.consume_front("policy file 'x.json': ")) << message;
    return rest.str();
  }

  SmallString<128> folder;
};
} // namespace

TEST_F(PolicyFiles, ExtendsABuiltinAndReplacesItsRows) {
  Policy policy = cantFail(load(
      R"({"name": "mine", "description": "Softmax in half", "extends": "torch-cuda",
      "rows": [{"op": "Softmax", "f16": "follow", "bf16": "narrow", "note": "Measured to be harmless here."}]})"));
  EXPECT_EQ(policy.name(), "mine");
  EXPECT_EQ(policy.description(), "Softmax in half");
  EXPECT_EQ(policy.placement(), Placement::ProgramOrder);
  EXPECT_EQ(policy.lookup("Softmax", HalfType::F16)->opClass, OpClass::Follow);
  EXPECT_EQ(policy.lookup("Softmax", HalfType::BF16)->opClass, OpClass::Narrow);
  EXPECT_EQ(policy.lookup("Softmax", HalfType::F16)->origin, "mine");
  EXPECT_EQ(policy.lookup("LogSoftmax", HalfType::F16)->opClass, OpClass::Wide);
  EXPECT_EQ(policy.lookup("LogSoftmax", HalfType::F16)->origin, "torch-cuda");
  EXPECT_EQ(policy.ops().size(), 198u);
}

TEST_F(PolicyFiles, ExtendsAFileBesideIt) {
  write("base.json",
        R"({"name": "base", "extends": "balanced", "placement": "program-order",
                         "rows": [{"op": "Exp", "class": "narrow"}, {"op": "Log", "class": "narrow"}]})");
  Policy policy = cantFail(load(
      R"({"name": "x", "extends": "base.json", "rows": [{"op": "Log", "class": "wide"}]})"));
  EXPECT_EQ(policy.lookup("Exp", HalfType::F16)->opClass, OpClass::Narrow);
  EXPECT_EQ(policy.lookup("Log", HalfType::F16)->opClass, OpClass::Wide);
  EXPECT_EQ(policy.placement(), Placement::ProgramOrder);
}

TEST_F(PolicyFiles, WithoutExtendsHasOnlyItsOwnRows) {
  Policy policy = cantFail(
      load(R"({"name": "x", "rows": [{"op": "MatMul", "class": "narrow"}]})"));
  EXPECT_EQ(policy.ops(), std::vector<StringRef>{"MatMul"});
  EXPECT_FALSE(policy.lookup("Conv", HalfType::F16));
  EXPECT_EQ(policy.placement(), Placement::FewestCasts);
}

TEST_F(PolicyFiles, AllowAddsARowThatTheFileLacks) {
  Policy policy = cantFail(
      load(R"({"name": "x", "rows": [{"op": "MatMul", "class": "narrow"}]})"));
  ASSERT_FALSE(bool(policy.allow("Conv")));
  EXPECT_EQ(policy.lookup("Conv", HalfType::BF16)->opClass, OpClass::Narrow);
  EXPECT_EQ(toString(policy.deny("Conv")),
            "operator 'Conv' is both allowed and denied; remove it from one of "
            "the two");
}

TEST_F(PolicyFiles, CasesAreRead) {
  Policy policy = cantFail(load(
      R"({"name": "x", "rows": [{"op": "AveragePool", "class": "follow", "cases": [
      {"attr": "count_include_pad", "is": [1], "rank": [3, 4], "class": "wide"}]}]})"));
  Row row = *policy.lookup("AveragePool", HalfType::F16);
  auto attribute = [](StringRef name) -> std::optional<std::string> {
    return "1";
  };
  EXPECT_EQ(row.classFor({4, attribute, nullptr}), OpClass::Wide);
  EXPECT_EQ(row.classFor({5, attribute, nullptr}), OpClass::Follow);
  EXPECT_EQ(row.classFor({std::nullopt, attribute, nullptr}), OpClass::Follow);
}

TEST_F(PolicyFiles, MissingFile) {
  EXPECT_EQ(errorOf(Policy::load(path("none.json"))),
            "policy file 'none.json' does not exist or is not a file; check "
            "the path");
}

TEST_F(PolicyFiles, UnknownName) {
  EXPECT_EQ(errorOf(Policy::load("balancd")),
            "unknown policy 'balancd'; did you mean 'balanced'?");
  EXPECT_EQ(errorOf(Policy::load("zzz")),
            "unknown policy 'zzz'; give the path of a JSON file or one of "
            "balanced, contractions, torch-cuda, "
            "torch-cpu");
}

TEST_F(PolicyFiles, AbstractTableIsNotAPolicy) {
  EXPECT_EQ(errorOf(Policy::load("common")),
            "built-in policy 'common' is abstract, only for other policies to "
            "extend; choose one that is not");
}

TEST_F(PolicyFiles, NotJson) {
  std::string message = errorOf(load(R"({"name": "x",)"));
  EXPECT_TRUE(StringRef(message).starts_with(
      "policy file 'x.json': not valid JSON: [1:"))
      << message;
  EXPECT_EQ(errorOf(load("[]")),
            "policy file 'x.json': expected a JSON object, starting with '{'");
}

TEST_F(PolicyFiles, HeaderMistakes) {
  EXPECT_EQ(errorOf(load(R"({"nam": "x", "rows": []})")),
            "policy file 'x.json': unknown key 'nam'; did you mean 'name'?");
  EXPECT_EQ(errorOf(load(R"({"name": "x", "rows": [], "zzzzz": 1})")),
            "policy file 'x.json': unknown key 'zzzzz'; known keys are name, "
            "description, placement, extends, "
            "abstract, rows");
  EXPECT_EQ(errorOf(load(R"({"rows": []})")),
            "policy file 'x.json': 'name' is missing, add it as a string");
  EXPECT_EQ(errorOf(load(R"({"name": 3, "rows": []})")),
            "policy file 'x.json': 'name' must be a string");
  EXPECT_EQ(errorOf(load(R"({"name": "balanced", "rows": []})")),
            "policy file 'x.json': name 'balanced' is that of a built-in "
            "policy; choose another");
  EXPECT_EQ(errorOf(load(R"({"name": "x", "description": 3, "rows": []})")),
            "policy file 'x.json': 'description' must be a string");
  EXPECT_EQ(errorOf(load(R"({"name": "x", "placement": "best", "rows": []})")),
            "policy file 'x.json': unknown placement 'best'; write "
            "'program-order' or 'fewest-casts'");
  EXPECT_EQ(errorOf(load(R"({"name": "x", "abstract": 1, "rows": []})")),
            "policy file 'x.json': 'abstract' must be true or false");
  EXPECT_EQ(errorOf(load(R"({"name": "x"})")),
            "policy file 'x.json': 'rows' is missing or not a list; add "
            "\"rows\": [...]");
}

TEST_F(PolicyFiles, ExtendsMistakes) {
  EXPECT_EQ(
      errorOf(load(R"({"name": "x", "extends": ["balanced"], "rows": []})")),
      "policy file 'x.json': 'extends' must be the name or path of one policy");
  EXPECT_EQ(
      errorOf(load(R"({"name": "x", "extends": "torch-cud", "rows": []})")),
      "policy file 'x.json': 'extends': unknown policy 'torch-cud'; did you "
      "mean 'torch-cuda'?");
  EXPECT_EQ(
      errorOf(load(R"({"name": "x", "extends": "gone.json", "rows": []})")),
      "policy file 'x.json': 'extends': policy file 'gone.json' does not exist "
      "or is not a file; check the path");
}

TEST_F(PolicyFiles, CyclicExtends) {
  write("a.json", R"({"name": "a", "extends": "x.json", "rows": []})");
  EXPECT_EQ(errorOf(load(R"({"name": "x", "extends": "a.json", "rows": []})")),
            "policy file 'x.json': 'extends' comes back to this file (x.json "
            "-> a.json -> x.json); remove one of "
            "these links");
  EXPECT_EQ(errorOf(load(R"({"name": "x", "extends": "x.json", "rows": []})")),
            "policy file 'x.json': 'extends' comes back to this file (x.json "
            "-> x.json); remove one of these links");
}

TEST_F(PolicyFiles, RowMistakes) {
  EXPECT_EQ(rowError("3"), "row 1: expected an object like {\"op\": "
                           "\"MatMul\", \"class\": \"narrow\"}");
  EXPECT_EQ(rowError(R"({"class": "wide"})"),
            "row 1: 'op' is missing, add it as a string");
  EXPECT_EQ(
      rowError(
          R"({"op": "Exp", "class": "wide"}, {"op": "Softmx", "class": "wide"})"),
      "row 2 ('Softmx'): unknown operator 'Softmx'; did you mean 'Softmax'?");
  EXPECT_EQ(rowError(R"({"op": "Frobnicate", "class": "wide"})"),
            "row 1 ('Frobnicate'): unknown operator 'Frobnicate'; rows are for "
            "operators of the ai.onnx domain, "
            "remove it");
  EXPECT_EQ(
      rowError(
          R"({"op": "Exp", "class": "wide"}, {"op": "Exp", "class": "narrow"})"),
      "row 2 ('Exp'): row 1 is for the same operator; remove one of them");
  EXPECT_EQ(rowError(R"({"op": "Exp"})"),
            "row 1 ('Exp'): 'class' is missing, add it as a string");
  EXPECT_EQ(rowError(R"({"op": "Exp", "class": "narow"})"),
            "row 1 ('Exp'): unknown class 'narow'; did you mean 'narrow'?");
  EXPECT_EQ(rowError(R"({"op": "Exp", "class": "half"})"),
            "row 1 ('Exp'): unknown class 'half'; classes are narrow, wide, "
            "promote, follow, move, never");
  EXPECT_EQ(rowError(R"({"op": "Exp", "clas": "wide"})"),
            "row 1 ('Exp'): unknown key 'clas'; did you mean 'class'?");
  EXPECT_EQ(rowError(R"({"op": "Exp", "class": "wide", "f16": "narrow"})"),
            "row 1 ('Exp'): 'class' overlaps 'f16' and 'bf16'; give either one "
            "class or one for each type");
  EXPECT_EQ(rowError(R"({"op": "Exp", "f16": "narrow"})"),
            "row 1 ('Exp'): 'bf16' is missing, add it as a string");
  EXPECT_EQ(rowError(R"({"op": "Exp", "class": "wide", "note": []})"),
            "row 1 ('Exp'): 'note' must be a string");
}

TEST_F(PolicyFiles, CaseMistakes) {
  auto caseError = [&](StringRef cases) {
    return rowError(
        (R"({"op": "Pad", "class": "move", "cases": )" + cases + "}").str());
  };
  EXPECT_EQ(caseError("{}"),
            "row 1 ('Pad'): 'cases' must be a list of objects");
  EXPECT_EQ(caseError("[3]"), "row 1 ('Pad'): case 1: expected an object like "
                              "{\"rank\": [5], \"class\": \"wide\"}");
  EXPECT_EQ(caseError(R"([{"class": "wide"}])"),
            "row 1 ('Pad'): case 1: no condition; give 'attr', 'rank' or "
            "'weak_operand'");
  EXPECT_EQ(caseError(R"([{"rank": [4]}])"),
            "row 1 ('Pad'): case 1: 'class' is missing, add it as a string");
  EXPECT_EQ(caseError(R"([{"ranks": [4], "class": "wide"}])"),
            "row 1 ('Pad'): case 1: unknown key 'ranks'; did you mean 'rank'?");
  EXPECT_EQ(caseError(R"([{"rank": 4, "class": "wide"}])"),
            "row 1 ('Pad'): case 1: 'rank' must be a list of integers");
  EXPECT_EQ(caseError(R"([{"attr": 2, "class": "wide"}])"),
            "row 1 ('Pad'): case 1: 'attr' must be a string");
  EXPECT_EQ(caseError(R"([{"is": ["edge"], "class": "wide"}])"),
            "row 1 ('Pad'): case 1: 'is' must be a list of values of the "
            "attribute that 'attr' names");
  EXPECT_EQ(caseError(R"([{"attr": "mode", "is": [null], "class": "wide"}])"),
            "row 1 ('Pad'): case 1: 'is' holds strings and integers only");
  EXPECT_EQ(
      caseError(R"([{"weak_operand": -1, "class": "wide"}])"),
      "row 1 ('Pad'): case 1: 'weak_operand' must be the index of an operand");
}
