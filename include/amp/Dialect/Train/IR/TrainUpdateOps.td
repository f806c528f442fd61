// Loss scaling, clipping and optimizer updates.

#ifndef AMP_DIALECT_TRAIN_IR_TRAINUPDATEOPS
#define AMP_DIALECT_TRAIN_IR_TRAINUPDATEOPS

include "amp/Dialect/Train/IR/TrainBase.td"

class Train_Scalar<Type element, string builder>
    : 0DTensorOf<[element]>,
      BuildableType<"::mlir::RankedTensorType::get({}, $_builder." # builder # ")">;
def Train_F32Scalar : Train_Scalar<F32, "getF32Type()">;
def Train_I64Scalar : Train_Scalar<I64, "getI64Type()">;
def Train_I32Scalar : Train_Scalar<I32, "getI32Type()">;
def Train_Flag : Train_Scalar<I1, "getI1Type()">;

//===----------------------------------------------------------------------===//
// Loss scaling
//===----------------------------------------------------------------------===//

def Train_CheckGradientsOp : Train_Op<"check_gradients", [Pure]> {
  let summary = "Look for non-finite gradients and sum the squares, in one read";
  let description = [{
    `found_inf` is 1 if an element of any gradient is NaN or infinite, else 0.
    `sum_of_squares` is the sum of the squares of all elements as they are, in
    float32: of scaled gradients the scaled sum. It is not finite when an
    element is not, or when it overflows. `found_in`, if asked for, is one flag
    for each gradient.

    Example:
    ```mlir
    %found, %squares = train.check_gradients %g0, %g1 : tensor<4x3xf32>, tensor<3xf32>
    ```
  }];
  let arguments = (ins Variadic<Train_FloatTensor>:$gradients);
  let results = (outs Train_F32Scalar:$found_inf, Train_F32Scalar:$sum_of_squares,
                      Variadic<Train_F32Scalar>:$found_in);
  let assemblyFormat = [{
    $gradients attr-dict `:` type($gradients) (`flags` type($found_in)^)?
  }];
  let hasVerifier = 1;
}

def Train_GradientMultiplierOp : Train_Op<"gradient_multiplier", [Pure]> {
  let summary = "The number that unscales and clips every gradient";
  let description = [{
    With `inverse = float(1 / double(scale))` and
    `gradient_norm = sqrt(sum_of_squares) * inverse`, the norm before clipping:
    `multiplier = inverse * min(1, max_norm / (gradient_norm + 1e-6))`, without
    `max_norm` just `inverse`. A norm that is not finite gives a multiplier that
    makes the gradients zero or NaN, as in PyTorch; `found_inf` tells.

    Example:
    ```mlir
    %multiplier, %norm = train.gradient_multiplier %scale, %squares {max_norm = 1.0 : f64}
    ```
  }];
  let arguments = (ins Train_F32Scalar:$scale, Train_F32Scalar:$sum_of_squares,
                       OptionalAttr<F64Attr>:$max_norm);
  let results = (outs Train_F32Scalar:$multiplier, Train_F32Scalar:$gradient_norm);
  let assemblyFormat = "$scale `,` $sum_of_squares attr-dict";
  let hasVerifier = 1;
}

def Train_UpdateScaleOp : Train_Op<"update_scale", [Pure]> {
  let summary = "Back the loss scale off after an overflow, grow it after a calm";
  let description = [{
    PyTorch's rule, with hysteresis and bounds. If `found_inf` is not 0: the
    growth tracker becomes 0, one of the hysteresis is used up, and when none is
    left the scale is multiplied by `backoff_factor`, but not below `min_scale`.
    Else the tracker grows by one; when it reaches `growth_interval`, the scale
    is multiplied by `growth_factor` unless that is infinite or above
    `max_scale`, the tracker starts again at 0 and the hysteresis is refilled.

    With `when`, nothing changes where it is false: between the micro steps of
    an accumulated step.

    Example:
    ```mlir
    %scale1, %tracker1, %left1 = train.update_scale %scale, %tracker, %left, %found_inf
        {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 2000 : i64}
    ```
  }];
  let arguments = (ins Train_F32Scalar:$scale, Train_I32Scalar:$growth_tracker,
                       Train_I32Scalar:$hysteresis_left,
                       Train_F32Scalar:$found_inf, Optional<Train_Flag>:$when,
                       F64Attr:$growth_factor, F64Attr:$backoff_factor,
                       I64Attr:$growth_interval,
                       DefaultValuedAttr<I64Attr, "1">:$hysteresis,
                       OptionalAttr<F64Attr>:$min_scale,
                       OptionalAttr<F64Attr>:$max_scale);
  let results = (outs Train_F32Scalar:$new_scale,
                      Train_I32Scalar:$new_growth_tracker,
                      Train_I32Scalar:$new_hysteresis_left);
  let assemblyFormat = [{
    $scale `,` $growth_tracker `,` $hysteresis_left `,` $found_inf
    (`when` $when^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

/// One parameter's update. The states stand between the gradient and `lr`, each
/// of the parameter's type; the results are the parameter and those states.
class Train_UpdateOp<string mnemonic, dag states, dag attributes, dag newStates>
    : Train_Op<mnemonic, [Pure, AllTypesMatch<["parameter", "gradient", "new_parameter"]>]> {
  let arguments = !con(
      (ins Train_WideTensor:$parameter, Train_WideTensor:$gradient), states,
      (ins Train_F32Scalar:$lr, Train_F32Scalar:$multiplier,
           Train_I64Scalar:$step, Train_Flag:$apply),
      attributes,
      (ins DefaultValuedAttr<F64Attr, "0.0">:$weight_decay,
           OptionalAttr<F64Attr>:$clip_value, UnitAttr:$maximize));
  let results = !con((outs Train_WideTensor:$new_parameter), newStates);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  code updateDescription = [{

    The gradient is `gradient * multiplier` (unscaled, clipped by norm), clamped
    to ±`clip_value` if given, negated with `maximize`. `step` counts the
    updates applied before this one. Where `apply` is false every result is the
    operand it replaces, bit for bit, whatever the gradient holds.
  }];
}

def Train_SgdUpdateOp : Train_UpdateOp<"sgd_update",
    (ins Optional<Train_WideTensor>:$momentum_buffer),
    (ins DefaultValuedAttr<F64Attr, "0.0">:$momentum,
         DefaultValuedAttr<F64Attr, "0.0">:$dampening, UnitAttr:$nesterov),
    (outs Optional<Train_WideTensor>:$new_momentum_buffer)> {
  let summary = "Stochastic gradient descent, as torch.optim.SGD";
  let description = [{
    `g += weight_decay * p`; with a momentum buffer `b = g` in the first update,
    later `b = momentum * b + (1 - dampening) * g`, and `g = b`, or with
    `nesterov` `g += momentum * b`; `p -= lr * g`. The buffer is there exactly
    if `momentum` is not 0.
  }] # updateDescription # [{
    Example:
    ```mlir
    %p1, %b1 = train.sgd_update %p, %g, %b, %lr, %m, %step, %apply {momentum = 0.9 : f64}
        : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>)
        -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
}

def Train_AdamUpdateOp : Train_UpdateOp<"adam_update",
    (ins Train_WideTensor:$exp_avg, Train_WideTensor:$exp_avg_sq,
         Optional<Train_WideTensor>:$max_exp_avg_sq),
    (ins DefaultValuedAttr<F64Attr, "0.9">:$beta1,
         DefaultValuedAttr<F64Attr, "0.999">:$beta2,
         DefaultValuedAttr<F64Attr, "1e-8">:$eps, UnitAttr:$decoupled),
    (outs Train_WideTensor:$new_exp_avg, Train_WideTensor:$new_exp_avg_sq,
          Optional<Train_WideTensor>:$new_max_exp_avg_sq)> {
  let summary = "Adam, AdamW and their AMSGrad forms, as torch.optim.Adam(W)";
  let description = [{
    Decay: with `decoupled` (AdamW) `p *= 1 - lr * weight_decay`, else
    `g += weight_decay * p`. Then `m = beta1 * m + (1 - beta1) * g`,
    `v = beta2 * v + (1 - beta2) * g * g`, and with `t = step + 1`
    `p -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)`. With a
    `max_exp_avg_sq` (AMSGrad) the largest `v` so far stands under the root. The
    bias corrections are computed in float64.
  }] # updateDescription # [{
    Example:
    ```mlir
    %p1, %m1, %v1 = train.adam_update %p, %g, %m0, %v0, %lr, %m, %step, %apply {decoupled, weight_decay = 0.01 : f64}
        : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>)
        -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
}

def Train_LionUpdateOp : Train_UpdateOp<"lion_update",
    (ins Train_WideTensor:$exp_avg),
    (ins DefaultValuedAttr<F64Attr, "0.9">:$beta1,
         DefaultValuedAttr<F64Attr, "0.99">:$beta2),
    (outs Train_WideTensor:$new_exp_avg)> {
  let summary = "Lion: the sign of an interpolated momentum";
  let description = [{
    `p *= 1 - lr * weight_decay`, `p -= lr * sign(beta1 * m + (1 - beta1) * g)`,
    `m = beta2 * m + (1 - beta2) * g` (Chen et al., 2023, algorithm 2).
  }] # updateDescription # [{
    Example:
    ```mlir
    %p1, %m1 = train.lion_update %p, %g, %m0, %lr, %m, %step, %apply {weight_decay = 0.1 : f64}
        : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>)
        -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
}

def Train_LambUpdateOp : Train_UpdateOp<"lamb_update",
    (ins Train_WideTensor:$exp_avg, Train_WideTensor:$exp_avg_sq),
    (ins DefaultValuedAttr<F64Attr, "0.9">:$beta1,
         DefaultValuedAttr<F64Attr, "0.999">:$beta2,
         DefaultValuedAttr<F64Attr, "1e-6">:$eps),
    (outs Train_WideTensor:$new_exp_avg, Train_WideTensor:$new_exp_avg_sq)> {
  let summary = "LAMB: Adam with a trust ratio for each parameter";
  let description = [{
    `m` and `v` as Adam's, `r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) +
    eps) + weight_decay * p`, `p -= lr * norm(p) / norm(r) * r`; the ratio is 1
    where either norm is 0 (You et al., 2020, algorithm 2).
  }] # updateDescription # [{
    Example:
    ```mlir
    %p1, %m1, %v1 = train.lamb_update %p, %g, %m0, %v0, %lr, %m, %step, %apply {weight_decay = 0.01 : f64}
        : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>)
        -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
}

#endif // AMP_DIALECT_TRAIN_IR_TRAINUPDATEOPS
