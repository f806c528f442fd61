// RUN: not amp-opt %s --onnx-bind-dims=bind=bacth=32 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: no input has a symbolic dimension 'bacth'; there is 'batch', 'ids.1'
// RUN: not amp-opt %s --onnx-bind-dims=bind=batch=32 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: error: symbolic dimensions are left without a size: 'ids.1'; bind each as name=size
// RUN: not amp-opt %s --onnx-bind-dims=bind=batch=many 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: onnx-bind-dims: 'batch=many' has the size 'many', which is no number; dimensions are bound as name=size
// RUN: not amp-opt %s --onnx-bind-dims=bind=batch=2,batch=3 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: onnx-bind-dims: 'batch=3' binds a dimension for the second time
// RUN: amp-opt %s --onnx-bind-dims=bind=batch=2,ids.1=7 | FileCheck %s --check-prefix=UNNAMED
// UNNAMED: func.func @f(%{{.+}}: tensor<2x4xf32>, %{{.+}}: tensor<2x7xi64> {onnx.name = "ids"})

func.func @f(%x: tensor<?x4xf32, #onnx.dims<"batch", "">>, %ids: tensor<?x?xi64, #onnx.dims<"batch", "">> {onnx.name = "ids"}) {
  return
}
