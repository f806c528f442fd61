//===- Opcodes.cpp - Which topic knows an opcode --------------------------===//
// The first part of every opcode the emulator knows.
//===----------------------------------------------------------------------===//

#include "Decoder.h"

using namespace amp::ptx;

static const std::unordered_map<std::string_view, DecodeFunction> &getTable() {
  static const std::unordered_map<std::string_view, DecodeFunction> table = {
      {"abs", decodeArithmetic},
      {"activemask", decodeWarp},
      {"add", decodeArithmetic},
      {"addc", decodeArithmetic},
      {"and", decodeBits},
      {"applypriority", decodeNothing},
      {"atom", decodeAtomic},
      {"bar", decodeBarrier},
      {"barrier", decodeBarrier},
      {"bfe", decodeBits},
      {"bfi", decodeBits},
      {"bfind", decodeBits},
      {"bmsk", decodeBits},
      {"bra", decodeControl},
      {"brev", decodeBits},
      {"brkpt", decodeNothing},
      {"brx", decodeControl},
      {"call", decodeControl},
      {"clz", decodeBits},
      {"cnot", decodeBits},
      {"copysign", decodeArithmetic},
      {"cos", decodeApproximation},
      {"cp", decodeAsyncCopy},
      {"cvt", decodeConvert},
      {"cvta", decodeAddressConversion},
      {"discard", decodeNothing},
      {"div", decodeArithmetic},
      {"dp2a", decodeDot},
      {"dp4a", decodeDot},
      {"elect", decodeWarp},
      {"ex2", decodeApproximation},
      {"exit", decodeControl},
      {"fence", decodeFence},
      {"fma", decodeArithmetic},
      {"griddepcontrol", decodeNothing},
      {"isspacep", decodeAddressConversion},
      {"ld", decodeMemory},
      {"ldmatrix", decodeMatrixMemory},
      {"ldu", decodeMemory},
      {"lg2", decodeApproximation},
      {"lop3", decodeBits},
      {"mad", decodeArithmetic},
      {"mad24", decodeArithmetic},
      {"madc", decodeArithmetic},
      {"mapa", decodeAddressConversion},
      {"match", decodeWarp},
      {"max", decodeArithmetic},
      {"mbarrier", decodeMbarrier},
      {"membar", decodeFence},
      {"min", decodeArithmetic},
      {"mma", decodeMma},
      {"mov", decodeMove},
      {"movmatrix", decodeMatrixMemory},
      {"mul", decodeArithmetic},
      {"mul24", decodeArithmetic},
      {"nanosleep", decodeControl},
      {"neg", decodeArithmetic},
      {"not", decodeBits},
      {"or", decodeBits},
      {"pmevent", decodeNothing},
      {"popc", decodeBits},
      {"prefetch", decodeNothing},
      {"prefetchu", decodeNothing},
      {"prmt", decodeBits},
      {"rcp", decodeArithmetic},
      {"red", decodeAtomic},
      {"redux", decodeWarp},
      {"rem", decodeArithmetic},
      {"ret", decodeControl},
      {"rsqrt", decodeApproximation},
      {"sad", decodeArithmetic},
      {"selp", decodeCompare},
      {"set", decodeCompare},
      {"setmaxnreg", decodeSetMaxRegisters},
      {"setp", decodeCompare},
      {"shf", decodeBits},
      {"shfl", decodeWarp},
      {"shl", decodeBits},
      {"shr", decodeBits},
      {"sin", decodeApproximation},
      {"slct", decodeCompare},
      {"sqrt", decodeArithmetic},
      {"st", decodeMemory},
      {"stmatrix", decodeMatrixMemory},
      {"sub", decodeArithmetic},
      {"subc", decodeArithmetic},
      {"tanh", decodeApproximation},
      {"testp", decodeTestClass},
      {"trap", decodeControl},
      {"vote", decodeWarp},
      {"wgmma", decodeWgmma},
      {"xor", decodeBits}};
  return table;
}

DecodeFunction amp::ptx::findDecodeFunction(std::string_view base) {
  auto it = getTable().find(base);
  return it == getTable().end() ? nullptr : it->second;
}

std::vector<std::string_view> amp::ptx::getOpcodes() {
  std::vector<std::string_view> opcodes;
  for (const auto &[opcode, decode] : getTable())
    opcodes.push_back(opcode);
  return opcodes;
}
