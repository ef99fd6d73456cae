//===- Parser.cpp - Parsing HLO text --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   module       ::= [ 'HloModule' name attributes ] [ tables ] computation+
//                  | instruction
//   computation  ::= [ 'ENTRY' ] name [ '(' params ')' '->' shape ]
//                    '{' instruction+ '}' attributes
//   instruction  ::= [ 'ROOT' ] name '=' shape opcode '(' operands ')'
//   attributes operand      ::= [ shape ] name attributes   ::= { ',' name '='
//   value }
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Parser.h"

#include "LiteralParser.h"
#include "ParserImpl.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/Layout/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <tuple>

using namespace tessera;
using namespace tessera::hlo;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::StringRef;
using llvm::succeeded;
using llvm::success;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Shapes and names
//===----------------------------------------------------------------------===//

bool ParserImpl::atShape() {
  const Token &token = lexer.token();
  if (token.is(TokenKind::LParen))
    return true;
  if (!token.is(TokenKind::Identifier))
    return false;
  return parsePrimitiveType(token.text) ||
         (token.text == "b" && lexer.peek().is(TokenKind::LParen));
}

/// Where a shape ends that is written without blanks, as printers write it;
/// null when that takes a parser to tell.
static const char *findShapeEnd(const char *p, const char *end) {
  int depth = 0;
  if (*p == '(') {
    for (; p != end; ++p) {
      depth += *p == '(';
      depth -= *p == ')';
      if (depth == 0)
        return p + 1;
    }
    return nullptr;
  }
  StringRef rest(p, end - p);
  size_t bracket = rest.find(']');
  if (bracket == StringRef::npos)
    return nullptr;
  rest = rest.drop_front(bracket + 1);
  if (rest.starts_with("{")) {
    size_t brace = rest.find('}');
    char first = rest.size() > 1 ? rest[1] : '\0';
    if (brace == StringRef::npos || (!llvm::isDigit(first) && first != ':'))
      return nullptr;
    return rest.begin() + brace + 1;
  }
  // A layout might stand behind blanks or a comment.
  StringRef next = rest.ltrim();
  return next.starts_with("{") || next.starts_with("/") ? nullptr
                                                        : rest.begin();
}

// Dumps have few distinct shapes, so each text is parsed once.
LogicalResult ParserImpl::parseShape(const Shape *&shape) {
  if (!atShape())
    return unexpected("shape", "a type such as f32, or `(`");
  const char *begin = lexer.tokenBegin();
  const char *quickEnd = findShapeEnd(begin, lexer.bufferEnd());
  if (quickEnd) {
    auto known = module.shapes.find(textBetween(begin, quickEnd));
    if (known != module.shapes.end()) {
      shape = &known->second;
      lexer.jump(quickEnd);
      return success();
    }
  }
  size_t offset = begin - lexer.bufferBegin();
  llvm::Expected<Shape> parsed = parseShapePrefix(module.buffer, offset);
  if (!parsed) {
    Diagnostic diagnostic = takeDiagnostic(parsed.takeError());
    const char *loc = begin;
    if (diagnostic.position != Diagnostic::kNoPosition)
      loc = lexer.bufferBegin() + diagnostic.position;
    errors.push_back({loc, std::move(diagnostic)});
    return failure();
  }
  const char *shapeEnd = lexer.bufferBegin() + offset;
  shape = &module.shapes
               .try_emplace(textBetween(begin, shapeEnd), std::move(*parsed))
               .first->second;
  lexer.jump(shapeEnd);
  return success();
}

LogicalResult ParserImpl::parseName(const Twine &field, StringRef &name) {
  const Token &token = lexer.token();
  bool isPlain = token.is(TokenKind::Identifier) && !isReservedWord(token.text);
  if (!isPlain && !token.is(TokenKind::Name))
    return unexpected(field, "a name");
  name = token.text;
  lexer.lex();
  return success();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// XLA renames such instructions, and refuses texts where it would.
LogicalResult ParserImpl::checkInstructionName(const Instruction &instruction) {
  StringRef name = instruction.name;
  if (parsePrimitiveType(name) ||
      (name.starts_with("__") && !name.starts_with("__xla_")))
    return error(name.begin(), "instruction name",
                 "no type, and no `__` in front", "`" + name + "`",
                 "rename it");
  return success();
}

/// Makes `instruction` known by its name, or, where it is null, makes its uses
/// silent.
void ParserImpl::define(Computation &computation, Instruction *instruction) {
  instruction->parent = &computation;
  instruction->index = computation.body.size();
  computation.body.push_back(instruction);
}

LogicalResult ParserImpl::parseInstruction(Computation &computation) {
  poisoned = false;
  const char *rootLoc = lexer.tokenBegin();
  bool isRoot = lexer.token().isWord("ROOT");
  if (isRoot)
    lexer.lex();
  const char *nameLoc = lexer.tokenBegin();
  StringRef name;
  if (failed(parseName("instruction", name)) ||
      failed(expect(TokenKind::Equal, "instruction", "=")))
    return failure();

  auto *instruction = new (module.arena.Allocate<Instruction>()) Instruction();
  instruction->name = name;
  instruction->isRoot = isRoot;
  LogicalResult result = parseInstructionRhs(*instruction);
  if (succeeded(result) && !instruction->name.empty())
    result = checkInstructionName(*instruction);
  // What follows may refer to it even if it is wrong itself.
  bool usable = succeeded(result) && !poisoned;
  auto [entry, isNew] = names.try_emplace(name, usable ? instruction : nullptr);
  if (!isNew) {
    SourceLocation first;
    if (entry->second)
      first = module.getLocation(entry->second->name);
    result = error(
        nameLoc, "instruction name", "a new one", "`" + name + "` again",
        entry->second ? "the first is in line " + Twine(first.line) : Twine());
  }
  if (isRoot) {
    if (computation.rootInstruction)
      result = error(rootLoc, "computation", "one ROOT", "a second");
    computation.rootInstruction = instruction;
  }
  if (usable)
    define(computation, instruction);
  return result;
}

LogicalResult ParserImpl::parseInstructionRhs(Instruction &instruction) {
  const char *loc = lexer.tokenBegin();
  if (!atShape()) {
    if (lexer.token().is(TokenKind::Identifier) &&
        parseOpcode(lexer.token().text))
      return unsupported(loc, "instruction", "the shape of its result", "none",
                         "write it in front of the opcode");
    return unexpected("instruction", "the shape of its result");
  }
  if (failed(parseShape(instruction.shape)))
    return failure();
  const char *opcodeLoc = lexer.tokenBegin();
  if (failed(parseOpcodeName(instruction)))
    return failure();
  bool isLeaf = instruction.opcode == Opcode::Parameter ||
                instruction.opcode == Opcode::Constant;
  if (failed(isLeaf ? parsePayload(instruction) : parseOperands(instruction)))
    return failure();
  llvm::SmallVector<llvm::ArrayRef<AttributeSpec>, 3> specs;
  llvm::ArrayRef<AttributeSpec> own = getAttributes(instruction.opcode);
  if (instruction.asyncWrapped) {
    // The attributes of both; the computation that is called is implied.
    specs.push_back(own.drop_back());
    own = instruction.opcode == Opcode::AsyncStart
              ? getAttributes(*instruction.asyncWrapped)
              : llvm::ArrayRef<AttributeSpec>();
  }
  specs.push_back(own);
  specs.push_back(getCommonAttributes());
  if (failed(parseAttributes(specs, opcodeLoc, instruction.attributes)))
    return failure();
  return poisoned ? success() : checkOperands(instruction, opcodeLoc);
}

LogicalResult ParserImpl::parseOpcodeName(Instruction &instruction) {
  const Token &token = lexer.token();
  std::optional<OpcodeName> name;
  if (token.is(TokenKind::Identifier))
    name = hlo::parseOpcodeName(token.text);
  if (!name)
    return unexpected("instruction", "an opcode");
  instruction.opcode = name->opcode;
  instruction.asyncWrapped = name->asyncWrapped;
  lexer.lex();
  return success();
}

/// The number of a parameter or the literal of a constant.
LogicalResult ParserImpl::parsePayload(Instruction &instruction) {
  bool isParameter = instruction.opcode == Opcode::Parameter;
  StringRef field = isParameter ? "parameter" : "constant";
  if (failed(expect(TokenKind::LParen, field, "(")))
    return failure();
  const char *begin = lexer.tokenBegin();
  int64_t number = 0;
  if (failed(isParameter ? parseInt("parameter number", number)
                         : parseLiteral(*this, *instruction.shape, nullptr)))
    return failure();
  if (number < 0)
    return error(begin, "parameter number", "at least 0", Twine(number));
  instruction.payload = textBetween(begin, lexer.previousEnd());
  return expect(TokenKind::RParen, field, ")");
}

LogicalResult ParserImpl::parseOperands(Instruction &instruction) {
  llvm::SmallVector<Instruction *, 8> operands;
  auto parseItem = [&] {
    return parseOperand(instruction, operands.emplace_back());
  };
  if (failed(parseList("operands", TokenKind::LParen, "(", TokenKind::RParen,
                       ")", parseItem)))
    return failure();
  instruction.operands = copyToArena(llvm::ArrayRef<Instruction *>(operands));
  return success();
}

LogicalResult ParserImpl::parseOperand(Instruction &instruction,
                                       Instruction *&operand) {
  const char *loc = lexer.tokenBegin();
  const Shape *declared = nullptr;
  if (atShape() && failed(parseShape(declared)))
    return failure();
  StringRef name;
  bool isNameless = declared && module.single &&
                    (lexer.token().is(TokenKind::Comma) ||
                     lexer.token().is(TokenKind::RParen));
  if (!isNameless && failed(parseName("operand", name)))
    return failure();
  if (lexer.token().is(TokenKind::LParen))
    return unsupported(loc, "operand", "the name of an instruction",
                       "an instruction written in place",
                       "write it before this one and refer to it by its name");
  return findOperand(instruction, loc, name, declared, operand);
}

LogicalResult ParserImpl::findOperand(const Instruction &user, const char *loc,
                                      StringRef name, const Shape *declared,
                                      Instruction *&operand) {
  auto found = names.find(name);
  if (found == names.end() || name.empty()) {
    if (!module.single)
      return error(loc, "operand", "an instruction that was defined before",
                   "`" + name + "`");
    // Of a lone elementwise line, operands have the shape of the result.
    if (!declared && !isLine &&
        getLayoutTrait(user.opcode) == LayoutTrait::Elementwise)
      declared = user.shape;
    if (!declared && !isLine)
      return unsupported(
          loc, "operand", "its shape, in a single instruction of this opcode",
          "`" + name + "` alone", "write the shape in front of the name");
    operand = createParameter(name, declared);
    return success();
  }
  operand = found->second;
  poisoned |= !operand;
  // Of a line, an operand may be named before its shape is known.
  if (operand && !operand->shape)
    operand->shape = declared;
  if (operand && declared && !areCompatible(*declared, *operand->shape))
    return error(loc, "operand", operand->shape->toString(),
                 declared->toString(), "it is defined so");
  return success();
}

/// An operand of a single instruction becomes a parameter of its computation.
Instruction *ParserImpl::createParameter(StringRef name, const Shape *shape) {
  size_t number = current->body.size();
  if (name.empty())
    name = StringRef("_" + std::to_string(number)).copy(module.arena);
  auto *parameter = new (module.arena.Allocate<Instruction>()) Instruction();
  parameter->name = name;
  parameter->opcode = Opcode::Parameter;
  parameter->shape = shape;
  parameter->payload = StringRef(std::to_string(number)).copy(module.arena);
  define(*current, parameter);
  names[name] = parameter;
  return parameter;
}

/// An instruction of which only the name is known.
Instruction *ParserImpl::createReference(StringRef name) {
  auto *instruction = new (module.arena.Allocate<Instruction>()) Instruction();
  instruction->name = name;
  instruction->parent = current;
  return instruction;
}

//===----------------------------------------------------------------------===//
// Counts that XLA's parser checks
//===----------------------------------------------------------------------===//

/// Opcodes whose attribute `dimensions` has one entry.
static bool hasOneDimension(Opcode opcode) {
  return opcode == Opcode::Sort || opcode == Opcode::Concatenate ||
         opcode == Opcode::AllToAll || opcode == Opcode::RaggedAllToAll ||
         opcode == Opcode::GetDimensionSize ||
         opcode == Opcode::SetDimensionSize || opcode == Opcode::AllGather ||
         opcode == Opcode::AllGatherStart || opcode == Opcode::ReduceScatter ||
         opcode == Opcode::Scan;
}

static bool isAsync(Opcode opcode) {
  return opcode == Opcode::AsyncStart || opcode == Opcode::AsyncUpdate ||
         opcode == Opcode::AsyncDone;
}

/// `((operands), result, ...)`, what an asynchronous start gives.
static bool isAsyncShape(const Shape &shape) {
  return shape.isTuple() && shape.elements().size() >= 2 &&
         shape.elements().front().isTuple();
}

static bool isScalar(const Shape &shape) {
  return shape.isArray() && shape.rank() == 0;
}

namespace {
/// The number of operands that an instruction must have, in words.
struct OperandRule {
  bool holds;
  std::string expected;
};
} // namespace

static OperandRule getOperandRule(const Instruction &instruction) {
  size_t count = instruction.operands.size();
  auto indexed = [&](size_t fixed) -> OperandRule {
    if (count < fixed)
      return {false, "at least " + std::to_string(fixed) + " operands"};
    size_t rank = instruction.operands[0]->shape->rank();
    // Indices come one by one, or as one vector.
    bool isVector =
        count == fixed + 1 && instruction.operands[fixed]->shape->rank() == 1;
    return {isVector || count == fixed + rank,
            std::to_string(fixed + rank) + " operands, an index for each of " +
                std::to_string(rank) + " dimensions"};
  };
  switch (instruction.opcode) {
  case Opcode::Reduce:
  case Opcode::ReduceWindow:
    return {count % 2 == 0 && count > 0, "an even number of operands"};
  case Opcode::Scatter:
    return {count % 2 == 1, "an odd number of operands"};
  case Opcode::DynamicSlice:
    return indexed(1);
  case Opcode::DynamicUpdateSlice:
    return indexed(2);
  case Opcode::Tuple: {
    size_t elements = instruction.shape->elements().size();
    return {instruction.shape->isTuple() && count == elements,
            std::to_string(elements) + " operands, one for each element"};
  }
  case Opcode::CollectivePermute:
  case Opcode::CollectivePermuteStart:
    return {!instruction.getAttribute("slice_sizes") || count == 4,
            "4 operands where slice_sizes are given"};
  case Opcode::DynamicReshape:
  case Opcode::RngBitGenerator:
  case Opcode::Conditional:
    return {count >= 1, "at least 1 operand"};
  default: {
    int number = getNumOperands(instruction.opcode);
    return {number == kVariadic || count == static_cast<size_t>(number),
            std::to_string(number) + (number == 1 ? " operand" : " operands")};
  }
  }
}

/// Which attributes a conditional has depends on the type of its first operand.
static std::optional<std::string>
findConditionalError(const Instruction &instruction) {
  const Shape &selector = *instruction.operands[0]->shape;
  bool isPred = selector.elementType() == PrimitiveType::Pred;
  if (!isScalar(selector) ||
      (!isPred && selector.elementType() != PrimitiveType::S32))
    return "pred[] or s32[] as the first operand";
  bool hasPair = instruction.getAttribute("true_computation") &&
                 instruction.getAttribute("false_computation");
  const Attribute *list = instruction.getAttribute("branch_computations");
  if (isPred && (!hasPair || list))
    return "true_computation and false_computation, for a pred";
  if (!isPred && (!list || instruction.getAttribute("true_computation") ||
                  instruction.getAttribute("false_computation")))
    return "branch_computations, for an s32";
  size_t branches = isPred ? 2 : list->computations.size();
  if (branches == 0 || instruction.operands.size() != branches + 1)
    return "a branch, and an operand for each of them behind the first";
  return std::nullopt;
}

static std::optional<std::string>
findAsyncError(const Instruction &instruction) {
  if (instruction.opcode == Opcode::AsyncStart) {
    if (!isAsyncShape(*instruction.shape))
      return "a result ((operands), result, ...)";
    return std::nullopt;
  }
  const Instruction &start = *instruction.operands[0];
  if (!isAsync(start.opcode) || start.opcode == Opcode::AsyncDone)
    return "an asynchronous start or update as the operand";
  if (instruction.asyncWrapped && start.asyncWrapped &&
      instruction.asyncWrapped != start.asyncWrapped)
    return "the same opcode as the start, " + start.opcodeName();
  if (instruction.opcode == Opcode::AsyncUpdate &&
      *instruction.shape != *start.shape)
    return "the operand's shape as the result";
  return std::nullopt;
}

/// The constraints of a custom call: an operand's shape each, with a layout.
static std::optional<std::string>
findConstraintError(const Instruction &instruction) {
  const Attribute *constraints =
      instruction.getAttribute("operand_layout_constraints");
  if (!constraints)
    return std::nullopt;
  if (constraints->shapes.size() != instruction.operands.size())
    return "an operand layout constraint for each operand";
  for (auto [shape, operand] :
       llvm::zip_equal(constraints->shapes, instruction.operands))
    if (!areCompatible(*shape, *operand->shape))
      return "constraint " + operand->shape->toString() + ", as the operand";
  return std::nullopt;
}

/// What else is wrong with an instruction whose operands have the right number.
static std::optional<std::string>
findInstructionError(const Instruction &instruction) {
  auto has = [&](StringRef name) { return instruction.getAttribute(name); };
  if (const Attribute *dimensions = has("dimensions"))
    if (hasOneDimension(instruction.opcode) && getInts(dimensions).size() != 1)
      return "one number in `dimensions`";
  switch (instruction.opcode) {
  case Opcode::Conditional:
    return findConditionalError(instruction);
  case Opcode::AsyncStart:
  case Opcode::AsyncUpdate:
  case Opcode::AsyncDone:
    return findAsyncError(instruction);
  case Opcode::CustomCall:
    return findConstraintError(instruction);
  case Opcode::Broadcast:
    if (!has("dimensions") && !isScalar(*instruction.operands[0]->shape))
      return "the attribute `dimensions`";
    return std::nullopt;
  case Opcode::CollectivePermute:
  case Opcode::CollectivePermuteStart:
    for (const auto &pair : getIntLists(has("source_target_pairs")))
      if (pair.size() != 2)
        return "pairs in `source_target_pairs`";
    return std::nullopt;
  case Opcode::AllReduce:
  case Opcode::AllReduceStart:
  case Opcode::ReduceScatter:
    if (getBool(has("use_global_device_ids")) && !has("channel_id") &&
        !has("mode"))
      return "`channel_id` where global device ids are used";
    return std::nullopt;
  case Opcode::Infeed:
  case Opcode::Recv:
    if (!instruction.shape->isTuple() || instruction.shape->elements().empty())
      return "a tuple with elements as the result";
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

LogicalResult ParserImpl::checkOperands(const Instruction &instruction,
                                        const char *loc) {
  bool areKnown = llvm::all_of(instruction.operands,
                               [](Instruction *i) { return i->shape; });
  if (isLine && !areKnown)
    return success();
  OperandRule rule = getOperandRule(instruction);
  if (!rule.holds)
    return error(loc, instruction.opcodeName(), rule.expected,
                 Twine(instruction.operands.size()));
  // The other rules look at what operands and computations are.
  if (isLine)
    return success();
  if (std::optional<std::string> expected = findInstructionError(instruction))
    return error(loc, instruction.opcodeName(), *expected, "others");
  return success();
}

//===----------------------------------------------------------------------===//
// Computations
//===----------------------------------------------------------------------===//

/// Whether an instruction or the end of a computation begins here.
bool ParserImpl::atInstructionStart() {
  const Token &token = lexer.token();
  if (token.is(TokenKind::RBrace) || token.is(TokenKind::Eof) ||
      token.isWord("ROOT"))
    return true;
  return (token.is(TokenKind::Name) || token.is(TokenKind::Identifier)) &&
         lexer.peek().is(TokenKind::Equal);
}

/// After an error in the instruction at `start`: moves to the next line on
/// which another one, or the end of the computation, begins.
void ParserImpl::skipInstruction(const char *start) {
  // An instruction that lacks its end has stopped at the next one already.
  StringRef before(lexer.previousEnd(),
                   lexer.tokenBegin() - lexer.previousEnd());
  if (lexer.tokenBegin() != start && before.contains('\n') &&
      atInstructionStart())
    return;
  while (!lexer.token().is(TokenKind::Eof)) {
    StringRef rest(lexer.tokenBegin(), lexer.bufferEnd() - lexer.tokenBegin());
    size_t line = rest.find('\n');
    const char *next =
        line == StringRef::npos ? rest.end() : rest.begin() + line + 1;
    lexer.jump(next);
    if (atInstructionStart())
      return;
  }
}

/// `(name: shape, ...) -> shape`; only the result is compared with the body.
LogicalResult ParserImpl::parseSignature(const Shape *&result,
                                         const char *&resultLoc) {
  auto parseItem = [&]() -> LogicalResult {
    StringRef name;
    const Shape *shape;
    if (failed(parseName("parameter", name)))
      return failure();
    return parseShape(shape);
  };
  if (failed(parseList("parameters", TokenKind::LParen, "(", TokenKind::RParen,
                       ")", parseItem)) ||
      failed(expect(TokenKind::Arrow, "computation", "->")))
    return failure();
  resultLoc = lexer.tokenBegin();
  return parseShape(result);
}

/// After an error in a signature: moves behind the brace at the end of its
/// line, if there is one.
bool ParserImpl::skipToBody() {
  StringRef rest(lexer.tokenBegin(), lexer.bufferEnd() - lexer.tokenBegin());
  StringRef line = rest.take_until([](char c) { return c == '\n'; });
  if (!line.rtrim().ends_with("{"))
    return false;
  lexer.jump(line.rtrim().end());
  return true;
}

LogicalResult ParserImpl::parseComputation() {
  const char *entryLoc = lexer.tokenBegin();
  bool isEntry = lexer.token().isWord("ENTRY");
  if (isEntry)
    lexer.lex();
  const char *nameLoc = lexer.tokenBegin();
  Computation &computation = module.computationStorage.emplace_back();
  current = &computation;
  computation.entry = isEntry;
  names.clear();
  const Shape *result = nullptr;
  const char *resultLoc = nullptr;
  size_t errorsBefore = errors.size();
  if (failed(parseName("computation", computation.computationName)))
    return failure();
  if ((lexer.token().is(TokenKind::LParen) &&
       failed(parseSignature(result, resultLoc))) ||
      failed(expect(TokenKind::LBrace, "computation", "{"))) {
    // The body may have errors of its own.
    if (!skipToBody()) {
      computationNames.try_emplace(computation.computationName, nullptr);
      return failure();
    }
  }

  parseBody(computation);
  llvm::ArrayRef<Attribute> attributes;
  static constexpr AttributeSpec specs[] = {
      {"execution_thread", AttributeKind::String, false}};
  LogicalResult status = parseAttributes({specs}, nameLoc, attributes);
  computation.attrs = attributes.vec();

  if (errors.size() == errorsBefore)
    finishComputation(computation);
  bool isGood = errors.size() == errorsBefore;
  if (isGood && result && !areCompatible(*result, *computation.root()->shape))
    (void)error(resultLoc, "computation",
                "the shape of the root, " +
                    computation.root()->shape->toString(false),
                result->toString(false));
  StringRef name = computation.computationName;
  if (!computationNames.try_emplace(name, isGood ? &computation : nullptr)
           .second)
    (void)error(nameLoc, "computation name", "a new one",
                "`" + name + "` again");
  if (isEntry && module.entryComputation)
    (void)error(entryLoc, "module", "one ENTRY", "a second");
  if (isEntry)
    module.entryComputation = &computation;
  module.order.push_back(&computation);
  return status;
}

void ParserImpl::parseBody(Computation &computation) {
  if (lexer.token().is(TokenKind::RBrace)) {
    (void)unexpected("computation", "an instruction");
    lexer.lex();
    return;
  }
  do {
    const char *start = lexer.tokenBegin();
    if (failed(parseInstruction(computation)))
      skipInstruction(start);
  } while (!lexer.token().is(TokenKind::RBrace) &&
           !lexer.token().is(TokenKind::Eof));
  (void)expect(TokenKind::RBrace, "computation", "}");
}

void ParserImpl::finishComputation(Computation &computation) {
  if (!computation.rootInstruction)
    computation.rootInstruction = computation.body.back();
  collectParameters(computation);
}

void ParserImpl::collectParameters(Computation &computation) {
  size_t count = llvm::count_if(computation.body, [](Instruction *i) {
    return i->opcode == Opcode::Parameter;
  });
  computation.params.assign(count, nullptr);
  for (Instruction *instruction : computation.body) {
    if (instruction->opcode != Opcode::Parameter)
      continue;
    auto number = static_cast<uint64_t>(instruction->parameterNumber());
    if (number >= count || computation.params[number])
      (void)error(instruction->payload.begin(), "parameter number",
                  "each of 0 to " + Twine(count - 1) + " once",
                  instruction->payload);
    else
      computation.params[number] = instruction;
  }
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

LogicalResult ParserImpl::parseHeader() {
  const char *loc = lexer.tokenBegin();
  lexer.lex();
  if (failed(parseName("module", module.moduleName)))
    return failure();
  llvm::ArrayRef<Attribute> attributes;
  LogicalResult result =
      parseAttributes({getModuleAttributes()}, loc, attributes);
  module.attrs = attributes.vec();
  return result;
}

/// Lines of the form `1 "text"`. Rows are counted from 1; the number in the
/// text is ignored.
LogicalResult ParserImpl::parseStrings(std::vector<StringRef> &strings) {
  lexer.lex();
  int64_t row;
  while (lexer.token().is(TokenKind::Int)) {
    if (failed(parseInt("row of a table", row)))
      return failure();
    strings.push_back(lexer.token().text);
    if (failed(parseString("name in a table")))
      return failure();
  }
  return success();
}

/// `{name=1 name=2 ...}`, all of `names`, in any order.
LogicalResult
ParserImpl::parseIntFields(StringRef table,
                           llvm::ArrayRef<llvm::StringLiteral> names,
                           llvm::MutableArrayRef<int32_t> values) {
  const char *loc = lexer.tokenBegin();
  if (failed(expect(TokenKind::LBrace, table, "{")))
    return failure();
  llvm::SmallVector<bool, 8> seen(names.size(), false);
  while (!lexer.token().is(TokenKind::RBrace)) {
    // XLA takes a comma in front of the first one too.
    eat(TokenKind::Comma);
    size_t i = llvm::find(names, lexer.token().text) - names.begin();
    if (!lexer.token().is(TokenKind::AttributeName) || i == names.size() ||
        seen[i])
      return unexpected(table, "each of " + llvm::join(names, ", ") + " once");
    seen[i] = true;
    lexer.lex();
    int64_t value;
    const char *valueLoc = lexer.tokenBegin();
    if (failed(parseInt(table, value)))
      return failure();
    if (!llvm::isInt<32>(value))
      return error(valueLoc, table, "an integer of 32 bits", Twine(value));
    values[i] = static_cast<int32_t>(value);
  }
  lexer.lex();
  if (llvm::is_contained(seen, false))
    return error(loc, table, "all of " + llvm::join(names, ", "), "fewer");
  return success();
}

LogicalResult ParserImpl::parseFileLocations(StackFrameIndex &index) {
  static constexpr llvm::StringLiteral names[] = {
      "file_name_id", "function_name_id", "line",
      "end_line",     "column",           "end_column"};
  lexer.lex();
  int64_t row;
  while (lexer.token().is(TokenKind::Int)) {
    int32_t values[std::size(names)];
    if (failed(parseInt("row of a table", row)) ||
        failed(parseIntFields("file location", names, values)))
      return failure();
    index.fileLocations.push_back(
        {values[0], values[1], values[2], values[3], values[4], values[5]});
  }
  return success();
}

LogicalResult ParserImpl::parseStackFrames(StackFrameIndex &index) {
  static constexpr llvm::StringLiteral names[] = {"file_location_id",
                                                  "parent_frame_id"};
  lexer.lex();
  int64_t row;
  while (lexer.token().is(TokenKind::Int)) {
    int32_t values[std::size(names)];
    if (failed(parseInt("row of a table", row)) ||
        failed(parseIntFields("stack frame", names, values)))
      return failure();
    index.stackFrames.push_back({values[0], values[1]});
  }
  return success();
}

/// The four tables come together or not at all.
LogicalResult ParserImpl::parseTables() {
  if (!lexer.token().isWord("FileNames"))
    return success();
  StackFrameIndex &index = module.frames.emplace();
  auto atTable = [&](StringRef title) -> LogicalResult {
    if (lexer.token().isWord(title))
      return success();
    return unexpected("table", title);
  };
  if (failed(parseStrings(index.fileNames)) ||
      failed(atTable("FunctionNames")) ||
      failed(parseStrings(index.functionNames)) ||
      failed(atTable("FileLocations")) || failed(parseFileLocations(index)) ||
      failed(atTable("StackFrames")))
    return failure();
  return parseStackFrames(index);
}

/// Moves behind the line of an error, to the next one that does not begin with
/// a blank: there a part of the module begins.
static void skipPart(Lexer &lexer) {
  while (!lexer.token().is(TokenKind::Eof)) {
    StringRef rest(lexer.tokenBegin(), lexer.bufferEnd() - lexer.tokenBegin());
    size_t line = rest.find('\n');
    const char *next =
        line == StringRef::npos ? rest.end() : rest.begin() + line + 1;
    lexer.jump(next);
    bool isPart = lexer.token().isWord("ENTRY") ||
                  lexer.token().isWord("FileNames") ||
                  lexer.token().is(TokenKind::Name);
    if (lexer.tokenBegin() == lexer.bufferEnd() ||
        (isPart && (lexer.tokenBegin() == lexer.bufferBegin() ||
                    lexer.tokenBegin()[-1] == '\n')))
      return;
  }
}

void ParserImpl::parseComputations() {
  do {
    if (failed(parseComputation()))
      skipPart(lexer);
  } while (!lexer.token().is(TokenKind::Eof));
}

/// A fusion's computation, and all that it calls, is fused.
void ParserImpl::markFused() {
  // Callees stand before their callers.
  for (Computation *caller : llvm::reverse(module.order))
    for (const Instruction *instruction : caller->body)
      for (const Attribute &attribute : instruction->attributes)
        for (Computation *callee : attribute.computations)
          callee->fused |=
              caller->fused || instruction->opcode == Opcode::Fusion;
}

void ParserImpl::finishModule() {
  if (!module.entryComputation) {
    module.entryComputation = module.order.back();
    module.entryComputation->entry = true;
  }
  if (module.moduleName.empty())
    module.moduleName =
        StringRef(("module_" + module.entryComputation->name()).str())
            .copy(module.arena);
  markFused();
}

void ParserImpl::parseSingleInstruction() {
  module.single = true;
  module.moduleName = "_";
  Computation &computation = module.computationStorage.emplace_back();
  computation.computationName = "_";
  computation.entry = true;
  current = &computation;
  module.order.push_back(&computation);
  module.entryComputation = &computation;
  // The left-hand side may be left out: `f32[10] fusion(...), calls={...}`.
  if (atShape()) {
    auto *instruction =
        new (module.arena.Allocate<Instruction>()) Instruction();
    instruction->name = "_";
    if (failed(parseInstructionRhs(*instruction)))
      return;
    define(computation, instruction);
  } else if (failed(parseInstruction(computation))) {
    return;
  }
  if (!lexer.token().is(TokenKind::Eof)) {
    (void)unexpected("single instruction", "the end of the text");
    return;
  }
  computation.rootInstruction = computation.body.back();
  computation.rootInstruction->isRoot = true;
  if (computation.rootInstruction->opcode != Opcode::Parameter)
    collectParameters(computation);
}

void ParserImpl::parse() {
  lexer.lex();
  bool hasHeader = lexer.token().isWord("HloModule");
  if (!hasHeader && !lexer.token().isWord("ENTRY") &&
      !lexer.peek().is(TokenKind::LBrace))
    return parseSingleInstruction();
  if (hasHeader && failed(parseHeader()))
    skipPart(lexer);
  if (failed(parseTables()))
    skipPart(lexer);
  parseComputations();
  if (errors.empty())
    finishModule();
}

static std::vector<size_t> findLineStarts(StringRef text) {
  std::vector<size_t> starts = {0};
  for (size_t i = text.find('\n'); i != StringRef::npos;
       i = text.find('\n', i + 1))
    starts.push_back(i + 1);
  return starts;
}

ParserImpl::ParserImpl(StringRef text, Module &module)
    : TextParser(text), module(module) {
  module.lineStarts = findLineStarts(text);
}

void ParserImpl::parseLine() {
  isLine = true;
  lexer.lex();
  parseSingleInstruction();
}

std::string SourceDiagnostic::message() const {
  return std::to_string(location.line) + ":" + std::to_string(location.column) +
         ": error: " + diagnostic.message();
}

/// Runs a member of the parser on `text`.
static std::unique_ptr<Module> runParser(StringRef text,
                                         std::vector<SourceDiagnostic> &errors,
                                         void (ParserImpl::*run)()) {
  auto module = std::make_unique<Module>(text);
  ParserImpl parser(text, *module);
  (parser.*run)();
  if (parser.errors.empty())
    return module;
  llvm::sort(parser.errors,
             [](const TextParser::Error &lhs, const TextParser::Error &rhs) {
               return std::tie(lhs.loc, lhs.diagnostic.field) <
                      std::tie(rhs.loc, rhs.diagnostic.field);
             });
  for (TextParser::Error &error : parser.errors)
    errors.push_back({module->getLocation(StringRef(error.loc, 0)),
                      std::move(error.diagnostic)});
  return nullptr;
}

std::unique_ptr<Module> hlo::parse(StringRef text,
                                   std::vector<SourceDiagnostic> &errors) {
  return runParser(text, errors, &ParserImpl::parse);
}

std::unique_ptr<Module> hlo::parseLine(StringRef text,
                                       std::vector<SourceDiagnostic> &errors) {
  return runParser(text, errors, &ParserImpl::parseLine);
}
