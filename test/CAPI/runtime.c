//===- runtime.c - Relayouts at run time, in C ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: tessera-capi-runtime-test | FileCheck %s

#include "tessera-c/Runtime.h"
#include "tessera-c/Compile.h" // The two headers have no name in common.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(const char *data, size_t length, void *file) {
  fwrite(data, 1, length, (FILE *)file);
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

static TesseraRuntimeRelayout *create(const char *source,
                                      const char *destination,
                                      const TesseraRuntimeOptions *options) {
  TesseraRuntimeRelayout *relayout = NULL;
  failed(tesseraRuntimeRelayoutCreate(source, destination, options, &relayout));
  return relayout;
}

static TesseraInt64s numbers(const int64_t *data, size_t size) {
  return (TesseraInt64s){data, size};
}

// There and back: tiles of pairs of rows, padding that becomes zeros.
static void testTiles(void) {
  printf("@tiles\n");
  enum { kRows = 3, kColumns = 5, kTiled = 4 * 8 };
  uint16_t rows[kRows * kColumns], tiles[kTiled], back[kRows * kColumns];
  for (int i = 0; i < kRows * kColumns; ++i)
    rows[i] = (uint16_t)(100 + i);
  memset(tiles, 0xFF, sizeof(tiles));
  TesseraRuntimeOptions options = {0};
  options.zeroPadding = true;
  TesseraRuntimeRelayout *to =
      create("bf16[3,5]", "bf16[3,5]{1,0:T(4,4)(2,1)}", &options);
  TesseraRuntimeRelayout *from =
      create("bf16[3,5]{1,0:T(4,4)(2,1)}", "bf16[3,5]", NULL);
  printf("%" PRId64 " bytes to %" PRId64 "\n",
         tesseraRuntimeRelayoutGetSourceBytes(to),
         tesseraRuntimeRelayoutGetDestinationBytes(to));
  failed(
      tesseraRuntimeRelayoutRun(to, rows, sizeof(rows), tiles, sizeof(tiles)));
  for (int i = 0; i < kTiled; ++i)
    printf("%d%s", tiles[i], i % 8 == 7 ? "\n" : " ");
  // In shares that the caller runs.
  for (int64_t share = 0; share < 3; ++share)
    failed(tesseraRuntimeRelayoutRunShare(from, tiles, sizeof(tiles), back,
                                          sizeof(back), share, 3));
  printf("the same: %d\n", memcmp(rows, back, sizeof(rows)) == 0);
  tesseraRuntimeRelayoutDestroy(to);
  tesseraRuntimeRelayoutDestroy(from);
}
// CHECK-LABEL: @tiles
// CHECK-NEXT: 30 bytes to 64
// CHECK-NEXT: 100 105 101 106 102 107 103 108
// CHECK-NEXT: 110 0 111 0 112 0 113 0
// CHECK-NEXT: 104 109 0 0 0 0 0 0
// CHECK-NEXT: 114 0 0 0 0 0 0 0
// CHECK-NEXT: the same: 1

// The same pair as PJRT describes it, from a source whose rows lie apart and
// run from the last to the first.
static void testArrays(void) {
  printf("@arrays\n");
  enum { kRows = 3, kColumns = 5, kPitch = 7 };
  uint16_t rows[kRows * kPitch], tiles[4 * 8];
  for (int i = 0; i < kRows * kPitch; ++i)
    rows[i] = (uint16_t)(100 + i);
  memset(tiles, 0, sizeof(tiles));
  int64_t dims[] = {kRows, kColumns}, order[] = {1, 0};
  int64_t tileDims[] = {4, 4, 2, 1}, strides[] = {-2 * kPitch, 2};
  size_t tileDimSizes[] = {2, 2};
  TesseraRuntimeArray source = {0};
  source.elementType = "bf16";
  source.dimensions = numbers(dims, 2);
  source.byteStrides = numbers(strides, 2);
  source.byteOffset = 2 * (kRows - 1) * kPitch;
  TesseraRuntimeArray destination = {0};
  destination.elementType = "bf16";
  destination.dimensions = numbers(dims, 2);
  destination.minorToMajor = numbers(order, 2);
  destination.tileDims = numbers(tileDims, 4);
  destination.tileDimSizes = tileDimSizes;
  destination.numTiles = 2;
  TesseraRuntimeOptions options = {0};
  options.vectorBytes = 16; // The same moves on each processor.
  TesseraRuntimeRelayout *relayout = NULL;
  if (failed(tesseraRuntimeRelayoutCreateOfArrays(&source, &destination,
                                                  &options, &relayout)))
    return;
  failed(tesseraRuntimeRelayoutRun(relayout, rows, sizeof(rows), tiles,
                                   sizeof(tiles)));
  for (int i = 0; i < 24; ++i)
    printf("%d%s", tiles[i], i % 8 == 7 ? "\n" : " ");
  tesseraRuntimeRelayoutPrint(relayout, print, stdout);
  tesseraRuntimeRelayoutDestroy(relayout);
}
// CHECK-LABEL: @arrays
// CHECK-NEXT: 114 107 115 108 116 109 117 110
// CHECK-NEXT: 100 0 101 0 102 0 103 0
// CHECK-NEXT: 118 111 0 0 0 0 0 0
// CHECK-NEXT: 38 bytes to 64, by
// CHECK-NEXT: transpose of 2 bytes, src 28 dst 0
// CHECK-NEXT:   rows 2  src -14 dst 2
// CHECK-NEXT:   columns 4  src 2 dst 4

// A window of two rows that moves over tiles.
static void testOffsets(void) {
  printf("@offsets\n");
  enum { kRows = 4, kColumns = 6 };
  uint16_t rows[kRows * kColumns], window[4];
  for (int i = 0; i < kRows * kColumns; ++i)
    rows[i] = (uint16_t)i;
  TesseraRuntimeOptions options = {0};
  options.sourceBox = "0:2,0:3:2";
  TesseraRuntimeRelayout *relayout =
      create("u16[4,6]", "u16[2,2]{0,1}", &options);
  for (int64_t row = 0; row <= 3; ++row) {
    int64_t offsets[] = {row, row + 1};
    if (failed(tesseraRuntimeRelayoutRunAt(relayout, numbers(offsets, 2),
                                           numbers(NULL, 0), rows, sizeof(rows),
                                           window, sizeof(window))))
      continue;
    printf("%d %d %d %d\n", window[0], window[1], window[2], window[3]);
  }
  tesseraRuntimeRelayoutDestroy(relayout);
}
// CHECK-LABEL: @offsets
// CHECK-NEXT: 1 7 3 9
// CHECK-NEXT: 8 14 10 16
// CHECK-NEXT: 15 21 17 23
// CHECK-NEXT: invalid: invalid source offsets of d0: expected from 0 to 2, found 3

static void testHostileTexts(void) {
  printf("@texts\n");
  create("f32[2", "f32[2]", NULL);
  create("f32[2]", "f32[3]", NULL);
  create("f32[2]", "s32[2]", NULL);
  create("(f32[2])", "f32[2]", NULL);
  create("f32[?]", "f32[?]", NULL);
  create("f32[2]", "f32[2]{0:M(8)}", NULL);
  create("s4[2]{0:E(2)}", "s4[2]", NULL);
  create("f32[-2]", "f32[-2]", NULL);
  create("f64[2000000000,2000000000]", "f64[2000000000,2000000000]", NULL);
  create("f32[9000000000000]", "f32[9000000000000]{0:T(9000000000000000000)}",
         NULL);
  create(NULL, "f32[2]", NULL);
  create("f32[2]", NULL, NULL);
  TesseraRuntimeOptions options = {0};
  options.vectorBytes = 48;
  create("f32[2]", "f32[2]", &options);
  options.vectorBytes = 0;
  options.streamedBytes = -1;
  create("f32[2]", "f32[2]", &options);
  options.streamedBytes = 0;
  options.sourceBox = "0:9";
  create("f32[2]", "f32[2]", &options);
  options.sourceBox = "0:1";
  create("f32[2]", "f32[2]", &options);
  options.destinationBox = ":,:";
  create("f32[2]", "f32[2]", &options);
}
// CHECK-LABEL: @texts
// CHECK-NEXT: invalid: invalid dimensions: {{.*}}found the end of the text {{.*}} at 5
// CHECK-NEXT: invalid: invalid dimensions of the destination: expected f32[2], found f32[3]
// CHECK-NEXT: invalid: invalid element type of the destination: expected f32, found s32
// CHECK-NEXT: invalid: invalid source: expected an array, found (f32[2]{0})
// CHECK-NEXT: unsupported: unsupported source: expected dimensions that are known or bounded
// CHECK-NEXT: unsupported: unsupported M of the destination
// CHECK-NEXT: unsupported: unsupported E of the source: expected the type's bits, 4, or its bytes, 8, found 2
// CHECK-NEXT: invalid: {{.*}}-2
// CHECK-NEXT: invalid: {{.*}}rule 'shape_c
// CHECK-NEXT: invalid:
// CHECK-NEXT: invalid: invalid source: expected a pointer, found null
// CHECK-NEXT: invalid: invalid destination: expected a pointer, found null
// CHECK-NEXT: invalid: invalid vectorBytes: expected 0, 16, 32 or 64, found 48
// CHECK-NEXT: invalid: invalid streamedBytes: expected 0 or more, found -1
// CHECK-NEXT: invalid: invalid sourceBox: expected BEGIN:END or BEGIN:END:STEP within 0:2, STEP 1 or more, found `0:9`
// CHECK-NEXT: invalid: invalid sizes of the destination: expected 1, found 2
// CHECK-NEXT: invalid: invalid destinationBox: expected a slice for each of 1 dimensions, found `:,:`

// Each call changes one field of arrays that are right, and puts it back.
static TesseraRuntimeArray gSource, gDestination;

static void tryArrays(void) {
  TesseraRuntimeRelayout *relayout = NULL;
  TesseraRuntimeArray source = gSource, destination = gDestination;
  if (!failed(tesseraRuntimeRelayoutCreateOfArrays(&source, &destination, NULL,
                                                   &relayout)))
    printf("right\n");
  tesseraRuntimeRelayoutDestroy(relayout);
}

static void testHostileArrays(void) {
  printf("@structs\n");
  int64_t dims[] = {3, 5}, order[] = {0, 1}, tileDims[] = {2, 2};
  int64_t strides[] = {20, 4};
  size_t tileDimSizes[] = {2};
  TesseraRuntimeArray right = {0};
  right.elementType = "f32";
  right.dimensions = numbers(dims, 2);
  right.minorToMajor = numbers(order, 2);
  right.tileDims = numbers(tileDims, 2);
  right.tileDimSizes = tileDimSizes;
  right.numTiles = 1;
  gSource = gDestination = right;
  tryArrays();
  // CHECK-LABEL: @structs
  // CHECK-NEXT: right
  gSource.elementType = NULL;
  tryArrays();
  // CHECK-NEXT: invalid: invalid element type: expected a pointer, found null
  gSource.elementType = "token";
  tryArrays();
  // CHECK-NEXT: invalid: invalid element type: expected one such as bf16, found 'token'
  gSource = right;
  gSource.dimensions.data = NULL;
  tryArrays();
  // CHECK-NEXT: invalid: invalid dimensions: expected a pointer, found null
  gSource = right;
  dims[0] = -3;
  tryArrays();
  // CHECK-NEXT: invalid: {{.*}}-3
  dims[0] = INT64_MAX;
  tryArrays();
  // CHECK-NEXT: invalid: {{.*}}rule 'shape_c
  dims[0] = 3;
  gSource.minorToMajor.size = 1;
  tryArrays();
  // CHECK-NEXT: invalid: {{.*}}rule 'layout_c
  gSource.minorToMajor.size = 2;
  order[0] = 7;
  tryArrays();
  // CHECK-NEXT: invalid: {{.*}}7{{.*}}rule 'layout_c
  order[0] = 0;
  gSource.minorToMajor.data = NULL;
  tryArrays();
  // CHECK-NEXT: invalid: invalid minor_to_major: expected a pointer, found null
  gSource = right;
  gSource.tileDimSizes = NULL;
  tryArrays();
  // CHECK-NEXT: invalid: invalid tile_dim_sizes: expected a pointer, found null
  gSource = right;
  gSource.tileDims.data = NULL;
  tryArrays();
  // CHECK-NEXT: invalid: invalid tile_dims: expected a pointer, found null
  gSource = right;
  tileDimSizes[0] = SIZE_MAX;
  tryArrays();
  // CHECK-NEXT: invalid: invalid tile_dims: expected as many sizes as tile_dim_sizes say, found 2
  tileDimSizes[0] = 1;
  tryArrays();
  // CHECK-NEXT: invalid: invalid tile_dims: expected as many sizes as tile_dim_sizes say, found 1 more
  tileDimSizes[0] = 2;
  tileDims[1] = -8;
  tryArrays();
  // CHECK-NEXT: invalid: {{.*}}rule 'layout_c3'
  tileDims[1] = 2;
  gSource.elementBits = -4;
  tryArrays();
  // CHECK-NEXT: invalid: {{.*}}rule 'layout_c
  gSource = right;
  gSource.byteStrides = numbers(strides, 1);
  tryArrays();
  // CHECK-NEXT: invalid: invalid byte strides: expected one for each of 2 dimensions, found 1
  gSource.byteStrides = numbers(NULL, 2);
  tryArrays();
  // CHECK-NEXT: invalid: invalid byte strides: expected a pointer, found null
  gSource.byteStrides = numbers(strides, 2);
  tryArrays();
  // CHECK-NEXT: right
  strides[0] = -20;
  tryArrays();
  // CHECK-NEXT: invalid: invalid byte strides: expected elements behind the begin of the buffer, found one at byte -40
  strides[0] = INT64_MIN;
  tryArrays();
  // CHECK-NEXT: invalid: invalid byte strides: expected a buffer of less than 2^56 bytes
  strides[0] = INT64_MAX / 4;
  tryArrays();
  // CHECK-NEXT: invalid: invalid byte strides: expected a buffer of less than 2^56 bytes
  strides[0] = 20;
  gSource.byteOffset = -1;
  tryArrays();
  // CHECK-NEXT: invalid: invalid byte strides: expected an offset from 0 to below 2^56, found -1
  gSource.byteOffset = 0;
  gSource.elementType = gDestination.elementType = "s4";
  gSource.elementBits = 4;
  tryArrays();
  // CHECK-NEXT: unsupported: unsupported byte strides: expected elements of whole bytes, found 4 bits; leave out E
  gSource = gDestination = right;
  gDestination.byteStrides = numbers(strides, 2);
  tryArrays();
  // CHECK-NEXT: unsupported: unsupported byte strides: expected those of the source alone, found strides of the destination
  TesseraRuntimeRelayout *relayout = NULL;
  failed(tesseraRuntimeRelayoutCreateOfArrays(NULL, &right, NULL, &relayout));
  failed(tesseraRuntimeRelayoutCreateOfArrays(&right, NULL, NULL, &relayout));
  // CHECK-NEXT: invalid: invalid source: expected a pointer, found null
  // CHECK-NEXT: invalid: invalid destination: expected a pointer, found null
}

static void testBuffers(void) {
  printf("@buffers\n");
  float from[16] = {0}, to[16] = {0};
  from[0] = 1;
  TesseraRuntimeRelayout *relayout = create("f32[4,4]", "f32[4,4]{0,1}", NULL);
  failed(tesseraRuntimeRelayoutRun(relayout, from, 63, to, 64));
  failed(tesseraRuntimeRelayoutRun(relayout, from, 64, to, 0));
  failed(tesseraRuntimeRelayoutRun(relayout, NULL, 64, to, 64));
  failed(tesseraRuntimeRelayoutRun(relayout, from, 64, NULL, 64));
  failed(tesseraRuntimeRelayoutRun(relayout, from, 64, from, 64));
  failed(tesseraRuntimeRelayoutRun(relayout, from, 64, from + 15, 64));
  failed(tesseraRuntimeRelayoutRunShare(relayout, from, 64, to, 64, -1, 4));
  failed(tesseraRuntimeRelayoutRunShare(relayout, from, 64, to, 64, 4, 4));
  failed(tesseraRuntimeRelayoutRunShare(relayout, from, 64, to, 64, 0, 0));
  printf("nothing was written: %d\n", to[0] == 0);
  tesseraRuntimeRelayoutDestroy(relayout);
  relayout = create("f32[0,4]", "f32[0,4]{0,1}", NULL);
  if (!failed(tesseraRuntimeRelayoutRun(relayout, NULL, 0, NULL, 0)))
    printf("nothing to move\n");
  tesseraRuntimeRelayoutDestroy(relayout);
  tesseraRuntimeRelayoutDestroy(NULL);
}
// CHECK-LABEL: @buffers
// CHECK-NEXT: invalid: invalid buffer of the source: expected at least 64 bytes, found 63
// CHECK-NEXT: invalid: invalid buffer of the destination: expected at least 64 bytes, found 0
// CHECK-NEXT: invalid: invalid buffer of the source: expected a pointer, found null
// CHECK-NEXT: invalid: invalid buffer of the destination: expected a pointer, found null
// CHECK-NEXT: invalid: invalid buffers: expected ones that do not overlap
// CHECK-NEXT: invalid: invalid buffers: expected ones that do not overlap
// CHECK-NEXT: invalid: invalid share: expected one from 0 to below the shares, found -1 of 4
// CHECK-NEXT: invalid: invalid share: {{.*}}found 4 of 4
// CHECK-NEXT: invalid: invalid share: {{.*}}found 0 of 0
// CHECK-NEXT: nothing was written: 1
// CHECK-NEXT: nothing to move

int main(void) {
  testTiles();
  testArrays();
  testOffsets();
  testHostileTexts();
  testHostileArrays();
  testBuffers();
  return 0;
}
