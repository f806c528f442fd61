# Finds MLIR 22 (Debian's packages), protobuf and the onnx library that utils/setup built.

set(AMP_LLVM_PREFIX /usr/lib/llvm-22 CACHE PATH "Prefix of the LLVM and MLIR 22 packages")
set(AMP_DEPS "$ENV{AMP_DEPS}" CACHE PATH "Folder utils/setup installed the onnx library to")
if(NOT AMP_DEPS)
  set(AMP_DEPS "$ENV{HOME}/.cache/amp-mlir/deps")
endif()

find_package(MLIR REQUIRED CONFIG PATHS ${AMP_LLVM_PREFIX} NO_DEFAULT_PATH)
find_package(LLVM REQUIRED CONFIG PATHS ${AMP_LLVM_PREFIX} NO_DEFAULT_PATH)
find_package(LLD REQUIRED CONFIG PATHS ${AMP_LLVM_PREFIX} NO_DEFAULT_PATH)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# ONNX's own config does not look for protobuf although its targets name it.
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED CONFIG PATHS ${AMP_DEPS}/onnx-1.22.0 NO_DEFAULT_PATH)
find_package(Threads REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# The extension modules are for the interpreter that runs the tests.
if(NOT Python_EXECUTABLE AND EXISTS ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${CMAKE_SOURCE_DIR}/.venv/bin/python)
endif()
find_package(Python 3.9 COMPONENTS Interpreter Development.Module)
