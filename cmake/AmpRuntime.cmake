# amp_configure_runtime: options of what runs artifacts, which links neither MLIR nor LLVM nor protobuf.

find_package(nlohmann_json REQUIRED)
# zlib goes into the library, so that it needs libc alone.
find_library(AMP_ZLIB_ARCHIVE libz.a REQUIRED)

function(amp_configure_runtime name)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_compile_definitions(${name} PRIVATE AMP_VERSION="${PROJECT_VERSION}")
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter -fvisibility=hidden -fvisibility-inlines-hidden
                                         -ffunction-sections -fdata-sections -fcolor-diagnostics)
  if(AMP_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${AMP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize=vptr,function
                                           -fno-sanitize-recover=undefined)
    target_link_options(${name} PUBLIC -fsanitize=${AMP_SANITIZE})
    # The readers of untrusted files tell libFuzzer what it covers.
    if(AMP_BUILD_FUZZERS)
      target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
  endif()
  target_link_options(${name} PUBLIC -fuse-ld=lld -Wl,--gc-sections)
endfunction()
