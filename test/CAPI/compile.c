//===- compile.c - Relayouts by the C API ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: rm -rf %t && mkdir %t
// RUN: tessera-capi-compile-test %t/machine.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=FILE < %t/machine.json

#include "tessera-c/Compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(const char *data, size_t length, void *file) {
  fwrite(data, 1, length, (FILE *)file);
}

static void count(const char *data, size_t length, void *sum) {
  (void)data;
  *(size_t *)sum += length;
}

static bool failed(TesseraError *error) {
  if (!error)
    return false;
  printf("%d: %s\n", tesseraErrorGetKind(error), tesseraErrorGetMessage(error));
  tesseraErrorDestroy(error);
  return true;
}

static TesseraShape *parse(const char *text) {
  TesseraShape *shape = NULL;
  if (failed(tesseraShapeParse(text, strlen(text), &shape)))
    exit(1);
  return shape;
}

// Moves 3 x 5 numbers into tiles; every position is looked up, one by one.
static void testRun(const TesseraRelayoutRequest *request) {
  printf("@run\n");
  int64_t source[15], destination[24];
  for (int i = 0; i < 15; ++i)
    source[i] = i;
  memset(destination, 0xff, sizeof destination);
  TesseraRelayout *relayout = NULL, *again = NULL;
  if (failed(tesseraRelayoutGet(request, &relayout)) ||
      failed(tesseraRelayoutGet(request, &again)))
    return;
  tesseraRelayoutRun(relayout, source, destination);
  int numWrong = 0;
  for (int64_t i = 0; i < 24; ++i) {
    int64_t index[2] = {0, 0};
    bool isPadding = false;
    if (failed(tesseraShapeGetLogicalIndex(request->destination, i, index,
                                           &isPadding)))
      return;
    if (!isPadding && destination[i] != index[0] * 5 + index[1])
      ++numWrong;
  }
  bool isShared =
      tesseraRelayoutGetFunction(relayout) == tesseraRelayoutGetFunction(again);
  tesseraRelayoutDestroy(relayout);
  memset(destination, 0xff, sizeof destination);
  tesseraRelayoutGetFunction(again)(source, destination);
  tesseraRelayoutDestroy(again);
  printf("%d wrong, the first is %d, code shared: %d\n", numWrong,
         (int)destination[0], isShared);
}
// CHECK-LABEL: @run
// CHECK-NEXT: 0 wrong, the first is 0, code shared: 1
// CHECK-LABEL: @run
// CHECK-NEXT: 0 wrong, the first is 0, code shared: 1
// CHECK-LABEL: @run
// CHECK-NEXT: 0 wrong, the first is 0, code shared: 1

// A box of the source becomes a box of the destination.
static void testBoxes(TesseraRelayoutRequest request) {
  printf("@boxes\n");
  int64_t source[15], destination[24];
  for (int i = 0; i < 15; ++i)
    source[i] = i;
  memset(destination, 0xff, sizeof destination);
  request.sourceBox = "1:3,::4";
  request.destinationBox = ":2,1:3";
  TesseraRelayout *relayout = NULL;
  if (failed(tesseraRelayoutGet(&request, &relayout)))
    return;
  tesseraRelayoutRun(relayout, source, destination);
  tesseraRelayoutDestroy(relayout);
  for (int i = 0; i < 24; ++i)
    printf("%d%s", (int)destination[i], i == 23 ? "\n" : " ");
  request.destinationBox = ":2,1:4";
  failed(tesseraRelayoutGet(&request, &relayout));
  request.destinationBox = "7";
  failed(tesseraRelayoutGet(&request, &relayout));
}
// CHECK-LABEL: @boxes
// CHECK-NEXT: -1 5 -1 10 9 -1 14 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1
// CHECK-NEXT: 0: invalid sizes of the destination: expected 2x2, found 2x3
// CHECK-NEXT: 0: invalid destination box

static void testEmit(const TesseraRelayoutRequest *request) {
  printf("@emit\n");
  failed(tesseraRelayoutEmit(request, TesseraEmitPlan, "move", print, stdout));
  failed(tesseraRelayoutEmit(request, TesseraEmitMLIR, "move", print, stdout));
  failed(tesseraRelayoutEmit(request, TesseraEmitLLVM, "move", print, stdout));
  size_t size = 0;
  failed(tesseraRelayoutEmit(request, TesseraEmitObject, "move", count, &size));
  printf("object %d\n", size > 0);
  size = 0;
  failed(tesseraRelayoutEmit(request, TesseraEmitShared, "move", count, &size));
  printf("shared %d\n", size > 0);
  failed(tesseraRelayoutEmit(request, TesseraEmitPlan, "a b", print, stdout));
}
// CHECK-LABEL: @emit
// CHECK-NEXT: relayout of 64-bit elements
// CHECK: func.func @move(
// CHECK: define void @move(
// CHECK: object 1
// CHECK-NEXT: shared 1
// CHECK-NEXT: 0: invalid symbol: expected a C identifier, found `a b`

static void testErrors(TesseraRelayoutRequest request) {
  printf("@errors\n");
  TesseraRelayout *relayout = NULL;
  request.threads = 0;
  failed(tesseraRelayoutGet(&request, &relayout));
  request.threads = 1;
  request.buffers = (TesseraBufferState)3;
  failed(tesseraRelayoutGet(&request, &relayout));
  request.buffers = TesseraBuffersUnknown;
  TesseraShape *other = parse("s64[5,3]"), *dynamic = parse("s64[3,?]");
  request.destination = other;
  failed(tesseraRelayoutGet(&request, &relayout));
  request.destination = dynamic;
  failed(tesseraRelayoutGet(&request, &relayout));
  printf("relayout made: %d\n", relayout != NULL);
  tesseraShapeDestroy(other);
  tesseraShapeDestroy(dynamic);
}
// CHECK-LABEL: @errors
// CHECK-NEXT: 0: invalid number of threads: expected a number from 1 to 1024, found 0
// CHECK-NEXT: 0: invalid buffers: expected a TesseraBufferState, found 3
// CHECK-NEXT: 0: invalid dimensions of the destination: expected s64[3,5], found s64[5,3]
// CHECK-NEXT: {{[01]}}: {{.*}}s64[3,?]
// CHECK-NEXT: relayout made: 0

// What is measured is written to a file, and found there again.
static void testTuning(TesseraRelayoutRequest request, const char *path) {
  printf("@tuning\n");
  request.machine = path;
  failed(tesseraRelayoutEmit(&request, TesseraEmitPlan, "move", print, stdout));
  request.tune = true;
  request.sourceBox = request.destinationBox = "1:3,::4";
  TesseraRelayout *relayout = NULL;
  if (failed(tesseraRelayoutGet(&request, &relayout)))
    return;
  tesseraRelayoutDestroy(relayout);
  request.tune = false;
  failed(tesseraRelayoutEmit(&request, TesseraEmitPlan, "move", print, stdout));
  request.tune = true;
  request.machine = "";
  failed(tesseraRelayoutEmit(&request, TesseraEmitPlan, "move", print, stdout));
}
// CHECK-LABEL: @tuning
// CHECK-NEXT: 0: invalid input file: expected a file that can be read, found `{{.*}}machine.json`:
// CHECK-NEXT: relayout of 64-bit elements
// CHECK: 0: invalid tuning: expected a file for what it measures, found none; name a machine file
// FILE: "destination": "s64[3,5]{1,0:T(2,2)} [1:3,0:5:4]",
// FILE: "source": "s64[3,5]{1,0} [1:3,0:5:4]",

int main(int argc, char **argv) {
  TesseraShape *source = parse("s64[3,5]");
  TesseraShape *destination = parse("s64[3,5]{1,0:T(2,2)}");
  TesseraRelayoutRequest request = {source, destination,           NULL, NULL,
                                    1,      TesseraBuffersUnknown, NULL, false};
  testRun(&request);
  request.threads = 2;
  testRun(&request);
  request.threads = 1;
  request.buffers = TesseraBuffersCold;
  testRun(&request);
  testBoxes(request);
  testEmit(&request);
  testErrors(request);
  if (argc > 1)
    testTuning(request, argv[1]);
  tesseraShapeDestroy(source);
  tesseraShapeDestroy(destination);
  return 0;
}
