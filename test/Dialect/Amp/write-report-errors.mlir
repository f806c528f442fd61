// RUN: amp-opt %s --amp-write-report="file=%t.nowhere/report.json" --verify-diagnostics

// expected-error @below {{cannot write the report: }}
module {
}
