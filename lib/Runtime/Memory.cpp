//===- Memory.cpp - Aligned memory ----------------------------------------===//
// Large blocks are pages of their own and ask for large pages.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Memory.h"
#include "amp/Runtime/Failure.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace amp::runtime;

static constexpr size_t pageBlock = 2 << 20;

/// More than the machine has would be granted and end the process later.
static bool exceedsMachine(size_t bytes) {
  long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 &&
         bytes > static_cast<size_t>(pages) * static_cast<size_t>(size);
}

static char *allocate(size_t bytes) {
  size_t alignment = bytes >= pageBlock ? pageBlock : memoryAlignment;
  if (exceedsMachine(bytes))
    return nullptr;
  void *memory = nullptr;
  if (::posix_memalign(&memory, alignment, bytes) != 0)
    return nullptr;
  if (bytes >= pageBlock)
    ::madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<char *>(memory);
}

Block::Block(size_t size, const amp_options &options, const std::string &what)
    : bytes(std::max<size_t>(size, memoryAlignment)), options(options) {
  data = options.allocate ? static_cast<char *>(options.allocate(
                                options.context, bytes, memoryAlignment))
                          : allocate(bytes);
  if (!data)
    fail(AMP_OUT_OF_MEMORY, "there is no memory for " + what + " (" +
                                std::to_string(bytes) + " bytes)");
  if (!isAligned(data)) {
    options.release(options.context, data, bytes);
    fail(AMP_INVALID_ARGUMENT, "the caller's allocator gave memory for " +
                                   what + " that is not aligned to " +
                                   std::to_string(memoryAlignment));
  }
  std::memset(data, 0, bytes);
}

Block::~Block() {
  if (!data)
    return;
  if (options.allocate)
    options.release(options.context, data, bytes);
  else
    std::free(data);
}

Block &Block::operator=(Block &&other) noexcept {
  std::swap(data, other.data);
  std::swap(bytes, other.bytes);
  std::swap(options, other.options);
  return *this;
}
