//===- WireReaderTest.cpp - The scanner of protobuf's wire format ---------===//
//
// Fields by hand, and malformed ones: never past the end, always a reason.
//
//===----------------------------------------------------------------------===//

#include "WireReader.h"
#include "Spine.h"
#include "onnx/onnx_pb.h"
#include "gtest/gtest.h"

using namespace amp::importer;

namespace {

/// All fields, and the problem if there is one.
std::pair<std::vector<WireField>, std::string> read(llvm::StringRef message) {
  WireReader reader(message);
  std::vector<WireField> fields;
  WireField field;
  while (reader.next(field))
    fields.push_back(field);
  return {fields, reader.getProblem() ? reader.getProblem() : ""};
}

std::string problemOf(llvm::StringRef message) { return read(message).second; }

template <size_t size> llvm::StringRef bytes(const char (&text)[size]) {
  return llvm::StringRef(text, size - 1);
}

TEST(WireReader, ReadsEveryWireType) {
  auto [fields, problem] =
      read(bytes("\x08\x96\x01\x12\x02hi\x1d\x01\x02\x03\x04"
                 "\x21\x01\x00\x00\x00\x00\x00\x00\x80"));
  EXPECT_EQ(problem, "");
  ASSERT_EQ(fields.size(), 4u);
  EXPECT_TRUE(fields[0].isVarint(1));
  EXPECT_EQ(fields[0].value, 150u);
  EXPECT_TRUE(fields[1].isBytes(2));
  EXPECT_EQ(fields[1].bytes, "hi");
  EXPECT_EQ(fields[1].whole, bytes("\x12\x02hi"));
  EXPECT_EQ(fields[2].value, 0x04030201u);
  EXPECT_EQ(fields[3].value, 0x8000000000000001u);
}

TEST(WireReader, EmptyMessageHasNoFields) {
  EXPECT_EQ(read("").first.size(), 0u);
  EXPECT_EQ(problemOf(""), "");
}

TEST(WireReader, NumbersHaveAtMost64Bits) {
  std::string most = "\x08" + std::string(9, '\xff') + "\x01";
  auto [fields, problem] = read(most);
  EXPECT_EQ(problem, "");
  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(fields[0].value, UINT64_MAX);
  EXPECT_EQ(problemOf("\x08" + std::string(9, '\xff') + "\x02"),
            "a number has more than 64 bits");
  EXPECT_EQ(problemOf("\x08" + std::string(10, '\x80') + "\x01"),
            "a number has more than 64 bits");
}

TEST(WireReader, CutOffInputIsToldApart) {
  EXPECT_EQ(problemOf("\x08"), "a number is cut off");
  EXPECT_EQ(problemOf("\x08\x80"), "a number is cut off");
  EXPECT_EQ(problemOf("\x0d\x01\x02\x03"), "a number is cut off");
  EXPECT_EQ(problemOf("\x09\x01\x02\x03"), "a number is cut off");
  EXPECT_EQ(problemOf("\x12\x05hi"), "a field is longer than what is left");
  // 2^63 and more must not wrap around.
  EXPECT_EQ(problemOf("\x12" + std::string(9, '\xff') + "\x01hi"),
            "a field is longer than what is left");
}

TEST(WireReader, RefusesGroupsAndBadFieldNumbers) {
  for (char tag : {'\x0b', '\x0c', '\x0e', '\x0f'})
    EXPECT_EQ(problemOf(std::string(1, tag)),
              "a field has an unknown wire type");
  EXPECT_EQ(problemOf(bytes("\x00\x01")), "a field number is out of range");
  EXPECT_EQ(problemOf("\xf8\xff\xff\xff\x7f\x01"),
            "a field number is out of range");
}

TEST(WireReader, NothingIsReadAfterAProblem) {
  WireReader reader(bytes("\x0b\x08\x01"));
  WireField field;
  EXPECT_FALSE(reader.next(field));
  EXPECT_FALSE(reader.next(field));
  EXPECT_EQ(llvm::toString(reader.takeError("NodeProto")),
            "malformed NodeProto: a field has an unknown wire type, at byte 1 "
            "of 3");
}

TEST(Spine, CollectsWhatIsNotModelled) {
  onnx::NodeProto proto;
  proto.add_input("a");
  proto.add_input("");
  proto.add_output("b");
  proto.set_op_type("Relu");
  proto.set_overload("special");
  std::string text = proto.SerializeAsString();
  // Field 1000, which no version of ONNX has.
  appendField(text, 1000, "later");
  NodeSpine node;
  ASSERT_FALSE(bool(scanNode(text, node)));
  EXPECT_EQ(node.inputs.size(), 2u);
  EXPECT_EQ(node.inputs[1], "");
  EXPECT_EQ(node.opType, "Relu");
  EXPECT_FALSE(node.name.has_value());
  onnx::NodeProto rest;
  ASSERT_TRUE(rest.ParseFromString(node.verbatim));
  EXPECT_EQ(rest.overload(), "special");
  EXPECT_EQ(rest.unknown_fields().field(0).length_delimited(), "later");
  EXPECT_EQ(rest.input_size(), 0);
}

TEST(Spine, ANodeIsOverwritten) {
  NodeSpine node;
  ASSERT_FALSE(bool(scanNode(bytes("\x0a\x01"
                                   "a\x1a\x01n"),
                             node)));
  EXPECT_EQ(node.name, StringRef("n"));
  ASSERT_FALSE(bool(scanNode(bytes("\x12\x01"
                                   "b"),
                             node)));
  EXPECT_TRUE(node.inputs.empty());
  EXPECT_FALSE(node.name.has_value());
  EXPECT_EQ(node.outputs.size(), 1u);
}

TEST(Spine, TwoGraphsAreRefused) {
  ModelSpine model;
  EXPECT_EQ(llvm::toString(scanModel(bytes("\x3a\x00\x3a\x00"), model)),
            "the model has two graphs");
}

} // namespace
