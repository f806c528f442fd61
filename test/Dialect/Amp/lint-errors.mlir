// RUN: amp-opt %s --amp-lint="dtype=f8" --verify-diagnostics

// expected-error @below {{expects f16 or bf16 for the option 'dtype', but got 'f8'}}
module {
}
