//===- ProtoTest.cpp - Tests of the text form of ShapeProto ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Proto/Proto.h"
#include "UtilTestSupport.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;

TEST(Proto, PrintsFieldsInOrder) {
  EXPECT_EQ(toProtoText(shapeOf("s4[2,<=3]{1,0:T(8,128)(*,1)L(4)E(4)S(1)"
                                "SC(0:1)(1:)M(8)PD(2,5)PV(lowest)}")),
            R"(element_type: S4
dimensions: 2
dimensions: 3
layout {
  minor_to_major: 1
  minor_to_major: 0
  padded_dimensions: 2
  padded_dimensions: 5
  padding_value: LOWEST_PAD
  tiles {
    dimensions: 8
    dimensions: 128
  }
  tiles {
    dimensions: -9223372036854775808
    dimensions: 1
  }
  element_size_in_bits: 4
  memory_space: 1
  dynamic_shape_metadata_prefix_bytes: 8
  tail_padding_alignment_in_elements: 4
  split_configs {
    split_indices: 1
  }
  split_configs {
    dimension: 1
  }
}
is_dynamic_dimension: false
is_dynamic_dimension: true
)");
  EXPECT_EQ(toProtoText(Shape::token()), "element_type: TOKEN\n");
}

TEST(Proto, RoundTrips) {
  std::vector<std::string> texts = {
      "()",
      "f32[]",
      "f32[?,<=3,0]{0,2,1}",
      "(token[], (opaque[]), b(f32[2]{0:T(8)}), s1[7]{0:PV(zero)})",
      "s4[2,3]{1,0:T(8,128)(*,1)L(4)E(4)S(1)SC(0:1,2)(1:)M(8)PD(2,5)PV(one)}",
      "f32[2]{0:PV(highest)}",
  };
  for (PrimitiveType type : allPrimitiveTypes())
    texts.push_back(isArrayElement(type) ? (getName(type) + "[3]{0}").str()
                                         : (getName(type) + "[]").str());
  for (const std::string &text : texts) {
    Shape shape = shapeOf(text);
    llvm::Expected<Shape> again = parseShapeProto(toProtoText(shape));
    ASSERT_TRUE(!!again) << text << llvm::toString(again.takeError());
    EXPECT_EQ(*again, shape) << text;
  }
  Shape bare = Shape::array(PrimitiveType::F32, {2});
  EXPECT_EQ(get(parseShapeProto(toProtoText(bare))), bare);
}

TEST(Proto, Layouts) {
  Layout layout = shapeOf("f32[2,3]{0,1:T(2)PD(3,5)}").layout();
  EXPECT_EQ(get(parseLayoutProto(get(toProtoText(layout)))), layout);
  EXPECT_EQ(get(parseLayoutProto("")), Layout());
  layout.bounds = {kDynamic, 3};
  EXPECT_EQ(print(toProtoText(layout)), "error: ");
}

// What writers of the text format may do.
TEST(Proto, ReadsTheTextFormat) {
  for (auto [text, expected] :
       std::initializer_list<std::pair<const char *, const char *>>{
           {"element_type: 11 dimensions: [2, 0x10] # comment", "f32[2,16]"},
           {"dimensions: 010, element_type: F32;", "f32[8]"},
           {"element_type:TUPLE tuple_shapes:[{element_type:TOKEN},"
            "<element_type:OPAQUE_TYPE>]",
            "(token[], opaque[])"},
           {"element_type: F32 layout < memory_space: 1 >", "f32[]{:S(1)}"},
           {"element_type: F32 dimensions: 2 is_dynamic_dimension: True",
            "f32[<=2]"},
           {"element_type: F32 dimensions: -9223372036854775808 "
            "is_dynamic_dimension: t",
            "f32[?]"},
           {"element_type: F32 dimensions: []", "f32[]"},
           // Fields of old, at values that say nothing.
           {"element_type: F32 dimensions: 2 layout { minor_to_major: 0 "
            "format: DENSE max_sparse_elements: 0 padding_value: UNKNOWN_PAD "
            "dim_level_types: [DIM_DENSE] dim_unique: true dim_ordered: 1 "
            "index_primitive_type: PRIMITIVE_TYPE_INVALID "
            "tail_padding_alignment_in_elements: 0 }",
            "f32[2]{0}"},
           {"element_type: F32 dimensions: [2,3] layout { minor_to_major: "
            "[0,1] padded_dimensions: [3,5] padding_value: 1 }",
            "f32[2,3]{0,1:PD(3,5)PV(zero)}"},
           {"element_type: TUPLE layout {}", "()"},
       })
    EXPECT_EQ(print(parseShapeProto(text)), expected) << text;
}

TEST(Proto, RefusesWithThePosition) {
  struct Case {
    const char *rule, *marked;
  };
  for (Case c : std::initializer_list<Case>{
           {"proto_c1", "element_type^"},
           {"proto_c1", "element_type: F32 ^}"},
           {"proto_c1", "element_type: F32 ^: 3"},
           {"proto_c1", "dimensions: ^F32"},
           {"proto_c1", "dimensions: ^-"},
           {"proto_c1", "dimensions: ^0x"},
           {"proto_c1", "dimensions: ^2q"},
           {"proto_c1", "dimensions: [2, 3^"},
           {"proto_c1", "layout { memory_space: 1 ^"},
           {"proto_c1", "layout { memory_space: 1 ^>"},
           {"proto_c1", "layout: ^3"},
           {"proto_c1", "is_dynamic_dimension: ^maybe"},
           {"text_c2", "dimensions: ^9223372036854775808"},
           {"text_c2", "dimensions: ^-9223372036854775809"},
           {"proto_c2", "^shape: 3"},
           {"proto_c2", "layout { ^dimensions: 3 }"},
           {"proto_c2", "layout { tiles { ^minor: 3 } }"},
           {"proto_c2", "layout { split_configs { ^minor: 3 } }"},
           {"proto_c3", "element_type: F32 ^element_type: F32"},
           {"proto_c3", "layout { memory_space: 1 ^memory_space: 1 }"},
           {"proto_c4", "element_type: ^F33"},
           {"proto_c4", "element_type: ^35"},
           {"proto_c4", "layout { padding_value: ^NO_PAD }"},
           {"proto_c5", "^dimensions: 2"},
           {"proto_c5", "element_type: ^PRIMITIVE_TYPE_INVALID"},
           {"proto_c6",
            "element_type: F32 dimensions: [2, 3] is_dynamic_dimension^: true"},
           {"proto_c7", "^element_type: TOKEN dimensions: 2"},
           {"proto_c7",
            "^element_type: F32 tuple_shapes { element_type: F32 }"},
           {"proto_c7", "^element_type: TUPLE layout { memory_space: 1 }"},
           {"shape_c5", "^element_type: BUFFER"},
           {"text_c6", "layout { ^format: SPARSE }"},
           {"text_c6", "layout { ^index_primitive_type: U32 }"},
           {"text_c6", "layout { ^max_sparse_elements: 3 }"},
           {"text_c6", "layout { ^physical_shape { } }"},
           {"shape_c1", "element_type: F32 dimensions: [2, ^-3]"},
           {"shape_c1", "element_type: F32 dimensions: ^-9223372036854775808"},
           {"layout_c1", "element_type: F32 dimensions: 2 "
                         "layout { minor_to_major: ^1 }"},
           {"layout_c3", "element_type: F32 dimensions: 2 layout { "
                         "minor_to_major: 0 tiles { dimensions: [8, ^-1] } }"},
           {"layout_c5", "element_type: F32 layout { "
                         "tail_padding_alignment_in_elements: ^-1 }"},
           {"layout_c8", "element_type: F32 dimensions: 2 layout { "
                         "minor_to_major: 0 split_configs { dimension: ^1 } }"},
           {"layout_c9", "element_type: F32 dimensions: 2 layout { "
                         "minor_to_major: 0 split_configs { split_indices: "
                         "[2, ^2] } }"},
           {"layout_c13", "element_type: F32 dimensions: 2 layout ^{ }"},
           {"layout_c14", "element_type: F32 dimensions: 2 layout { "
                          "minor_to_major: 0 padded_dimensions: ^1 }"},
           {"layout_c15", "element_type: PRED dimensions: 2 layout { "
                          "minor_to_major: 0 padding_value: ^LOWEST_PAD }"},
           // Positions in tuples are of the whole text.
           {"shape_c1", "element_type: TUPLE tuple_shapes { element_type: F32 "
                        "dimensions: 2 } tuple_shapes { element_type: F32 "
                        "dimensions: ^-2 }"},
       }) {
    auto [before, after] = llvm::StringRef(c.marked).split('^');
    llvm::Expected<Shape> shape = parseShapeProto((before + after).str());
    ASSERT_FALSE(!!shape) << c.marked;
    Diagnostic diagnostic = takeDiagnostic(shape.takeError());
    EXPECT_EQ(diagnostic.rule, c.rule) << c.marked << diagnostic.message();
    EXPECT_EQ(diagnostic.position, static_cast<int64_t>(before.size()))
        << c.marked << diagnostic.message();
  }
  EXPECT_EQ(print(parseLayoutProto("minor_to_major: 1")), "error: layout_c1");
}

TEST(Proto, DeepNestingIsRefused) {
  std::string text = "element_type: TUPLE ";
  for (int i = 0; i < 100000; ++i)
    text += "tuple_shapes { element_type: TUPLE ";
  EXPECT_EQ(print(parseShapeProto(text)), "error: text_c8");
}
