// RUN: amp-opt %s --amp-write-report="file=%t.nowhere/report.json" --verify-diagnostics

// expected-error @below {{report: cannot write '}}
module {
}
