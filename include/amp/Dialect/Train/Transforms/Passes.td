// Passes of the train dialect.

#ifndef AMP_DIALECT_TRAIN_TRANSFORMS_PASSES
#define AMP_DIALECT_TRAIN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

class Train_ConfigOption<string more = "">
    : Option<"config", "config", "std::string", /*default=*/"\"\"",
             "train.json, or JSON text that starts with a brace" # more>;

def AddLossPass : Pass<"train-add-loss", "::mlir::func::FuncOp"> {
  let summary = "Compute the configured loss as the first result of a function";
  let description = [{
    Builds the loss of the configuration out of named values (outputs, or any
    value the file names) and label arguments, which are added where the function
    has no argument of that name, in float32, as the rank-0 result `loss`. A loss
    the model computes itself becomes that result. Arguments without a role are
    inputs; other results are outputs, and those the configuration does not keep
    are dropped.

    ```mlir
    func.func @f(%x: tensor<4x3xf32> {onnx.name = "x"}) -> (tensor<4x3xf32> {onnx.name = "logits"}) {
      return %x : tensor<4x3xf32>
    }
    ```
    becomes, with `{"softmax_cross_entropy": {"logits": "logits", "labels": "y"}}`,
    ```mlir
    func.func @f(%x: tensor<4x3xf32> {onnx.name = "x", train.role = "input"}, %y: tensor<4xi64> {onnx.name = "y", train.role = "label"})
        -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<4x3xf32> {onnx.name = "logits", train.role = "output"}) {
      %0 = onnx.SoftmaxCrossEntropyLoss(%x, %y) {onnx.name = "train.loss"} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
      return %0, %x : tensor<f32>, tensor<4x3xf32>
    }
    ```
  }];
  let options = [Train_ConfigOption<>];
  let dependentDialects = ["::amp::AmpDialect", "::amp::onnx::OnnxDialect",
                           "::amp::train::TrainDialect"];
}

def AddOptimizerPass : Pass<"train-add-optimizer", "::mlir::func::FuncOp"> {
  let summary = "Turn gradients into updated parameters and optimizer states";
  let description = [{
    Replaces the results of role `gradient` by the step that uses them: one
    finite check with the sum of squares over all of them, one multiplier that
    unscales and clips, one update operation per parameter, the update of the
    loss scale, and the counters. States, counters and learning rates become
    arguments with their initial values; what a step changes is a result that
    aliases its argument. Results are ordered: loss, outputs, `found_inf`,
    `grad_norm`, then the aliasing ones in the order of their arguments.

    With `accumulate` above 1, gradients are summed in accumulators, and all the
    above takes effect in every so many calls. A parameter that the loss does not
    depend on is left as it is, with a warning.

    ```mlir
    func.func @f(%w: tensor<4xf32> {onnx.name = "w", train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}, tensor<4xf32> {train.of = "w", train.role = "gradient"})
    ```
    becomes a function with the further arguments `lr`, `momentum_buffer.w`,
    `train.applied_steps`, ... and the results `found_inf`, `grad_norm`,
    `next.w`, `next.momentum_buffer.w`, ...
  }];
  let options = [Train_ConfigOption<>];
  let dependentDialects = ["::amp::AmpDialect", "::amp::onnx::OnnxDialect",
                           "::amp::train::TrainDialect"];
}

def DifferentiatePass : Pass<"train-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Append the gradients of the loss to a function's results";
  let description = [{
    Reverse-mode differentiation of the result with role `loss` (or the one
    named by `loss`) with respect to the arguments with role `parameter` (or
    those named by `wrt`). For each of them a result of role `gradient` is
    appended, in float32 where the parameter is. Backward runs in the types that
    forward has, so autocast comes first; weight gradients are float32.

    Cotangents that are zero are absent: they cost nothing. A parameter the loss
    does not depend on gets a gradient of zeros. Contributions to one value are
    summed in float32. With `half-weight-gradients` gradients of weights are
    rounded to a half type where autocast uses the weight in it, and
    contributions are added pairwise in it: what PyTorch's autograd does, which
    also overflows where it does. Shapes must be static. All operations on the way that
    have no rule are reported at once.

    ```mlir
    func.func @f(%w: tensor<4xf32> {train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
      %0 = onnx.ReduceSumSquare(%w) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    ```
    gets a second result `tensor<4xf32> {train.role = "gradient", train.of = ...}`.
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"\"",
           "Name of the output to differentiate (default: the one with role loss)">,
    ListOption<"wrt", "wrt", "std::string",
               "Names of the arguments to differentiate by (default: those with role parameter)">,
    Option<"halfWeightGradients", "half-weight-gradients", "bool", /*default=*/"false",
           "Round gradients of weights to half types where PyTorch does">
  ];
  let dependentDialects = ["::amp::AmpDialect", "::amp::onnx::OnnxDialect",
                           "::amp::train::TrainDialect"];
}

def EvaluatePass : Pass<"train-evaluate", "::mlir::func::FuncOp"> {
  let summary = "Make a model with a loss one that is only evaluated";
  let description = [{
    Takes what `train-lift-parameters` and `train-add-loss` leave and makes it a
    function that changes no state: BatchNormalization uses its running
    statistics, Dropout does nothing, and results that alias an argument go.
    With `outputs-only` the loss goes, too.

    ```mlir
    func.func @main(%x: tensor<4xf32>, %n: tensor<f32>) -> (tensor<f32> {train.role = "loss"}, tensor<f32> {train.alias = 1 : i64})
    ```
    becomes a function with the one result of role `loss`.
  }];
  let options = [
    Option<"outputsOnly", "outputs-only", "bool", /*default=*/"false",
           "Drop the loss and keep the model's outputs">
  ];
  let dependentDialects = ["::amp::onnx::OnnxDialect",
                           "::amp::train::TrainDialect"];
}

def FinalizeStepPass : Pass<"train-finalize-step", "::mlir::func::FuncOp"> {
  let summary = "Drop unused arguments and name the function";
  let description = [{
    The last touch to a training step: arguments that nothing uses go, the
    numbers in `train.alias` follow, and the function gets the name that the host
    knows.

    ```mlir
    func.func @main(%unused: tensor<2xf32>, %w: tensor<4xf32>) -> (tensor<4xf32> {train.alias = 1 : i64}) {
      %0 = onnx.Neg(%w) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @train_step(%w: tensor<4xf32>) -> (tensor<4xf32> {train.alias = 0 : i64}) {
      %0 = onnx.Neg(%w) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
  let options = [
    Option<"name", "name", "std::string", /*default=*/"\"train_step\"",
           "Name of the function">
  ];
}

def FoldTransposesPass : Pass<"train-fold-transposes", "::mlir::func::FuncOp"> {
  let summary = "Let matrix products read and write transposed matrices";
  let description = [{
    A Transpose of the last two dimensions before a `train.matmul` becomes its
    `transA` or `transB`, one behind it swaps its operands, through a cast in
    either case. Exporters transpose every weight of a linear layer, and its
    gradient back: reading it the other way costs a product nothing.

    ```mlir
    %0 = onnx.Transpose(%w) {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %1 = amp.cast %0 : tensor<4x3xf32> to tensor<4x3xf16>
    %2 = train.matmul %x, %1 : (tensor<8x4xf16>, tensor<4x3xf16>) -> tensor<8x3xf16>
    ```
    becomes
    ```mlir
    %0 = amp.cast %w : tensor<3x4xf32> to tensor<3x4xf16>
    %1 = train.matmul %x, %0 {transB} : (tensor<8x4xf16>, tensor<3x4xf16>) -> tensor<8x3xf16>
    ```
  }];
  let dependentDialects = ["::amp::AmpDialect", "::amp::train::TrainDialect"];
}

def LiftParametersPass : Pass<"train-lift-parameters", "::mlir::func::FuncOp"> {
  let summary = "Make trainable initializers arguments of the function";
  let description = [{
    float32 initializers become arguments of role `parameter` that keep their
    value as `train.init`: those whose whole name matches a pattern of
    `trainable`, or, if there is none, those of rank 1 and more that a gradient
    can flow into; never those that match a pattern of `frozen`.

    BatchNormalization is switched to training mode: its running statistics
    become arguments of role `buffer`, and their updated values, the variance
    unbiased as in PyTorch, results that alias them. One whose running mean
    matches `frozen` stays in inference mode. Dropout in training mode gets its
    mask as a result, which backward reads. Signs of a model that was exported
    for inference (folded normalization, Dropout that does nothing) are warned
    about.

    A function that has arguments of role `parameter` comes from a frontend that
    knows what is trained and how statistics change: only masks are added.

    ```mlir
    func.func @f(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
      %w = onnx.initializer dense<1.0> : tensor<4xf32> {onnx.outputs = ["w"]}
      %0 = onnx.Mul(%x, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
      return %0 : tensor<2x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<2x4xf32>, %w: tensor<4xf32> {onnx.name = "w", train.init = dense<1.0> : tensor<4xf32>, train.role = "parameter"}) -> tensor<2x4xf32> {
      %0 = onnx.Mul(%x, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
      return %0 : tensor<2x4xf32>
    }
    ```
  }];
  let options = [Train_ConfigOption<" (default: all parameters)">];
  let dependentDialects = ["::amp::AmpDialect", "::amp::onnx::OnnxDialect",
                           "::amp::train::TrainDialect"];
}

def MergeChecksPass : Pass<"train-merge-checks", "::mlir::func::FuncOp"> {
  let summary = "Merge finite checks whose results are combined into one";
  let description = [{
    Two checks whose flags are joined by Max and whose sums of squares are added
    become one over the gradients of both, so that one pass reads them. A check
    whose flag or sum is used otherwise stays.

    ```mlir
    %f0, %s0 = train.check_gradients %a : tensor<4xf32>
    %f1, %s1 = train.check_gradients %b : tensor<2xf32>
    %found = onnx.Max(%f0, %f1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %squares = onnx.Add(%s0, %s1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```
    becomes
    ```mlir
    %found, %squares = train.check_gradients %a, %b : tensor<4xf32>, tensor<2xf32>
    ```
  }];
  let statistics = [Statistic<"numMerged", "num-merged", "Finite checks merged away">];
  let dependentDialects = ["::amp::train::TrainDialect"];
}

def MoveUnscalePass : Pass<"train-move-unscale", "::mlir::func::FuncOp"> {
  let summary = "Move multiplications of gradients into their updates";
  let description = [{
    An update of a gradient that was multiplied by a number takes the gradient
    itself, and the number goes into its `multiplier`: one pass over the gradient
    less. For powers of two, as loss scales are, the same bits come out unless
    the product over- or underflows; other factors round once instead of twice.
    A product of float16 or bfloat16 stays: its rounding would be lost.

    ```mlir
    %u = onnx.Mul(%g, %inverse) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %p1 = train.sgd_update %p, %u, %lr, %m, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
    ```
    becomes
    ```mlir
    %0 = onnx.Mul(%m, %inverse) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %p1 = train.sgd_update %p, %g, %lr, %0, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numMoved", "num-moved", "Multiplications moved into updates">];
  let dependentDialects = ["::amp::onnx::OnnxDialect"];
}

def ScaleLossPass : Pass<"train-scale-loss", "::mlir::func::FuncOp"> {
  let summary = "Start backward from the loss scale";
  let description = [{
    Replaces `train.seed` by the argument `scaler.scale` (role `scaler_state`),
    or by 1 without loss scaling; divided by `accumulate` where gradients are
    accumulated, as users of PyTorch divide the loss. The loss itself is not
    scaled, and the scale never passes through a half type.

    ```mlir
    %0 = train.seed : tensor<f32>
    ```
    becomes a use of
    ```mlir
    %scale: tensor<f32> {onnx.name = "scaler.scale", train.init = dense<65536.0> : tensor<f32>, train.role = "scaler_state"}
    ```
  }];
  let options = [Train_ConfigOption<>];
  let dependentDialects = ["::amp::AmpDialect", "::amp::onnx::OnnxDialect",
                           "::amp::train::TrainDialect"];
}

def SplitStepPass : Pass<"train-split-step", "::mlir::ModuleOp"> {
  let summary = "Split a training step where data-parallel ranks exchange gradients";
  let description = [{
    Replaces the function `train_step` by two over the same state.
    `train_gradients` runs forward and backward; its results are the loss, the
    outputs, one result of role `gradient` per gradient that is checked (still
    scaled; with accumulation, the sum so far), the metric `ranks.found_inf`
    (whether one of them is not finite), and buffers that do not wait for the
    check. `train_apply` reads loss, gradients and flag as arguments of the same
    names, and does the rest: check, clip, update, scale, counters. In between
    the host averages loss and gradients over ranks and takes the maximum of the
    flag, with which every rank skips if one does.

    What else the second half needs of the first (the buffers of
    `guard_buffers`) is a metric `carried.<number>`, local to a rank.

    ```mlir
    func.func @train_step(%w: tensor<4xf32> {onnx.name = "w", train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}, tensor<4xf32> {train.alias = 0 : i64})
    ```
    becomes
    ```mlir
    func.func @train_gradients(%w: tensor<4xf32> {onnx.name = "w", train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}, tensor<4xf32> {onnx.name = "gradient.w", train.of = "w", train.role = "gradient"}, tensor<f32> {onnx.name = "ranks.found_inf", train.role = "metric"})
    func.func @train_apply(%w: tensor<4xf32> {onnx.name = "w", train.role = "parameter"}, %g: tensor<4xf32> {onnx.name = "gradient.w", train.of = "w", train.role = "gradient"}, %found: tensor<f32> {onnx.name = "ranks.found_inf", train.role = "metric"}) -> (tensor<4xf32> {train.alias = 0 : i64})
    ```
  }];
  let dependentDialects = ["::amp::onnx::OnnxDialect",
                           "::amp::train::TrainDialect"];
}

def TraceNonfinitePass : Pass<"train-trace-nonfinite", "::mlir::func::FuncOp"> {
  let summary = "Make of a step the function that finds its first non-finite value";
  let description = [{
    The results become one flag for each float value of the step up to its check
    of gradients: inputs, labels and parameters, then what forward and backward
    make, in their order. A flag is 1 where the value has a NaN or infinite
    element, and is named `nonfinite.<number>.<what makes it>`. The function is
    called `locate_nonfinite`; it changes no state. Run with the state and the
    batch of a step that was skipped, its first flag that is set tells where it
    began.

    ```mlir
    %y = onnx.Log(%x) {onnx.name = "log"} : (tensor<4xf32>) -> tensor<4xf32>
    ```
    is flagged by the result
    ```mlir
    tensor<f32> {onnx.name = "nonfinite.1.forward of 'log' (Log)", train.role = "metric"}
    ```
  }];
  let dependentDialects = ["::amp::onnx::OnnxDialect",
                           "::amp::train::TrainDialect"];
}

#endif // AMP_DIALECT_TRAIN_TRANSFORMS_PASSES
