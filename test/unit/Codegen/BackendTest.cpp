//===- BackendTest.cpp - Kernels to machine code --------------------------===//
// Compiles small kernels and runs them, loaded by ORC and by dlopen.
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cpu/Backend/Link.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cmath>
#include <dlfcn.h>

using namespace amp::cpu;

namespace {

class BackendTest : public ::testing::Test {
protected:
  std::vector<ObjectFile> compile(llvm::StringRef text,
                                  llvm::StringRef cpu = "native",
                                  unsigned shards = 1) {
    mlir::DialectRegistry registry;
    registerBackend(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    auto target = CpuTarget::get(cpu);
    if (!target) {
      ADD_FAILURE() << llvm::toString(target.takeError());
      return {};
    }
    auto objects = compileToObjects(*module, *target, shards);
    EXPECT_TRUE(mlir::succeeded(objects));
    return mlir::succeeded(objects) ? std::move(*objects)
                                    : std::vector<ObjectFile>();
  }

  std::unique_ptr<LoadedCode> load(llvm::StringRef text,
                                   llvm::StringRef cpu = "native",
                                   unsigned shards = 1) {
    auto code = LoadedCode::load(compile(text, cpu, shards));
    if (code)
      return std::move(*code);
    ADD_FAILURE() << llvm::toString(code.takeError());
    return nullptr;
  }
};

bool runsHere(llvm::StringRef cpu) {
  auto target = CpuTarget::get(cpu);
  return target && target->findMissingOnHost().empty();
}

std::string refusal(llvm::StringRef cpu) {
  auto target = CpuTarget::get(cpu);
  return target ? "" : llvm::toString(target.takeError());
}

constexpr llvm::StringRef twoKernels = R"(
  func.func private @scale(%x: !llvm.ptr {llvm.noalias}, %lo: i64, %hi: i64) {
    %one = arith.constant 1 : i64
    %two = arith.constant 2.0 : f32
    scf.for %i = %lo to %hi step %one : i64 {
      %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %v = llvm.load %p : !llvm.ptr -> f32
      %w = arith.mulf %v, %two : f32
      llvm.store %w, %p : f32, !llvm.ptr
    }
    return
  }
  llvm.func @entry(%x: !llvm.ptr) -> i32 {
    %lo = llvm.mlir.constant(0 : i64) : i64
    %hi = llvm.mlir.constant(5 : i64) : i64
    func.call @scale(%x, %lo, %hi) : (!llvm.ptr, i64, i64) -> ()
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  })";

/// A conversion of 16 elements and of one, side by side.
std::string conversion(llvm::StringRef op, llvm::StringRef from,
                       llvm::StringRef to) {
  std::string text = R"(
  func.func @convert(%x: !llvm.ptr, %y: !llvm.ptr) {
    %v = llvm.load %x {alignment = 4 : i64} : !llvm.ptr -> vector<16xFROM>
    %w = arith.OP %v : vector<16xFROM> to vector<16xTO>
    llvm.store %w, %y {alignment = 4 : i64} : vector<16xTO>, !llvm.ptr
    %px = llvm.getelementptr %x[16] : (!llvm.ptr) -> !llvm.ptr, FROM
    %py = llvm.getelementptr %y[16] : (!llvm.ptr) -> !llvm.ptr, TO
    %s = llvm.load %px : !llvm.ptr -> FROM
    %t = arith.OP %s : FROM to TO
    llvm.store %t, %py : TO, !llvm.ptr
    return
  })";
  for (auto [name, value] : {std::pair("FROM", from), {"TO", to}, {"OP", op}})
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, strlen(name), value.str());
  return text;
}

uint16_t roundToBf16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

const float samples[17] = {
    0.0f,     -0.0f,    1.0f,    1.00390625f, 1.01171875f, -3.5f,
    65504.0f, 65520.0f, 3.4e38f, INFINITY,    NAN,         -INFINITY,
    6.1e-5f,  5.9e-8f,  -2e-8f,  1e-39f,      1e-20f};

} // namespace

TEST_F(BackendTest, NamesProcessors) {
  auto v4 = CpuTarget::get("x86-64-v4");
  ASSERT_TRUE(bool(v4));
  EXPECT_TRUE(v4->hasAvx512());
  EXPECT_FALSE(v4->hasAvx512Bf16());
  auto v3 = CpuTarget::get("x86-64-v3");
  ASSERT_TRUE(bool(v3));
  EXPECT_FALSE(v3->hasAvx512());
  EXPECT_TRUE(v3->has("fma"));
  auto zen = CpuTarget::get("znver4");
  ASSERT_TRUE(bool(zen));
  EXPECT_TRUE(zen->hasAvx512Bf16());
  EXPECT_EQ(zen->getName(), "znver4");
}

TEST_F(BackendTest, RefusesProcessors) {
  EXPECT_NE(refusal("penium").find("unknown processor 'penium'"),
            std::string::npos);
  EXPECT_EQ(refusal("x86-64-v2"), "processor 'x86-64-v2' lacks avx2: the code "
                                  "generator needs at least x86-64-v3");
}

TEST_F(BackendTest, RunsKernelsInShards) {
  for (unsigned shards : {1, 2, 3}) {
    auto code = load(twoKernels, "native", shards);
    ASSERT_TRUE(code);
    float x[6] = {1, 2, 3, 4, 5, 6};
    auto *entry = code->get<int(float *)>("entry");
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry(x), 0);
    EXPECT_EQ(x[0], 2);
    EXPECT_EQ(x[4], 10);
    EXPECT_EQ(x[5], 6);
  }
}

TEST_F(BackendTest, LinksSharedLibrary) {
  auto objects = compile(twoKernels, "native", 2);
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("amp-test", folder));
  std::string path = (folder + "/libstep.so").str();
  ASSERT_FALSE(bool(linkShared(objects, path)));
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto *entry = reinterpret_cast<int (*)(float *)>(dlsym(library, "entry"));
  ASSERT_TRUE(entry);
  EXPECT_FALSE(dlsym(library, "scale")) << "private functions stay inside";
  float x[5] = {1, 2, 3, 4, 5};
  entry(x);
  EXPECT_EQ(x[2], 6);
  dlclose(library);
  llvm::sys::fs::remove_directories(folder);
}

TEST_F(BackendTest, NamesMissingSymbol) {
  auto objects = compile(R"(
    llvm.func @logf(f32) -> f32
    llvm.func @entry(%x: f32) -> f32 {
      %y = llvm.call @logf(%x) : (f32) -> f32
      llvm.return %y : f32
    })");
  auto library = linkShared(objects);
  ASSERT_FALSE(bool(library));
  EXPECT_EQ(llvm::toString(library.takeError()),
            "generated code calls 'logf', which no library of the artifact "
            "provides");
}

TEST_F(BackendTest, LinksMathFunctions) {
  auto objects = compile(R"(
    llvm.func @pow(f64, f64) -> f64
    llvm.func @entry(%x: f64, %y: f64) -> f64 {
      %z = llvm.call @pow(%x, %y) : (f64, f64) -> f64
      llvm.return %z : f64
    })");
  auto loaded = LoadedCode::load(objects);
  ASSERT_TRUE(bool(loaded));
  EXPECT_EQ((*loaded)->get<double(double, double)>("entry")(0.5, 3), 0.125);
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("amp-test", folder));
  std::string path = (folder + "/libstep.so").str();
  ASSERT_FALSE(bool(linkShared(objects, path)));
  // Lazy binding would hide a library that does not name libm.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto *entry =
      reinterpret_cast<double (*)(double, double)>(dlsym(library, "entry"));
  EXPECT_EQ(entry(2, 10), 1024);
  dlclose(library);
  auto text = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(text));
  EXPECT_TRUE((*text)->getBuffer().contains("libm.so.6"));
  llvm::sys::fs::remove_directories(folder);
}

TEST_F(BackendTest, ReportsWhatDoesNotLower) {
  mlir::DialectRegistry registry;
  registerBackend(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  context.loadAllAvailableDialects();
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    messages += d.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @f() { \"no.such\"() : () -> ()\n return }", &context);
  auto target = CpuTarget::get("native");
  ASSERT_TRUE(bool(target));
  EXPECT_TRUE(mlir::failed(compileToObjects(*module, *target)));
  EXPECT_NE(messages.find("no.such"), std::string::npos) << messages;
}

TEST_F(BackendTest, RoundsToBf16) {
  for (llvm::StringRef cpu : {"native", "x86-64-v4", "x86-64-v3"}) {
    if (!runsHere(cpu))
      continue;
    auto code = load(conversion("truncf", "f32", "bf16"), cpu);
    ASSERT_TRUE(code);
    uint16_t results[17];
    code->get<void(const float *, uint16_t *)>("convert")(samples, results);
    for (int i = 0; i < 17; ++i)
      EXPECT_EQ(results[i], roundToBf16(samples[i])) << cpu.str() << " " << i;
  }
}

TEST_F(BackendTest, WidensBf16) {
  for (llvm::StringRef cpu : {"native", "x86-64-v4", "x86-64-v3"}) {
    if (!runsHere(cpu))
      continue;
    auto code = load(conversion("extf", "bf16", "f64"), cpu);
    ASSERT_TRUE(code);
    uint16_t halves[17];
    double results[17];
    for (int i = 0; i < 17; ++i)
      halves[i] = i * 4001 + 3;
    code->get<void(const uint16_t *, double *)>("convert")(halves, results);
    for (int i = 0; i < 17; ++i)
      EXPECT_EQ(results[i], llvm::bit_cast<float>(uint32_t(halves[i]) << 16));
  }
}

TEST_F(BackendTest, RoundsDoubleToHalfOnce) {
  // Just above the middle of two f16 numbers, by less than f32 can tell: two
  // roundings would give the even neighbour, 0x3c00.
  double x[17] = {1.0 + 0x1p-11 + 0x1p-40,
                  1.0 + 0x1p-11,
                  -1.0 - 0x1p-11 - 0x1p-40,
                  1.0 + 0x3p-11 - 0x1p-40,
                  65519.99999999,
                  65520.0,
                  1e300,
                  0x1p-25,
                  0x1p-25 + 0x1p-60};
  x[16] = x[0];
  uint16_t expected[17] = {0x3c01, 0x3c00, 0xbc01, 0x3c01, 0x7bff,
                           0x7c00, 0x7c00, 0x0000, 0x0001};
  expected[16] = expected[0];
  for (llvm::StringRef cpu : {"native", "x86-64-v3"}) {
    auto code = load(conversion("truncf", "f64", "f16"), cpu);
    ASSERT_TRUE(code);
    uint16_t results[17];
    code->get<void(const double *, uint16_t *)>("convert")(x, results);
    for (int i : {0, 1, 2, 3, 4, 5, 6, 7, 8, 16})
      EXPECT_EQ(results[i], expected[i]) << cpu.str() << " " << i;
  }
}
