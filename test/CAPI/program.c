//===- program.c - Functions of modules by the C API ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: tessera-capi-program-test | FileCheck %s

#include "tessera-c/Program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(const char *data, size_t length, void *file) {
  fwrite(data, 1, length, (FILE *)file);
}

static TesseraProgram *compile(const char *text, const char *entry) {
  TesseraProgram *program = NULL;
  TesseraProgramOptions options = {entry, /*poisonsPadding=*/entry != NULL,
                                   /*threads=*/0};
  TesseraError *error =
      tesseraProgramCompile(text, strlen(text), &options, &program);
  if (error) {
    printf("%d: %s\n", tesseraErrorGetKind(error),
           tesseraErrorGetMessage(error));
    tesseraErrorDestroy(error);
  }
  return program;
}

static void describe(TesseraProgramArray array) {
  tesseraShapePrint(array.shape, true, print, stdout);
  printf(": %" PRId64 " bytes\n", array.bytes);
}

static const char *const kModule =
    "!a = tensor<2x3xi32, #tessera.layout<{0,1:T(2,2)}>>\n"
    "!b = tensor<2x3xi32>\n"
    "func.func @add(%a: !a, %b: !b) -> (!b, !a) {\n"
    "  %c = tessera.relayout %a : !a to !b\n"
    "  %d = arith.addi %b, %c : !b\n"
    "  return %d, %a : !b, !a\n"
    "}\n"
    "func.func private @nothing() { return }\n";

static void testRun(void) {
  printf("@run\n");
  TesseraProgram *program = compile(kModule, NULL);
  for (size_t i = 0; i < tesseraProgramGetNumInputs(program); ++i)
    describe(tesseraProgramGetInput(program, i));
  for (size_t i = 0; i < tesseraProgramGetNumOutputs(program); ++i)
    describe(tesseraProgramGetOutput(program, i));
  int32_t a[6], b[6], sum[6];
  // Memory may begin anywhere.
  char same[1 + sizeof(a)];
  for (int i = 0; i < 6; ++i) {
    a[i] = i;
    b[i] = 10 * i;
  }
  const void *inputs[] = {a, b};
  void *outputs[] = {sum, same + 1};
  tesseraProgramRun(program, inputs, outputs);
  tesseraProgramDestroy(program);
  memcpy(a, same + 1, sizeof(a));
  for (int i = 0; i < 6; ++i)
    printf("%d,%d ", sum[i], a[i]);
  printf("\n");
}
// CHECK-LABEL: @run
// CHECK-NEXT: s32[2,3]{0,1:T(2,2)}: 24 bytes
// CHECK-NEXT: s32[2,3]{1,0}: 24 bytes
// CHECK-NEXT: s32[2,3]{1,0}: 24 bytes
// CHECK-NEXT: s32[2,3]{0,1:T(2,2)}: 24 bytes
// CHECK-NEXT: 0,0 11,1 22,2 33,3 44,4 55,5

static void testNumbers(void) {
  printf("@numbers\n");
  TesseraProgram *program = compile("func.func @f(%i: index, %a: i8, %b: f64)\n"
                                    "    -> (i8, index, f64) {\n"
                                    "  return %a, %i, %b : i8, index, f64\n"
                                    "}\n",
                                    NULL);
  for (size_t i = 0; i < tesseraProgramGetNumInputs(program); ++i)
    describe(tesseraProgramGetInput(program, i));
  int64_t index = -5, otherIndex = 0;
  signed char byte = 7, otherByte = 0;
  double number = 0.25, otherNumber = 0;
  const void *inputs[] = {&index, &byte, &number};
  void *outputs[] = {&otherByte, &otherIndex, &otherNumber};
  tesseraProgramRun(program, inputs, outputs);
  tesseraProgramDestroy(program);
  printf("%d %" PRId64 " %g\n", otherByte, otherIndex, otherNumber);
}
// CHECK-LABEL: @numbers
// CHECK-NEXT: s64[]: 8 bytes
// CHECK-NEXT: s8[]: 1 bytes
// CHECK-NEXT: f64[]: 8 bytes
// CHECK-NEXT: 7 -5 0.25

static void testOthers(void) {
  printf("@others\n");
  TesseraProgram *program = compile(kModule, "nothing");
  tesseraProgramRun(program, NULL, NULL);
  printf("%zu inputs, %zu outputs\n", tesseraProgramGetNumInputs(program),
         tesseraProgramGetNumOutputs(program));
  tesseraProgramDestroy(program);
  compile(kModule, "sub");
  compile("func.func @f(%a: vector<2xf32>) { return }", NULL);
}
// CHECK-LABEL: @others
// CHECK-NEXT: 0 inputs, 0 outputs
// CHECK-NEXT: 0: invalid entry function: {{.*}}no `@sub`
// CHECK-NEXT: 1: unsupported type of argument 0: {{.*}}found vector<2xf32>

int main(void) {
  testRun();
  testNumbers();
  testOthers();
  return 0;
}
