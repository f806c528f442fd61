//===- Ptxas.cpp - PTX to the code of one architecture --------------------===//
// Temporary files in, temporary files out; results are kept by the digest of
// all that they depend on.
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cuda/Backend/Ptxas.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SHA256.h"
#include <optional>

using namespace llvm;
using namespace amp;
using namespace amp::cuda;
namespace fs = llvm::sys::fs;

//===----------------------------------------------------------------------===//
// The log
//===----------------------------------------------------------------------===//

/// The number before `unit` in `line`, or 0.
static int64_t getNumberBefore(StringRef line, StringRef unit) {
  size_t end = line.find(unit);
  if (end == StringRef::npos)
    return 0;
  StringRef head = line.take_front(end).rtrim();
  StringRef digits =
      head.take_back(head.size() - (head.find_last_not_of("0123456789") + 1));
  int64_t value = 0;
  return digits.getAsInteger(10, value) ? 0 : value;
}

KernelBudget cuda::parsePtxasLog(StringRef log) {
  KernelBudget budget;
  for (StringRef line : split(log, '\n')) {
    if (line.contains("bytes stack frame")) {
      budget.stackBytes += getNumberBefore(line, "bytes stack frame");
      budget.spillBytes += getNumberBefore(line, "bytes spill stores") +
                           getNumberBefore(line, "bytes spill loads");
    }
    if (line.contains("Used ") && line.contains(" registers")) {
      budget.registers = getNumberBefore(line, "registers");
      budget.sharedBytes = getNumberBefore(line, "bytes smem");
    }
    if (line.contains("(C75") || line.contains("egisters are spilled"))
      budget.warnings.push_back(line.trim().str());
  }
  return budget;
}

//===----------------------------------------------------------------------===//
// Finding it
//===----------------------------------------------------------------------===//

static Error fail(const Twine &text) { return createStringError(text); }

/// A file in the system's temporary folder that goes with the object.
class TemporaryFile {
public:
  explicit TemporaryFile(StringRef suffix) {
    error = fs::createTemporaryFile("amp-ptxas", suffix, path);
  }
  ~TemporaryFile() {
    if (!error)
      fs::remove(path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  StringRef getPath() const { return path; }
  Expected<std::string> read() const {
    auto buffer = MemoryBuffer::getFile(path);
    if (!buffer)
      return fail("cannot read '" + path + "': " + buffer.getError().message());
    return (*buffer)->getBuffer().str();
  }
  Error write(StringRef text) const {
    std::error_code code;
    raw_fd_ostream stream(path, code);
    if (!code) {
      stream << text;
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    return code ? fail("cannot write '" + path + "': " + code.message())
                : Error::success();
  }

  std::error_code error;

private:
  SmallString<128> path;
};

/// Runs a program and returns its exit code and all that it prints.
static Expected<std::pair<int, std::string>>
execute(StringRef program, ArrayRef<StringRef> arguments) {
  TemporaryFile log("log");
  if (log.error)
    return fail("cannot make a temporary file: " + log.error.message());
  SmallVector<StringRef> all{program};
  all.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(), log.getPath(),
                                          log.getPath()};
  std::string problem;
  bool didFail = false;
  int code = sys::ExecuteAndWait(program, all, std::nullopt, redirects,
                                 /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                 &problem, &didFail);
  if (didFail || code < 0)
    return fail("cannot run '" + program + "': " + problem);
  Expected<std::string> text = log.read();
  if (!text)
    return text.takeError();
  return std::make_pair(code, std::move(*text));
}

/// The version in what `ptxas --version` prints, or an empty text.
static StringRef parseVersion(StringRef text) {
  StringRef rest = text.split("release ").second;
  return rest.take_while([](char c) { return isDigit(c) || c == '.'; });
}

static Expected<std::string> findProgram(StringRef given) {
  if (!given.empty()) {
    if (fs::can_execute(given))
      return given.str();
    return fail("there is no program '" + given + "' (--ptxas)");
  }
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  SmallVector<std::string> folders;
  if (std::optional<std::string> home = sys::Process::GetEnv("CUDA_HOME"))
    folders.push_back(*home + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string &folder : folders)
    if (fs::can_execute(folder + "/ptxas"))
      return folder + "/ptxas";
  return fail("there is no ptxas on PATH, in $CUDA_HOME/bin or in "
              "/usr/local/cuda/bin");
}

Expected<Ptxas> Ptxas::find(StringRef given) {
  Expected<std::string> program = findProgram(given);
  if (!program)
    return program.takeError();
  auto output = execute(*program, {"--version"});
  if (!output)
    return output.takeError();
  StringRef version = parseVersion(output->second);
  if (version.empty())
    return fail("'" + *program + "' is no ptxas: --version prints '" +
                StringRef(output->second).take_front(200) + "'");
  return Ptxas(*program, version.str());
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

std::string cuda::getPtxasCache() {
  if (std::optional<std::string> folder =
          sys::Process::GetEnv("XDG_CACHE_HOME"))
    if (!folder->empty())
      return *folder + "/amp-mlir/ptxas";
  if (std::optional<std::string> home = sys::Process::GetEnv("HOME"))
    if (!home->empty())
      return *home + "/.cache/amp-mlir/ptxas";
  return "";
}

/// Writes the log and returns it.
Expected<std::string> Ptxas::run(StringRef ptx, StringRef chip,
                                 SmallVectorImpl<char> &bytes) const {
  TemporaryFile source("ptx"), target("cubin");
  if (source.error || target.error)
    return fail("cannot make a temporary file");
  if (Error error = source.write(ptx))
    return std::move(error);
  std::string arch = ("-arch=" + chip).str();
  auto output = execute(path, {"-v", "--warn-on-spills", arch, source.getPath(),
                               "-o", target.getPath()});
  if (!output)
    return output.takeError();
  if (output->first != 0)
    return fail("ptxas " + version + " refuses a kernel for " + chip + ": " +
                StringRef(output->second).trim());
  Expected<std::string> binary = target.read();
  if (!binary)
    return binary.takeError();
  bytes.assign(binary->begin(), binary->end());
  return std::move(output->second);
}

/// Writes `data` to `path` so that others see it whole or not at all. A cache
/// that cannot be written is none.
static void store(StringRef path, StringRef data) {
  Expected<fs::TempFile> file = fs::TempFile::create(path + ".%%%%%%%%");
  if (!file) {
    consumeError(file.takeError());
    return;
  }
  {
    raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
    stream << data;
    stream.flush();
    if (stream.has_error()) {
      stream.clear_error();
      consumeError(file->discard());
      return;
    }
  }
  consumeError(file->keep(path));
}

/// What a cache file holds: the length of the log, the log, the code.
static std::optional<std::pair<std::string, StringRef>>
parseCached(StringRef data) {
  auto [size, rest] = data.split('\n');
  size_t length = 0;
  if (size.getAsInteger(10, length) || length >= rest.size())
    return std::nullopt;
  StringRef code = rest.drop_front(length);
  if (!code.starts_with("\x7f"
                        "ELF"))
    return std::nullopt;
  return std::make_pair(rest.take_front(length).str(), code);
}

Expected<Cubin> Ptxas::assemble(StringRef ptx, StringRef chip) const {
  Cubin cubin;
  std::string file;
  if (!cache.empty() && !fs::create_directories(cache)) {
    std::string all = (version + "\n" + chip + "\n" + ptx).str();
    auto digest = SHA256::hash(ArrayRef<uint8_t>(
        reinterpret_cast<const uint8_t *>(all.data()), all.size()));
    file = cache + "/" + toHex(digest, /*LowerCase=*/true);
    if (auto buffer = MemoryBuffer::getFile(file))
      if (auto cached = parseCached((*buffer)->getBuffer())) {
        cubin.budget = parsePtxasLog(cached->first);
        cubin.bytes.assign(cached->second.begin(), cached->second.end());
        return cubin;
      }
  }
  Expected<std::string> log = run(ptx, chip, cubin.bytes);
  if (!log)
    return log.takeError();
  cubin.budget = parsePtxasLog(*log);
  if (!file.empty())
    store(file, (Twine(log->size()) + "\n" + *log +
                 StringRef(cubin.bytes.data(), cubin.bytes.size()))
                    .str());
  return cubin;
}
