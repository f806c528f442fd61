//===- Runtime.cpp - The extension module amp_mlir._runtime ---------------===//
//
// Opens and runs artifacts; needs neither MLIR nor LLVM.
//
//===----------------------------------------------------------------------===//

#include "Step.h"
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using namespace amp::python;
namespace nb = nanobind;

static nb::dict describe(const TensorSpec &tensor) {
  nb::dict row;
  row["name"] = tensor.name;
  row["role"] = tensor.role;
  row["dtype"] = getDtypeName(tensor.dtype);
  row["shape"] = tensor.shape;
  return row;
}

static nb::list describe(const std::vector<TensorSpec> &tensors) {
  nb::list rows;
  for (const TensorSpec &tensor : tensors)
    rows.append(describe(tensor));
  return rows;
}

static nb::dict describeEntries(const Step &step) {
  nb::dict entries;
  for (const auto &[name, entry] : step.getEntries()) {
    nb::dict row;
    row["inputs"] = describe(entry.inputs);
    row["outputs"] = describe(entry.outputs);
    entries[name.c_str()] = row;
  }
  return entries;
}

static nb::dict describeStats(const Step &step) {
  amp_stats stats = step.getStats();
  nb::dict row;
  row["loss"] = stats.loss;
  row["grad_norm"] = stats.grad_norm;
  row["scale"] = stats.scale;
  row["found_inf"] = bool(stats.found_inf);
  row["applied"] = stats.applied;
  row["skipped"] = stats.skipped;
  row["iteration"] = stats.iteration;
  return row;
}

static void bindResult(nb::module_ &module) {
  auto number = [](auto member) {
    return [member](const StepResult &result) { return result.stats.*member; };
  };
  nb::class_<StepResult>(module, "Result",
                         "The numbers and outputs of one call.")
      .def_prop_ro("loss", number(&amp_stats::loss), "Never scaled.")
      .def_prop_ro("grad_norm", number(&amp_stats::grad_norm),
                   "Of the unscaled gradients, before clipping.")
      .def_prop_ro("scale", number(&amp_stats::scale),
                   "The loss scale after the call.")
      .def_prop_ro("applied", number(&amp_stats::applied))
      .def_prop_ro("iteration", number(&amp_stats::iteration))
      .def_prop_ro(
          "found_inf",
          [](const StepResult &result) { return result.stats.found_inf != 0; })
      .def_ro("skipped", &StepResult::skipped,
              "Whether a gradient was not finite, so that nothing was updated.")
      .def_prop_ro("names",
                   [](const StepResult &result) {
                     nb::list names;
                     for (const TensorSpec &tensor : result.entry->outputs)
                       names.append(tensor.name);
                     return names;
                   })
      .def("output", &StepResult::getOutput, nb::arg("name"), nb::arg("numpy"),
           "An output, not copied: a numpy array (bf16 as uint16) or an object "
           "that speaks DLPack.");
}

NB_MODULE(_runtime, module) {
  module.doc() = "Opens and runs the artifacts of amp-mlir.";
  module.attr("__version__") = amp_version();
  module.attr("WEIGHTS_ONLY") = int(AMP_SAVE_WEIGHTS_ONLY);
  module.attr("PLAIN_NAMES") = int(AMP_SAVE_PLAIN_NAMES);
  module.attr("LOAD_ALLOW_MISSING") = int(AMP_LOAD_ALLOW_MISSING);
  module.attr("LOAD_WEIGHTS_ONLY") = int(AMP_LOAD_WEIGHTS_ONLY);
  module.attr("LOAD_CAST") = int(AMP_LOAD_CAST);
  module.attr("LOAD_ANY_FINGERPRINT") = int(AMP_LOAD_ANY_FINGERPRINT);
  nb::exception<StepError>(
      module, "StepError",
      nb::module_::import_("amp_mlir.errors").attr("Error").ptr());
  bindResult(module);
  nb::class_<Step>(module, "Step",
                   "An opened artifact. Everything raises StepError.")
      .def(nb::new_([](const std::string &path, int threads) {
             return std::make_shared<Step>(path, threads);
           }),
           nb::arg("path"), nb::arg("threads") = 0)
      .def("run", &Step::run, nb::arg("entry"), nb::arg("args"),
           nb::arg("kwargs"),
           "Runs an entry with inputs by position or name. Dense arrays in "
           "host memory are read where they lie. The GIL is released; calls "
           "from several threads run one after the other.")
      .def_prop_ro("info", &Step::getInfo, "The artifact described, as JSON.")
      .def_prop_ro("entries", &describeEntries)
      .def_prop_ro("tensors",
                   [](const Step &step) { return describe(step.getTensors()); })
      .def_prop_ro("stats", &describeStats)
      .def_prop_ro("copies", &Step::getCopies,
                   "How often each input was copied as it was not contiguous.")
      .def("view", &Step::getView, nb::arg("name"), nb::arg("numpy") = true,
           "A tensor of the state, not copied; writing sets it.")
      .def("read", &Step::read, nb::arg("name"), nb::arg("numpy") = true,
           "A copy of a tensor.")
      .def("write", &Step::write, nb::arg("name"), nb::arg("array"),
           "Sets a tensor of the state; the array has its type and size.")
      .def("set_hyper", &Step::setHyper, nb::arg("name"), nb::arg("value"))
      .def("get_hyper", &Step::getHyper, nb::arg("name"))
      .def("follow_schedule", &Step::followSchedule)
      .def("set_threads", &Step::setThreads, nb::arg("threads"))
      .def("save", &Step::save, nb::arg("path"), nb::arg("flags") = 0)
      .def("load", &Step::load, nb::arg("path"), nb::arg("flags") = 0)
      .def("reset", &Step::reset);
}
