//===- ParserTest.cpp - Tests of the HLO parser and printer ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Parser.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/HLO/Verifier.h"

#include "../TestCounts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::hlo;

static const char *const kModule = R"(HloModule m, is_scheduled=true

%inner (p.1: f32[8,256], q.1: f32[]) -> (f32[8,256], s32[]) {
  %q.1 = f32[]{:T(128)} parameter(1)
  %p.1 = f32[8,256]{1,0:T(8,128)} parameter(0)
  %i = s32[]{:T(128)} constant(-7)
  ROOT %t = (f32[8,256]{1,0:T(8,128)}, s32[]{:T(128)}) tuple(%p.1, %i), metadata={op_name="a \"b\"\n" stack_frame_id=3}
}

ENTRY %main (x: f32[8,256], y: f32[]) -> f32[8,256] {
  %x = f32[8,256]{1,0:T(8,128)} parameter(0)
  %y = f32[]{:T(128)} parameter(1), sharding={replicated}
  %f = (f32[8,256]{1,0:T(8,128)}, s32[]{:T(128)}) fusion(%x, %y), kind=kLoop, calls=%inner, backend_config={"a":["}"]}
  ROOT %g = f32[8,256]{1,0:T(8,128)} get-tuple-element(%f), index=0
}

)";

static std::unique_ptr<Module> parseGood(llvm::StringRef text) {
  std::vector<SourceDiagnostic> errors;
  std::unique_ptr<Module> module = parse(text, errors);
  for (const SourceDiagnostic &error : errors)
    ADD_FAILURE() << error.message();
  return module;
}

static std::vector<std::string> parseBad(llvm::StringRef text) {
  std::vector<SourceDiagnostic> errors;
  std::unique_ptr<Module> module = parse(text, errors);
  if (module)
    verify(*module, errors);
  std::vector<std::string> messages;
  for (const SourceDiagnostic &error : errors)
    messages.push_back(error.message());
  return messages;
}

TEST(HloParser, ModelHasWhatTheTextSays) {
  std::unique_ptr<Module> module = parseGood(kModule);
  ASSERT_TRUE(module);
  EXPECT_EQ(module->name(), "m");
  EXPECT_TRUE(module->isScheduled());
  EXPECT_FALSE(module->isSingleInstruction());
  ASSERT_EQ(module->computations().size(), 2u);
  const Computation &inner = *module->computations()[0];
  const Computation &entry = *module->entry();
  EXPECT_EQ(&entry, module->computations()[1]);
  EXPECT_TRUE(inner.isFused());
  EXPECT_FALSE(entry.isFused());

  // Parameters go by number, instructions by the order of the text.
  ASSERT_EQ(inner.parameters().size(), 2u);
  EXPECT_EQ(inner.parameters()[0]->name, "p.1");
  EXPECT_EQ(inner.instructions()[0]->name, "q.1");
  EXPECT_EQ(inner.root()->opcode, Opcode::Tuple);
  EXPECT_EQ(inner.root()->operands[0], inner.parameters()[0]);

  const Instruction &fusion = *entry.instructions()[2];
  EXPECT_EQ(fusion.opcode, Opcode::Fusion);
  EXPECT_EQ(fusion.getComputation("calls"), &inner);
  EXPECT_EQ(fusion.getAttribute("kind")->text, "kLoop");
  EXPECT_EQ(fusion.getAttribute("absent"), nullptr);
  EXPECT_EQ(getString(fusion.getAttribute("backend_config")),
            "{\"a\":[\"}\"]}");
  EXPECT_EQ(getInt(entry.root()->getAttribute("index")), 0);
  const Attribute *metadata = inner.root()->getAttribute("metadata");
  EXPECT_EQ(getMetadata(metadata, "op_name"), "a \"b\"\n");
  EXPECT_EQ(getMetadata(metadata, "stack_frame_id"), "3");
  EXPECT_EQ(getMetadata(metadata, "op_type"), std::nullopt);

  SourceLocation location = module->getLocation(fusion.name);
  EXPECT_EQ(location.line, 13u);
  EXPECT_EQ(location.column, 4u);
  // Equal texts of shapes are one shape.
  EXPECT_EQ(entry.root()->shape, inner.parameters()[0]->shape);
}

TEST(HloParser, PrintsWhatItRead) {
  EXPECT_EQ(parseGood(kModule)->toString(), kModule);
}

TEST(HloParser, PrintsWhatXlaWouldPrint) {
  // Without %, with shapes of operands, comments, blanks, no layouts.
  std::unique_ptr<Module> module = parseGood(R"(HloModule n /* a module */
// The sum.
add { a = f32[] parameter(0)
  b = f32[] parameter(1) ROOT c = f32[] add(f32[] a, f32[] %b) }
ENTRY e {
  p = f32 [2,3] parameter(0)
  z = f32[] constant( 0 )
  ROOT r = f32[2]{0} reduce(p, z),dimensions={1},   to_apply=add
})");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->toString(), R"(HloModule n

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

ENTRY %e (p: f32[2,3]) -> f32[2] {
  %p = f32[2,3]{1,0} parameter(0)
  %z = f32[] constant(0)
  ROOT %r = f32[2]{0} reduce(%p, %z), dimensions={1}, to_apply=add
}

)");
}

TEST(HloParser, SingleInstruction) {
  std::unique_ptr<Module> module =
      parseGood("add.936 = bf16[8,1]{1,0:T(8,128)(2,1)} add(exp.183, "
                "broadcast.3115)");
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->isSingleInstruction());
  ASSERT_EQ(module->entry()->parameters().size(), 2u);
  EXPECT_EQ(module->entry()->parameters()[1]->name, "broadcast.3115");
  EXPECT_EQ(module->entry()->root()->name, "add.936");
  // Written so that XLA, which wants shapes of operands, reads it.
  std::string text = module->toString();
  EXPECT_EQ(text, "ROOT %add.936 = bf16[8,1]{1,0:T(8,128)(2,1)} add(bf16[8,1]"
                  "{1,0:T(8,128)(2,1)} %exp.183, bf16[8,1]{1,0:T(8,128)(2,1)} "
                  "%broadcast.3115)\n");
  EXPECT_EQ(parseGood(text)->toString(), text);

  // Names of operands, or all that is in front of the shape, may be missing.
  module = parseGood("f32[2] dot(f32[2,3], f32[3]), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->entry()->parameters()[0]->name, "_0");

  EXPECT_THAT(parseBad("a = f32[2] dot(b, c)"),
              testing::Each(testing::HasSubstr("unsupported operand")));
}

TEST(HloParser, LineOutOfAModule) {
  llvm::StringRef text =
      "ROOT %f = (f32[2]{0}, u32[]) fusion(%a, f32[3]{0} %b, %a), kind=kLoop, "
      "calls=%c.1, control-predecessors={%d}, metadata={stack_frame_id=3}";
  EXPECT_THAT(parseBad(text), testing::Not(testing::IsEmpty()));
  std::vector<SourceDiagnostic> errors;
  std::unique_ptr<Module> module = parseLine(text, errors);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->isSingleInstruction());
  const Instruction &fusion = *module->entry()->root();
  ASSERT_EQ(fusion.operands.size(), 3u);
  EXPECT_EQ(fusion.operands[0]->shape, nullptr);
  EXPECT_EQ(fusion.operands[0], fusion.operands[2]);
  EXPECT_EQ(fusion.operands[1]->shape->toString(), "f32[3]{0}");
  EXPECT_EQ(fusion.getComputation("calls")->name(), "c.1");
  EXPECT_TRUE(fusion.getComputation("calls")->instructions().empty());
  const Attribute *before = fusion.getAttribute("control-predecessors");
  ASSERT_EQ(before->instructions.size(), 1u);
  EXPECT_EQ(before->instructions.front()->name, "d");
  EXPECT_EQ(llvm::StringRef(module->toString()).trim(), text);

  // What the line itself says must be right all the same.
  auto isBad = [](llvm::StringRef line, llvm::StringRef message) {
    std::vector<SourceDiagnostic> errors;
    EXPECT_FALSE(parseLine(line, errors));
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors.front().message(), message.str());
  };
  isBad("%a = f32[2]{0} add(f32[2]{0} %b)",
        "1:16: error: invalid add: expected 2 operands, found 1");
  isBad("%a = f32[2]{0} fusion(%b), calls=%c",
        "1:16: error: invalid instruction: expected the attribute `kind`, "
        "found none");
  isBad("%a = f32[2]{0} negate(%a)",
        "1:1: error: invalid instruction name: expected a new one, found `a` "
        "again; the first is in line 1");
  isBad("%a = f32[2]{0} negate(%b) %c",
        "1:27: error: invalid single instruction: expected the end of the "
        "text, found `c`");
}

TEST(HloParser, AsynchronousSteps) {
  std::unique_ptr<Module> module = parseGood(R"(HloModule a
ENTRY e {
  p = f32[8]{0} parameter(0)
  s = ((f32[8]{0}), f32[8]{0}, u32[]) negate-start(p), async_execution_thread="t"
  u = ((f32[8]{0}), f32[8]{0}, u32[]) negate-update(s)
  ROOT d = f32[8]{0} negate-done(u)
})");
  ASSERT_TRUE(module);
  const Instruction &start = *module->entry()->instructions()[1];
  EXPECT_EQ(start.opcode, Opcode::AsyncStart);
  EXPECT_EQ(start.asyncWrapped, Opcode::Negate);
  EXPECT_EQ(start.opcodeName(), "negate-start");
  EXPECT_THAT(parseBad(R"(HloModule a
ENTRY e {
  p = f32[8]{0} parameter(0)
  ROOT d = f32[8]{0} negate-done(p)
})"),
              testing::ElementsAre(testing::HasSubstr(
                  "4:22: error: invalid negate-done: expected an asynchronous "
                  "start or update as the operand")));
}

// What XLA's parser accepts, and refuses or dies of; good ones are also in
// named_sharding.hlo.
TEST(HloParser, NamedShardings) {
  auto parseSharding = [](llvm::StringRef sharding) -> std::string {
    std::string text = ("HloModule m\nENTRY e {\n  ROOT p = f32[8,6]{1,0} "
                        "parameter(0), sharding=" +
                        sharding + "\n}\n")
                           .str();
    std::vector<SourceDiagnostic> errors;
    std::unique_ptr<Module> module = parse(text, errors);
    if (!module)
      return errors.front().diagnostic.message();
    return module->entry()->root()->getAttribute("sharding")->text.str();
  };
  for (llvm::StringRef good :
       {"{mesh[], []}", "{mesh[\"x\"=4] [{\"x\"}]}",
        "{mesh['x'=4], [{'0'},{}]}",
        "{mesh['x'=4], [{'x'}], metadata={op_name=\"a\"}}",
        "{mesh['x'=8], [{'x':(2)4}, {'x':(1)2}]}",
        "{mesh['x'=4,'y'=2], device_ids=([8]), [{'y','x'}], manual={}}",
        "{{mesh['x'=4], unreduced}, {maximal_mesh[device_id=1], "
        "metadata={{}}}}"})
    EXPECT_EQ(parseSharding(good), good);

  auto isBad = [&](llvm::StringRef sharding, llvm::StringRef message) {
    EXPECT_THAT(parseSharding(sharding), testing::HasSubstr(message.str()))
        << sharding.str();
  };
  isBad("{mesh['x'=4]}", "invalid sharding: expected `[`");
  isBad("{mesh['x'=4], maximal}", "invalid sharding: expected `[`");
  isBad("{mesh['x'=4], replicated, manual}", "`metadata=` or `}`");
  isBad("{mesh['x'=4], [{'x'}], foo={}}", "replicated=, unreduced=, manual=");
  isBad("{mesh[x=4], [{}]}", "invalid mesh axis");
  isBad("{mesh['x'=2,'x'=2], []}",
        "invalid mesh axis: expected each axis once");
  isBad("{mesh['x'=4], [{'y'}]}", "invalid axis: expected one of the mesh");
  isBad("{mesh['x'=4], [{?, 'x'}]}", "`}` behind `?`");
  isBad("{mesh['x'=4], [{'x'}, {'x'}]}", "found x again");
  isBad("{mesh['x'=4], [{'x'}], manual={'x'}}", "found x again");
  isBad("{mesh['x'=8], [{'x':(1)4}, {'x':(2)4}]}", "found x again");
  isBad("{mesh['x'=8], [{'x':(1)2,'x':(2)2}]}", "found x again");
  isBad("{mesh['x'=8], [{'x':(1)8}]}", "invalid part of an axis");
  isBad("{mesh['x'=8], [{'x':(1)3}]}", "invalid part of an axis");
  isBad("{mesh['x'=8], [{'x':(0)2}]}", "invalid part of an axis");
  isBad("{mesh['x'=2,'y'=2], [], replicated={'y','x'}}", "order of the mesh");
  isBad("{mesh['x'=4], device_ids=([2,2]), []}", "invalid device list");
  isBad("{mesh['x'=4], device_ids=([2,2]T(0,0)), []}", "device permutation");
  isBad("{mesh['x'=4], device_ids=([8]), []}", "as many devices as the mesh");
  isBad("{mesh['x'=4], device_ids=(3,3,1,0), []}", "each once");
  isBad("{maximal_mesh[device_id=1], []}", "`metadata=` or `}`");
  isBad("{maximal_mesh[1]}", "`device_id=`");
}

TEST(HloParser, Tables) {
  std::string text = R"(HloModule m

FileNames
1 "a.py"

FunctionNames
1 "f"
2 "g"

FileLocations
1 {file_name_id=1 function_name_id=2 line=3 end_line=4 column=5 end_column=6}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


ENTRY %e () -> s32[] {
  ROOT %c = s32[] constant(1), metadata={,stack_frame_id=1}
}

)";
  std::unique_ptr<Module> module = parseGood(text);
  ASSERT_TRUE(module && module->stackFrames());
  EXPECT_EQ(module->stackFrames()->functionNames[1], "\"g\"");
  EXPECT_EQ(module->stackFrames()->fileLocations[0].endColumn, 6);
  EXPECT_EQ(module->toString(), text);
}

TEST(HloAttributes, Readers) {
  auto make = [](llvm::StringRef text, AttributeKind kind) {
    Attribute attribute;
    attribute.text = text;
    attribute.kind = kind;
    return attribute;
  };
  Attribute ints = make("{0, -2,/*c*/3}", AttributeKind::IntList);
  EXPECT_THAT(getInts(&ints), testing::ElementsAre(0, -2, 3));
  EXPECT_TRUE(getInts(nullptr).empty());
  Attribute slices = make("{[0:4], [1:9:2]}", AttributeKind::Slices);
  EXPECT_THAT(getIntLists(&slices),
              testing::ElementsAre(testing::ElementsAre(0, 4),
                                   testing::ElementsAre(1, 9, 2)));
  Attribute alias = make("{ {0,1}: (2, {3}), {}: (4, {}, must-alias) }",
                         AttributeKind::Aliasing);
  std::vector<Alias> aliases = getAliases(&alias);
  ASSERT_EQ(aliases.size(), 2u);
  EXPECT_THAT(aliases[0].outputIndex, testing::ElementsAre(0, 1));
  EXPECT_EQ(aliases[0].number, 2);
  EXPECT_THAT(aliases[0].inputIndex, testing::ElementsAre(3));
  EXPECT_EQ(aliases[1].number, 4);
  EXPECT_TRUE(aliases[1].outputIndex.empty());
  EXPECT_EQ(unquote(R"("\x41\102\u00e4\'\t")"), "AB\xc3\xa4'\t");
}

// Hostile texts end in messages: neither in a crash nor in a long wait.
TEST(HloParser, HostileTexts) {
  std::string deep(200000, '(');
  EXPECT_FALSE(parseBad("HloModule m ENTRY e { a = " + deep).empty());
  EXPECT_FALSE(
      parseBad("HloModule m ENTRY e { a = f32[2] constant(" + deep).empty());
  std::string braces(200000, '{');
  EXPECT_FALSE(
      parseBad("HloModule m ENTRY e { a = f32[2] constant(" + braces).empty());
  EXPECT_FALSE(
      parseBad("HloModule m, frontend_attributes={a=" + braces).empty());
  EXPECT_FALSE(parseBad("HloModule m ENTRY e { a = f32[] custom-call(), "
                        "custom_call_target=\"t\", literal=" +
                        deep)
                   .empty());
  EXPECT_FALSE(
      parseBad("HloModule m ENTRY e { a = f32[] tuple(), origin={" + deep)
          .empty());
  EXPECT_FALSE(parseBad("").empty());
  EXPECT_FALSE(parseBad("/*").empty());
  EXPECT_FALSE(parseBad(llvm::StringRef("HloModule m\0", 12)).empty());
  // Many errors, each once.
  std::string lines = "HloModule m\nENTRY e {\n";
  for (int i = 0; i < 10000; ++i)
    lines += "  f32 = oops\n";
  EXPECT_EQ(parseBad(lines + "}\n").size(), 10000u);
}

// What an opcode takes is one row of Opcodes.def, and one for each attribute.
TEST(HloParser, RowsOfOpcodesSayWhatTheyTake) {
  std::string text = R"(HloModule m

ENTRY %main (x: f32[6,4], w: f32[3,4,5], sizes: s32[3]) -> f32[6,5] {
  %x = f32[6,4]{1,0} parameter(0)
  %w = f32[3,4,5]{2,1,0} parameter(1)
  %sizes = s32[3]{0} parameter(2)
  ROOT %d = f32[6,5]{1,0} ragged-dot(%x, %w, %sizes), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
}

)";
  std::unique_ptr<Module> module = parseGood(text);
  ASSERT_TRUE(module);
  EXPECT_EQ(module->entry()->root()->opcode, Opcode::RaggedDot);
  // The printer writes the layouts of the entry, which the text left out.
  EXPECT_NE(module->toString().find("ragged-dot(%x, %w, %sizes), "
                                    "lhs_contracting_dims={1}"),
            std::string::npos);
  auto change = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string changed = text;
    changed.replace(changed.find(from.str()), from.size(), to.str());
    return parseBad(changed);
  };
  EXPECT_FALSE(change("lhs_ragged_dims={0}", "lhs_ragged_dims=x").empty());
  EXPECT_FALSE(change("lhs_ragged_dims", "ragged_dims").empty());
  EXPECT_FALSE(change("(%x, %w, %sizes)", "(%x, %w)").empty());
}

// No prefix crashes, and only whole computations are accepted.
TEST(HloParser, Prefixes) {
  llvm::StringRef text(kModule);
  for (size_t length = 0; length <= text.size(); ++length) {
    llvm::StringRef prefix = text.take_front(length);
    EXPECT_EQ(parseBad(prefix).empty(), prefix.rtrim().ends_with("\n}"))
        << length;
  }
}

// Random bytes put into a module: no crash, and errors have their location.
TEST(HloParser, RandomBytes) {
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(testSeed()));
  std::mt19937_64 random(testSeed());
  std::string original = kModule;
  for (int i = 0; i < testCount(20000); ++i) {
    std::string text = original;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0;
         --changes)
      text[random() % text.size()] = static_cast<char>(random());
    std::vector<SourceDiagnostic> errors;
    parse(text, errors);
    for (const SourceDiagnostic &error : errors)
      EXPECT_GT(error.location.line, 0u);
  }
}
