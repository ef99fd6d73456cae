//===- TextTest.cpp - Tests of parsing and printing -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {
/// The canonical text, or `position: message`.
std::string canonical(llvm::StringRef text) {
  llvm::Expected<Shape> shape = parseShape(text);
  if (shape)
    return shape->toString();
  Diagnostic diagnostic = takeDiagnostic(shape.takeError());
  return std::to_string(diagnostic.position) + ": " + diagnostic.message();
}
} // namespace

struct TextPair {
  const char *text;
  const char *printed;
};

TEST(Text, PrintsCanonically) {
  for (TextPair pair : std::initializer_list<TextPair>{
           {"f32[2,3]", "f32[2,3]{1,0}"},
           {"f32[]", "f32[]"},
           {"u32[]{:S(2)}", "u32[]{:S(2)}"},
           {"f32[]{:T(256)}", "f32[]{:T(256)}"},
           {" bf16 [ 32 , 4096 ] { 1 , 0 : T ( 8 , 128 ) ( 2 , 1 ) S ( 1 ) } ",
            "bf16[32,4096]{1,0:T(8,128)(2,1)S(1)}"},
           {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}",
            "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}"},
           {"f32[<=8,?]{1,0}", "f32[<=8,?]{1,0}"},
           {"f32[2,3]{0,1:PD(3,5)PV(0)}", "f32[2,3]{0,1:PD(3,5)PV(zero)}"},
           {"f32[2]{0:D(D)L(1)E(0)S(0)M(0)}", "f32[2]{0}"},
           {"f32[2]{0:L(4)E(8)S(1)SC(0:1)M(8)PD(2)PV(highest)}",
            "f32[2]{0:L(4)E(8)S(1)SC(0:1)M(8)PD(2)PV(highest)}"},
           {"()", "()"},
           {"(f32[], token[], (opaque[]), /*x*/ b(s4[2]))",
            "(f32[], token[], (opaque[]), b(s4[2]{0}))"},
           {"(f32[],f32[],f32[],f32[],f32[],f32[])",
            "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])"},
       })
    EXPECT_EQ(canonical(pair.text), pair.printed);
}
