//===- Passes.td - Passes that keep the tessera dialect ----*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECT_TESSERA_TRANSFORMS_PASSES_TD
#define TESSERA_DIALECT_TESSERA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignLayouts : Pass<"tessera-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "Give values without a layout the one that the target chooses";
  let description = [{
    Every ranked tensor without an encoding gets the layout that the target
    would choose for an array of its element type and dimensions
    (`docs/targets.md`). A tensor that has a layout is pinned, and stays; so is
    the result of a relayout. Tensors whose default is unknown stay too:
    unbounded dynamic dimensions, element types that XLA does not have.

    Types change where an operation means the same for all layouts:

    * results, operands and block arguments of operations of the dialects
      `arith`, `cf`, `complex`, `linalg`, `math`, `scf`, `tensor` and `ub`, of
      `tessera.relayout`, `tessera.reshape`, `tessera.empty` and
      `tessera.assume_layout`, and values of constants;
    * arguments and results of functions, and calls of them.

    What cannot change keeps its types, and relayouts stand around it:
    operations whose verifier refuses the new types, those of other dialects,
    `tensor.cast`, declarations, functions that are used other than by calls,
    and calls of those.

    The target is that of the module (`tessera.target`), or the one that the
    option names, which the module then has. A second run changes nothing.

    ```mlir
    func.func @f(%a: tensor<4096x129xf32>) -> tensor<4096x129xf32> {
      %b = math.exp %a : tensor<4096x129xf32>
      return %b : tensor<4096x129xf32>
    }
    ```

    becomes with `target=tpu_v5e`

    ```mlir
    #layout = #tessera.layout<{0,1:T(8,128)}>
    module attributes {tessera.target = #tessera.target<"tpu_v5e">} {
      func.func @f(%a: tensor<4096x129xf32, #layout>)
          -> tensor<4096x129xf32, #layout> {
        %b = math.exp %a : tensor<4096x129xf32, #layout>
        return %b : tensor<4096x129xf32, #layout>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"",
           "The name of a preset, such as tpu_v5e (docs/targets.md); by default "
           "the target of the module">
  ];
  let statistics = [
    Statistic<"numAssigned", "assigned", "Values that got a layout">,
    Statistic<"numRelayouts", "relayouts", "Relayouts inserted">
  ];
  let dependentDialects = ["::tessera::TesseraDialect"];
}

def ExpandOps : Pass<"tessera-expand-ops"> {
  let summary = "Express operations of the dialect by simpler ones";
  let description = [{
    | operation | becomes |
    |---|---|
    | `linearize_index`, `delinearize_index`, `storage_size` | arithmetic along the axes; constants where nothing is dynamic |
    | `copy_start`, `copy_done` | a `relayout` where the copy starts |
    | `assume_layout` | a `relayout` |
    | `reshape` | a `relayout` to row-major order, a `bitcast`, and a `relayout` |
    | `tensor.extract_slice` with layouts | a `linalg.generic` that reads elements, into the layout of a relayout behind it |
    | `tensor.insert_slice` with layouts | loops that write elements |
    | `arith`, `math` and others on tensors, element by element | a `linalg.generic`, which reads each tensor by its layout |
    | `relayout` of a constant | the constant in the other layout, as far as `tessera-lower-layouts` writes it down |
    | `tensor.expand_shape`, `collapse_shape` with layouts | a `reshape`, where it has at most one dynamic dimension |

    A reshape with dynamic dimensions stays one between the two relayouts, from
    row-major to row-major order, which `tessera-bufferize` makes a view. Index
    operations of strided memrefs are left as they are.

    ```mlir
    func.func @position(%i: index, %j: index) -> index {
      %p = tessera.linearize_index %i, %j
          in tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>
      return %p : index
    }
    ```

    becomes

    ```mlir
    #map = affine_map<()[s0, s1] -> (s0 * 128 + s1 + (s0 floordiv 8) * 1024 +
        (s1 floordiv 128) * 896)>
    func.func @position(%i: index, %j: index) -> index {
      %p = affine.apply #map()[%i, %j]
      return %p : index
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::tessera::TesseraDialect"
  ];
  let statistics = [
    Statistic<"numExpanded", "operations-expanded",
              "Operations of the dialect that simpler ones stand for now">
  ];
}

def FoldRelayouts : Pass<"tessera-fold-relayouts"> {
  let summary = "Remove relayouts that move what need not be moved";
  let description = [{
    | a relayout | becomes |
    |---|---|
    | behind another one | one relayout, or none, where no third memory space is between |
    | of a constant | the constant in the other layout |
    | between layouts with the same bytes | `tessera.bitcast`, which moves none |
    | of a value from outside of a loop | one in front of the loop |
    | that another one before it equals | the result of that one |
    | of what can be written in any layout, and is not used otherwise | that, written so |
    | that only operations read that can read any layout | what it is made of, where that is less to read |

    So relayouts sink below slices, reductions and all that reads a large tensor
    and writes a small one.

    Memory spaces are kept, and no relayout is put anywhere else: layouts are
    chosen by `tessera-propagate-layouts`. With the option `remarks` each
    relayout that stays says how many bytes it moves, why, and what would make
    it unnecessary.

    ```mlir
    #rows = #tessera.layout<{1,0}>
    #tiles = #tessera.layout<{1,0:T(1,128)}>
    func.func @f(%a: tensor<8x128xf32, #rows>) -> tensor<8x128xf32, #tiles> {
      %b = tessera.relayout %a : tensor<8x128xf32, #rows>
          to tensor<8x128xf32, #tiles>
      return %b : tensor<8x128xf32, #tiles>
    }
    ```

    becomes

    ```mlir
    #rows = #tessera.layout<{1,0}>
    #tiles = #tessera.layout<{1,0:T(1,128)}>
    func.func @f(%a: tensor<8x128xf32, #rows>) -> tensor<8x128xf32, #tiles> {
      %b = tessera.bitcast %a : tensor<8x128xf32, #rows>
          to tensor<8x128xf32, #tiles>
      return %b : tensor<8x128xf32, #tiles>
    }
    ```
  }];
  let options = [
    Option<"remarks", "remarks", "bool", /*default=*/"false",
           "Say of each relayout that stays why it does">
  ];
  let statistics = [
    Statistic<"numFolded", "folded", "Relayouts that are gone">,
    Statistic<"numBitcasts", "bitcasts", "Relayouts that became bitcasts">,
    Statistic<"numHoisted", "hoisted", "Relayouts that left a loop">,
    Statistic<"numFusedReaders", "fused-readers",
              "Relayouts that readers do without">,
    Statistic<"numFusedWriters", "fused-writers",
              "Relayouts that are written at once">,
    Statistic<"numKept", "kept", "Relayouts that stay">
  ];
  let dependentDialects = ["::tessera::TesseraDialect"];
}

def ToLinalgPack : Pass<"tessera-to-linalg-pack"> {
  let summary = "Say layouts by linalg.pack and linalg.unpack";
  let description = [{
    A tensor in a layout becomes the tensor of its positions in memory: tiles
    are dimensions of their own. Relayouts become `linalg.pack` and
    `linalg.unpack`; functions, calls, branches and loops hand the packed
    tensors on; operations compute on tensors without layouts, between an unpack
    and a pack, which upstream's patterns for them move and fold. So flows that
    know `linalg.pack` can use the layouts that were assigned.

    Each level of tiles is a pack of its own: `T(8,128)(2,1)` is two of them.
    Padding holds zeros.

    *unsupported*, with an error, are layouts that say more than an order of
    dimensions and tiles (memory spaces, widths of elements, promised padding),
    combined dimensions (`*`), tiles of more dimensions than the array has,
    dynamic sizes, memrefs, and operations of this dialect other than
    `tessera.relayout`, `empty` and `assume_layout`.

    ```mlir
    #tiles = #tessera.layout<{1,0:T(8,128)}>
    func.func @f(%a: tensor<16x200xf32>) -> tensor<16x200xf32, #tiles> {
      %b = tessera.relayout %a : tensor<16x200xf32>
          to tensor<16x200xf32, #tiles>
      return %b : tensor<16x200xf32, #tiles>
    }
    ```

    becomes

    ```mlir
    func.func @f(%a: tensor<16x200xf32>) -> tensor<2x2x8x128xf32> {
      %e = tensor.empty() : tensor<2x2x8x128xf32>
      %zero = arith.constant 0.000000e+00 : f32
      %b = linalg.pack %a padding_value(%zero : f32) outer_dims_perm = [0, 1]
          inner_dims_pos = [0, 1] inner_tiles = [8, 128] into %e
          : tensor<16x200xf32> -> tensor<2x2x8x128xf32>
      return %b : tensor<2x2x8x128xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numPacks", "packs", "linalg.pack made">,
    Statistic<"numUnpacks", "unpacks", "linalg.unpack made">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FromLinalgPack : Pass<"tessera-from-linalg-pack"> {
  let summary = "Say linalg.pack and linalg.unpack by layouts";
  let description = [{
    A `linalg.pack` becomes a relayout into the layout that has its bytes, and a
    `linalg.unpack` a relayout out of it. Where the packed tensor comes from
    elsewhere, or something else reads it, a `tessera.bitcast` stands between,
    which moves nothing.

    What no layout says stays: tiles of other dimensions than the last ones in
    the order outside, dynamic sizes and tiles, and padding that something other
    than an unpack reads. With the option `remarks` each says why.

    ```mlir
    func.func @f(%a: tensor<2x2x8x128xf32>) -> tensor<16x200xf32> {
      %e = tensor.empty() : tensor<16x200xf32>
      %b = linalg.unpack %a inner_dims_pos = [0, 1] inner_tiles = [8, 128]
          into %e : tensor<2x2x8x128xf32> -> tensor<16x200xf32>
      return %b : tensor<16x200xf32>
    }
    ```

    becomes

    ```mlir
    #layout = #tessera.layout<{1,0:T(8,128)}>
    func.func @f(%a: tensor<2x2x8x128xf32>) -> tensor<16x200xf32> {
      %e = tensor.empty() : tensor<16x200xf32>
      %b = tessera.bitcast %a : tensor<2x2x8x128xf32>
          to tensor<16x200xf32, #layout>
      %c = tessera.relayout %b : tensor<16x200xf32, #layout>
          to tensor<16x200xf32>
      return %c : tensor<16x200xf32>
    }
    ```
  }];
  let options = [
    Option<"remarks", "remarks", "bool", /*default=*/"false",
           "Say of each operation that stays why it does">
  ];
  let statistics = [
    Statistic<"numPacks", "packs", "linalg.pack that became a relayout">,
    Statistic<"numUnpacks", "unpacks", "linalg.unpack that became a relayout">,
    Statistic<"numKept", "kept", "Operations that stay">
  ];
  let dependentDialects = ["::tessera::TesseraDialect"];
}

def PropagateLayouts : Pass<"tessera-propagate-layouts"> {
  let summary = "Choose layouts so that relayouts move the fewest bytes";
  let description = [{
    Chooses the encodings of tensors anew, and puts relayouts where two meet, so
    that as few bytes are moved as can be. What a relayout reads and writes
    counts, as often as it runs, and the padding that other operations read and
    write; a relayout between layouts with the same bytes costs nothing.

    Operations say how layouts pass through them by the interface
    `LayoutPropagationOpInterface`: most of `tensor`, `tessera.reshape`,
    `bitcast` and moves to other spaces. What is structured (`linalg`),
    elementwise, branches (`BranchOpInterface`, `RegionBranchOpInterface`), or
    calls private functions needs no model. All other values keep their types:
    arguments and results of other functions, what `tessera.assume_layout`
    gives, memory spaces.

    Relayouts within a space are made anew: where a value has several users,
    copies of it are shared and count once, in front of loops and in the branch
    that needs them. Dynamic dimensions count as `unknown-size`, and loops
    without constant bounds as `unknown-trips`.

    Candidates are the encodings that values have, carried along uses and through
    operations, and the default layouts of the module's target, if it has one. The
    solver (`docs/assignment.md`) gives a lower bound for these candidates. The
    pass never makes the sum larger; where it would, nothing changes.

    ```mlir
    #rows = #tessera.layout<{1,0:T(8,128)}>
    #columns = #tessera.layout<{0,1:T(8,128)}>
    func.func @f(%a: tensor<128x128xf32, #rows>) -> tensor<128x128xf32, #rows> {
      %b = tessera.relayout %a : tensor<128x128xf32, #rows>
          to tensor<128x128xf32, #columns>
      %c = math.exp %b : tensor<128x128xf32, #columns>
      %d = tessera.relayout %c : tensor<128x128xf32, #columns>
          to tensor<128x128xf32, #rows>
      return %d : tensor<128x128xf32, #rows>
    }
    ```

    becomes

    ```mlir
    #layout = #tessera.layout<{1,0:T(8,128)}>
    func.func @f(%a: tensor<128x128xf32, #layout>)
        -> tensor<128x128xf32, #layout> {
      %b = math.exp %a : tensor<128x128xf32, #layout>
      return %b : tensor<128x128xf32, #layout>
    }
    ```
  }];
  let options = [
    Option<"unknownTrips", "unknown-trips", "int64_t", /*default=*/"10",
           "How often a loop runs whose bounds are not constants">,
    Option<"unknownSize", "unknown-size", "int64_t", /*default=*/"1024",
           "How large a dimension counts that is dynamic">,
    Option<"maxCandidates", "max-candidates", "unsigned", /*default=*/"6",
           "Encodings that a value may choose from">,
    Option<"remarks", "remarks", "bool", /*default=*/"false",
           "Say how many bytes are moved, and how many must be">
  ];
  let statistics = [
    Statistic<"numChanged", "changed", "Values that got another layout">,
    Statistic<"numErased", "erased", "Relayouts that are gone">,
    Statistic<"numInserted", "inserted", "Relayouts inserted">,
    Statistic<"bytesBefore", "bytes-before", "Bytes moved before">,
    Statistic<"bytesAfter", "bytes-after", "Bytes moved after">,
    Statistic<"bytesBound", "bytes-bound", "Bytes that must be moved at least">
  ];
  let dependentDialects = ["::tessera::TesseraDialect"];
}

def Verify : Pass<"tessera-verify", "::mlir::ModuleOp"> {
  let summary = "Check the rules about layouts that no single verifier can see";
  let description = [{
    Reports all that is wrong, not the first alone. The IR is not changed; the
    pass fails if there was anything to report.

    * `verify_c1`: the layout of a memref suits its element type (`E`, `PV`; the
      verifier of a memref's layout sees no element type).
    * `verify_c2`: memory spaces are numbers, and if the module has a
      `tessera.target`, the target has them.
    * Nothing in a layout is *unsupported*: `SC`, `M`, widths `E` other than the
      type's own or whole bytes that hold it, `*` over dynamic dimensions without
      bounds.
    * No `linalg.transpose` between two types moves no dimension, alone or
      together with those before it: *unsupported*, because upstream's folder
      replaces it by its operand, of whatever encoding.
    * No `tensor.concat` with a layout is one of `linalg.fill`s with one value:
      *unsupported*, because upstream's canonicalization makes one fill of it,
      without the layout.
    * `verify_c3`: a tail by `L` ends on a whole byte, and, for a known target,
      suits the alignment of the memory space: one divides the other.
    * `verify_c4`: a `memref.cast` gains no promise about memory that the operand
      does not make: `PV`, `L`.
    * `verify_c5`: between `tessera.copy_start` and `tessera.copy_done`, no view
      of the source is written, and no view of the destination is read or
      written.
    * `verify_c7`: operands of an operation whose operands and result have one
      type, such as `arith.addf`, have the layout of the result: its text does
      not parse otherwise.
    * `bitcast_c1` of bitcasts that are too large for the verifier, by
      enumeration of up to 2^24 positions.
    * `verify_c6`: for a known target, the bytes that are live at once in each
      memory space, rounded up to its alignment, fit into its capacity. Counted
      are tensors and allocated memrefs of a function, of known size, without
      those of functions that it calls; what views an array counts once. Where
      the count is too large, the note says which operation is reached then.

    ```mlir
    func.func @spaces(%m: memref<8x128xf32, "fast">) {
      return
    }
    ```

    says

    ```
    unsupported memory space: expected a number, found '"fast"'; use
    #tessera.memory_space<n>
    ```
  }];
  let statistics = [
    Statistic<"numReports", "reports", "Violations reported">
  ];
}

def Bufferize : Pass<"tessera-bufferize", "::mlir::ModuleOp"> {
  let summary = "Turn tensors into memrefs that keep layouts and memory spaces";
  let description = [{
    One-Shot Bufferize, with functions and calls, such that the encoding of a
    tensor becomes the layout of a memref, and its `S` the memory space. Results
    of functions have the layout of their tensor type. Where the layout of a
    new buffer promises a padding value, `tessera.fill_padding` makes it true.

    `tessera.relayout` and `assume_layout` become a relayout into a new buffer,
    or nothing where both layouts are the same but for being written out;
    `bitcast` becomes `tessera.bitcast_view`, behind a relayout where a fused one
    leaves the memory space; a reshape between row-major tensors becomes a view.
    Other reshapes and asynchronous copies are for `tessera-expand-ops`, before.

    Operations that are bufferized as if tensors had no layouts get tensors
    without, and relayouts stand around them: what makes a new buffer
    (`tensor.generate`, `from_elements`, `splat`, `pad`, `concat`, and so on), and
    what is a view with strides. A cast between layouts is a relayout. A constant
    becomes a constant global of a memref with the layout, which
    `tessera-lower-layouts` writes down as it lies in memory; where it cannot
    (memory spaces but 0, more than 2^24 positions), a plain one and a relayout.

    ```mlir
    func.func @tile(%a: tensor<20xf32>)
        -> tensor<20xf32, #tessera.layout<{0:T(8)S(1)}>> {
      %b = tessera.relayout %a : tensor<20xf32>
          to tensor<20xf32, #tessera.layout<{0:T(8)S(1)}>>
      return %b : tensor<20xf32, #tessera.layout<{0:T(8)S(1)}>>
    }
    ```

    becomes

    ```mlir
    #tiled = #tessera.layout<{0:T(8)}>
    #space = #tessera.memory_space<1>
    func.func @tile(%a: memref<20xf32>) -> memref<20xf32, #tiled, #space> {
      %b = memref.alloc() {alignment = 64 : i64} : memref<20xf32, #tiled, #space>
      tessera.relayout %a into %b
          : memref<20xf32>, memref<20xf32, #tiled, #space>
      return %b : memref<20xf32, #tiled, #space>
    }
    ```

    A relayout of a slice of a plain tensor reads the slice where it is, by its
    strides. What a private function only writes in place is none of its results
    any more, unless its symbol is used by more than calls, and `scf.for` does
    not carry such a buffer.

    Buffers are not freed: give `deallocate` to the pipelines, or run upstream's
    `ownership-based-buffer-deallocation` behind `tessera-lower-layouts`. Slices
    of tensors with layouts take a copy of the whole tensor here; it is cheaper
    to run `tessera-expand-ops` before, which reads and writes elements.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::memref::MemRefDialect",
    "::tessera::TesseraDialect"
  ];
  let statistics = [
    Statistic<"numBuffers", "buffers", "Buffers with layouts allocated for "
              "empty tensors and for copies">,
    Statistic<"numPlain", "plain-operations", "Operations whose tensors are "
              "laid out before or after them, and constants">
  ];
}

def Report : Pass<"tessera-report", "::mlir::ModuleOp"> {
  let summary = "Print what every value takes in memory, and what moves";
  let description = [{
    Prints, for the values of one function and of those that it calls, what
    `tessera-hlo report` prints for a dump: bytes, padding and expansion, bytes
    moved by relayouts and asynchronous copies, what is live when in each memory
    space, and suggestions, worst first. The IR is not changed.

    ```mlir
    func.func @main(%a: tensor<20x300xf32>)
        -> tensor<20x300xf32, #tessera.layout<{1,0:T(8,128)}>> {
      %b = tessera.relayout %a : tensor<20x300xf32>
          to tensor<20x300xf32, #tessera.layout<{1,0:T(8,128)}>>
      return %b : tensor<20x300xf32, #tessera.layout<{1,0:T(8,128)}>>
    }
    ```

    gives, among others, `12864 of 36864 bytes are padding` for `%b`.

    The steps of the schedule are the operations of the function's block; what
    is live when is left out for functions of several blocks. Arguments are live
    throughout, the two sides of an asynchronous copy until it is awaited.
    Arguments and results of functions that it calls are in the memory of the
    caller. Values of types that have no shape in XLA's notation are left out,
    tuples too; dynamic sizes without bounds are *unsupported*.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "The function to report on; by default `main`, or else the last "
           "public one">,
    Option<"bound", "bound", "bool", "false",
           "Also the bytes that are moved for layouts, and the least that "
           "`tessera-propagate-layouts` would move">,
    Option<"json", "json", "bool", "false",
           "Print JSON of the schema in docs/report.md">
  ];
}

def ExplainSlices : Pass<"tessera-explain-slices"> {
  let summary = "Say what slices of laid-out arrays are in memory";
  let description = [{
    Emits a remark at each `tensor.extract_slice`, `tensor.insert_slice` and
    `tensor.parallel_insert_slice` of an array with a layout: whether it is a
    rectangle of whole tiles for all values of its offsets, what is missing
    where it is not, how many contiguous runs it has, and how they are aligned. It is what `tessera-layout slice` prints, with the
    offsets as the IR computes them: from constants, sums, products and shifts
    by constants, `affine.apply`, and the variables of loops whose first value
    and step are such. The IR is not changed.

    ```mlir
    func.func @rows(%a: tensor<64x256xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>,
                    %i: index) -> tensor<16x256xbf16> {
      %c4 = arith.constant 4 : index
      %begin = arith.muli %i, %c4 : index
      %s = tensor.extract_slice %a[%begin, 0] [16, 256] [1, 1]
          : tensor<64x256xbf16, #tessera.layout<{1,0:T(8,128)(2,1)}>>
          to tensor<16x256xbf16>
      return %s : tensor<16x256xbf16>
    }
    ```

    gives `d0: 4*%arg1 is a multiple of 4, needed is a multiple of 8: %arg1 must
    be a multiple of 2`. An offset that is used in several dimensions counts in
    each as if it were another one, and sums and products are taken not to
    overflow. Slices with sizes or strides that are not known, or with steps,
    are *unsupported*, which the remark says.
  }];
  let options = [
    Option<"onlyPartial", "only-partial", "bool", "false",
           "Leave out slices that are whole tiles for all offsets">
  ];
  let statistics = [
    Statistic<"numWhole", "whole", "Slices that are whole tiles for all "
              "offsets">,
    Statistic<"numPartial", "partial", "Slices that are not">
  ];
}

#endif // TESSERA_DIALECT_TESSERA_TRANSFORMS_PASSES_TD
