// All operations of the train dialect.

#ifndef AMP_DIALECT_TRAIN_IR_TRAINOPS
#define AMP_DIALECT_TRAIN_IR_TRAINOPS

include "amp/Dialect/Train/IR/TrainGradientOps.td"
include "amp/Dialect/Train/IR/TrainLayerOps.td"
include "amp/Dialect/Train/IR/TrainUpdateOps.td"

#endif // AMP_DIALECT_TRAIN_IR_TRAINOPS
