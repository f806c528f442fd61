//===- Options.cpp - The command line of amp-run --------------------------===//
// One table of options; each says which commands know it.
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Files.h"
#include <cmath>
#include <cstdlib>
#include <functional>

using namespace amp::run;
using amp::runtime::fail;
using amp::runtime::quote;
namespace runtime = amp::runtime;

const char *amp::run::getUsage() {
  return R"(usage: amp-run <command> <artifact> [options]

commands
  train        run training steps            eval    average the loss over data
  infer        write the outputs for data    info    print what an artifact is
  export-onnx  write trained weights into the original ONNX model
  save         write the state in another format or layout

data (train, eval, infer)
  --data FILE             npz, npy, safetensors or csv; may be given several times
  --last-batch drop|wrap  rows that do not fill a batch are left out (default), or
                          filled up from the first rows
train
  --epochs N | --steps N  how far to train in all, counted from the very first step
                          (default: 1 epoch)
  --no-shuffle            take the rows in their order    --seed S   of the shuffling
  --lr X                  instead of the artifact's; the schedule multiplies it
  --log FILE              one JSON object a step          --plot FILE.svg|.html
  --save FILE             state at the end (safetensors, npz or torch .pt)
  --save-every N          and every N steps               --resume FILE
  --ranks N               data parallel: N ranks in this process, each with its share
                          of a batch N times as large; or mpirun -n N amp-run train
  --rank-timeout S        a rank that waits longer for the others fails (default: 300)
state (all commands)
  --weights FILE          parameters from safetensors, npz or a torch .pt file
  --allow-missing         what the file lacks keeps its initial value
  --cast                  f16 and bf16 values may fill f32 parameters
  --any-fingerprint       resume from another compilation of the model
other
  --threads N             (default: one per core)         --quiet    no progress
  --cuda-driver PATH      artifacts for CUDA: the driver library, or emulator
                          (default: $AMP_CUDA_DRIVER, or libcuda.so.1)
  -o FILE                 infer: npz or safetensors; export-onnx: onnx; save
  --model FILE            export-onnx: the original model, if it has moved
  --layout torch          save: plain parameter names
  --json                  info: everything, as JSON
)";
}

namespace {
struct OptionRow {
  const char *name;
  /// Commands that know it, each followed by a space.
  const char *commands;
  bool hasValue;
  std::function<void(Options &, const std::string &)> set;
};
} // namespace

static constexpr int64_t mostRanks = 1024;
/// A year of seconds.
static constexpr int64_t longestTimeOut = 365 * 24 * 3600;

static int64_t parseInteger(const std::string &text, const char *name,
                            int64_t low) {
  char *end = nullptr;
  errno = 0;
  long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno || value < low)
    fail(AMP_INVALID_ARGUMENT,
         std::string(name) + ": expected a whole number of at least " +
             std::to_string(low) + ", but got " + quote(text));
  return value;
}

static double parseRate(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(value) || value < 0)
    fail(AMP_INVALID_ARGUMENT,
         "--lr: expected a number that is not negative, but got " +
             quote(text));
  return value;
}

static LastBatch parseLastBatch(const std::string &text) {
  if (text == "drop")
    return LastBatch::Drop;
  if (text == "wrap")
    return LastBatch::Wrap;
  fail(AMP_INVALID_ARGUMENT,
       "--last-batch: expected drop or wrap, but got " + quote(text));
}

static std::string parsePlot(const std::string &text) {
  if (!runtime::endsWith(text, ".svg") && !runtime::endsWith(text, ".html"))
    fail(AMP_INVALID_ARGUMENT,
         "--plot: expected a file that ends in .svg or .html, but got " +
             quote(text));
  return text;
}

static std::string parseLayout(const std::string &text) {
  if (text != "torch" && text != "native")
    fail(AMP_INVALID_ARGUMENT,
         "--layout: expected torch or native, but got " + quote(text));
  return text;
}

static constexpr const char *all = "train eval infer info export-onnx save ",
                            *onData = "train eval infer ", *train = "train ";

static std::vector<OptionRow> getRows() {
  using Text = const std::string &;
  return {
      {"--data", onData, true, [](Options &o, Text v) { o.data.push_back(v); }},
      {"--last-batch", "train eval ", true,
       [](Options &o, Text v) { o.lastBatch = parseLastBatch(v); }},
      {"--epochs", train, true,
       [](Options &o, Text v) { o.epochs = parseInteger(v, "--epochs", 0); }},
      {"--steps", train, true,
       [](Options &o, Text v) { o.steps = parseInteger(v, "--steps", 0); }},
      {"--no-shuffle", train, false,
       [](Options &o, Text) { o.noShuffle = true; }},
      {"--seed", train, true,
       [](Options &o, Text v) { o.seed = parseInteger(v, "--seed", 0); }},
      {"--lr", train, true, [](Options &o, Text v) { o.lr = parseRate(v); }},
      {"--log", train, true, [](Options &o, Text v) { o.log = v; }},
      {"--plot", train, true,
       [](Options &o, Text v) { o.plot = parsePlot(v); }},
      {"--save", train, true, [](Options &o, Text v) { o.save = v; }},
      {"--save-every", train, true,
       [](Options &o, Text v) {
         o.saveEvery = parseInteger(v, "--save-every", 1);
       }},
      {"--ranks", train, true,
       [](Options &o, Text v) {
         o.ranks = parseInteger(v, "--ranks", 1);
         if (*o.ranks > mostRanks)
           fail(AMP_INVALID_ARGUMENT, "--ranks: at most " +
                                          std::to_string(mostRanks) +
                                          " ranks fit into a process");
       }},
      {"--rank-timeout", train, true,
       [](Options &o, Text v) {
         o.rankTimeOut = std::min<int64_t>(parseInteger(v, "--rank-timeout", 1),
                                           longestTimeOut);
       }},
      {"--resume", all, true, [](Options &o, Text v) { o.resume = v; }},
      {"--weights", all, true, [](Options &o, Text v) { o.weights = v; }},
      {"--allow-missing", all, false,
       [](Options &o, Text) { o.allowMissing = true; }},
      {"--cast", all, false, [](Options &o, Text) { o.cast = true; }},
      {"--any-fingerprint", all, false,
       [](Options &o, Text) { o.anyFingerprint = true; }},
      {"--threads", all, true,
       [](Options &o, Text v) {
         o.threads = static_cast<unsigned>(
             std::min<int64_t>(parseInteger(v, "--threads", 1), 4096));
       }},
      {"--cuda-driver", all, true,
       [](Options &o, Text v) { o.cudaDriver = v; }},
      {"--quiet", all, false, [](Options &o, Text) { o.quiet = true; }},
      {"-o", "infer export-onnx save ", true,
       [](Options &o, Text v) { o.output = v; }},
      {"--model", "export-onnx ", true,
       [](Options &o, Text v) { o.model = v; }},
      {"--layout", "save ", true,
       [](Options &o, Text v) { o.layout = parseLayout(v); }},
      {"--json", "info ", false, [](Options &o, Text) { o.json = true; }},
  };
}

static bool knows(const std::string &commands, const std::string &command) {
  return (" " + commands).find(" " + command + " ") != std::string::npos;
}

static void require(bool given, const Options &options, const char *what) {
  if (!given)
    fail(AMP_INVALID_ARGUMENT, "amp-run " + options.command + " needs " + what);
}

static void checkTogether(const Options &options) {
  const std::string &command = options.command;
  require(!options.artifact.empty(), options, "an artifact");
  if (knows(onData, command))
    require(!options.data.empty(), options, "--data FILE");
  if (command == "infer" || command == "export-onnx" || command == "save")
    require(!options.output.empty(), options, "-o FILE");
  if (options.epochs && options.steps)
    fail(AMP_INVALID_ARGUMENT, "--epochs and --steps exclude each other");
  if (options.saveEvery)
    require(!options.save.empty(), options, "--save FILE for --save-every");
  if (options.noShuffle && options.seed)
    fail(AMP_INVALID_ARGUMENT, "--no-shuffle and --seed exclude each other");
  if (!options.resume.empty() && !options.weights.empty())
    fail(AMP_INVALID_ARGUMENT, "--resume and --weights exclude each other");
}

Options amp::run::parseOptions(int argc, char **argv) {
  Options options;
  if (argc < 2)
    fail(AMP_INVALID_ARGUMENT, "no command was given; see amp-run --help");
  options.command = argv[1];
  if (!knows(all, options.command))
    fail(AMP_INVALID_ARGUMENT, "there is no command " + quote(options.command) +
                                   "; see amp-run --help");
  std::vector<OptionRow> rows = getRows();
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i], value;
    size_t equals =
        word.size() > 2 && word[1] == '-' ? word.find('=') : std::string::npos;
    std::string name = word.substr(0, equals);
    if (word.empty() || word[0] != '-') {
      if (!options.artifact.empty())
        fail(AMP_INVALID_ARGUMENT, "what is " + quote(word) +
                                       "? The artifact "
                                       "is " +
                                       quote(options.artifact));
      options.artifact = word;
      continue;
    }
    const OptionRow *row = nullptr;
    for (const OptionRow &each : rows)
      if (name == each.name && knows(each.commands, options.command))
        row = &each;
    if (!row)
      fail(AMP_INVALID_ARGUMENT,
           "amp-run " + options.command + " has no option " + quote(name));
    if (row->hasValue && equals == std::string::npos && ++i == argc)
      fail(AMP_INVALID_ARGUMENT, name + " needs a value");
    if (!row->hasValue && equals != std::string::npos)
      fail(AMP_INVALID_ARGUMENT, name + " takes no value");
    if (row->hasValue)
      value = equals == std::string::npos ? argv[i] : word.substr(equals + 1);
    row->set(options, value);
  }
  checkTogether(options);
  return options;
}
