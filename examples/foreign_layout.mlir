// A layout of another dialect, from tensors to machine code. The function counts
// the positions of the buffer that do not hold what they should.

#blocked = #test_tessera.blocked<[8, 128]>
#columns = #tessera.layout<{0,1:T(8,128)}>

// Element (i, j) of the array is 1000 * i + j.
func.func private @numbers() -> tensor<20x200xi64> {
  %empty = tensor.empty() : tensor<20x200xi64>
  %numbers = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      outs(%empty : tensor<20x200xi64>) {
  ^bb0(%old: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c1000 = arith.constant 1000 : index
    %row = arith.muli %i, %c1000 : index
    %sum = arith.addi %row, %j : index
    %number = arith.index_cast %sum : index to i64
    linalg.yield %number : i64
  } -> tensor<20x200xi64>
  return %numbers : tensor<20x200xi64>
}

// Compute between the outsider's layout and one in XLA's notation.
func.func private @doubled(%a: tensor<20x200xi64, #blocked>)
    -> tensor<20x200xi64, #blocked> {
  %columns = tessera.relayout %a : tensor<20x200xi64, #blocked>
      to tensor<20x200xi64, #columns>
  %empty = tessera.empty() : tensor<20x200xi64, #blocked>
  %sum = linalg.map { arith.addi }
      ins(%a, %columns : tensor<20x200xi64, #blocked>,
                         tensor<20x200xi64, #columns>)
      outs(%empty : tensor<20x200xi64, #blocked>)
  return %sum : tensor<20x200xi64, #blocked>
}

// What lies at each position of the four axes: block row, block column, and row
// and column within the block. Padding may hold anything.
func.func private @count_wrong(%m: memref<20x200xi64, #blocked>) -> i64 {
  %positions = tessera.physical_view %m
      : memref<20x200xi64, #blocked> to memref<3x2x8x128xi64>
  %none = arith.constant 0 : i64
  %count = affine.for %i = 0 to 20 iter_args(%outer = %none) -> i64 {
    %in_row = affine.for %j = 0 to 200 iter_args(%inner = %outer) -> i64 {
      %found = affine.load %positions[%i floordiv 8, %j floordiv 128, %i mod 8,
                                   %j mod 128] : memref<3x2x8x128xi64>
      %element = affine.load %m[%i, %j] : memref<20x200xi64, #blocked>
      %number = affine.apply affine_map<(i, j) -> (i * 2000 + j * 2)>(%i, %j)
      %expected = arith.index_cast %number : index to i64
      %elsewhere = arith.cmpi ne, %found, %expected : i64
      %unequal = arith.cmpi ne, %element, %expected : i64
      %wrong = arith.ori %elsewhere, %unequal : i1
      %more = arith.extui %wrong : i1 to i64
      %next = arith.addi %inner, %more : i64
      affine.yield %next : i64
    }
    affine.yield %in_row : i64
  }
  return %count : i64
}

func.func @main() -> i64 {
  %numbers = call @numbers() : () -> tensor<20x200xi64>
  %blocked = tessera.relayout %numbers
      : tensor<20x200xi64> to tensor<20x200xi64, #blocked>
  %doubled = call @doubled(%blocked)
      : (tensor<20x200xi64, #blocked>) -> tensor<20x200xi64, #blocked>
  %m = bufferization.to_buffer %doubled read_only
      : tensor<20x200xi64, #blocked> to memref<20x200xi64, #blocked>
  %wrong = call @count_wrong(%m) : (memref<20x200xi64, #blocked>) -> i64
  return %wrong : i64
}
