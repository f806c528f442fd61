// Loss scaling, clipping and optimizer updates.

#ifndef AMP_DIALECT_TRAIN_IR_TRAINUPDATEOPS
#define AMP_DIALECT_TRAIN_IR_TRAINUPDATEOPS

include "amp/Dialect/Train/IR/TrainBase.td"

#endif // AMP_DIALECT_TRAIN_IR_TRAINUPDATEOPS
