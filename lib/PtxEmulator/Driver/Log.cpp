//===- Log.cpp - What the stand-in writes ---------------------------------===//
// Findings to stderr, or as JSON lines with the counters of each kernel.
//===----------------------------------------------------------------------===//

#include "State.h"
#include <cstdio>
#include <sstream>

using namespace amp;
using namespace amp::ptx;

static std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

static std::string join(const std::array<uint32_t, 3> &values) {
  return "[" + std::to_string(values[0]) + "," + std::to_string(values[1]) +
         "," + std::to_string(values[2]) + "]";
}

void Log::open(const std::string &file) { path = file; }

void Log::write(const std::string &row) {
  std::FILE *file = path.empty() ? nullptr : std::fopen(path.c_str(), "a");
  if (file) {
    std::fprintf(file, "%s\n", row.c_str());
    std::fclose(file);
  } else if (!path.empty()) {
    addMessage("cannot write '" + path + "'");
    path.clear();
  }
}

void Log::addMessage(const std::string &text) {
  std::fprintf(stderr, "emulator: %s\n", text.c_str());
}

static std::string toJson(const Finding &finding) {
  std::ostringstream row;
  row << "{\"kind\":\"finding\",\"finding\":" << quote(getName(finding.kind))
      << ",\"kernel\":" << quote(finding.kernel) << ",\"line\":" << finding.line
      << ",\"block\":" << join(finding.block)
      << ",\"thread\":" << join(finding.thread)
      << ",\"address\":" << finding.address
      << ",\"message\":" << quote(finding.message)
      << ",\"instruction\":" << quote(finding.instruction) << "}";
  return row.str();
}

void Log::addLaunch(const ptx::Kernel &kernel, const LaunchReport &report) {
  for (const Finding &finding : report.findings)
    if (path.empty())
      addMessage(std::string(getName(finding.kind)) + ": " + describe(finding));
    else
      write(toJson(finding));
  if (path.empty())
    return;
  Sums &sums = kernels[kernel.getName()];
  ++sums.launches;
  sums.counters.add(report.counters);
  for (const LineCounters &line : report.lines) {
    LineCounters &sum = sums.lines[{line.line, line.isShared}];
    uint64_t requests = sum.requests + line.requests,
             conflicts = sum.bankConflicts + line.bankConflicts,
             sectors = sum.sectors + line.sectors,
             ideal = sum.idealSectors + line.idealSectors;
    sum = line;
    sum.requests = requests;
    sum.bankConflicts = conflicts;
    sum.sectors = sectors;
    sum.idealSectors = ideal;
  }
}

static void addCounters(std::ostringstream &row, const Counters &counters) {
  const std::pair<const char *, uint64_t> values[] = {
      {"warp_instructions", counters.warpInstructions},
      {"lane_instructions", counters.laneInstructions},
      {"mma", counters.mma},
      {"wgmma", counters.wgmma},
      {"matrix_loads", counters.matrixLoads},
      {"async_copies", counters.asyncCopies},
      {"tensor_copies", counters.tensorCopies},
      {"barriers", counters.barriers},
      {"shared_requests", counters.sharedRequests},
      {"shared_wavefronts", counters.sharedWavefronts},
      {"bank_conflicts", counters.bankConflicts},
      {"global_requests", counters.globalRequests},
      {"global_sectors", counters.globalSectors},
      {"ideal_sectors", counters.idealSectors},
      {"bytes_read", counters.bytesRead},
      {"bytes_written", counters.bytesWritten},
      {"local_accesses", counters.localAccesses}};
  for (auto [name, value] : values)
    row << ",\"" << name << "\":" << value;
}

static void addLine(std::ostringstream &row, const LineCounters &line) {
  row << "{\"line\":" << line.line << ",\"requests\":" << line.requests;
  if (line.isShared)
    row << ",\"bank_conflicts\":" << line.bankConflicts;
  else
    row << ",\"sectors\":" << line.sectors
        << ",\"ideal_sectors\":" << line.idealSectors;
  row << ",\"instruction\":" << quote(line.instruction) << "}";
}

void Log::flush() {
  for (const auto &[name, sums] : kernels) {
    std::ostringstream row;
    row << "{\"kind\":\"kernel\",\"kernel\":" << quote(name)
        << ",\"launches\":" << sums.launches;
    addCounters(row, sums.counters);
    row << ",\"lines\":[";
    const char *separator = "";
    for (const auto &[key, line] : sums.lines) {
      row << separator;
      addLine(row, line);
      separator = ",";
    }
    row << "]}";
    write(row.str());
  }
  kernels.clear();
}
