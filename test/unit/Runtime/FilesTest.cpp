//===- FilesTest.cpp - Formats of files of tensors ------------------------===//
// What is written is read back; what is wrong is refused by a message.
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/Pickle.h"
#include "amp/Runtime/Artifact.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Npy.h"
#include "amp/Runtime/Safetensors.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace amp::runtime;

namespace {
/// A folder of its own, removed at the end.
class Files : public testing::Test {
protected:
  Files() {
    std::string pattern = testing::TempDir() + "amp-runtime-XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~Files() override {
    for (const std::string &path : paths)
      ::unlink(path.c_str());
    EXPECT_EQ(::rmdir(folder.c_str()), 0) << "files were left";
  }
  std::string path(const std::string &name) {
    paths.push_back(folder + "/" + name);
    return paths.back();
  }
  std::string folder;
  std::vector<std::string> paths;
};
} // namespace

static Bytes asBytes(const std::string &text) { return {text, nullptr}; }

/// The message that `action` fails with, or nothing.
template <typename Action> static std::string getFailure(Action action) {
  try {
    action();
  } catch (const Failure &failure) {
    return failure.what();
  }
  return "";
}

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

static std::vector<Array> makeArrays() {
  std::vector<Array> arrays;
  struct Row {
    DType type;
    Shape shape;
  };
  for (const Row &row :
       {Row{DType::F32, {2, 3}}, Row{DType::BF16, {5}}, Row{DType::F64, {}},
        Row{DType::I64, {0, 4}}, Row{DType::I1, {3}}, Row{DType::U8, {1, 1}},
        Row{DType::F16, {7}}, Row{DType::I32, {2}}, Row{DType::I8, {3}}}) {
    char *data;
    std::string name = std::string("a \"quoted\" ") + getName(row.type);
    arrays.push_back(makeArray(name, row.type, row.shape, &data));
    for (size_t i = 0; i < arrays.back().bytes; ++i)
      data[i] = static_cast<char>(row.type == DType::I1 ? i & 1 : i * 37 + 1);
  }
  return arrays;
}

static void expectEqual(const std::vector<Array> &have,
                        const std::vector<Array> &want) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < have.size(); ++i) {
    EXPECT_EQ(have[i].name, want[i].name);
    EXPECT_EQ(have[i].describe(), want[i].describe());
    EXPECT_EQ(std::string(have[i].data, have[i].bytes),
              std::string(want[i].data, want[i].bytes));
  }
}

TEST_F(Files, SafetensorsComeBack) {
  TensorFile file{makeArrays(), {{"key", "value \xc3\xa9"}}};
  std::string target = path("t.safetensors");
  AtomicWriter out(target);
  writeSafetensors(out, file);
  out.commit();
  TensorFile found = readSafetensors(mapFile(target), "t");
  expectEqual(found.arrays, file.arrays);
  EXPECT_EQ(found.metadata, file.metadata);
}

TEST_F(Files, NpzComesBack) {
  std::vector<Array> arrays = makeArrays();
  std::string target = path("t.npz");
  AtomicWriter out(target);
  writeNpz(out, arrays);
  out.commit();
  Bytes bytes = mapFile(target);
  expectEqual(readNpz(bytes, "t"), arrays);
  for (const Array &array : readNpz(bytes, "t"))
    EXPECT_EQ((array.data - bytes.view.data()) % 64, 0) << array.name;
}

TEST_F(Files, NothingAppearsBeforeCommit) {
  std::string target = path("t");
  std::ofstream(target) << "old";
  {
    AtomicWriter out(target);
    out.write(std::string(1 << 20, 'x'));
    EXPECT_EQ(mapFile(target).view, "old");
  }
  EXPECT_EQ(mapFile(target).view, "old");
  AtomicWriter out(target);
  out.write("new");
  out.commit();
  EXPECT_EQ(mapFile(target).view, "new");
}

TEST_F(Files, PathsThatCannotBeWritten) {
  EXPECT_TRUE(contains(getFailure([&] { AtomicWriter out(folder); }),
                       "Is a directory"));
  EXPECT_TRUE(contains(getFailure([&] { AtomicWriter out(folder + "/a/b"); }),
                       "No such file"));
  EXPECT_TRUE(
      contains(getFailure([&] { mapFile(folder + "/a"); }), "No such file"));
  EXPECT_TRUE(contains(getFailure([&] { mapFile("/dev/null"); }), "cannot"));
}

TEST_F(Files, ZipDirectoryIsChecked) {
  std::string target = path("t.zip");
  AtomicWriter out(target);
  ZipWriter zip(out);
  zip.add("a", "head", "body");
  zip.add("b", "", "");
  zip.finish();
  out.commit();
  std::string whole(mapFile(target).view);
  ZipReader reader(asBytes(whole), "t");
  EXPECT_EQ(reader.read(*reader.find("a")).view, "headbody");
  EXPECT_EQ(reader.read(*reader.find("b")).view, "");
  EXPECT_EQ(reader.find("c"), nullptr);
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string part = whole.substr(0, size);
    EXPECT_NE(getFailure([&] { ZipReader(asBytes(part), "t"); }), "");
  }
  std::string twice = whole;
  twice[twice.rfind("b", twice.find("PK\x06\x06"))] = 'a';
  EXPECT_TRUE(contains(getFailure([&] { ZipReader(asBytes(twice), "t"); }),
                       "occurs twice"));
  std::string damaged = whole;
  damaged[damaged.find("headbody")] = 'H';
  ZipReader changed(asBytes(damaged), "t");
  EXPECT_TRUE(contains(getFailure([&] { changed.read(*changed.find("a")); }),
                       "damaged (checksum)"));
}

TEST(Npy, FortranOrderIsReordered) {
  // [[1, 2, 3], [4, 5, 6]] with the first index fastest.
  std::string text = "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3)}";
  std::string file("\x93NUMPY\x01\x00", 8);
  auto length = static_cast<uint16_t>(text.size());
  file.append(reinterpret_cast<const char *>(&length), 2);
  file += text + "\1\4\2\5\3\6";
  Array array = readNpy(asBytes(file), "a", "f");
  EXPECT_EQ(std::string(array.data, array.bytes), "\1\2\3\4\5\6");
}

static bool allowNothing(std::string_view name) {
  return name == "collections OrderedDict";
}

static std::string readPickle(const std::string &text) {
  return getFailure([&] { PickleReader(text, "p", allowNothing).read(); });
}

TEST(Pickle, Values) {
  // {"a": (1, -1, 300, None, True, 2^40), "b": [1.0]}
  const char raw[] = "\x80\x02}q\0(X\1\0\0\0a(K\1J\xff\xff\xff\xffM\x2c\1N\x88"
                     "\x8a\6\0\0\0\0\0\1tX\1\0\0\0b]G\x3f\xf0\0\0\0\0\0\0au.";
  std::string text(raw, sizeof(raw) - 1);
  PickleReader reader(text, "p", allowNothing);
  const PickleValue &root = reader.get(reader.read());
  ASSERT_EQ(root.kind, PickleValue::Dict);
  ASSERT_EQ(root.items.size(), 4u);
  EXPECT_EQ(reader.get(root.items[0]).text, "a");
  const PickleValue &tuple = reader.get(root.items[1]);
  ASSERT_EQ(tuple.items.size(), 6u);
  EXPECT_EQ(reader.get(tuple.items[1]).integer, -1);
  EXPECT_EQ(reader.get(tuple.items[2]).integer, 300);
  EXPECT_EQ(reader.get(tuple.items[5]).integer, int64_t(1) << 40);
  EXPECT_EQ(reader.get(root.items[3]).items.size(), 1u);
}

TEST(Pickle, NothingIsCalled) {
  EXPECT_TRUE(contains(readPickle("\x80\x02"
                                  "cos\nsystem\n."),
                       "wants to use 'os system'"));
  EXPECT_TRUE(contains(readPickle("\x80\x04\x8c\2os\x8c\6system\x93."),
                       "wants to use 'os system'"));
  // INST, OBJ, NEWOBJ, NEWOBJ_EX, EXT1, BUILD of no dictionary, protocol 0.
  for (const char *code :
       {"(ios\nsystem\n.", "(o.", ")\x81.", "))\x92.", "\x82\1."})
    EXPECT_NE(readPickle(std::string("\x80\x02") + code), "") << code;
  EXPECT_NE(readPickle("I1\n."), "");
}

TEST(Pickle, MalformedIsRefused) {
  for (const char *code : {"",
                           ".",
                           "t.",
                           "u.",
                           "}u.",
                           "}(K\1u.",
                           "K\1K\2s.",
                           "]K\1s.",
                           "q\1.",
                           "h\1.",
                           "R.",
                           ")R.",
                           "K\1)R.",
                           "(",
                           "(0.",
                           "a.",
                           "]a.",
                           "X\xff\xff\xff\x7f"
                           "a.",
                           "\x8a\x09"
                           "123456789.",
                           "\x86.",
                           "K\1\x86.",
                           "b.",
                           "K\1b."})
    EXPECT_NE(readPickle(std::string("\x80\x02") + code), "") << code;
  EXPECT_EQ(readPickle("\x80\x02"
                       "ccollections\nOrderedDict\n)R."),
            "");
}

TEST(CpuFeatures, NamesOfLlvmAndLinux) {
  std::string flags = "fpu lm pni sse4_2 abm avx512_bf16 avx2 lahf_lm sha_ni";
  EXPECT_TRUE(findMissingFeatures("+avx2,+avx512bf16,+lzcnt,+sse4.2,+sse3,"
                                  "+64bit,+sahf,+sha,-avx512f,",
                                  flags)
                  .empty());
  EXPECT_EQ(findMissingFeatures("+avx512f,+avx2,+amx-tile", flags),
            (std::vector<std::string>{"avx512f", "amx-tile"}));
}
