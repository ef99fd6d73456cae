//===- Passes.td - Passes that leave the tessera dialect ---*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_PASSES_TD
#define TESSERA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerLayouts : Pass<"tessera-lower-layouts", "::mlir::ModuleOp"> {
  let summary = "Turn accesses to laid-out memrefs into accesses to memory";
  let description = [{
    Every memref with a layout becomes its physical memref: identity layout, the
    extents of the axes as its shape, padding included. Where sizes are dynamic,
    one `index` for each `?` follows it through arguments, results, calls,
    branches and loops. Loads and stores address the axes. Loops whose variables
    are subscripts of tiled dimensions are split at the tile sizes, so that
    no floordiv or mod is left there; other subscripts get floordiv and mod.

    ```mlir
    func.func @clear(%m: memref<20xf32, #tessera.layout<{0:T(8)}>>) {
      %c0 = arith.constant 0.0 : f32
      affine.for %i = 0 to 20 {
        affine.store %c0, %m[%i] : memref<20xf32, #tessera.layout<{0:T(8)}>>
      }
      return
    }
    ```

    becomes

    ```mlir
    func.func @clear(%m: memref<3x8xf32>) {
      %c0 = arith.constant 0.0 : f32
      affine.for %a = 0 to 3 {
        affine.for %b = 0 to min affine_map<(d0) -> (8, d0 * -8 + 20)>(%a) {
          affine.store %c0, %m[%a, %b] : memref<3x8xf32>
        }
      }
      return
    }
    ```

    Nests that `--tessera-linalg-to-loops` made of operations without reductions
    run in the order of the memory that they write.

    An `scf.for` with constant bounds is an `affine.for` then, and an
    `affine.parallel` without reductions one for each dimension while it is split.

    With `strided-boundaries`, functions that are only called, and calls of
    them, keep the logical shape of memrefs whose layout is an order of
    dimensions with static strides: `memref<3x5xf32, strided<[1, 3]>>` for
    `memref<3x5xf32, #tessera.layout<{0,1}>>`, where it would be
    `memref<5x3xf32>`.

    Handled are loads and stores of `memref` and `affine`; `memref.alloc`,
    `alloca`, `atomic_rmw`, `dealloc`, `dim`, `cast`, `copy` between equal
    layouts, `global` and `get_global`; `tessera.physical_view`; functions,
    calls, `cf` branches, loops and conditionals of `scf` and `affine`,
    `arith.select`. Untiled layouts are also seen as strided memrefs by all
    other operations of `memref`, `vector`, `linalg` and `affine`. Anything else is *unsupported*; then the pass reports all such
    operations, and the IR stays as it was.
  }];
  let options = [
    Option<"stridedBoundaries", "strided-boundaries", "bool", "false",
           "Functions keep the logical shape of untiled memrefs, with strides">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::tessera::TesseraDialect"
  ];
  let statistics = [
    Statistic<"numAccesses", "accesses-lowered",
              "Loads and stores that address the axes now">,
    Statistic<"numSplitLoops", "loops-split", "Loops split at tile sizes">,
    Statistic<"numOrderedNests", "nests-ordered",
              "Nests of loops put into the order of memory">
  ];
}

def LowerRelayouts : Pass<"tessera-lower-relayouts", "::mlir::ModuleOp"> {
  let summary = "Turn relayouts of memrefs into affine loop nests";
  let description = [{
    Each `tessera.relayout` in memref form becomes affine loops over the physical
    memrefs of its operands. Every logical dimension is split at the tile sizes of
    both layouts, with one loop for each piece, in the order of the destination:
    both sides are addressed by sums of loop variables, without floordiv and mod
    (they remain in a dimension whose tile sizes form no divisor chain, such as
    3 on one side and 4 on the other). Where a tile size does not divide a
    dimension, remainders get nests of their own, up to `max-nests`; beyond that,
    and for sizes known at run time only, loops are bounded by a minimum.

    Arrays of more than 512 dimensions are *unsupported*.

    Where the layout of the destination promises a padding value, more nests
    write it, to padding only.

    ```mlir
    func.func @tile(%src: memref<20xf32>,
                    %dst: memref<20xf32, #tessera.layout<{0:T(8)}>>) {
      tessera.relayout %src into %dst
          : memref<20xf32>, memref<20xf32, #tessera.layout<{0:T(8)}>>
      return
    }
    ```

    becomes

    ```mlir
    func.func @tile(%src: memref<20xf32>,
                    %dst: memref<20xf32, #tessera.layout<{0:T(8)}>>) {
      %tiles = tessera.physical_view %dst
          : memref<20xf32, #tessera.layout<{0:T(8)}>> to memref<3x8xf32>
      affine.for %a = 0 to 2 {
        affine.for %b = 0 to 8 {
          %0 = affine.load %src[%a * 8 + %b] : memref<20xf32>
          affine.store %0, %tiles[%a, %b] : memref<3x8xf32>
        }
      }
      affine.for %b = 0 to 4 {
        %0 = affine.load %src[%b + 16] : memref<20xf32>
        affine.store %0, %tiles[2, %b] : memref<3x8xf32>
      }
      return
    }
    ```

    A memref with strides, such as a `memref.subview`, is a layout too: offset
    and strides may be static or dynamic.

    `tessera.fill_padding` becomes the nests that write padding. A `memref.copy`
    between different layouts is a relayout, and so is one from or to a memref
    whose strides leave gaps.

    A relayout that cannot be lowered is *unsupported*; then the pass reports
    all such operations, and the IR stays as it was. Relayouts of tensors are
    left alone.
  }];
  let options = [
    Option<"maxNests", "max-nests", "unsigned", /*default=*/"16",
           "Main and remainder nests for the elements of a relayout, and for "
           "each condition that makes a position padding">,
    Option<"threads", "threads", "int64_t", /*default=*/"1",
           "Threads for which a loop of each nest becomes affine.parallel, but "
           "for packed elements and sizes known at run time only">,
    Option<"parallelBytes", "parallel-bytes", "int64_t", /*default=*/"2097152",
           "Smallest nest that is shared among threads, in bytes">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::tessera::TesseraDialect"
  ];
  let statistics = [
    Statistic<"numRelayouts", "relayouts-lowered", "Relayouts turned into loops">
  ];
}

def HLOToLinalg : Pass<"tessera-hlo-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Turn instructions of HLO into upstream operations";
  let description = [{
    Every instruction becomes operations on the same laid-out tensors: a
    `linalg.generic` over the result whose body computes one element, with
    `tensor.extract` of the operands. Layouts stay as they are, so that a
    `tessera.bitcast` reads the bytes that the program for a TPU reads. Computations stay
    functions: fusions are calls of them, reductions have them in their bodies,
    loops and conditionals are those of `scf`. Tuples are taken apart, moves are
    done when they start, and integers have no sign any more.

    ```mlir
    func.func @negate(%x: tensor<2xf32, #tessera.layout<{0:T(8)}>>)
        -> tensor<2xf32, #tessera.layout<{0:T(8)}>> {
      %y = tessera_hlo.instruction "negate"(%x)
          : (tensor<2xf32, #tessera.layout<{0:T(8)}>>)
          -> tensor<2xf32, #tessera.layout<{0:T(8)}>>
      return %y : tensor<2xf32, #tessera.layout<{0:T(8)}>>
    }
    ```

    becomes

    ```mlir
    #map = affine_map<(d0) -> (d0)>
    func.func @negate(%x: tensor<2xf32, #tessera.layout<{0:T(8)}>>
                           {bufferization.writable = false})
        -> tensor<2xf32, #tessera.layout<{0:T(8)}>> {
      %empty = tessera.empty() : tensor<2xf32, #tessera.layout<{0:T(8)}>>
      %y = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]}
          outs(%empty : tensor<2xf32, #tessera.layout<{0:T(8)}>>) {
      ^bb0(%out: f32):
        %i = linalg.index 0 : index
        %e = tensor.extract %x[%i] : tensor<2xf32, #tessera.layout<{0:T(8)}>>
        %n = arith.negf %e : f32
        linalg.yield %n : f32
      } -> tensor<2xf32, #tessera.layout<{0:T(8)}>>
      return %y : tensor<2xf32, #tessera.layout<{0:T(8)}>>
    }
    ```

    What cannot be converted is *unsupported*, and all of it is reported.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::complex::ComplexDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::tessera::TesseraDialect"
  ];
}

def LinalgToLoops : Pass<"tessera-linalg-to-loops"> {
  let summary = "Turn linalg operations on memrefs into loops";
  let description = [{
    What upstream's `convert-linalg-to-affine-loops` does, but where the size of
    a loop is no affine symbol (that of a memref which a loop carries, say) the
    operation becomes `scf.for` loops. Operations on tensors are left alone.
    Affine loops over arrays with layouts that may run in any order are marked
    for `--tessera-lower-layouts`.

    ```mlir
    func.func @fill(%m: memref<4xf32>, %c: f32) {
      linalg.fill ins(%c : f32) outs(%m : memref<4xf32>)
      return
    }
    ```

    becomes

    ```mlir
    func.func @fill(%m: memref<4xf32>, %c: f32) {
      affine.for %i = 0 to 4 {
        affine.store %c, %m[%i] : memref<4xf32>
      }
      return
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"numAffine", "affine", "Operations that became affine loops">,
    Statistic<"numOther", "other", "Operations that became scf loops">
  ];
}

def EraseEmptyLoops : Pass<"tessera-erase-empty-loops"> {
  let summary = "Erase affine loops that have no iteration";
  let description = [{
    Canonicalizes and folds what the bounds of loops are computed from, but not
    the loops, and erases `affine.for` loops that cannot run.

    It stands before `canonicalize` in the pipelines: upstream's simplification
    of a bound `min(8, s - 8 * i)`, where an outer loop gives `i` an empty range,
    finds each of the two redundant, and the bound has no results then.

    ```mlir
    func.func @f(%m: memref<8xf32>, %c: f32) {
      %size = arith.constant 0 : index
      affine.for %i = 0 to %size {
        affine.store %c, %m[%i] : memref<8xf32>
      }
      return
    }
    ```

    becomes

    ```mlir
    func.func @f(%m: memref<8xf32>, %c: f32) {
      %size = arith.constant 0 : index
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numErased", "loops-erased", "Loops that had no iteration">
  ];
}

def SplitRanges : Pass<"tessera-split-ranges"> {
  let summary = "Split affine loops where conditions change";
  let description = [{
    Splits `affine.for` loops with constant bounds where a comparison of loop
    variables begins or ceases to hold, where another bound of an inner loop
    becomes the tightest, and where an index crosses from one tile into the
    next. So the largest part of a nest has no conditions: borders of windows,
    padding, operands behind one another, and tiles that are not full have parts
    of their own. Comparisons and divisions whose results are known in a part
    are left out; `canonicalize` removes what depends on them.

    Nests that would become longer than 1000 operations, and loops with more
    than four such places, stay as they are.

    ```mlir
    func.func @f(%m: memref<100xf32>, %x: f32, %y: f32) {
      %c30 = arith.constant 30 : index
      affine.for %i = 0 to 100 {
        %is = arith.cmpi slt, %i, %c30 : index
        %v = arith.select %is, %x, %y : f32
        affine.store %v, %m[%i] : memref<100xf32>
      }
      return
    }
    ```

    becomes

    ```mlir
    func.func @f(%m: memref<100xf32>, %x: f32, %y: f32) {
      affine.for %i = 0 to 30 {
        affine.store %x, %m[%i] : memref<100xf32>
      }
      affine.for %i = 30 to 100 {
        affine.store %y, %m[%i] : memref<100xf32>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numSplit", "loops-split", "Loops that became several">
  ];
}

def JamLoops : Pass<"tessera-jam-loops"> {
  let summary = "Add up sums of neighbours in memory side by side";
  let description = [{
    Unrolls `affine.for` loops of at most 8 iterations, each with sums of its
    own, and makes one loop of those over the terms, where the terms of
    different sums lie side by side: rows in `T(8,128)(2,1)`, of which two
    alternate. Vectors of terms are then read from end to end. Memrefs must be
    known to be separate, as for `--tessera-parallelize-loops`.

    ```mlir
    func.func private @f(%m: memref<100x2xf32>, %sums: memref<2xf32>,
                         %zero: f32) {
      affine.for %i = 0 to 2 {
        %sum = affine.for %j = 0 to 100 iter_args(%s = %zero) -> f32 {
          %v = affine.load %m[%j, %i] : memref<100x2xf32>
          %t = arith.addf %s, %v : f32
          affine.yield %t : f32
        }
        affine.store %sum, %sums[%i] : memref<2xf32>
      }
      return
    }
    ```

    becomes

    ```mlir
    func.func private @f(%m: memref<100x2xf32>, %sums: memref<2xf32>,
                         %zero: f32) {
      %both:2 = affine.for %j = 0 to 100
          iter_args(%s = %zero, %t = %zero) -> (f32, f32) {
        %v = affine.load %m[%j, 0] : memref<100x2xf32>
        %u = arith.addf %s, %v : f32
        %w = affine.load %m[%j, 1] : memref<100x2xf32>
        %x = arith.addf %t, %w : f32
        affine.yield %u, %x : f32, f32
      }
      affine.store %both#0, %sums[0] : memref<2xf32>
      affine.store %both#1, %sums[1] : memref<2xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect"];
  let statistics = [
    Statistic<"numJammed", "loops-jammed", "Loops that were unrolled so">
  ];
}

def PoisonPadding : Pass<"tessera-poison-padding"> {
  let summary = "Fill new buffers with numbers that nobody expects";
  let description = [{
    Behind each `memref.alloc` and `memref.alloca` writes NaN to all elements, to
    integers all ones, and to types without NaN their largest number. Padding
    that is read then shows in results. What a layout promises of its padding is
    written later, and holds.

    It stands behind `--tessera-lower-layouts`, where buffers have the elements of
    padding too: `poison-padding` of the pipelines. Buffers that are passed to a
    function are the caller's.

    ```mlir
    func.func @f() -> memref<8x128xf32> {
      %m = memref.alloc() : memref<8x128xf32>
      return %m : memref<8x128xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f() -> memref<8x128xf32> {
      %c128 = arith.constant 128 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c0 = arith.constant 0 : index
      %nan = arith.constant 0x7FC00000 : f32
      %m = memref.alloc() : memref<8x128xf32>
      scf.for %i = %c0 to %c8 step %c1 {
        scf.for %j = %c0 to %c128 step %c1 {
          memref.store %nan, %m[%i, %j] : memref<8x128xf32>
        }
      }
      return %m : memref<8x128xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::complex::ComplexDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"numPoisoned", "buffers-poisoned", "Buffers that were filled">
  ];
}

def LiftBranches : Pass<"tessera-lift-branches"> {
  let summary = "Turn branches into structured control flow";
  let description = [{
    Runs upstream's `lift-cf-to-scf` on functions of several blocks, behind
    `lower-affine`: what is computed in a conditional is no symbol of affine loops.
    On paths that have no memref to yield, the lift yields poison, which becomes a
    view of an allocation of no bytes, on the stack.

    It stands before upstream's `ownership-based-buffer-deallocation` in the
    pipelines. Of functions of several blocks, that pass refuses some, ends the
    process for others, and takes time exponential in the number of blocks; and it
    compares the addresses of memrefs, which poison does not have.

    ```mlir
    func.func @f(%c: i1, %m: memref<8xf32>) -> memref<8xf32> {
      cf.cond_br %c, ^bb1, ^bb2(%m : memref<8xf32>)
    ^bb1:
      %a = memref.alloc() : memref<8xf32>
      cf.br ^bb2(%a : memref<8xf32>)
    ^bb2(%r: memref<8xf32>):
      return %r : memref<8xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%c: i1, %m: memref<8xf32>) -> memref<8xf32> {
      %r = scf.if %c -> (memref<8xf32>) {
        %a = memref.alloc() : memref<8xf32>
        scf.yield %a : memref<8xf32>
      } else {
        scf.yield %m : memref<8xf32>
      }
      return %r : memref<8xf32>
    }
    ```

    *Unsupported* are memrefs without strides, and unranked ones, that some paths
    to a block lack, and functions with terminators of several kinds that return.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
  let statistics = [
    Statistic<"numLifted", "functions-lifted", "Functions of several blocks">
  ];
}

def CheckAffineDivisors : Pass<"tessera-check-affine-divisors"> {
  let summary = "Refuse divisions by zero in affine expressions";
  let description = [{
    Divisions, and remainders, by constants that are not positive are
    *unsupported* in the maps and sets of affine operations. Constants may have
    become such by folding.

    It stands before `lower-affine` in the pipelines, which ends the process for
    `(d0 mod 0) floordiv 2`.
  }];
}

def ApproximateMath : Pass<"tessera-approximate-math"> {
  let summary = "Compute functions of f32 by polynomials";
  let description = [{
    Replaces `math.exp`, `math.expm1`, `math.log`, `math.log1p`, `math.erf` and
    `math.tanh` of f32 by upstream's approximations, which are arithmetic: loops of
    them are vectorized, where each call of the C library takes one number. The other
    functions of `math`, and those of other types, stay.

    ```mlir
    func.func @f(%x: f32) -> f32 {
      %y = math.tanh %x : f32
      return %y : f32
    }
    ```

    becomes

    ```mlir
    func.func @f(%arg0: f32) -> f32 {
      %cst = arith.constant 1.19825836E-6 : f32
      %cst_0 = arith.constant 1.18534706E-4 : f32
      %cst_1 = arith.constant 0.00226843474 : f32
      %cst_2 = arith.constant 0.00489352504 : f32
      %cst_3 = arith.constant -2.76076837E-16 : f32
      %cst_4 = arith.constant 2.00018794E-13 : f32
      %cst_5 = arith.constant -8.60467184E-11 : f32
      %cst_6 = arith.constant 5.12229725E-8 : f32
      %cst_7 = arith.constant 1.48572235E-5 : f32
      %cst_8 = arith.constant 6.37261954E-4 : f32
      %cst_9 = arith.constant 0.00489352457 : f32
      %cst_10 = arith.constant 4.000000e-04 : f32
      %cst_11 = arith.constant -7.99881172 : f32
      %cst_12 = arith.constant 7.99881172 : f32
      %0 = arith.cmpf ult, %arg0, %cst_12 : f32
      %1 = arith.select %0, %arg0, %cst_12 : f32
      %2 = arith.cmpf ugt, %1, %cst_11 : f32
      %3 = arith.select %2, %1, %cst_11 : f32
      %4 = math.absf %arg0 : f32
      %5 = arith.cmpf olt, %4, %cst_10 : f32
      %6 = arith.mulf %3, %3 : f32
      %7 = math.fma %6, %cst_3, %cst_4 : f32
      %8 = math.fma %6, %7, %cst_5 : f32
      %9 = math.fma %6, %8, %cst_6 : f32
      %10 = math.fma %6, %9, %cst_7 : f32
      %11 = math.fma %6, %10, %cst_8 : f32
      %12 = math.fma %6, %11, %cst_9 : f32
      %13 = arith.mulf %3, %12 : f32
      %14 = math.fma %6, %cst, %cst_0 : f32
      %15 = math.fma %6, %14, %cst_1 : f32
      %16 = math.fma %6, %15, %cst_2 : f32
      %17 = arith.divf %13, %16 : f32
      %18 = arith.select %5, %3, %17 : f32
      return %18 : f32
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def AssertFaults : Pass<"tessera-assert-faults"> {
  let summary = "Assert what would end a process, or never end";
  let description = [{
    Adds `cf.assert` in front of what has no result for some operands: integer
    divisions by zero, and of the smallest number by -1; indices, slices, casts
    and operands of `linalg` out of bounds, by upstream's
    `RuntimeVerifiableOpInterface`, and those of `affine` and of loads and stores
    of vectors; arrays of negative sizes, or of 2^44 elements and more; loops
    whose step is not positive. Messages begin with the location in the source and
    the name of the operation, those of assertions that were there too.
    `memref.alloca` becomes `memref.alloc`, as stacks are short.

    It stands before bufferization, where sizes and indices are logical ones, and
    after `convert-elementwise-to-linalg`: divisions of tensors are left alone.

    ```mlir
    func.func @f(%a: i32, %b: i32) -> i32 {
      %c = arith.divui %a, %b : i32
      return %c : i32
    }
    ```

    becomes

    ```mlir
    func.func @f(%a: i32, %b: i32) -> i32 {
      %zero = arith.constant 0 : i32
      %ok = arith.cmpi ne, %b, %zero : i32
      cf.assert %ok, "f.mlir:2:8: 'arith.divui': division by zero"
      %c = arith.divui %a, %b : i32
      return %c : i32
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
}

def ExpandSmallFloats : Pass<"tessera-expand-small-floats"> {
  let summary = "Compute with floats of a byte or less in f32";
  let description = [{
    LLVM has no arithmetic for `f8E5M2`, `f8E4M3FN`, `f4E2M1FN` and the like.
    Operations of `arith`, `math` and `vector` on them compute in f32, by
    upstream's patterns of `arith-emulate-unsupported-floats`. Conversions from
    and to these types become integer operations on their bits. They are exact
    to larger types; to smaller ones they round to the nearest, ties to even.
    What is beyond the largest number becomes infinity, a NaN, or the largest
    number, as the type has it; a NaN becomes zero where the type has none.

    Results are those of the operation in the small type, rounded once: f32 has
    enough bits for sums, products, quotients and roots.

    With `bf16`, the same is done for bf16. Without, LLVM calls `__truncsfbf2`
    where the processor has no instruction that rounds to it, and not every
    runtime library has that function.

    ```mlir
    func.func @f(%a: f4E2M1FN) -> f32 {
      %b = math.sqrt %a : f4E2M1FN
      %c = arith.extf %b : f4E2M1FN to f32
      return %c : f32
    }
    ```

    first computes the root in f32, between two conversions, and the conversion

    ```mlir
    func.func @f(%a: f4E2M1FN) -> f32 {
      %b = arith.extf %a : f4E2M1FN to f32
      return %b : f32
    }
    ```

    becomes

    ```mlir
    func.func @f(%a: f4E2M1FN) -> f32 {
      %half = arith.constant 5.000000e-01 : f32
      %c28 = arith.constant 28 : i32
      %c8 = arith.constant 8 : i32
      %c2 = arith.constant 2 : i32
      %bias = arith.constant 1056964608 : i32
      %c22 = arith.constant 22 : i32
      %c7 = arith.constant 7 : i32
      %narrow = arith.bitcast %a : f4E2M1FN to i4
      %bits = arith.extui %narrow : i4 to i32
      %magnitude = arith.andi %bits, %c7 : i32
      %fraction = arith.shli %magnitude, %c22 : i32
      %normal = arith.addi %fraction, %bias : i32
      %count = arith.uitofp %magnitude : i32 to f32
      %small = arith.mulf %count, %half : f32
      %subnormal = arith.bitcast %small : f32 to i32
      %is_subnormal = arith.cmpi ult, %magnitude, %c2 : i32
      %size = arith.select %is_subnormal, %subnormal, %normal : i32
      %sign = arith.andi %bits, %c8 : i32
      %top = arith.shli %sign, %c28 : i32
      %all = arith.ori %size, %top : i32
      %number = arith.bitcast %all : i32 to f32
      return %number : f32
    }
    ```

    *Unsupported* are `f8E8M0FNU`, which has exponents for numbers,
    `arith.scaling_extf` and `scaling_truncf`, other rounding modes, complex
    numbers, atomic updates, and conversions from and to types of more than 64 bits.
  }];
  let options = [
    Option<"bf16", "bf16", "bool", /*default=*/"false",
           "Compute with bf16 in f32, too, for processors without AVX512_BF16">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numConversions", "conversions-expanded",
              "Conversions from and to small floats">
  ];
}

def AssignAddressSpaces : Pass<"tessera-assign-address-spaces",
                               "::mlir::ModuleOp"> {
  let summary = "Turn memory spaces into the address spaces of a target";
  let description = [{
    Replaces `#tessera.memory_space<n>` in the types of memrefs, wherever they
    stand, by an integer address space: the one that the map says, or without
    a map the one that it has on the module's target (`tessera.target`). A
    space that these do not have is *unsupported*; then the pass reports every
    operation with such a space, and the IR stays as it was. Without a map and
    a target, space n becomes address space n. Address space 0 is that of a
    memref without a memory space, on every target. The attribute
    `tessera.target` goes, too: nothing of the dialect is left behind the
    lowerings.

    ```mlir
    func.func @f(%m: memref<8xf32, #tessera.memory_space<1>>) { return }
    ```

    becomes, with `map=1:3` (and to address space 0 with `map=*:0`, which is how
    programs for a CPU are lowered),

    ```mlir
    func.func @f(%m: memref<8xf32, 3>) { return }
    ```
  }];
  let options = [
    ListOption<"map", "map", "std::string",
               "Pairs SPACE:ADDRESS-SPACE, such as 1:3, where SPACE may be `*` "
               "for all others; none means those of the module's target, and without "
               "a target that every space keeps its number">
  ];
  let statistics = [
    Statistic<"numTypes", "types-changed", "Different memref types changed">
  ];
}

def VectorizeRelayouts : Pass<"tessera-vectorize-relayouts"> {
  let summary = "Turn relayouts of memrefs into vector kernels";
  let description = [{
    Plans every relayout in memref form, and every `memref.copy` that is one
    (see `--tessera-lower-relayouts`), from the axes of its two layouts or from
    the strides of memrefs that have them, and replaces it by affine loops around vector kernels on flat views of the
    physical memrefs: copies of runs, transposes and interleaves in registers,
    with blocks for the cache, stores that bypass it, and threads. The rule is
    described in docs/performance.md.

    Left alone, for `--tessera-lower-relayouts`, are relayouts of dynamic sizes
    (but those with the same bounds on both sides, which are moved up to them),
    with divisors of one side that do not divide one another, of too many
    remainders, of elements that are no 1, 2, 4, 8 or 16 bytes or no integers or
    floats (elements with E are packed on both sides or on none), to layouts
    with PV where there is padding within a dimension or integers are not
    signless, and of memrefs whose strides are dynamic or whose rows reach into
    one another. An offset may be dynamic. A remark of a missed optimization says
    why (`--remarks-filter-missed=tessera-vectorize-relayouts
    --remark-format=emitRemark`).

    Where stores bypass the cache, they are whole lines: the address of the
    destination is tested, and there is other code for one that does not begin
    at a line, or not even at an element.

    Where a buffer of more than 16 KiB is needed, it comes from the heap. Where
    that has none when the code runs, a relayout that is left, to be lowered by
    `--tessera-lower-relayouts`, moves everything without buffers.

    `machine` names a file of measurements (docs/performance.md, "Measuring the
    machine at hand"), as `tessera-compile calibrate` and `tessera-compile
    relayout --tune` write it. Its coefficients take the place of those of
    `cpu`; where that is x86, stores bypass the cache from its sizes on. A
    relayout of whole arrays that was tuned gets the plan of the file: one of
    the same shapes and layouts in any memory spaces, `threads` and `buffers`,
    signless integers being signed ones there. Nothing is measured: the same
    file gives the same code. The file is read when passes begin to run;
    *invalid* is one that cannot be read, or of another processor than `cpu`,
    where that is given. `vector-bytes` is not in the file.

    ```mlir
    func.func @copy(%src: memref<3x8xf32>,
                    %dst: memref<3x8xf32, #tessera.layout<{1,0:PD(3,12)}>>) {
      tessera.relayout %src into %dst
          : memref<3x8xf32>, memref<3x8xf32, #tessera.layout<{1,0:PD(3,12)}>>
      return
    }
    ```

    becomes

    ```mlir
    func.func @copy(%src: memref<3x8xf32>,
                    %dst: memref<3x8xf32, #tessera.layout<{1,0:PD(3,12)}>>) {
      %from = memref.collapse_shape %src [[0, 1]]
          : memref<3x8xf32> into memref<24xf32>
      %rows = tessera.physical_view %dst
          : memref<3x8xf32, #tessera.layout<{1,0:PD(3,12)}>> to memref<3x12xf32>
      %to = memref.collapse_shape %rows [[0, 1]]
          : memref<3x12xf32> into memref<36xf32>
      affine.for %a = 0 to 3 {
        %i = affine.apply affine_map<(d0) -> (d0 * 12)>(%a)
        %j = affine.apply affine_map<(d0) -> (d0 * 8)>(%a)
        %row = vector.load %from[%j] {alignment = 1 : i64}
            : memref<24xf32>, vector<8xf32>
        vector.store %row, %to[%i] {alignment = 1 : i64}
            : memref<36xf32>, vector<8xf32>
      }
      return
    }
    ```
  }];
  let options = [
    Option<"enabled", "enabled", "bool", /*default=*/"true",
           "False leaves every relayout alone; other options are checked">,
    Option<"vectorBytes", "vector-bytes", "int64_t", /*default=*/"32",
           "Bytes of the widest vector register: 16, 32 or 64">,
    Option<"cpu", "cpu", "std::string", /*default=*/"",
           "The processor, by LLVM's name, for how it reads rows: znver5, or "
           "none for that of `machine`, or for all others">,
    Option<"machine", "machine", "std::string", /*default=*/"",
           "File of measurements of the processor, as `tessera-compile "
           "calibrate` and `--tune` write it; none for the table of processors">,
    Option<"buffers", "buffers", "std::string", /*default=*/"\"unknown\"",
           "Where both buffers are when the code runs, unknown, hot or cold: "
           "which measurements of `machine` are taken">,
    Option<"nontemporalBytes", "nontemporal-bytes", "int64_t", /*default=*/"0",
           "Stores bypass the cache from buffers of this size on, in bytes; 0 "
           "for what `machine` says, without it never (the fence after them is "
           "x86's)">,
    Option<"threads", "threads", "int64_t", /*default=*/"1",
           "Threads for which outer loops become affine.parallel">,
    Option<"parallelBytes", "parallel-bytes", "int64_t", /*default=*/"2097152",
           "Smallest nest that is shared among threads, in bytes">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::tessera::TesseraDialect"
  ];
  let statistics = [
    Statistic<"numVectorized", "relayouts-vectorized",
              "Relayouts that became vector kernels">,
    Statistic<"numLeft", "relayouts-left", "Relayouts that were left alone">
  ];
}

def VectorizeContractions : Pass<"tessera-vectorize-contractions"> {
  let summary = "Keep blocks of sums of products in registers";
  let description = [{
    Turns operations of linalg that add products of two memrefs to a third into
    loops around a block of the result that stays in vector registers: rows times
    vectors of neighbours in memory. Operands are read in place, whatever their
    tiles: all dimensions are split at the tile sizes of all three, so that every
    step is a constant distance. The elements of one factor, which are multiplied
    with whole vectors, are copied in blocks where they have to be converted.
    Neither padding nor what lies behind an array is read or written. An index
    of a factor may be a sum, as those of convolutions are, `2 * x + w`, of a
    dimension without tiles.

    Where both factors have neighbours along the sum, and only there, vectors are
    along it, and are added up at the end. Else each sum is added up in the order
    of the loops, by the operations of the body, with their flags. Where these are `contract` and `reassoc`, pairs of bf16
    that lie side by side, as in `T(8,128)(2,1)`, are multiplied by the instructions
    of AVX512_BF16 if `bf16-pairs` says that the processor has them. Those take
    subnormal numbers for zero.

    Left alone, for `--tessera-linalg-to-loops`, are operations on tensors, of
    dynamic sizes, of elements that are no floats or signless integers of 8 to 64
    bits, or are stored with another width, of strided memrefs, with tile sizes
    that do not divide one another, and those without a dimension along which the
    result and a factor have neighbours in memory, or both factors, if flags let
    them be added up in any order. A remark of a missed
    optimization says why.

    ```mlir
    #a = affine_map<(m, n, k) -> (m, k)>
    #b = affine_map<(m, n, k) -> (k, n)>
    #c = affine_map<(m, n, k) -> (m, n)>
    func.func @dot(%a: memref<1x2xf32>, %b: memref<2x8xf32>,
                   %c: memref<1x8xf32>) {
      linalg.generic {indexing_maps = [#a, #b, #c],
                      iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b : memref<1x2xf32>, memref<2x8xf32>)
          outs(%c : memref<1x8xf32>) {
      ^bb0(%l: f32, %r: f32, %sum: f32):
        %p = arith.mulf %l, %r fastmath<contract> : f32
        %s = arith.addf %sum, %p fastmath<contract> : f32
        linalg.yield %s : f32
      }
      return
    }
    ```

    becomes

    ```mlir
    func.func @dot(%a: memref<1x2xf32>, %b: memref<2x8xf32>,
                   %c: memref<1x8xf32>) {
      %c8 = arith.constant 8 : index
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      %lhs = memref.collapse_shape %a [[0, 1]]
          : memref<1x2xf32> into memref<2xf32>
      %rhs = memref.collapse_shape %b [[0, 1]]
          : memref<2x8xf32> into memref<16xf32>
      %sums = memref.collapse_shape %c [[0, 1]]
          : memref<1x8xf32> into memref<8xf32>
      %0 = vector.load %sums[%c0] : memref<8xf32>, vector<8xf32>
      %1 = vector.load %rhs[%c0] : memref<16xf32>, vector<8xf32>
      %2 = memref.load %lhs[%c0] : memref<2xf32>
      %3 = vector.broadcast %2 : f32 to vector<8xf32>
      %4 = arith.mulf %3, %1 fastmath<contract> : vector<8xf32>
      %5 = arith.addf %0, %4 fastmath<contract> : vector<8xf32>
      %6 = vector.load %rhs[%c8] : memref<16xf32>, vector<8xf32>
      %7 = memref.load %lhs[%c1] : memref<2xf32>
      %8 = vector.broadcast %7 : f32 to vector<8xf32>
      %9 = arith.mulf %8, %6 fastmath<contract> : vector<8xf32>
      %10 = arith.addf %5, %9 fastmath<contract> : vector<8xf32>
      vector.store %10, %sums[%c0] : memref<8xf32>, vector<8xf32>
      return
    }
    ```
  }];
  let options = [
    Option<"enabled", "enabled", "bool", /*default=*/"true",
           "False leaves every operation alone; other options are checked">,
    Option<"vectorBytes", "vector-bytes", "int64_t", /*default=*/"32",
           "Bytes of the widest vector register: 16, 32 or 64">,
    Option<"vectorRegisters", "vector-registers", "int64_t", /*default=*/"16",
           "Vector registers that there are">,
    Option<"bf16Pairs", "bf16-pairs", "bool", /*default=*/"false",
           "Whether the processor has AVX512_BF16">,
    Option<"threads", "threads", "int64_t", /*default=*/"1",
           "Threads for which a loop of blocks becomes affine.parallel">,
    Option<"parallelBytes", "parallel-bytes", "int64_t", /*default=*/"2097152",
           "Least work to be shared among threads: products, in bytes of sums">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
    "::mlir::x86vector::X86VectorDialect", "::tessera::TesseraDialect"
  ];
  let statistics = [
    Statistic<"numVectorized", "contractions-vectorized",
              "Operations that became blocks of registers">,
    Statistic<"numLeft", "contractions-left", "Operations that were left alone">
  ];
}

def ParallelizeLoops : Pass<"tessera-parallelize-loops"> {
  let summary = "Share large affine loops among threads";
  let description = [{
    Turns outermost `affine.for` loops into `affine.parallel` where
    iterations are independent, by upstream's analysis of dependences, and the
    accesses of one run of the loop are `parallel-bytes` or more, a loop without
    constant bounds counted once. Loops inside others that cannot be shared are
    looked at, too; what is inside a shared one stays as it is.

    Upstream's analysis takes different memrefs for different memory. Loops are
    left alone where memrefs that they access may share memory and one of them
    is written: views of one buffer, arguments of a public function that are not
    `llvm.noalias`, and what is neither allocated in the function, nor a
    constant, nor an argument. Those of a private function must not overlap
    where one of them is written. Loops that allocate or free memory, carry
    values, or call functions stay, too.

    ```mlir
    func.func @double(%x: memref<1024x1024xf32>) {
      affine.for %i = 0 to 1024 {
        affine.for %j = 0 to 1024 {
          %e = affine.load %x[%i, %j] : memref<1024x1024xf32>
          %s = arith.addf %e, %e : f32
          affine.store %s, %x[%i, %j] : memref<1024x1024xf32>
        }
      }
      return
    }
    ```

    becomes, with `threads=2`,

    ```mlir
    func.func @double(%x: memref<1024x1024xf32>) {
      affine.parallel (%i) = (0) to (1024) {
        affine.for %j = 0 to 1024 {
          %e = affine.load %x[%i, %j] : memref<1024x1024xf32>
          %s = arith.addf %e, %e : f32
          affine.store %s, %x[%i, %j] : memref<1024x1024xf32>
        }
      }
      return
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"1",
           "Threads that there are; 1 leaves every loop alone">,
    Option<"parallelBytes", "parallel-bytes", "int64_t", /*default=*/"2097152",
           "Smallest loop that is shared among threads, in bytes that it "
           "accesses">
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect"];
  let statistics = [
    Statistic<"numShared", "loops-shared", "Loops that became parallel">
  ];
}

def SerializeLoops : Pass<"tessera-serialize-loops"> {
  let summary = "Make parallel loops serial that a thread might have to leave";
  let description = [{
    Turns `scf.parallel` into `scf.for` where an assertion may fail in it, a
    function is called, or memory is allocated that may not be there, before
    `--convert-scf-to-openmp`: OpenMP cannot end a loop from within. Reductions
    with such operations are *unsupported*.

    ```mlir
    func.func @f(%x: memref<8xi32>, %n: index, %ok: i1, %v: i32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.parallel (%i) = (%c0) to (%n) step (%c1) {
        cf.assert %ok, "not right"
        memref.store %v, %x[%i] : memref<8xi32>
      }
      return
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: memref<8xi32>, %n: index, %ok: i1, %v: i32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        cf.assert %ok, "not right"
        memref.store %v, %x[%i] : memref<8xi32>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numSerialized", "loops-serialized", "Loops that became serial">
  ];
}

def RefineOpenMP : Pass<"tessera-refine-openmp"> {
  let summary = "Give OpenMP loops a buffer for each thread and shares of work";
  let description = [{
    `--convert-scf-to-openmp` makes a `memref.alloca_scope` of the body of every
    parallel loop, which keeps loops from becoming branches and frees the stack
    after each iteration. This pass puts allocations of constant size at the
    start of the `omp.parallel` around them, and the body in place of the scope.
    Scopes outside of `omp.parallel`, and those with other allocations, stay.
    A `memref.alloc` of constant size moves there too, and the `memref.dealloc`
    of the same block to the end.

    Loops of constant bounds without a schedule get a guided one, whose smallest
    share is an eighth of what a thread would get: threads still work on long
    stretches of memory, but one that is held up leaves the rest to the others.
    They do not wait at the end of the loop; the end of `omp.parallel` does.

    ```mlir
    func.func @f(%m: memref<8xf32>, %n: index, %step: index, %c: f32) {
      omp.parallel {
        omp.wsloop {
          omp.loop_nest (%i) : index = (%n) to (%n) step (%step) {
            memref.alloca_scope {
              %b = memref.alloca() : memref<16xf32>
              memref.store %c, %b[%i] : memref<16xf32>
              %v = memref.load %b[%n] : memref<16xf32>
              memref.store %v, %m[%i] : memref<8xf32>
            }
            omp.yield
          }
        }
        omp.terminator
      }
      return
    }
    ```

    becomes

    ```mlir
    func.func @f(%m: memref<8xf32>, %n: index, %step: index, %c: f32) {
      omp.parallel {
        %b = memref.alloca() : memref<16xf32>
        omp.wsloop {
          omp.loop_nest (%i) : index = (%n) to (%n) step (%step) {
            memref.store %c, %b[%i] : memref<16xf32>
            %v = memref.load %b[%n] : memref<16xf32>
            memref.store %v, %m[%i] : memref<8xf32>
            omp.yield
          }
        }
        omp.terminator
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numHoisted", "buffers-hoisted", "Buffers that moved">
  ];
}

#endif // TESSERA_CONVERSION_PASSES_TD
