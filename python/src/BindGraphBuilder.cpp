//===- BindGraphBuilder.cpp - GraphBuilder as Python sees it --------------===//
//
// Names, defaults and documentation.
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "GraphBuilder.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using namespace amp::python;
namespace nb = nanobind;

namespace {

/// What `with builder.autocast(...):` enters.
struct AutocastScope {
  std::shared_ptr<GraphBuilder> builder;
  bool enabled;
  std::optional<std::string> dtype, policy;
};

void bindValue(nb::module_ &module) {
  nb::class_<GraphValue>(module, "Value",
                         "A value of a graph that is being built.")
      .def_prop_ro(
          "dtype", [](const GraphValue &value) { return getDtype(value.type); },
          "\"f32\", \"i64\", ...; None for what is no tensor.")
      .def_prop_ro(
          "shape", [](const GraphValue &value) { return getShape(value.type); },
          "A list of sizes, names of symbolic ones, None for unknown ones; "
          "None for what has no known rank.")
      .def_prop_ro(
          "name", [](const GraphValue &value) { return value.name; },
          "The value's name, empty when it has none.")
      .def("__repr__", [](const GraphValue &value) {
        std::string text = "<Value ";
        llvm::raw_string_ostream(text) << value.name << ": " << value.type;
        return text + ">";
      });
}

void bindScope(nb::module_ &module) {
  nb::class_<AutocastScope>(module, "AutocastScope",
                            "What GraphBuilder.autocast returns.")
      .def("__enter__",
           [](AutocastScope &scope) {
             scope.builder->openRegion(scope.enabled, scope.dtype,
                                       scope.policy);
           })
      .def(
          "__exit__",
          [](AutocastScope &scope, nb::handle, nb::handle, nb::handle) {
            scope.builder->closeRegion();
          },
          nb::arg("type").none(), nb::arg("value").none(),
          nb::arg("traceback").none());
}

} // namespace

void amp::python::bindGraphBuilder(nb::module_ &module) {
  bindValue(module);
  bindScope(module);
  nb::class_<GraphBuilder>(
      module, "GraphBuilder",
      "Builds a graph of ONNX operators (opset 26), each typed and checked as "
      "it is added. Every method raises Error and names what it is about.")
      .def(nb::new_([](const std::string &name, std::optional<int64_t> opset) {
             return std::make_shared<GraphBuilder>(name, opset);
           }),
           nb::arg("name"), nb::arg("opset") = nb::none(),
           "`opset` is the lowest that the graph is saved with (17).")
      .def("input", &GraphBuilder::addInput, nb::arg("name"), nb::arg("dtype"),
           nb::arg("shape"), nb::arg("role") = "input",
           nb::arg("init").none() = nb::none(),
           "Adds an input. `shape` holds sizes and names of symbolic "
           "dimensions. `role` is input, label, parameter or buffer; the last "
           "two are state and want `init`, an array of their type.")
      .def("initializer", &GraphBuilder::addInitializer, nb::arg("name"),
           nb::arg("array"), nb::arg("dtype").none() = nb::none(),
           nb::arg("shape").none() = nb::none(),
           "Adds a constant of the file (without a name: one that is free): a "
           "numpy array or a DLPack tensor in "
           "host memory, which is not copied and must not change while the "
           "module lives, or bytes with `dtype` and `shape`. `dtype` beside an "
           "array takes its elements as these (uint16 as \"bf16\").")
      .def("op", &GraphBuilder::addOp, nb::arg("type"), nb::arg("inputs"),
           nb::kw_only(), nb::arg("attrs") = nb::dict(),
           nb::arg("num_outputs") = 1, nb::arg("name") = "",
           nb::arg("loc").none() = nb::none(),
           nb::arg("output_names").none() = nb::none(),
           "Adds the operator `type` and returns the list of its first "
           "`num_outputs` outputs. An input that is None is absent. `attrs` "
           "are by ONNX's names, those with a dot kept beside; `name` is the "
           "node's; `loc` is (file, line).")
      .def(
          "autocast",
          [](std::shared_ptr<GraphBuilder> builder, bool enabled,
             std::optional<std::string> dtype,
             std::optional<std::string> policy) {
            return AutocastScope{std::move(builder), enabled, std::move(dtype),
                                 std::move(policy)};
          },
          nb::arg("enabled") = true, nb::arg("dtype") = nb::none(),
          nb::arg("policy") = nb::none(),
          "`with builder.autocast(...):` puts what is added into an autocast "
          "region. `dtype` (\"f16\", \"bf16\") and `policy` None: those of the "
          "region around it.")
      .def("output", &GraphBuilder::addOutput, nb::arg("value"),
           nb::arg("name"), nb::arg("role") = "output",
           nb::arg("alias") = nb::none(),
           "Adds an output. `role` is output, loss or buffer; `alias` the "
           "input (a buffer) that the value is written over.")
      .def("finish", &GraphBuilder::finish,
           "Checks the graph and returns it as a Module.");
}
