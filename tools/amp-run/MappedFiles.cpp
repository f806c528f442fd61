//===- MappedFiles.cpp - Files that shrink while they are read ------------===//
// The system then sends SIGBUS; the process ends with an error that names the
// file. Outputs have no name before they are whole, so nothing is left of them.
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace amp::run;

namespace {
/// Lines of /proc/self/maps, with calls that a signal handler may make.
class MapsReader {
public:
  MapsReader() : fd(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapsReader() {
    if (fd >= 0)
      ::close(fd);
  }
  /// The next line without its end; null after the last one. A line that is too
  /// long is cut.
  const char *next();

private:
  int get();

  int fd;
  char buffer[4096], line[4352];
  ssize_t size = 0, position = 0;
};
} // namespace

int MapsReader::get() {
  if (position == size) {
    size = fd < 0 ? 0 : ::read(fd, buffer, sizeof(buffer));
    position = 0;
  }
  return size <= 0 ? -1 : buffer[position++];
}

const char *MapsReader::next() {
  size_t length = 0;
  int c;
  while ((c = get()) >= 0 && c != '\n')
    if (length + 1 < sizeof(line))
      line[length++] = static_cast<char>(c);
  line[length] = '\0';
  return c < 0 && length == 0 ? nullptr : line;
}

/// Parses hexadecimal digits and steps over them.
static uintptr_t parseAddress(const char *&text) {
  uintptr_t value = 0;
  for (;; ++text) {
    if (*text >= '0' && *text <= '9')
      value = value * 16 + static_cast<uintptr_t>(*text - '0');
    else if (*text >= 'a' && *text <= 'f')
      value = value * 16 + static_cast<uintptr_t>(*text - 'a' + 10);
    else
      return value;
  }
}

static void print(const char *text) {
  [[maybe_unused]] ssize_t written =
      ::write(STDERR_FILENO, text, std::strlen(text));
}

static void endForShrunkenFile(int signal, siginfo_t *info, void *) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  MapsReader maps;
  // "begin-end rwxp offset device inode path"
  while (const char *line = maps.next()) {
    uintptr_t begin = parseAddress(line);
    if (*line == '-')
      ++line;
    uintptr_t end = parseAddress(line);
    const char *path = std::strchr(line, '/');
    if (address < begin || address >= end || !path)
      continue;
    print("\namp-run: error: '");
    print(path);
    print("' became shorter while it was read\n");
    ::_exit(1);
  }
  std::signal(signal, SIG_DFL); // another reason: it comes again
}

void amp::run::watchMappedFiles() {
  struct sigaction action = {};
  action.sa_sigaction = endForShrunkenFile;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}
