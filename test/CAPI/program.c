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
  TesseraProgramOptions options = {entry, /*poisonsPadding=*/entry != NULL};
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
  printf(": %" PRId64 " bytes at %" PRId64 "\n", array.bytes, array.offset);
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
  // What calloc gives is aligned well enough.
  size_t bytes = 32 * sizeof(int32_t);
  int32_t *input = calloc(1, bytes), *output = calloc(1, bytes);
  for (int i = 0; i < 6; ++i) {
    input[i] = i;
    input[16 + i] = 10 * i;
  }
  printf("%d %d\n", tesseraProgramGetInputBytes(program) == (int64_t)bytes,
         tesseraProgramGetOutputBytes(program) == (int64_t)bytes);
  tesseraProgramRun(program, input, output);
  tesseraProgramDestroy(program);
  for (int i = 0; i < 6; ++i)
    printf("%d,%d ", output[i], output[16 + i]);
  printf("\n");
  free(input);
  free(output);
}
// CHECK-LABEL: @run
// CHECK-NEXT: s32[2,3]{0,1:T(2,2)}: 24 bytes at 0
// CHECK-NEXT: s32[2,3]{1,0}: 24 bytes at 64
// CHECK-NEXT: s32[2,3]{1,0}: 24 bytes at 0
// CHECK-NEXT: s32[2,3]{0,1:T(2,2)}: 24 bytes at 64
// CHECK-NEXT: 1 1
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
  char *input = calloc(3, 64), *output = calloc(3, 64);
  int64_t index = -5;
  double number = 0.25;
  memcpy(input, &index, sizeof(index));
  input[64] = 7;
  memcpy(input + 128, &number, sizeof(number));
  tesseraProgramRun(program, input, output);
  tesseraProgramDestroy(program);
  memcpy(&index, output + 64, sizeof(index));
  memcpy(&number, output + 128, sizeof(number));
  printf("%d %" PRId64 " %g\n", output[0], index, number);
  free(input);
  free(output);
}
// CHECK-LABEL: @numbers
// CHECK-NEXT: s64[]: 8 bytes at 0
// CHECK-NEXT: s8[]: 1 bytes at 64
// CHECK-NEXT: f64[]: 8 bytes at 128
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
