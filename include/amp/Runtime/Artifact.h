//===- Artifact.h - An artifact on disk -------------------------*- C++ -*-===//
// A directory or an uncompressed zip file: manifest, code, initial values.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_ARTIFACT_H
#define AMP_RUNTIME_ARTIFACT_H

#include "amp-c/amp_host.h"
#include "amp/Runtime/Files.h"
#include "amp/Runtime/Manifest.h"
#include "amp/Runtime/Safetensors.h"

namespace amp::runtime {

/// Code that was loaded from an artifact; unloaded with the object.
class Code {
public:
  Code() = default;
  ~Code();
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;

  /// Loads a shared library. `name` is for messages.
  void load(const std::string &path, const std::string &name);
  amp_entry find(const EntryInfo &entry) const;

private:
  void *handle = nullptr;
  std::string name;
};

class Artifact {
public:
  /// Opens and validates; no code is loaded yet.
  explicit Artifact(const std::string &path);

  const std::string path;
  Manifest manifest;

  /// Initial values; every key that the manifest names is there and fits.
  TensorFile readInit() const;
  /// Refuses when this CPU lacks a feature the code was compiled for.
  void loadCode(Code &code) const;
  /// The bytes of a file in it.
  Bytes readFile(const std::string &name) const;

private:
  bool isDirectory;
};

/// Features of this CPU that `features` ("+avx2,+fma,-sse4a") asks for and it
/// does not have, or that are unknown here.
std::vector<std::string> findMissingFeatures(const std::string &features,
                                             const std::string &cpuFlags);
/// The flags line of /proc/cpuinfo.
std::string readCpuFlags();

} // namespace amp::runtime

#endif // AMP_RUNTIME_ARTIFACT_H
