//===- GradientRules.cpp - Registration of the gradient rules -------------===//
//
// The one list of families.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Train/GradientRules.h"
#include "Rules.h"

using namespace mlir;
using namespace amp::train;

void amp::train::registerGradientRules(DialectRegistry &registry) {
  // The train dialect is loaded whenever a graph is differentiated.
  registry.addExtension(+[](MLIRContext *context, AmpDialect *,
                            onnx::OnnxDialect *, TrainDialect *) {
    attachConvRules(context);
    attachElementwiseRules(context);
    attachLossRules(context);
    attachMatMulRules(context);
    attachMovementRules(context);
    attachNormalizationRules(context);
    attachPoolingRules(context);
    attachSoftmaxRules(context);
  });
}
