//===- TestGraph.cpp - A graph around a node, for tests
//--------------------===//
// Parses and prints with the onnx library.
//===----------------------------------------------------------------------===//

#include "TestGraph.h"

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/printer.h>

template <typename Message> static Message parse(llvm::StringRef text) {
  Message message;
  std::string buffer = text.str();
  onnx::OnnxParser parser(buffer.c_str());
  auto status = parser.Parse(message);
  if (!status.IsOK())
    ADD_FAILURE() << buffer << ": " << status.ErrorMessage();
  return message;
}

onnx::NodeProto parseNode(llvm::StringRef text) {
  return parse<onnx::NodeProto>(text);
}

std::string lines(std::initializer_list<llvm::StringRef> parts) {
  std::string all;
  for (llvm::StringRef part : parts)
    all += part.str() + "\n";
  return all;
}

TestGraph &TestGraph::type(llvm::StringRef value, llvm::StringRef text) {
  types[value] = parse<onnx::TypeProto>(text);
  return *this;
}

TestGraph &TestGraph::constant(llvm::StringRef value, llvm::StringRef text) {
  onnx::TensorProto tensor = parse<onnx::TensorProto>(text);
  auto *type = types[value].mutable_tensor_type();
  type->set_elem_type(tensor.data_type());
  type->mutable_shape();
  for (int64_t size : tensor.dims())
    type->mutable_shape()->add_dim()->set_dim_value(size);
  constants[value] = std::move(tensor);
  return *this;
}

TestGraph &TestGraph::unused(llvm::StringRef value) {
  unusedValues.insert(value);
  return *this;
}

const onnx::TypeProto *TestGraph::getType(llvm::StringRef value) const {
  auto found = types.find(value);
  return found == types.end() ? nullptr : &found->second;
}

const onnx::TensorProto *TestGraph::getConstant(llvm::StringRef value) const {
  auto found = constants.find(value);
  return found == constants.end() ? nullptr : &found->second;
}

std::string TestGraph::freshName(llvm::StringRef base) {
  std::string name = base.str();
  for (int i = 2; !taken.insert(name).second; ++i)
    name = base.str() + std::to_string(i);
  return name;
}

std::string TestGraph::convert(llvm::StringRef node, int from, int to) {
  taken.clear();
  auto result = amp::onnx_opset::convertNode(parseNode(node), from, to, *this);
  if (!result)
    return "error: " + llvm::toString(result.takeError()) + "\n";
  std::string text;
  for (const onnx::TensorProto &constant : result->constants)
    text += onnx::ProtoToString(constant) + "\n";
  for (const onnx::NodeProto &made : result->nodes)
    text += llvm::StringRef(onnx::ProtoToString(made)).trim().str() + "\n";
  // An absent value, in the way a test writes it.
  for (size_t at; (at = text.find("\"\"")) != std::string::npos;)
    text.erase(at, 2);
  return text;
}
