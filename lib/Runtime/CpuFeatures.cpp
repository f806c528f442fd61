//===- CpuFeatures.cpp - What code needs and this CPU has -----------------===//
// Matches LLVM's feature names with the flags that Linux reports.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Artifact.h"
#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

using namespace amp::runtime;

namespace {
struct FeatureRow {
  const char *feature, *flag;
};
} // namespace

/// Features that Linux spells otherwise. All others are the same but for
/// underscores, dots and dashes.
static constexpr FeatureRow featureRows[] = {{"64bit", "lm"},
                                             {"bmi", "bmi1"},
                                             {"crc32", "sse4_2"},
                                             {"evex512", "avx512f"},
                                             {"lzcnt", "abm"},
                                             {"pclmul", "pclmulqdq"},
                                             {"prfchw", "3dnowprefetch"},
                                             {"rdrnd", "rdrand"},
                                             {"sahf", "lahf_lm"},
                                             {"sha", "sha_ni"},
                                             {"sse3", "pni"},
                                             {"x87", "fpu"},
                                             {"xsavec", "xsavec"},
                                             {"amx-tile", "amx_tile"}};

static std::string normalize(std::string_view name) {
  std::string text;
  for (char c : name)
    if (c != '_' && c != '.' && c != '-')
      text += c;
  return text;
}

std::vector<std::string>
amp::runtime::findMissingFeatures(const std::string &features,
                                  const std::string &cpuFlags) {
  std::set<std::string> flags;
  std::istringstream words(cpuFlags);
  for (std::string word; words >> word;)
    flags.insert(normalize(word));
  std::vector<std::string> missing;
  std::istringstream list(features);
  for (std::string feature; std::getline(list, feature, ',');) {
    // What is switched off, and tuning for a CPU, needs nothing.
    if (feature.empty() || feature[0] == '-')
      continue;
    std::string name = feature.substr(feature[0] == '+');
    std::string flag = name;
    for (const FeatureRow &row : featureRows)
      if (name == row.feature)
        flag = row.flag;
    if (!flags.count(normalize(flag)))
      missing.push_back(name);
  }
  return missing;
}

std::string amp::runtime::readCpuFlags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, 5, "flags") == 0)
      return line.substr(std::min(line.size(), line.find(':') + 1));
  return "";
}
