//===- Memory.cpp - Aligned memory ----------------------------------------===//
// Small blocks come from the heap, large ones are pages of their own.
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

/// Blocks from the size of a large page on are pages of their own.
static constexpr size_t pageBlock = 2 << 20;
static constexpr size_t smallPage = 4096;

bool amp::runtime::exceedsMachine(size_t bytes) {
  long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 &&
         bytes > static_cast<size_t>(pages) * static_cast<size_t>(size);
}

/// Fresh pages, zeroed when they are first touched, at a multiple of the size
/// of a large page.
static char *mapPages(size_t bytes) {
  size_t whole = bytes + pageBlock;
  void *memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  auto *start = static_cast<char *>(memory);
  size_t past = reinterpret_cast<uintptr_t>(start) % pageBlock;
  size_t head = past ? pageBlock - past : 0;
  if (head)
    ::munmap(start, head);
  ::munmap(start + head + bytes, whole - head - bytes);
  ::madvise(start + head, bytes, MADV_HUGEPAGE);
  return start + head;
}

static size_t roundUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

static char *allocate(size_t bytes) {
  if (exceedsMachine(bytes))
    return nullptr;
  if (bytes >= pageBlock)
    return mapPages(bytes);
  void *memory = nullptr;
  if (::posix_memalign(&memory, memoryAlignment, bytes) != 0)
    return nullptr;
  std::memset(memory, 0, bytes);
  return static_cast<char *>(memory);
}

Block::Block(size_t size, const amp_options &options, const std::string &what)
    : bytes(std::max<size_t>(size, memoryAlignment)), options(options) {
  if (!options.allocate && bytes >= pageBlock)
    bytes = roundUp(bytes, smallPage);
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
  if (options.allocate)
    std::memset(data, 0, bytes);
}

Block::~Block() {
  if (!data)
    return;
  if (options.allocate)
    options.release(options.context, data, bytes);
  else if (bytes >= pageBlock)
    ::munmap(data, bytes);
  else
    std::free(data);
}

Block &Block::operator=(Block &&other) noexcept {
  std::swap(data, other.data);
  std::swap(bytes, other.bytes);
  std::swap(options, other.options);
  return *this;
}
