# amp_add_library, amp_add_tool, amp_add_unittest: the compile and link options every target shares.

# One string with spaces, as LLVM's config gives it, is no list of definitions.
separate_arguments(AMP_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")

# Options common to all targets; exceptions are on only in the rooms that see onnx headers.
function(amp_configure_target name exceptions)
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)
  target_compile_definitions(${name} PRIVATE ${AMP_LLVM_DEFINITIONS})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter -fno-rtti -fvisibility-inlines-hidden
                                         -ffunction-sections -fdata-sections -fcolor-diagnostics)
  if(NOT exceptions)
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
  if(AMP_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${AMP_SANITIZE} -fno-omit-frame-pointer
                                           -fno-sanitize=vptr,function -fno-sanitize-recover=undefined)
    target_link_options(${name} PUBLIC -fsanitize=${AMP_SANITIZE})
  endif()
  # The rooms that read untrusted protobuf tell libFuzzer what it covers.
  if(AMP_BUILD_FUZZERS AND AMP_SANITIZE AND exceptions)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  target_link_options(${name} PUBLIC -fuse-ld=lld -Wl,--gc-sections)
endfunction()

# amp_add_library(NAME sources... [EXCEPTIONS] [DEPENDS targets...] [LINK_LIBS libraries...])
function(amp_add_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  amp_configure_target(${name} "${ARG_EXCEPTIONS}")
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} MLIR LLVM)
  # Generated headers exist before anything that may include them is compiled.
  if(TARGET AmpGeneratedHeaders)
    add_dependencies(${name} AmpGeneratedHeaders)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# amp_add_tool(NAME sources... [EXCEPTIONS] [LINK_LIBS libraries...])
function(amp_add_tool name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  amp_configure_target(${name} "${ARG_EXCEPTIONS}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  # For the wheel: an RPATH holds for the libraries of libraries, too.
  target_link_options(${name} PRIVATE -Wl,--disable-new-dtags)
  add_dependencies(${name} AmpGeneratedHeaders)
endfunction()

# amp_add_unittest(NAME sources... [EXCEPTIONS] [LINK_LIBS libraries...])
function(amp_add_unittest name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "LINK_LIBS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  amp_configure_target(${name} "${ARG_EXCEPTIONS}")
  target_compile_definitions(${name} PRIVATE AMP_SOURCE_DIR="${CMAKE_SOURCE_DIR}" AMP_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest GTest::gtest_main MLIR LLVM)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/unit)
  add_dependencies(${name} AmpGeneratedHeaders)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
