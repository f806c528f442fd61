// RUN: amp-opt %s --amp-lint="file=%t.nowhere/lint.json" --verify-diagnostics

// expected-error @below {{cannot write the findings: }}
module {
}
