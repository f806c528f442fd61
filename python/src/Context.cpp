//===- Context.cpp - An MLIR context and what is said in it ---------------===//
//
// One registration for the process, one context for each module.
//
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "amp/Compiler/Compiler.h"
#include "amp/InitAllPasses.h"
#include <nanobind/nanobind.h>

using namespace mlir;
using namespace amp::python;

std::shared_ptr<MLIRContext> amp::python::makeContext() {
  static const DialectRegistry registry = [] {
    amp::registerAllPasses();
    DialectRegistry all;
    amp::registerCompilerDialects(all);
    return all;
  }();
  auto context =
      std::make_shared<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  context->loadAllAvailableDialects();
  return context;
}

std::string amp::python::describe(Location location) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto file = location->findInstanceOf<FileLineColLoc>()) {
    os << file.getFilename().getValue() << ':';
    if (file.getLine())
      os << file.getLine() << ':';
    os << ' ';
  }
  if (auto name = location->findInstanceOf<NameLoc>();
      name && !name.getName().empty())
    os << "node '" << name.getName().getValue() << "': ";
  return text;
}

static std::string print(Diagnostic &diagnostic) {
  std::string message = diagnostic.str();
  // A message that starts with a quoted name says itself where it belongs.
  std::string text = llvm::StringRef(message).starts_with("'")
                         ? message
                         : describe(diagnostic.getLocation()) + message;
  for (Diagnostic &note : diagnostic.getNotes())
    text += "\n  note: " + print(note);
  return text;
}

Diagnostics::Diagnostics(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors += (errors.empty() ? "" : "\n") + print(diagnostic);
        else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
          warnings.push_back(print(diagnostic));
        return success();
      }) {}

void Diagnostics::raise(llvm::StringRef otherwise) {
  throw Error(errors.empty() ? otherwise.str() : errors);
}

void Diagnostics::warn() {
  for (const std::string &warning : warnings)
    if (PyErr_WarnEx(PyExc_UserWarning, warning.c_str(), 2) != 0)
      throw nanobind::python_error();
  warnings.clear();
}

void amp::python::check(llvm::Error error) {
  if (error)
    throw Error(llvm::toString(std::move(error)));
}
