// RUN: amp-opt %s --amp-lint="file=%t.nowhere/lint.json" --verify-diagnostics

// expected-error @below {{findings: cannot write '}}
module {
}
