//===- dialects.c - The C API of the dialects and passes ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: tessera-capi-dialects-test 2>&1 | FileCheck %s

#include "tessera-c/Dialects.h"
#include "tessera-c/Passes.h"

#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"
#include "mlir-c/RegisterEverything.h"

#include <inttypes.h>
#include <stdio.h>

static MlirStringRef text(const char *string) {
  return mlirStringRefCreateFromCString(string);
}

static void print(MlirStringRef part, void *userData) {
  (void)userData;
  fwrite(part.data, 1, part.length, stdout);
}

static void printLine(const char *label, MlirAttribute attribute) {
  printf("%s: ", label);
  if (mlirAttributeIsNull(attribute))
    printf("null");
  else
    mlirAttributePrint(attribute, print, NULL);
  printf("\n");
}

static MlirLogicalResult printDiagnostic(MlirDiagnostic diagnostic,
                                         void *userData) {
  (void)userData;
  printf("diagnosed at ");
  mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), print, NULL);
  printf(": ");
  mlirDiagnosticPrint(diagnostic, print, NULL);
  printf("\n");
  return mlirLogicalResultSuccess();
}

static void testBare(void) {
  // Attributes load their dialect themselves, though nothing registered it.
  MlirContext bare = mlirContextCreate();
  // CHECK: bare: #tessera.layout<{0}>
  printLine("bare", tesseraLayoutAttrGetDescending(bare, 1));
  mlirContextDestroy(bare);

  // The handles are of the dialects.
  // CHECK-NEXT: handles: tessera tessera_hlo
  printf("handles: ");
  print(mlirDialectHandleGetNamespace(mlirGetDialectHandle__tessera__()), NULL);
  printf(" ");
  print(mlirDialectHandleGetNamespace(mlirGetDialectHandle__tessera_hlo__()),
        NULL);
  printf("\n");
}

static void testLayout(MlirContext context) {
  // CHECK-LABEL: layouts
  printf("layouts\n");
  MlirAttribute layout = tesseraLayoutAttrGet(
      context, text("{1, 0:T(8,128)(*,2)L(2)E(32)S(3)SC(0:4,8)M(16)PD(9,256)"
                    "PV(lowest)B(8,?)}"));
  // CHECK-NEXT: all: #tessera.layout<{1,0:T(8,128)(*,2)L(2)E(32)S(3)SC(0:4,8)M(16)PD(9,256)PV(lowest)B(8,?)}>
  printLine("all", layout);
  // CHECK-NEXT: text: {1,0:T(8,128)(*,2)L(2)E(32)S(3)SC(0:4,8)M(16)PD(9,256)PV(lowest)B(8,?)}
  printf("text: ");
  tesseraLayoutAttrGetText(layout, print, NULL);
  // CHECK-NEXT: rank 2: 1 0
  printf("\nrank %" PRIdPTR ":", tesseraLayoutAttrGetRank(layout));
  for (intptr_t i = 0; i < tesseraLayoutAttrGetRank(layout); ++i)
    printf(" %" PRId64, tesseraLayoutAttrGetMinorToMajor(layout, i));
  // CHECK-NEXT: 2 tiles
  printf("\n%" PRIdPTR " tiles\n", tesseraLayoutAttrGetNumTiles(layout));
  // CHECK-NEXT: second: #tessera.tile<(*,2)>
  printLine("second", tesseraLayoutAttrGetTile(layout, 1));
  // CHECK-NEXT: L 2 E 32 S 3 M 16
  printf("L %" PRId64 " E %" PRId64 " S %" PRId64 " M %" PRId64 "\n",
         tesseraLayoutAttrGetTailPaddingAlignment(layout),
         tesseraLayoutAttrGetElementSizeInBits(layout),
         tesseraLayoutAttrGetMemorySpace(layout),
         tesseraLayoutAttrGetDynamicShapeMetadataPrefixBytes(layout));
  // CHECK-NEXT: 1 split, dimension 0, 2 positions, the last 8
  printf("%" PRIdPTR " split, dimension %" PRId64 ", %" PRIdPTR
         " positions, the last %" PRId64 "\n",
         tesseraLayoutAttrGetNumSplitConfigs(layout),
         tesseraLayoutAttrGetSplitConfigDimension(layout, 0),
         tesseraLayoutAttrGetSplitConfigNumIndices(layout, 0),
         tesseraLayoutAttrGetSplitConfigIndex(layout, 0, 1));
  // CHECK-NEXT: 2 widths, 9 and 256; lowest: 1
  printf("%" PRIdPTR " widths, %" PRId64 " and %" PRId64 "; lowest: %d\n",
         tesseraLayoutAttrGetNumPaddedDimensions(layout),
         tesseraLayoutAttrGetPaddedDimension(layout, 0),
         tesseraLayoutAttrGetPaddedDimension(layout, 1),
         tesseraLayoutAttrGetPaddingValue(layout) == TesseraPaddingValueLowest);
  // CHECK-NEXT: 2 bounds, 8 and none
  printf("%" PRIdPTR " bounds, %" PRId64 " and %s\n",
         tesseraLayoutAttrGetNumBounds(layout),
         tesseraLayoutAttrGetBound(layout, 0),
         tesseraLayoutAttrGetBound(layout, 1) == mlirShapedTypeGetDynamicSize()
             ? "none"
             : "one");

  MlirAttribute descending = tesseraLayoutAttrGetDescending(context, 3);
  // CHECK-NEXT: descending: #tessera.layout<{2,1,0}>
  printLine("descending", descending);
  // CHECK-NEXT: 0 tiles, L 1, 0 splits, 0 widths, unspecified: 1, 0 bounds
  printf("%" PRIdPTR " tiles, L %" PRId64 ", %" PRIdPTR " splits, %" PRIdPTR
         " widths, unspecified: %d, %" PRIdPTR " bounds\n",
         tesseraLayoutAttrGetNumTiles(descending),
         tesseraLayoutAttrGetTailPaddingAlignment(descending),
         tesseraLayoutAttrGetNumSplitConfigs(descending),
         tesseraLayoutAttrGetNumPaddedDimensions(descending),
         tesseraLayoutAttrGetPaddingValue(descending) ==
             TesseraPaddingValueUnspecified,
         tesseraLayoutAttrGetNumBounds(descending));
  // CHECK-NEXT: parsed: 1, a layout: 1, a tile: 0, type ID: 1
  MlirAttribute parsed =
      mlirAttributeParseGet(context, text("#tessera.layout<{2,1,0}>"));
  printf("parsed: %d, a layout: %d, a tile: %d, type ID: %d\n",
         mlirAttributeEqual(parsed, descending),
         tesseraAttributeIsALayout(parsed), tesseraAttributeIsATile(parsed),
         mlirTypeIDEqual(mlirAttributeGetTypeID(parsed),
                         tesseraLayoutAttrGetTypeID()));

  // CHECK-NEXT: diagnosed at loc("layout":1:4): invalid minor_to_major: {{.*}} [layout_c1]
  // CHECK-NEXT: bad: null
  printLine("bad", tesseraLayoutAttrGet(context, text("{1,1}")));
  // The second line of the text.
  // CHECK-NEXT: diagnosed at loc("layout":2:4): invalid tile size: expected {{.*}} [text_c1]
  // CHECK-NEXT: bad: null
  printLine("bad", tesseraLayoutAttrGet(context, text("{1,0:\n T(x)}")));
  // The text ends where its length says.
  // CHECK-NEXT: part: #tessera.layout<{0}>
  printLine("part",
            tesseraLayoutAttrGet(context, mlirStringRefCreate("{0}}", 3)));
}

static void testOthers(MlirContext context) {
  // CHECK-LABEL: others
  printf("others\n");
  MlirAttribute tile = tesseraTileAttrGet(context, text("(*, 128)"));
  // CHECK-NEXT: #tessera.tile<(*,128)> has the text (*,128)
  mlirAttributePrint(tile, print, NULL);
  printf(" has the text ");
  tesseraTileAttrGetText(tile, print, NULL);
  // CHECK-NEXT: 2 sizes, combine: 1, 128
  printf("\n%" PRIdPTR " sizes, combine: %d, %" PRId64 "\n",
         tesseraTileAttrGetNumSizes(tile),
         tesseraTileAttrGetSize(tile, 0) == tesseraTileAttrGetCombine(),
         tesseraTileAttrGetSize(tile, 1));
  int64_t sizes[] = {tesseraTileAttrGetCombine(), 128};
  // CHECK-NEXT: equal: 1
  printf("equal: %d\n", mlirAttributeEqual(tile, tesseraTileAttrGetFromSizes(
                                                     context, 2, sizes)));
  sizes[1] = 0;
  // CHECK-NEXT: diagnosed at {{.*}}: invalid tile size: {{.*}}found 0 [layout_c3]
  // CHECK-NEXT: tile: null
  printLine("tile", tesseraTileAttrGetFromSizes(context, 2, sizes));
  // CHECK-NEXT: diagnosed at loc("tile":1:1): invalid
  // CHECK-NEXT: tile: null
  printLine("tile", tesseraTileAttrGet(context, text("8")));

  // CHECK-NEXT: shape: #tessera.shape<"(f32[2,3], token[])">
  MlirAttribute shape =
      tesseraShapeAttrGet(context, text("(f32[2,3],token[])"));
  printLine("shape", shape);
  // CHECK-NEXT: (f32[2,3], token[])
  print(tesseraShapeAttrGetText(shape), NULL);
  // CHECK-NEXT: diagnosed at loc("shape":1:5): invalid
  // CHECK-NEXT: shape: null
  printf("\n");
  printLine("shape", tesseraShapeAttrGet(context, text("f32[")));

  // CHECK-NEXT: space: #tessera.memory_space<127>
  MlirAttribute space = tesseraMemorySpaceAttrGet(context, 127);
  printLine("space", space);
  // CHECK-NEXT: number 127
  printf("number %" PRId64 "\n", tesseraMemorySpaceAttrGetNumber(space));
  // CHECK-NEXT: diagnosed at {{.*}} [memory_space_c1]
  // CHECK-NEXT: space: null
  printLine("space", tesseraMemorySpaceAttrGet(context, 0));

  MlirAttribute spaces[] = {
      tesseraSpaceAttrGet(context, 0, text("dram"), 0, 64, 0),
      tesseraSpaceAttrGet(context, 1, text("sram"), 65536, 32, 3)};
  MlirAttribute target = tesseraTargetAttrGet(context, text("mine"), 2, spaces);
  // CHECK-NEXT: target: #tessera.target<"mine", [<number = 0, name = "dram", alignment = 64>, <number = 1, name = "sram", capacity = 65536, alignment = 32, address_space = 3>]>
  printLine("target", target);
  MlirAttribute sram = tesseraTargetAttrGetSpace(target, 1);
  // CHECK-NEXT: mine, 2 spaces, 1: sram of 65536 bytes, aligned to 32, in 3
  print(tesseraTargetAttrGetTargetName(target), NULL);
  printf(", %" PRIdPTR " spaces, %" PRId64 ": ",
         tesseraTargetAttrGetNumSpaces(target),
         tesseraSpaceAttrGetNumber(sram));
  print(tesseraSpaceAttrGetSpaceName(sram), NULL);
  printf(" of %" PRId64 " bytes, aligned to %" PRId64 ", in %" PRId64 "\n",
         tesseraSpaceAttrGetCapacity(sram), tesseraSpaceAttrGetAlignment(sram),
         tesseraSpaceAttrGetAddressSpace(sram));
  // A preset has spaces that its text does not list.
  // CHECK-NEXT: second of a preset: #tessera.space<number = 1, name = "vmem", capacity = {{[0-9]+}}
  printLine("second of a preset",
            tesseraTargetAttrGetSpace(
                tesseraTargetAttrGet(context, text("tpu_v5e"), 0, NULL), 1));
  // CHECK-NEXT: diagnosed at {{.*}} found 'none'
  // CHECK-NEXT: target: null
  printLine("target", tesseraTargetAttrGet(context, text("none"), 0, NULL));
  // CHECK-NEXT: diagnosed at {{.*}} expected a #tessera.space<...>, found #tessera.tile<(*,128)>
  // CHECK-NEXT: target: null
  printLine("target", tesseraTargetAttrGet(context, text("mine"), 1, &tile));
  // CHECK-NEXT: diagnosed at {{.*}} [space_c1]
  // CHECK-NEXT: space: null
  printLine("space", tesseraSpaceAttrGet(context, 0, text("dram"), 0, 3, 0));

  // CHECK-NEXT: names: tessera.layout tessera.tile tessera.shape tessera.memory_space tessera.space tessera.target
  MlirStringRef names[] = {
      tesseraLayoutAttrGetName(), tesseraTileAttrGetName(),
      tesseraShapeAttrGetName(),  tesseraMemorySpaceAttrGetName(),
      tesseraSpaceAttrGetName(),  tesseraTargetAttrGetName()};
  printf("names:");
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i) {
    printf(" ");
    print(names[i], NULL);
  }
  printf("\n");
}

static void testTypes(MlirContext context) {
  // CHECK-LABEL: types
  printf("types\n");
  MlirType tensor = mlirTypeParseGet(context, text("tensor<2xf32>"));
  MlirType types[] = {
      tesseraCopyTokenTypeGet(context), tesseraHLOTokenTypeGet(context),
      tesseraHLOOpaqueTypeGet(context), tesseraHLOBufferTypeGet(tensor)};
  // CHECK-NEXT: !tessera.copy_token 1000
  // CHECK-NEXT: !tessera_hlo.token 0100
  // CHECK-NEXT: !tessera_hlo.opaque 0010
  // CHECK-NEXT: !tessera_hlo.buffer<tensor<2xf32>> 0001
  for (size_t i = 0; i < sizeof(types) / sizeof(*types); ++i) {
    mlirTypePrint(types[i], print, NULL);
    printf(" %d%d%d%d\n", tesseraTypeIsACopyToken(types[i]),
           tesseraTypeIsAHLOToken(types[i]), tesseraTypeIsAHLOOpaque(types[i]),
           tesseraTypeIsAHLOBuffer(types[i]));
  }
  // CHECK-NEXT: the array again: 1
  printf("the array again: %d\n",
         mlirTypeEqual(tesseraHLOBufferTypeGetArray(types[3]), tensor));
  // CHECK-NEXT: diagnosed at {{.*}} expected a ranked tensor, found '!tessera.copy_token'
  // CHECK-NEXT: null: 1
  printf("null: %d\n", mlirTypeIsNull(tesseraHLOBufferTypeGet(types[0])));
}

// Dialects, interfaces for bufferization, and pipelines are all registered.
static void testPasses(MlirContext context) {
  // CHECK-LABEL: passes
  printf("passes\n");
  MlirModule module = mlirModuleCreateParse(
      context,
      text("func.func @f(%a: tensor<40x256xf32>)"
           " -> tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>> {\n"
           "  %b = tessera.relayout %a : tensor<40x256xf32>"
           "    to tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>\n"
           "  return %b"
           "    : tensor<40x256xf32, #tessera.layout<{1,0:T(8,128)}>>\n"
           "}\n"));
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirLogicalResult parsed =
      mlirOpPassManagerAddPipeline(mlirPassManagerGetAsOpPassManager(manager),
                                   text("tessera-to-affine"), print, NULL);
  MlirOperation operation = mlirModuleGetOperation(module);
  MlirLogicalResult ran = mlirPassManagerRunOnOp(manager, operation);
  // CHECK-NEXT: parsed: 1, ran: 1
  printf("parsed: %d, ran: %d\n", mlirLogicalResultIsSuccess(parsed),
         mlirLogicalResultIsSuccess(ran));
  // CHECK: func.func @f(%[[A:.*]]: memref<40x256xf32>) -> memref<5x2x8x128xf32>
  // CHECK: affine.store %{{.*}}, %{{.*}} : memref<5x2x8x128xf32>
  mlirOperationPrint(operation, print, NULL);
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
}

int main(void) {
  mlirRegisterAllPasses();
  tesseraRegisterAllPasses();
  // Once more does nothing.
  tesseraRegisterAllPasses();

  testBare();

  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  tesseraRegisterAllDialects(registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, true);
  mlirDialectRegistryDestroy(registry);
  mlirContextAttachDiagnosticHandler(context, printDiagnostic, NULL, NULL);
  testLayout(context);
  testOthers(context);
  testTypes(context);
  testPasses(context);
  mlirContextDestroy(context);
  return 0;
}
