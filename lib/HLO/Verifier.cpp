//===- Verifier.cpp - Rules of HLO instructions ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/Verifier.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// One rule: nothing, or an error about the instruction.
using Rule = Error (*)(const Instruction &);
} // namespace

static std::string describe(const Instruction &instruction) {
  return "%" + instruction.name.str() + " of shape " +
         instruction.shape->toString();
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Bitcasts that were looked at; shapes are shared, so few pairs differ.
using BitcastCache =
    llvm::DenseMap<std::tuple<const Shape *, const Shape *, unsigned>,
                   BitcastAnswer>;

/// Bits of the buffer of an array; nothing where they cannot be known.
static std::optional<int64_t> getFootprint(const Shape &shape) {
  if (!shape.isArray())
    return std::nullopt;
  llvm::Expected<ShapeSize> size = getSize(shape);
  if (!size) {
    llvm::consumeError(size.takeError());
    return std::nullopt;
  }
  int64_t bits;
  if (llvm::MulOverflow(
          size->allocatedElements,
          getStorageBits(shape.elementType(), shape.layoutOrDefault()), bits))
    return std::nullopt;
  return bits;
}

/// Whether all that is wrong with a bitcast as the tessera dialect has it is
/// that it reads padding. The TPU compiler writes such bitcasts, and throws
/// away what it read.
static bool readsOnlyPadding(const Shape &from, const Shape &to,
                             bool ignoreMemorySpace) {
  std::optional<int64_t> footprint = getFootprint(from);
  if (!footprint || footprint != getFootprint(to))
    return false;
  Layout fromLayout = from.layoutOrDefault(), toLayout = to.layoutOrDefault();
  return toLayout.paddingValue == fromLayout.paddingValue &&
         (ignoreMemorySpace || toLayout.memorySpace == fromLayout.memorySpace);
}

static Error verifyBitcast(const Instruction &instruction,
                           BitcastCache &cache) {
  const Instruction &operand = *instruction.operands[0];
  BitcastOptions options;
  options.ignoreMemorySpace = !keepsMemorySpaces(*instruction.parent);
  // Forms decide nearly all; what takes long to enumerate is let pass.
  options.enumerationCap = int64_t(1) << 20;
  auto [entry, isNew] = cache.try_emplace(
      {operand.shape, instruction.shape, options.ignoreMemorySpace});
  if (isNew) {
    entry->second = mayBitcast(*operand.shape, *instruction.shape, options);
    if (readsOnlyPadding(*operand.shape, *instruction.shape,
                         options.ignoreMemorySpace))
      entry->second.answer = Answer::Yes;
  }
  const BitcastAnswer &answer = entry->second;
  if (answer.answer != Answer::No)
    return Error::success();
  return invalidError("hlo_c1", "bitcast",
                      "the bytes of " + describe(operand) + " read as " +
                          instruction.shape->toString(),
                      answer.reason);
}

static Error verifyKeptLayout(const Instruction &instruction) {
  const Shape &result = *instruction.shape;
  if (!result.isArray())
    return Error::success();
  LayoutEqual equal;
  equal.ignoreTiles = true;
  equal.ignoreMemorySpace = true;
  equal.ignoreSplitConfigs = true;
  equal.ignoreElementSize =
      getLayoutTrait(instruction.opcode) == LayoutTrait::KeepsButElementSize;
  for (const Instruction *operand : instruction.operands) {
    const Shape &shape = *operand->shape;
    if (!shape.isArray() || shape.rank() != result.rank() ||
        equal(shape.layoutOrDefault(), result.layoutOrDefault()))
      continue;
    return invalidError("hlo_c2", instruction.opcodeName(),
                        "the layout of the result, " +
                            result.layoutOrDefault().toString() +
                            ", but for tiles, space and SC",
                        describe(*operand), "a copy changes layouts");
  }
  return Error::success();
}

/// Whether the types differ in the precision of floating-point numbers at most:
/// the TPU compiler folds conversions between these into the instructions that
/// use them.
static bool agreeButPrecision(const Shape &lhs, const Shape &rhs) {
  return lhs.elementType() == rhs.elementType() ||
         (isFloatingPoint(lhs.elementType()) &&
          isFloatingPoint(rhs.elementType()));
}

static bool areCompatibleButPrecision(const Shape &lhs, const Shape &rhs) {
  return areCompatible(lhs, rhs) ||
         (lhs.isArray() && rhs.isArray() &&
          lhs.dimensions() == rhs.dimensions() && agreeButPrecision(lhs, rhs));
}

static Error verifyElementwise(const Instruction &instruction) {
  for (const Instruction *operand : instruction.operands)
    if (!areCompatibleButPrecision(*operand->shape, *instruction.shape))
      return invalidError("hlo_c3", instruction.opcodeName(),
                          "operands of the result's type and dimensions, " +
                              instruction.shape->toString(false),
                          describe(*operand));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// The TPU compiler folds conversions into copies, so the type may differ.
static Error verifyCopy(const Instruction &instruction) {
  const Shape &from = *instruction.operands[0]->shape;
  const Shape &to = *instruction.shape;
  if (areCompatible(from, to) ||
      (from.isArray() && to.isArray() && from.dimensions() == to.dimensions()))
    return Error::success();
  return invalidError("hlo_c4", "copy",
                      "the dimensions of the operand, " + from.toString(),
                      to.toString());
}

static Error verifyCopyStart(const Instruction &instruction) {
  const Shape &source = *instruction.operands[0]->shape;
  llvm::ArrayRef<Shape> elements = instruction.shape->elements();
  if (instruction.shape->isTuple() && elements.size() >= 2 &&
      areCompatible(elements[0], source) && elements[1] == source)
    return Error::success();
  return invalidError("hlo_c4", "copy-start",
                      "a tuple of destination, source " + source.toString() +
                          " and context",
                      instruction.shape->toString());
}

static Error verifyCopyDone(const Instruction &instruction) {
  const Instruction &start = *instruction.operands[0];
  if (start.opcode != Opcode::CopyStart)
    return invalidError("hlo_c4", "copy-done", "a copy-start as operand",
                        describe(start));
  // Where the start is wrong itself, that is said there.
  if (start.shape->elements().empty() ||
      start.shape->elements()[0] == *instruction.shape)
    return Error::success();
  return invalidError("hlo_c4", "copy-done",
                      "the destination of the start, " +
                          start.shape->elements()[0].toString(),
                      instruction.shape->toString());
}

//===----------------------------------------------------------------------===//
// Tuples and calls
//===----------------------------------------------------------------------===//

static Error verifyTuple(const Instruction &instruction) {
  for (auto [element, operand] :
       llvm::zip_equal(instruction.shape->elements(), instruction.operands))
    if (element != *operand->shape)
      return invalidError("hlo_c5", "tuple",
                          "an element of the operand's shape, " +
                              describe(*operand),
                          element.toString());
  return Error::success();
}

static Error verifyGetTupleElement(const Instruction &instruction) {
  const Shape &tuple = *instruction.operands[0]->shape;
  std::optional<int64_t> index = getInt(instruction.getAttribute("index"));
  const Shape *element = getSubshape(tuple, {index.value_or(-1)});
  if (!element)
    return invalidError("hlo_c5", "get-tuple-element",
                        "an index of an element of " + tuple.toString(),
                        Twine(index.value_or(-1)));
  if (*element != *instruction.shape)
    return invalidError("hlo_c5", "get-tuple-element",
                        "the shape of the element, " + element->toString(),
                        instruction.shape->toString());
  return Error::success();
}

/// `callee` called with `operands`, giving `result` (null: not looked at).
static Error verifyCall(StringRef what, const Computation &callee,
                        llvm::ArrayRef<Instruction *> operands,
                        const Shape *result) {
  if (callee.parameters().size() != operands.size())
    return invalidError("hlo_c6", what,
                        Twine(callee.parameters().size()) +
                            " operands, as many as parameters of %" +
                            callee.name(),
                        Twine(operands.size()));
  for (auto [parameter, operand] :
       llvm::zip_equal(callee.parameters(), operands))
    if (!areCompatible(*parameter->shape, *operand->shape))
      return invalidError("hlo_c6", what,
                          "an operand of the shape of parameter " +
                              describe(*parameter),
                          describe(*operand));
  if (result && !areCompatible(*callee.root()->shape, *result))
    return invalidError("hlo_c6", what,
                        "the shape of the root " + describe(*callee.root()),
                        result->toString());
  return Error::success();
}

static Error verifyCalls(const Instruction &instruction) {
  StringRef name = getName(instruction.opcode);
  StringRef attribute =
      instruction.opcode == Opcode::Call ? "to_apply" : "calls";
  const Computation *callee = instruction.getComputation(attribute);
  const Shape *result = instruction.shape;
  // Without `calls`, an asynchronous start has its computation implied.
  if (!callee)
    return Error::success();
  if (instruction.opcode == Opcode::AsyncStart)
    result = &instruction.shape->elements()[1];
  return verifyCall(name, *callee, instruction.operands, result);
}

static Error verifyWhile(const Instruction &instruction) {
  if (Error error =
          verifyCall("while", *instruction.getComputation("body"),
                     instruction.operands, instruction.operands[0]->shape))
    return error;
  if (Error error = verifyCall("while", *instruction.getComputation("body"),
                               instruction.operands, instruction.shape))
    return error;
  Shape pred = Shape::array(PrimitiveType::Pred, {});
  return verifyCall("while", *instruction.getComputation("condition"),
                    instruction.operands, &pred);
}

static Error verifyConditional(const Instruction &instruction) {
  llvm::SmallVector<Computation *, 4> branches;
  for (StringRef name :
       {"true_computation", "false_computation", "branch_computations"})
    if (const Attribute *attribute = instruction.getAttribute(name))
      llvm::append_range(branches, attribute->computations);
  if (instruction.getAttribute("true_computation"))
    branches = {instruction.getComputation("true_computation"),
                instruction.getComputation("false_computation")};
  for (auto [i, branch] : llvm::enumerate(branches))
    if (Error error =
            verifyCall("conditional", *branch,
                       instruction.operands.slice(i + 1, 1), instruction.shape))
      return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// What hands an operand on
//===----------------------------------------------------------------------===//

/// The operand, or the part of it at `index`, with its shape.
static Error verifyForwarded(const Instruction &instruction,
                             llvm::ArrayRef<int64_t> index) {
  const Instruction &operand = *instruction.operands[0];
  const Shape *part = getSubshape(*operand.shape, index);
  if (part && areCompatible(*part, *instruction.shape))
    return Error::success();
  if (part)
    return invalidError("hlo_c10", instruction.opcodeName(),
                        "the shape that it hands on, " + part->toString(),
                        instruction.shape->toString());
  return invalidError("hlo_c10", instruction.opcodeName(),
                      "a start with " + Twine(index.front() + 1) +
                          " or more elements as the operand",
                      describe(operand));
}

static Error verifyForward(const Instruction &instruction) {
  return verifyForwarded(instruction, {});
}

static Error verifyArrival(const Instruction &instruction) {
  return verifyForwarded(instruction, {1});
}

/// Of `(data, context, token)`, a recv-done gives `(data, token)`.
static Error verifyRecvDone(const Instruction &instruction) {
  const Shape *sent = getSubshape(*instruction.operands[0]->shape, {0});
  const Shape *arrived = getSubshape(*instruction.shape, {0});
  if (sent && arrived && areCompatible(*sent, *arrived))
    return Error::success();
  return invalidError("hlo_c10", "recv-done",
                      "a tuple with what " +
                          describe(*instruction.operands[0]) + " begins with",
                      instruction.shape->toString());
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

static Error verifyTranspose(const Instruction &instruction) {
  const Shape &from = *instruction.operands[0]->shape;
  const Shape &to = *instruction.shape;
  auto permutation = getInts(instruction.getAttribute("dimensions"));
  bool fits = from.isArray() && to.isArray() && agreeButPrecision(from, to) &&
              from.rank() == to.rank() &&
              static_cast<int64_t>(permutation.size()) == to.rank();
  llvm::SmallVector<bool, 6> taken(permutation.size(), false);
  for (size_t i = 0; fits && i < permutation.size(); ++i) {
    int64_t dim = permutation[i];
    fits = dim >= 0 && dim < from.rank() && !taken[dim] &&
           from.dimensions()[dim] == to.dimensions()[i];
    if (fits)
      taken[dim] = true;
  }
  if (fits)
    return Error::success();
  return invalidError("hlo_c7", "transpose",
                      "the dimensions of " + from.toString() +
                          " in the order of `dimensions`",
                      to.toString());
}

static Error verifyReshape(const Instruction &instruction) {
  const Shape &from = *instruction.operands[0]->shape;
  const Shape &to = *instruction.shape;
  if (from.isArray() && to.isArray() &&
      (from.hasUnboundedDimension() || to.hasUnboundedDimension()))
    return Error::success();
  if (from.isArray() && to.isArray() && agreeButPrecision(from, to) &&
      countElements(from.dimensions()) == countElements(to.dimensions()))
    return Error::success();
  return invalidError("hlo_c7", "reshape",
                      "the type and number of elements of " + from.toString(),
                      to.toString());
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static Rule getRule(Opcode opcode) {
  switch (opcode) {
  case Opcode::Copy:
    return verifyCopy;
  case Opcode::CopyStart:
    return verifyCopyStart;
  case Opcode::CopyDone:
    return verifyCopyDone;
  case Opcode::Tuple:
    return verifyTuple;
  case Opcode::GetTupleElement:
    return verifyGetTupleElement;
  case Opcode::Call:
  case Opcode::Fusion:
  case Opcode::AsyncStart:
    return verifyCalls;
  case Opcode::While:
    return verifyWhile;
  case Opcode::Conditional:
    return verifyConditional;
  case Opcode::OptimizationBarrier:
  case Opcode::Domain:
  case Opcode::AddDependency:
  case Opcode::AllReduceDone:
    return verifyForward;
  case Opcode::AsyncDone:
  case Opcode::AllGatherDone:
  case Opcode::CollectivePermuteDone:
    return verifyArrival;
  case Opcode::RecvDone:
    return verifyRecvDone;
  case Opcode::Transpose:
    return verifyTranspose;
  case Opcode::Reshape:
    return verifyReshape;
  default:
    break;
  }
  return nullptr;
}

static Error verifyInstruction(const Instruction &instruction,
                               bool doLayoutsBind, BitcastCache &cache) {
  if (instruction.opcode == Opcode::Bitcast)
    return verifyBitcast(instruction, cache);
  LayoutTrait trait = getLayoutTrait(instruction.opcode);
  if (trait == LayoutTrait::Elementwise)
    if (Error error = verifyElementwise(instruction))
      return error;
  if (trait != LayoutTrait::Any)
    return doLayoutsBind ? verifyKeptLayout(instruction) : Error::success();
  Rule rule = getRule(instruction.opcode);
  return rule ? rule(instruction) : Error::success();
}

/// The boundary of the program, as the header and as the entry have it.
static Error verifyEntryLayout(const Module &module) {
  const std::optional<ProgramShape> &layout = module.entryLayout();
  if (!layout)
    return Error::success();
  auto check = [](const Twine &what, const Shape &declared,
                  const Instruction &instruction) -> Error {
    if (areCompatible(declared, *instruction.shape))
      return Error::success();
    return invalidError("hlo_c8", "entry_computation_layout",
                        what + " " + describe(instruction),
                        declared.toString());
  };
  llvm::ArrayRef<Instruction *> parameters = module.entry()->parameters();
  if (layout->parameters.size() != parameters.size())
    return invalidError("hlo_c8", "entry_computation_layout",
                        Twine(parameters.size()) + " parameters",
                        Twine(layout->parameters.size()));
  for (auto [declared, parameter] :
       llvm::zip_equal(layout->parameters, parameters))
    if (Error error = check("parameter", *declared, *parameter))
      return error;
  return check("root", *layout->result, *module.entry()->root());
}

/// Parts of inputs and outputs that share memory.
static Error verifyAliases(const Attribute *attribute, const Shape &output,
                           llvm::ArrayRef<Instruction *> inputs) {
  for (const Alias &alias : getAliases(attribute)) {
    const Shape *to = getSubshape(output, alias.outputIndex);
    bool inRange =
        alias.number >= 0 && alias.number < static_cast<int64_t>(inputs.size());
    const Shape *from =
        inRange ? getSubshape(*inputs[alias.number]->shape, alias.inputIndex)
                : nullptr;
    if (!to || !from)
      return invalidError("hlo_c9", attribute->name,
                          "indices of parts that exist", attribute->text);
    // Padding may make buffers of different shapes equally large.
    if (!areCompatible(*from, *to) &&
        (!getFootprint(*from) || getFootprint(*from) != getFootprint(*to)))
      return invalidError("hlo_c9", attribute->name,
                          "parts with equally large buffers, " + to->toString(),
                          from->toString());
  }
  return Error::success();
}

static Error verifyAliases(const Instruction &instruction) {
  const Attribute *attribute =
      instruction.getAttribute("output_to_operand_aliasing");
  if (!attribute)
    return Error::success();
  const Shape &result = instruction.opcode == Opcode::AsyncStart
                            ? instruction.shape->elements()[1]
                            : *instruction.shape;
  return verifyAliases(attribute, result, instruction.operands);
}

bool hlo::verify(const Module &module, std::vector<SourceDiagnostic> &errors) {
  size_t before = errors.size();
  BitcastCache cache;
  // A module gets its schedule long after its layouts.
  bool doLayoutsBind = module.isScheduled();
  auto report = [&](Error error, StringRef loc) {
    if (error)
      errors.push_back(
          {module.getLocation(loc), takeDiagnostic(std::move(error))});
  };
  report(verifyEntryLayout(module), module.text());
  report(verifyAliases(module.getAttribute("input_output_alias"),
                       *module.entry()->root()->shape,
                       module.entry()->parameters()),
         module.text());
  for (const Computation *computation : module.computations())
    for (const Instruction *instruction : computation->instructions()) {
      report(verifyInstruction(*instruction, doLayoutsBind, cache),
             instruction->name);
      report(verifyAliases(*instruction), instruction->name);
    }
  return errors.size() == before;
}
