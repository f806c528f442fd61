//===- Schemas.h - The pinned operator schemas, for tests -----------------===//
//
// Reads data/onnx-26.json: names, operands with their types, attributes.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_UNIT_POLICY_SCHEMAS_H
#define AMP_TEST_UNIT_POLICY_SCHEMAS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <string>
#include <vector>

namespace amp::test {

struct SchemaOperand {
  /// Element types the operand may have, as in "tensor(float16)".
  std::vector<std::string> types;

  bool allows(llvm::StringRef type) const {
    return llvm::is_contained(types, type);
  }
};

struct Schema {
  std::vector<SchemaOperand> inputs;
  std::vector<std::string> attributes;
};

inline std::map<std::string, Schema> readSchemas() {
  auto buffer = llvm::cantFail(llvm::errorOrToExpected(
      llvm::MemoryBuffer::getFile(AMP_SOURCE_DIR "/data/onnx-26.json")));
  llvm::json::Value file =
      llvm::cantFail(llvm::json::parse(buffer->getBuffer()));
  std::map<std::string, Schema> schemas;
  for (const llvm::json::Value &element :
       *file.getAsObject()->getArray("ops")) {
    const llvm::json::Object &op = *element.getAsObject();
    Schema &schema = schemas[op.getString("name")->str()];
    for (const llvm::json::Value &value : *op.getArray("inputs")) {
      llvm::StringRef type = *value.getAsObject()->getString("type");
      SchemaOperand operand;
      if (const llvm::json::Array *types =
              op.getObject("types")->getArray(type))
        for (const llvm::json::Value &allowed : *types)
          operand.types.push_back(allowed.getAsString()->str());
      else
        operand.types.push_back(type.str());
      schema.inputs.push_back(std::move(operand));
    }
    for (const llvm::json::Value &value : *op.getArray("attributes"))
      schema.attributes.push_back(
          value.getAsObject()->getString("name")->str());
  }
  return schemas;
}

} // namespace amp::test

#endif // AMP_TEST_UNIT_POLICY_SCHEMAS_H
