//===- Session.cpp - What all commands begin with -------------------------===//
// Opens the artifact, loads the state that was asked for, talks to the user.
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Info.h"
#include <cstdio>

using namespace amp::run;
using namespace amp::runtime;

void amp::run::say(const Options &options, const std::string &text) {
  if (!options.quiet)
    std::fprintf(stderr, "amp-run: %s\n", text.c_str());
}

void amp::run::warn(const std::string &text) {
  std::fprintf(stderr, "amp-run: warning: %s\n", text.c_str());
}

std::unique_ptr<Session> amp::run::openSession(const Options &options,
                                               Extras *extras) {
  amp_options settings = {};
  settings.size = sizeof(settings);
  settings.threads = static_cast<int32_t>(options.threads);
  if (!options.cudaDriver.empty())
    settings.cuda_driver = options.cudaDriver.c_str();
  auto session = std::make_unique<Session>(options.artifact, settings);
  uint32_t flags = (options.allowMissing ? AMP_LOAD_ALLOW_MISSING : 0u) |
                   (options.cast ? AMP_LOAD_CAST : 0u) |
                   (options.anyFingerprint ? AMP_LOAD_ANY_FINGERPRINT : 0u);
  if (!options.weights.empty())
    loadCheckpoint(*session, options.weights, flags | AMP_LOAD_WEIGHTS_ONLY);
  if (!options.resume.empty()) {
    Extras found = loadCheckpoint(*session, options.resume, flags);
    if (extras)
      *extras = std::move(found);
  }
  return session;
}

int amp::run::runSave(const Options &options) {
  Extras extras;
  std::unique_ptr<Session> session = openSession(options, &extras);
  uint32_t flags = options.layout == "torch" ? AMP_SAVE_PLAIN_NAMES : 0u;
  saveCheckpoint(*session, options.output, flags, extras);
  return 0;
}

static void printEntry(const Json &entry) {
  auto join = [](const Json &names) {
    std::string text;
    for (const Json &name : names)
      text += (text.empty() ? "" : ", ") + name.get<std::string>();
    return text;
  };
  std::printf("entry %s(%s) -> %s; workspace %.1f MiB\n",
              entry["name"].get<std::string>().c_str(),
              join(entry["inputs"]).c_str(), join(entry["outputs"]).c_str(),
              entry["workspace"].get<double>() / (1 << 20));
}

int amp::run::runInfo(const Options &options) {
  std::unique_ptr<Session> session = openSession(options, nullptr);
  Json info = getInfo(*session);
  if (options.json) {
    std::printf("%s\n", print(info, 2).c_str());
    return 0;
  }
  const Manifest &manifest = session->getManifest();
  std::printf("artifact %s, made from %s by version %s for %s\n",
              options.artifact.c_str(), manifest.model.c_str(),
              manifest.version.c_str(), session->describeTarget().c_str());
  std::printf("fingerprint %s\n", manifest.fingerprint.c_str());
  std::printf("optimizer %s\nscaler %s\nautocast %s\n",
              print(manifest.optimizer).c_str(), print(manifest.scaler).c_str(),
              print(manifest.autocast).c_str());
  std::printf("%s parameters, %.1f MiB of state\n",
              print(info["parameters"]).c_str(),
              info["state_bytes"].get<double>() / (1 << 20));
  for (const Json &entry : info["entries"])
    printEntry(entry);
  for (const TensorInfo &tensor : manifest.tensors)
    std::printf("  %-16s %-24s %s\n", getName(tensor.role),
                tensor.describe().c_str(), tensor.name.c_str());
  return 0;
}
