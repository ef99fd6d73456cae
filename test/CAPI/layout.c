//===- layout.c - Shapes by the C API -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: tessera-capi-layout-test | FileCheck %s

#include "tessera-c/Layout.h"
#include "tessera-c/HLO.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print(const char *data, size_t length, void *file) {
  fwrite(data, 1, length, (FILE *)file);
}

static void printNumbers(const char *name, TesseraInt64s numbers) {
  printf("%s:", name);
  for (size_t i = 0; i < numbers.size; ++i)
    printf(numbers.data[i] == INT64_MIN ? " *" : " %" PRId64, numbers.data[i]);
  printf("\n");
}

// Prints an error, if it is one, and destroys it.
static bool failed(TesseraError *error) {
  static const char *const kKinds[] = {"invalid", "unsupported", "other"};
  if (!error)
    return false;
  printf("%s: %s | rule '%s' at %" PRId64 "\n",
         kKinds[tesseraErrorGetKind(error)], tesseraErrorGetMessage(error),
         tesseraErrorGetRule(error), tesseraErrorGetPosition(error));
  tesseraErrorDestroy(error);
  return true;
}

static TesseraShape *parse(const char *text) {
  TesseraShape *shape = NULL;
  failed(tesseraShapeParse(text, strlen(text), &shape));
  return shape;
}

static void testArray(void) {
  printf("@array\n");
  TesseraShape *shape = parse(" bf16[3,5] {1,0:T(2,2)(*,4)S(1)}");
  tesseraShapePrint(shape, true, print, stdout);
  printf("\n");
  tesseraShapePrint(shape, false, print, stdout);
  printf("\n%s %" PRId64 " bits, array %d, space %" PRId64 "\n",
         tesseraShapeGetElementType(shape), tesseraShapeGetStorageBits(shape),
         tesseraShapeIsArray(shape), tesseraShapeGetMemorySpace(shape));
  printNumbers("dimensions", tesseraShapeGetDimensions(shape));
  printNumbers("order", tesseraShapeGetMinorToMajor(shape));
  for (size_t i = 0; i < tesseraShapeGetNumTiles(shape); ++i)
    printNumbers("tile", tesseraShapeGetTile(shape, i));
  TesseraShapeSize size;
  if (!failed(tesseraShapeGetSize(shape, &size))) {
    printNumbers("physical", size.physicalShape);
    printf("%" PRId64 " elements in %" PRId64 " positions, %" PRId64
           " bytes, %" PRId64 " padding\n",
           size.logicalElements, size.allocatedElements, size.bytes,
           size.paddingBytes);
  }
  tesseraShapeDestroy(shape);
}
// CHECK-LABEL: @array
// CHECK-NEXT: bf16[3,5]{1,0:T(2,2)(*,4)S(1)}
// CHECK-NEXT: bf16[3,5]
// CHECK-NEXT: bf16 16 bits, array 1, space 1
// CHECK-NEXT: dimensions: 3 5
// CHECK-NEXT: order: 1 0
// CHECK-NEXT: tile: 2 2
// CHECK-NEXT: tile: * 4
// CHECK-NEXT: physical: 2 3 1 4
// CHECK-NEXT: 15 elements in 24 positions, 48 bytes, 18 padding

static void testPositions(void) {
  printf("@positions\n");
  TesseraShape *shape = parse("f32[3,5]{1,0:T(2,2)}");
  int64_t index[2] = {2, 3}, position = -1;
  bool isPadding = true;
  if (!failed(tesseraShapeGetLinearIndex(shape, (TesseraInt64s){index, 2},
                                         &position)))
    printf("2,3 lies at %" PRId64 "\n", position);
  if (!failed(tesseraShapeGetLogicalIndex(shape, 5, index, &isPadding)))
    printf("at 5 lies %" PRId64 ",%" PRId64 ", padding %d\n", index[0],
           index[1], isPadding);
  if (!failed(tesseraShapeGetLogicalIndex(shape, 18, index, &isPadding)))
    printf("at 18 lies padding %d\n", isPadding);
  index[0] = 3;
  failed(
      tesseraShapeGetLinearIndex(shape, (TesseraInt64s){index, 2}, &position));
  failed(
      tesseraShapeGetLinearIndex(shape, (TesseraInt64s){index, 1}, &position));
  failed(tesseraShapeGetLogicalIndex(shape, 24, index, &isPadding));
  failed(tesseraShapeGetLogicalIndex(shape, -1, index, &isPadding));
  tesseraShapeDestroy(shape);
}
// CHECK-LABEL: @positions
// CHECK-NEXT: 2,3 lies at 17
// CHECK-NEXT: at 5 lies 0,3, padding 0
// CHECK-NEXT: at 18 lies padding 1
// CHECK-NEXT: invalid: invalid index of dimension 0: expected a number from 0 to below its size 3, found 3
// CHECK-NEXT: invalid: invalid index: expected 2 numbers, found 1
// CHECK-NEXT: invalid: invalid position: expected a number from 0 to below 24, the size of the buffer, found 24
// CHECK-NEXT: invalid: invalid position: {{.*}}, found -1

static void testOtherShapes(void) {
  printf("@others\n");
  int64_t position = 0;
  bool isPadding = false;
  TesseraShapeSize size;
  TesseraShape *tuple = parse("(f32[2], token[])");
  printf("array %d, type '%s', %zu dimensions, %zu tiles\n",
         tesseraShapeIsArray(tuple), tesseraShapeGetElementType(tuple),
         tesseraShapeGetDimensions(tuple).size, tesseraShapeGetNumTiles(tuple));
  printf("%zu in order, %" PRId64 " bits, space %" PRId64 "\n",
         tesseraShapeGetMinorToMajor(tuple).size,
         tesseraShapeGetStorageBits(tuple), tesseraShapeGetMemorySpace(tuple));
  failed(tesseraShapeGetSize(tuple, &size));
  tesseraShapeDestroy(tuple);
  TesseraShape *dynamic = parse("f32[?,<=3]");
  printf("%d %d\n", tesseraShapeGetDimensions(dynamic).data[0] == INT64_MIN,
         tesseraShapeGetDimensions(dynamic).data[1] == 3);
  failed(tesseraShapeGetSize(dynamic, &size));
  failed(
      tesseraShapeGetLinearIndex(dynamic, (TesseraInt64s){NULL, 0}, &position));
  failed(tesseraShapeGetLogicalIndex(dynamic, 0, NULL, &isPadding));
  tesseraShapeDestroy(dynamic);
  TesseraShape *scalar = parse("pred[]");
  if (!failed(tesseraShapeGetLinearIndex(scalar, (TesseraInt64s){NULL, 0},
                                         &position)))
    printf("a scalar lies at %" PRId64 "\n", position);
  tesseraShapeDestroy(scalar);
  parse("f32[2]{0:T(0)}");
  parse("");
}
// CHECK-LABEL: @others
// CHECK-NEXT: array 0, type '', 0 dimensions, 0 tiles
// CHECK-NEXT: 0 in order, 0 bits, space 0
// CHECK-NEXT: invalid: invalid shape: expected an array, found (f32[2]{0}, token[])
// CHECK-NEXT: 1 1
// CHECK-NEXT: unsupported: unsupported shape f32[?,<=3]{1,0}: {{.*}}; write a bound, `<=N`
// CHECK-NEXT: unsupported:
// CHECK-NEXT: unsupported:
// CHECK-NEXT: a scalar lies at 0
// CHECK-NEXT: invalid: invalid tile size: {{.*}} | rule 'layout_c3' at 11
// CHECK-NEXT: invalid: {{.*}} | rule 'text_c5' at 0

static void ask(const TesseraShape *from, const TesseraShape *to,
                TesseraBitcastKind kind) {
  static const char *const kAnswers[] = {"yes", "no", "unknown"};
  printf("; %s\n",
         kAnswers[tesseraShapeMayBitcast(from, to, kind, print, stdout)]);
}

static void testPairs(void) {
  printf("@pairs\n");
  TesseraShape *rows = parse("f32[2,3]"), *same = parse("f32[2,3]{1,0}");
  TesseraShape *columns = parse("f32[2,3]{0,1}"), *turned = parse("f32[3,2]");
  printf("%d %d\n", tesseraShapeEqual(rows, same),
         tesseraShapeEqual(rows, columns));
  ask(columns, turned, TesseraBitcastAny);
  ask(rows, columns, TesseraBitcastRelayout);
  ask(rows, turned, TesseraBitcastReshape);
  ask(columns, turned, TesseraBitcastReshape);
  printf("%d\n", tesseraShapeMayBitcast(rows, columns, TesseraBitcastRelayout,
                                        NULL, NULL) == TesseraAnswerNo);
  TesseraShape *chosen = NULL;
  if (!failed(tesseraShapeGetDefault(rows, "tpu_v5e", &chosen)))
    tesseraShapePrint(chosen, true, print, stdout);
  printf("\n");
  tesseraShapeDestroy(chosen);
  failed(tesseraShapeGetDefault(rows, "abacus", &chosen));
  tesseraShapeDestroy(rows);
  tesseraShapeDestroy(same);
  tesseraShapeDestroy(columns);
  tesseraShapeDestroy(turned);
}
// CHECK-LABEL: @pairs
// CHECK-NEXT: 1 0
// CHECK-NEXT: {{^}}; yes
// CHECK-NEXT: {{.+}}; no
// CHECK-NEXT: {{^}}; yes
// CHECK-NEXT: {{.+}}; no
// CHECK-NEXT: 1
// CHECK-NEXT: f32[2,3]{1,0:T(2,128)}
// CHECK-NEXT: unsupported: unsupported target: expected one of cpu, {{.*}}'abacus'

static void testPictures(void) {
  printf("@pictures\n");
  TesseraShape *shape = parse("f32[3,5]{1,0:T(2,2)}");
  TesseraShape *to = parse("f32[3,5]{0,1}"), *other = parse("f32[5]");
  TesseraDrawOptions options = tesseraDrawOptionsGetDefault();
  failed(tesseraShapeDraw(shape, NULL, options, print, stdout));
  failed(tesseraShapeDraw(shape, to, options, print, stdout));
  options.isSVG = true;
  failed(tesseraShapeDraw(shape, NULL, options, print, stdout));
  failed(tesseraShapeDraw(shape, other, options, print, stdout));
  options.maxRows = 3;
  failed(tesseraShapeDraw(shape, NULL, options, print, stdout));
  failed(tesseraShapeExplain(shape, true, print, stdout));
  tesseraShapeDestroy(shape);
  tesseraShapeDestroy(to);
  tesseraShapeDestroy(other);
}
// CHECK-LABEL: @pictures
// CHECK-NEXT: f32[3,5]{1,0:T(2,2)}: 15 elements in 24 positions
// CHECK: f32[3,5]{0,1}
// CHECK: <svg
// CHECK: </svg>
// CHECK-NEXT: invalid: {{.*}}f32[5]
// CHECK-NEXT: invalid: invalid rows and columns: expected numbers from 4 on, whose product is at most 262144, found 3 and 16
// CHECK: T(2,2) {{.*}}split into 2 x 3 tiles

static void testReport(void) {
  printf("@report\n");
  const char *text = "HloModule m\n\nENTRY e {\n"
                     "  a = f32[8,3]{1,0:T(8,128)} parameter(0)\n"
                     "  ROOT b = f32[8,3]{1,0:T(8,128)} negate(a)\n}\n";
  failed(tesseraHLOReport(text, strlen(text), TesseraReportText, 0, print,
                          stdout));
  failed(tesseraHLOReport(text, strlen(text), TesseraReportJSON, 0, print,
                          stdout));
  failed(tesseraHLOReport(text, strlen(text), TesseraReportHTML, 0, print,
                          stdout));
  failed(tesseraHLOReport(text, 20, TesseraReportText, 0, print, stdout));
  const char *log = "Out of memory while trying to allocate 64 bytes.\nPeak "
                    "buffers:\n\tSize: 64B\n\tShape: f32[16]\n";
  failed(tesseraOutOfMemoryExplain(log, strlen(log), TesseraReportText, 0,
                                   print, stdout));
  failed(tesseraOutOfMemoryExplain(log, strlen(log), TesseraReportJSON, 0,
                                   print, stdout));
  failed(tesseraOutOfMemoryExplain(log, strlen(log), TesseraReportHTML, 0,
                                   print, stdout));
  failed(
      tesseraOutOfMemoryExplain(log, 3, TesseraReportText, 0, print, stdout));
}
// CHECK-LABEL: @report
// CHECK-NEXT: module m: 2 values
// CHECK: "schema": "tessera.report"
// CHECK: </html>
// CHECK-NEXT: invalid: 3:{{.*}}: error: invalid
// CHECK-NEXT: an array needs 64 bytes
// CHECK: or      as bf16: 64 bytes -> 32 bytes, bf16[16]{0}
// CHECK: "schema": "tessera.oom"
// CHECK: unsupported: unsupported format: expected text or JSON, found HTML
// CHECK-NEXT: invalid: invalid log: {{.*}}found none in 3 bytes

int main(void) {
  testArray();
  testPositions();
  testOtherShapes();
  testPairs();
  testPictures();
  testReport();
  return 0;
}
