// Gradients of layers: convolutions, pooling, norms, softmax and losses.

#ifndef AMP_DIALECT_TRAIN_IR_TRAINLAYEROPS
#define AMP_DIALECT_TRAIN_IR_TRAINLAYEROPS

include "amp/Dialect/Train/IR/TrainBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Convolutions and pooling
//===----------------------------------------------------------------------===//

/// Slides a window over spatial dimensions: one entry per dimension, pads
/// before all dimensions, then after all of them, as in ONNX.
class Train_WindowOp<string mnemonic, list<Trait> traits = []>
    : Train_Op<mnemonic, !listconcat([Pure], traits)> {
  dag window = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                    DenseI64ArrayAttr:$pads);
  let hasVerifier = 1;
}

def Train_ConvInputGradientOp : Train_WindowOp<"conv_input_gradient"> {
  let summary = "Cotangent of a convolution's input";
  let description = [{
    Of `y = conv(x, weight)` over x of the result's shape: every element of
    `gradient` (the cotangent of y) times the window's weights, added where the
    window lay. Elements of x that no window saw get 0. Sums are float32
    (float64 for f64), rounded once.

    Example:
    ```mlir
    %dx = train.conv_input_gradient %w, %g {strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, group = 1 : i64}
        : (tensor<8x3x3xf16>, tensor<2x8x4xf16>) -> tensor<2x3x8xf16>
    ```
  }];
  let arguments = !con((ins Train_FloatTensor:$weight, Train_FloatTensor:$gradient),
                       window, (ins I64Attr:$group));
  let results = (outs Train_FloatTensor:$result);
  let assemblyFormat = "$weight `,` $gradient attr-dict `:` functional-type(operands, results)";
}

def Train_ConvWeightGradientOp : Train_WindowOp<"conv_weight_gradient"> {
  let summary = "Gradient of a convolution's weight";
  let description = [{
    Of `y = conv(x, weight)`: for each element of the weight the sum, over the
    batch and all windows, of `gradient` (the cotangent of y) times the element
    of `x` that met it. Operands may be narrow; sums are float32 (float64 for
    f64), and so is the result unless a narrow one is asked for.

    Example:
    ```mlir
    %dw = train.conv_weight_gradient %x, %g {strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, group = 1 : i64}
        : (tensor<2x3x8xf16>, tensor<2x8x4xf16>) -> tensor<8x3x3xf32>
    ```
  }];
  let arguments = !con((ins Train_FloatTensor:$x, Train_FloatTensor:$gradient),
                       window, (ins I64Attr:$group));
  let results = (outs Train_FloatTensor:$result);
  let assemblyFormat = "$x `,` $gradient attr-dict `:` functional-type(operands, results)";
}

def Train_MaxPoolGradientOp : Train_WindowOp<"max_pool_gradient", [AllTypesMatch<["x", "result"]>]> {
  let summary = "Cotangent of MaxPool's input";
  let description = [{
    Adds each element of `gradient` to the element of the result that won its
    window of `x`: the first maximum in row-major order, or the first NaN if
    there is one. Padding never wins. Sums of overlapping windows are float32
    (float64 for f64), rounded once.

    Example:
    ```mlir
    %dx = train.max_pool_gradient %x, %g {kernel_shape = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 0, 0>}
        : (tensor<1x3x8xf16>, tensor<1x3x4xf16>) -> tensor<1x3x8xf16>
    ```
  }];
  let arguments = !con((ins Train_FloatTensor:$x, Train_FloatTensor:$gradient,
                            DenseI64ArrayAttr:$kernel_shape), window);
  let results = (outs Train_FloatTensor:$result);
  let assemblyFormat = "$x `,` $gradient attr-dict `:` functional-type(operands, results)";
}

def Train_AveragePoolGradientOp : Train_WindowOp<"average_pool_gradient"> {
  let summary = "Cotangent of AveragePool's input";
  let description = [{
    Divides each element of `gradient` by the number of elements its window
    averaged and adds it to all of them. With `count_include_pad` padding counts
    as elements; what lies beyond the padding (a last window of ceil_mode) never
    does. Sums of overlapping windows are float32 (float64 for f64), rounded
    once.

    Example:
    ```mlir
    %dx = train.average_pool_gradient %g {kernel_shape = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, count_include_pad}
        : (tensor<1x3x4xf16>) -> tensor<1x3x8xf16>
    ```
  }];
  let arguments = !con((ins Train_FloatTensor:$gradient,
                            DenseI64ArrayAttr:$kernel_shape), window,
                       (ins UnitAttr:$count_include_pad));
  let results = (outs Train_FloatTensor:$result);
  let assemblyFormat = "$gradient attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Norms and softmax
//===----------------------------------------------------------------------===//

def Train_NormGradientOp : Train_Op<"norm_gradient", [Pure, AttrSizedOperandSegments, AllTypesMatch<["x", "gradient", "dx"]>]> {
  let summary = "Gradients of a normalisation's input and scale";
  let description = [{
    Of `y = scale * xhat + bias`, `xhat = (x - mean(x)) * inv_std`,
    `inv_std = 1 / sqrt(mean((x - mean(x))^2) + epsilon)`, with means over
    `axes`; `scale` broadcasts to `x`. Without `centered` nothing is subtracted
    (RMS). `gradient` is the cotangent of y, `mean_gradient` and
    `inv_std_gradient` those of the statistics where these were results.

    `dscale`, a result where it is asked for, has the shape of `scale` and is
    float32 (float64 for f64). All is computed in that type and rounded once.
    Mean and variance are found in two passes.

    Example:
    ```mlir
    %dx, %dscale = train.norm_gradient %x, %g scale(%s : tensor<4xf32>) {axes = array<i64: 1>, epsilon = 1.0e-5 : f32, centered}
        : tensor<2x4xf16>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$x, Train_FloatTensor:$gradient,
                       Optional<Train_FloatTensor>:$scale,
                       Optional<Train_FloatTensor>:$mean_gradient,
                       Optional<Train_FloatTensor>:$inv_std_gradient,
                       DenseI64ArrayAttr:$axes, F32Attr:$epsilon,
                       UnitAttr:$centered);
  let results = (outs Train_FloatTensor:$dx, Optional<Train_WideTensor>:$dscale);
  let assemblyFormat = [{
    $x `,` $gradient (`scale` `(` $scale^ `:` type($scale) `)`)?
    (`mean` `(` $mean_gradient^ `:` type($mean_gradient) `)`)?
    (`inv_std` `(` $inv_std_gradient^ `:` type($inv_std_gradient) `)`)?
    attr-dict `:` type($dx) (`,` type($dscale)^)?
  }];
  let hasVerifier = 1;
}

class Train_SoftmaxGradientBase<string mnemonic>
    : Train_Op<mnemonic, [Pure, AllTypesMatch<["y", "gradient", "result"]>]> {
  let arguments = (ins Train_FloatTensor:$y, Train_FloatTensor:$gradient,
                       I64Attr:$axis);
  let results = (outs Train_FloatTensor:$result);
  let assemblyFormat = "$y `,` $gradient attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Train_SoftmaxGradientOp : Train_SoftmaxGradientBase<"softmax_gradient"> {
  let summary = "Cotangent of Softmax's input";
  let description = [{
    `y * (gradient - sum(gradient * y))` along `axis`, from Softmax's result y.
    Computed in float32 (float64 for f64), rounded once.

    Example:
    ```mlir
    %dx = train.softmax_gradient %y, %g {axis = 1 : i64} : tensor<8x10xf16>
    ```
  }];
}

def Train_LogSoftmaxGradientOp : Train_SoftmaxGradientBase<"log_softmax_gradient"> {
  let summary = "Cotangent of LogSoftmax's input";
  let description = [{
    `gradient - exp(y) * sum(gradient)` along `axis`, from LogSoftmax's result
    y. Computed in float32 (float64 for f64), rounded once.

    Example:
    ```mlir
    %dx = train.log_softmax_gradient %y, %g {axis = 1 : i64} : tensor<8x10xf16>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

def Train_Reduction : I32EnumAttr<"Reduction", "How a loss sums its elements", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Mean", 1, "mean">,
    I32EnumAttrCase<"Sum", 2, "sum">]> {
  let cppNamespace = "::amp::train";
}

def Train_SoftmaxCrossEntropyGradientOp : Train_Op<"softmax_cross_entropy_gradient", [Pure, AttrSizedOperandSegments, AllTypesMatch<["scores", "result"]>]> {
  let summary = "Cotangent of the scores of a softmax cross entropy";
  let description = [{
    `(softmax(scores) - onehot(labels)) * weights[labels] * s` along dimension
    1, where s is `gradient`, the loss's cotangent, divided for the reduction
    `mean` by the sum of the weights used. An element whose label is
    `ignore_index` gets 0, also when all are ignored. `log_prob_gradient`, the
    cotangent d of the log-probabilities, adds `d - softmax * sum(d)`. At least
    one of the two cotangents is there. All is float32 (float64 for f64) and
    leaves it with one rounding, so a scale in `gradient` comes in before it.

    Example:
    ```mlir
    %dx = train.softmax_cross_entropy_gradient mean %scores, %labels loss(%g : tensor<f32>) {ignore_index = -100 : i64}
        : tensor<8x10xf16>, tensor<8xi64>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$scores,
                       RankedTensorOf<[I32, I64]>:$labels,
                       Optional<Train_FloatTensor>:$weights,
                       Optional<Train_FloatTensor>:$gradient,
                       Optional<Train_FloatTensor>:$log_prob_gradient,
                       Train_Reduction:$reduction,
                       OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs Train_FloatTensor:$result);
  let assemblyFormat = [{
    $reduction $scores `,` $labels (`weights` `(` $weights^ `:` type($weights) `)`)?
    (`loss` `(` $gradient^ `:` type($gradient) `)`)?
    (`log_prob` `(` $log_prob_gradient^ `:` type($log_prob_gradient) `)`)?
    attr-dict `:` type($scores) `,` type($labels)
  }];
  let hasVerifier = 1;
}

def Train_NegativeLogLikelihoodGradientOp : Train_Op<"negative_log_likelihood_gradient", [Pure]> {
  let summary = "Cotangent of the log-probabilities of a likelihood loss";
  let description = [{
    `-onehot(labels) * weights[labels] * s` along dimension 1, with s and ignored
    elements as in `train.softmax_cross_entropy_gradient`. Computed in float32
    (float64 for f64), rounded once.

    Example:
    ```mlir
    %dx = train.negative_log_likelihood_gradient sum %labels loss(%g : tensor<f32>)
        : tensor<8xi64> -> tensor<8x10xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32, I64]>:$labels,
                       Optional<Train_FloatTensor>:$weights,
                       Train_FloatTensor:$gradient,
                       Train_Reduction:$reduction,
                       OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs Train_FloatTensor:$result);
  let assemblyFormat = [{
    $reduction $labels (`weights` `(` $weights^ `:` type($weights) `)`)?
    `loss` `(` $gradient `:` type($gradient) `)`
    attr-dict `:` type($labels) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Train_AttentionGradientOp : Train_Op<"attention_gradient", [Pure, AttrSizedOperandSegments,
    AllTypesMatch<["query", "dquery"]>, AllTypesMatch<["key", "dkey"]>, AllTypesMatch<["value", "dvalue"]>]> {
  let summary = "Cotangents of attention's operands";
  let description = [{
    Of `y = softmax(mask(cap(scale * query @ key'))) @ value`, with operands as
    (batch, heads, sequence, size), `gradient` the cotangent of y. Consecutive
    query heads share a key head. `cap(s) = softcap * tanh(s / softcap)` if
    `softcap` is positive. A `mask` of i1 keeps scores, one of floats is added;
    it broadcasts, and keys beyond its last are masked. With `causal_offset` o
    query i sees the keys up to o + i; `lengths` gives the keys of each batch.
    A query without any key has cotangents of 0, not NaN.

    Scores are computed again. They, the probabilities p and the sums are
    float32 (float64 for f64): `ds = p * (dp - sum(p * dp))`; p and ds are
    rounded to the operands' type as operands of products. `dmask` is a result
    where it is asked for.

    Example:
    ```mlir
    %dq, %dk, %dv = train.attention_gradient %q, %k, %v, %g {scale = 0.5 : f32, softcap = 0.0 : f32, causal_offset = 0 : i64}
        : tensor<1x4x5x4xf16>, tensor<1x2x5x4xf16>, tensor<1x2x5x4xf16>, tensor<1x4x5x4xf16>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$query, Train_FloatTensor:$key,
                       Train_FloatTensor:$value, Train_FloatTensor:$gradient,
                       Optional<RankedTensorOf<[I1, F16, BF16, F32, F64]>>:$mask,
                       Optional<RankedTensorOf<[I64]>>:$lengths,
                       F32Attr:$scale, F32Attr:$softcap,
                       OptionalAttr<I64Attr>:$causal_offset);
  let results = (outs Train_FloatTensor:$dquery, Train_FloatTensor:$dkey,
                      Train_FloatTensor:$dvalue, Optional<Train_FloatTensor>:$dmask);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $gradient (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)? attr-dict `:`
    type($query) `,` type($key) `,` type($value) `,` type($gradient) (`->` type($dmask)^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Recurrent layers
//===----------------------------------------------------------------------===//

def Train_RecurrentCell : I32EnumAttr<"RecurrentCell", "What a recurrent layer does in each step", [
    I32EnumAttrCase<"Lstm", 0, "lstm">, I32EnumAttrCase<"Gru", 1, "gru">,
    I32EnumAttrCase<"GruResetAfter", 2, "gru_reset_after">,
    I32EnumAttrCase<"RnnTanh", 3, "rnn_tanh">, I32EnumAttrCase<"RnnRelu", 4, "rnn_relu">]> {
  let cppNamespace = "::amp::train";
}

def Train_RecurrentGradientOp : Train_Op<"recurrent_gradient", [Pure, AttrSizedOperandSegments, AllTypesMatch<["x", "dx"]>]> {
  let summary = "Gradients of one direction of an LSTM, a GRU or an RNN";
  let description = [{
    Of one direction of ONNX's operator with its default activations (or, for
    `rnn_relu`, Relu); `gru_reset_after` is linear_before_reset. `x` is (time,
    batch, input); the gates of `weight`, `recurrence`, `bias` (that of the
    weight, then that of the recurrence) and `peepholes` are in ONNX's order.
    `sequence_lens` gives the steps of each row (absent: all); with `reverse`
    time runs backwards. `y_gradient` is the cotangent of all hidden states,
    `h_gradient` and `c_gradient` are those of the last states.

    Forward is computed again. Cell states, gates and sums are float32 (float64
    for f64); hidden states, and the gates' cotangents, which are operands of
    products, are rounded to the type of x. Steps past a row's length pass
    cotangents through. Gradients of weights are float32 (float64 for f64). Of
    an LSTM the last results are the cotangents of the initial cell state and,
    if there are any, of the peepholes.

    Example:
    ```mlir
    %dx, %dw, %dr, %db, %dh, %dc = train.recurrent_gradient lstm %x, %w, %r y(%g : tensor<7x2x4xf16>)
        : tensor<7x2x3xf16>, tensor<16x3xf16>, tensor<16x4xf16> -> tensor<16x3xf32>, tensor<16x4xf32>, tensor<32xf32>, tensor<2x4xf16>, tensor<2x4xf16>
    ```
  }];
  let arguments = (ins Train_RecurrentCell:$cell, Train_FloatTensor:$x,
                       Train_FloatTensor:$weight, Train_FloatTensor:$recurrence,
                       Optional<Train_FloatTensor>:$bias,
                       Optional<RankedTensorOf<[I32]>>:$sequence_lens,
                       Optional<Train_FloatTensor>:$initial_h,
                       Optional<Train_FloatTensor>:$initial_c,
                       Optional<Train_FloatTensor>:$peepholes,
                       Optional<Train_FloatTensor>:$y_gradient,
                       Optional<Train_FloatTensor>:$h_gradient,
                       Optional<Train_FloatTensor>:$c_gradient,
                       UnitAttr:$reverse);
  let results = (outs Train_FloatTensor:$dx, Train_WideTensor:$dweight,
                      Train_WideTensor:$drecurrence, Train_WideTensor:$dbias,
                      Train_FloatTensor:$dinitial_h,
                      Variadic<Train_FloatTensor>:$dcell);
  let assemblyFormat = [{
    $cell $x `,` $weight `,` $recurrence
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`sequence_lens` `(` $sequence_lens^ `:` type($sequence_lens) `)`)?
    (`initial_h` `(` $initial_h^ `:` type($initial_h) `)`)?
    (`initial_c` `(` $initial_c^ `:` type($initial_c) `)`)?
    (`peepholes` `(` $peepholes^ `:` type($peepholes) `)`)?
    (`y` `(` $y_gradient^ `:` type($y_gradient) `)`)?
    (`h` `(` $h_gradient^ `:` type($h_gradient) `)`)?
    (`c` `(` $c_gradient^ `:` type($c_gradient) `)`)?
    attr-dict `:` type($x) `,` type($weight) `,` type($recurrence) `->`
    type($dweight) `,` type($drecurrence) `,` type($dbias) `,`
    type($dinitial_h) (`,` type($dcell)^)?
  }];
  let hasVerifier = 1;
}

#endif // AMP_DIALECT_TRAIN_IR_TRAINLAYEROPS
