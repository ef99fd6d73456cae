//===- Import.cpp - HLO text into MLIR ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/HLO/Import.h"

#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"
#include "tessera/HLO/Attributes.h"
#include "tessera/HLO/Literal.h"
#include "tessera/HLO/Parser.h"
#include "tessera/HLO/Verifier.h"
#include "tessera/Layout/Bitcast.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tessera;

using hlo::TesseraHLODialect;

namespace {
/// Imports one module. What repeats on every line (shapes, opcodes, names of
/// attributes) is made once: looking attributes up takes most of the time.
class Importer {
public:
  Importer(const hlo::Module &module, StringRef fileName, MLIRContext *context,
           ImportHLOOptions options)
      : module(module), fileName(StringAttr::get(context, fileName)),
        builder(context), options(options) {}

  OwningOpRef<ModuleOp> import();

private:
  Type convertType(const Shape *shape);
  StringAttr getWord(StringRef word);
  Location convertLocation(StringRef piece);
  Location convertLocation(const hlo::Instruction &instruction);
  /// The name of the function of a computation.
  StringRef getSymbol(const hlo::Computation &computation);
  Attribute convertAttribute(const hlo::Attribute &attribute);
  DictionaryAttr convertAttributes(ArrayRef<hlo::Attribute> attributes);
  DictionaryAttr convertStackFrames(const hlo::StackFrameIndex &frames);
  DictionaryAttr convertParameter(const hlo::Instruction &parameter);
  DictionaryAttr convertHeader();

  void importComputation(const hlo::Computation &computation);
  Value importInstruction(const hlo::Instruction &instruction);
  /// The operation that stands for the instruction, or null when it is to be
  /// kept as it is.
  Operation *importInterpreted(const hlo::Instruction &instruction);
  Operation *importKept(const hlo::Instruction &instruction);
  Operation *importConstant(const hlo::Instruction &instruction);
  Operation *importCopy(const hlo::Instruction &instruction);
  Operation *importBitcast(const hlo::Instruction &instruction);
  Operation *importReshape(const hlo::Instruction &instruction);
  Operation *importCopyStart(const hlo::Instruction &instruction);
  Operation *importCopyDone(const hlo::Instruction &instruction);
  void findCopyPairs(const hlo::Computation &computation);

  const hlo::Module &module;
  StringAttr fileName;
  OpBuilder builder;
  ImportHLOOptions options;
  llvm::DenseMap<const Shape *, Type> types;
  llvm::StringMap<StringAttr> words;
  llvm::DenseMap<const hlo::Instruction *, Value> values;
  /// Whether the second shape reads elements alone of the first, spaces aside.
  llvm::DenseMap<std::pair<const Shape *, const Shape *>, bool> legalBitcasts;
  /// The copy-starts of the computation that become operations.
  llvm::DenseMap<const hlo::Instruction *, CopyStartOp> copyStarts;
};
} // namespace

//===----------------------------------------------------------------------===//
// Types, locations, attributes
//===----------------------------------------------------------------------===//

Type Importer::convertType(const Shape *shape) {
  Type &type = types[shape];
  if (!type)
    type = hlo::getType(builder.getContext(), *shape);
  return type;
}

/// The attribute of a string that comes again and again.
StringAttr Importer::getWord(StringRef word) {
  StringAttr &attribute = words[word];
  if (!attribute)
    attribute = builder.getStringAttr(word);
  return attribute;
}

Location Importer::convertLocation(StringRef piece) {
  hlo::SourceLocation location = module.getLocation(piece);
  return FileLineColLoc::get(fileName, location.line, location.column);
}

Location Importer::convertLocation(const hlo::Instruction &instruction) {
  Location location = convertLocation(instruction.name);
  std::optional<std::string> name =
      hlo::getMetadata(instruction.getAttribute("metadata"), "op_name");
  if (!name || name->empty())
    return location;
  return NameLoc::get(builder.getStringAttr(*name), location);
}

StringRef Importer::getSymbol(const hlo::Computation &computation) {
  // The computation around a single instruction has no name.
  return computation.name().empty() ? "main" : computation.name();
}

Attribute Importer::convertAttribute(const hlo::Attribute &attribute) {
  auto getReference = [&](const hlo::Computation *computation) {
    return FlatSymbolRefAttr::get(builder.getContext(),
                                  getSymbol(*computation));
  };
  if (attribute.kind == hlo::AttributeKind::Computation)
    return getReference(attribute.computations.front());
  if (attribute.kind != hlo::AttributeKind::ComputationList)
    return builder.getStringAttr(attribute.text);
  SmallVector<Attribute> references;
  for (const hlo::Computation *computation : attribute.computations)
    references.push_back(getReference(computation));
  return builder.getArrayAttr(references);
}

DictionaryAttr
Importer::convertAttributes(ArrayRef<hlo::Attribute> attributes) {
  SmallVector<NamedAttribute> entries;
  for (const hlo::Attribute &attribute : attributes)
    entries.emplace_back(getWord(attribute.name), convertAttribute(attribute));
  return builder.getDictionaryAttr(entries);
}

DictionaryAttr
Importer::convertStackFrames(const hlo::StackFrameIndex &frames) {
  SmallVector<int32_t> locations, parents;
  for (const hlo::FileLocation &row : frames.fileLocations)
    locations.append({row.fileName, row.function, row.line, row.endLine,
                      row.column, row.endColumn});
  for (const hlo::StackFrame &row : frames.stackFrames)
    parents.append({row.fileLocation, row.parent});
  return builder.getDictionaryAttr({
      builder.getNamedAttr("file_names",
                           builder.getStrArrayAttr(frames.fileNames)),
      builder.getNamedAttr("function_names",
                           builder.getStrArrayAttr(frames.functionNames)),
      builder.getNamedAttr("file_locations",
                           builder.getDenseI32ArrayAttr(locations)),
      builder.getNamedAttr("stack_frames",
                           builder.getDenseI32ArrayAttr(parents)),
  });
}

/// What an argument says of its parameter.
DictionaryAttr Importer::convertParameter(const hlo::Instruction &parameter) {
  SmallVector<NamedAttribute> entries;
  entries.push_back(
      builder.getNamedAttr(TesseraHLODialect::getNameAttrName(),
                           builder.getStringAttr(parameter.name)));
  if (!parameter.attributes.empty())
    entries.push_back(
        builder.getNamedAttr(TesseraHLODialect::getAttributesAttrName(),
                             convertAttributes(parameter.attributes)));
  if (parameter.index != parameter.parameterNumber())
    entries.push_back(
        builder.getNamedAttr(TesseraHLODialect::getPositionAttrName(),
                             builder.getI64IntegerAttr(parameter.index)));
  return builder.getDictionaryAttr(entries);
}

/// Whether the header says no more of the program's boundary than the entry
/// computation does.
static bool isEntryLayoutImplied(const hlo::Module &module) {
  const std::optional<hlo::ProgramShape> &layout = module.entryLayout();
  const hlo::Computation *entry = module.entry();
  return layout && *layout->result == *entry->root()->shape &&
         llvm::equal(layout->parameters, entry->parameters(),
                     [](const Shape *shape, const hlo::Instruction *parameter) {
                       return *shape == *parameter->shape;
                     });
}

/// The attributes of the header. The export makes an implied entry layout from
/// the function's type, which passes may have changed.
DictionaryAttr Importer::convertHeader() {
  SmallVector<hlo::Attribute> attributes(module.attributes());
  if (isEntryLayoutImplied(module))
    llvm::erase_if(attributes, [](const hlo::Attribute &attribute) {
      return attribute.kind == hlo::AttributeKind::ComputationLayout;
    });
  return convertAttributes(attributes);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Operation *Importer::importKept(const hlo::Instruction &instruction) {
  SmallVector<Value> operands;
  for (const hlo::Instruction *operand : instruction.operands)
    operands.push_back(values.at(operand));
  bool isConstant = instruction.opcode == hlo::Opcode::Constant;
  DictionaryAttr attributes;
  if (!instruction.attributes.empty())
    attributes = convertAttributes(instruction.attributes);
  return hlo::InstructionOp::create(
      builder, convertLocation(instruction), convertType(instruction.shape),
      instruction.asyncWrapped ? builder.getStringAttr(instruction.opcodeName())
                               : getWord(hlo::getName(instruction.opcode)),
      operands,
      isConstant ? builder.getStringAttr(instruction.payload) : StringAttr(),
      builder.getStringAttr(instruction.name), attributes);
}

/// The elements of a literal as an attribute.
static DenseElementsAttr convertLiteral(const hlo::Literal &literal,
                                        RankedTensorType type,
                                        PrimitiveType elementType) {
  if (!isComplex(elementType) && !isFloatingPoint(elementType)) {
    unsigned width = type.getElementTypeBitWidth();
    SmallVector<APInt> values;
    for (uint64_t bits : literal.components)
      values.emplace_back(width, bits);
    return DenseElementsAttr::get(type, values);
  }
  const llvm::fltSemantics &semantics = *getFloatSemantics(elementType);
  unsigned width = APFloat::getSizeInBits(semantics);
  SmallVector<APFloat> parts;
  for (uint64_t bits : literal.components)
    parts.emplace_back(semantics, APInt(width, bits));
  if (isFloatingPoint(elementType))
    return DenseElementsAttr::get(type, parts);
  SmallVector<std::complex<APFloat>> values;
  for (size_t i = 0; i + 1 < parts.size(); i += 2)
    values.emplace_back(parts[i], parts[i + 1]);
  return DenseElementsAttr::get(type, values);
}

Operation *Importer::importConstant(const hlo::Instruction &instruction) {
  const Shape &shape = *instruction.shape;
  auto type = dyn_cast<RankedTensorType>(convertType(&shape));
  if (!type || !type.hasStaticShape())
    return nullptr;
  llvm::Expected<hlo::Literal> literal =
      hlo::readLiteral(instruction.payload, shape);
  if (!literal) {
    llvm::consumeError(literal.takeError());
    return nullptr;
  }
  // The elements that the printer left out are not known.
  if (literal->elided)
    return nullptr;
  return arith::ConstantOp::create(
      builder, convertLocation(instruction),
      convertLiteral(*literal, type, shape.elementType()));
}

Operation *Importer::importCopy(const hlo::Instruction &instruction) {
  Value operand = values.at(instruction.operands.front());
  auto type = dyn_cast<RankedTensorType>(convertType(instruction.shape));
  auto operandType = dyn_cast<RankedTensorType>(operand.getType());
  // Tuples are copied too, the TPU compiler has copies that convert, and a size
  // that is not known goes with any.
  if (!type || !operandType ||
      type.getElementType() != operandType.getElementType() ||
      type.getShape() != operandType.getShape())
    return nullptr;
  return RelayoutOp::create(builder, convertLocation(instruction), type,
                            operand);
}

Operation *Importer::importBitcast(const hlo::Instruction &instruction) {
  Value operand = values.at(instruction.operands.front());
  auto type = dyn_cast<RankedTensorType>(convertType(instruction.shape));
  auto operandType = dyn_cast<RankedTensorType>(operand.getType());
  if (!type || !operandType ||
      type.getNumDynamicDims() != operandType.getNumDynamicDims())
    return nullptr;
  // In a fused computation the spaces of values inside are not kept.
  const Shape &from = *instruction.operands.front()->shape;
  const Shape &to = *instruction.shape;
  bool fused =
      !hlo::keepsMemorySpaces(*instruction.parent) &&
      from.layoutOrDefault().memorySpace != to.layoutOrDefault().memorySpace;
  // Some read padding, which the operation has no meaning for.
  auto [legal, isNew] = legalBitcasts.try_emplace({&from, &to});
  if (isNew) {
    BitcastOptions bitcast;
    bitcast.ignoreMemorySpace = true;
    legal->second = mayBitcast(from, to, bitcast).answer != Answer::No;
  }
  if (!legal->second)
    return nullptr;
  return BitcastOp::create(builder, convertLocation(instruction), type, operand,
                           fused);
}

Operation *Importer::importReshape(const hlo::Instruction &instruction) {
  Value operand = values.at(instruction.operands.front());
  auto type = dyn_cast<RankedTensorType>(convertType(instruction.shape));
  auto operandType = dyn_cast<RankedTensorType>(operand.getType());
  // It may convert too, as copies do.
  if (!type || !operandType || !type.hasStaticShape() ||
      !operandType.hasStaticShape() ||
      type.getElementType() != operandType.getElementType())
    return nullptr;
  return ReshapeOp::create(builder, convertLocation(instruction), type,
                           operand);
}

/// Whether the pair moves one array, without further attributes: the tuple of
/// the start is (array, operand, context).
static bool isPlainCopyPair(const hlo::Instruction &start,
                            const hlo::Instruction &done) {
  const Shape &tuple = *start.shape, &operand = *start.operands.front()->shape;
  return tuple.isTuple() && tuple.elements().size() == 3 && operand.isArray() &&
         tuple.elements()[0] == *done.shape && tuple.elements()[1] == operand &&
         hlo::areCompatible(*done.shape, operand) &&
         llvm::all_of(llvm::seq(operand.rank()), [&](int64_t dim) {
           return operand.dimensions()[dim] == done.shape->dimensions()[dim] &&
                  operand.isDynamicDimension(dim) ==
                      done.shape->isDynamicDimension(dim);
         });
}

/// A copy-start becomes an operation when a copy-done is all that uses it.
void Importer::findCopyPairs(const hlo::Computation &computation) {
  llvm::DenseMap<const hlo::Instruction *, unsigned> numUses;
  copyStarts.clear();
  for (const hlo::Instruction *user : computation.instructions())
    for (const hlo::Instruction *operand : user->operands)
      if (operand->opcode == hlo::Opcode::CopyStart)
        ++numUses[operand];
  for (const hlo::Instruction *done : computation.instructions()) {
    if (done->opcode != hlo::Opcode::CopyDone)
      continue;
    const hlo::Instruction *start = done->operands.front();
    if (start->opcode == hlo::Opcode::CopyStart && numUses[start] == 1 &&
        !start->isRoot && isPlainCopyPair(*start, *done))
      copyStarts[start] = nullptr;
  }
}

Operation *Importer::importCopyStart(const hlo::Instruction &instruction) {
  auto found = copyStarts.find(&instruction);
  if (found == copyStarts.end())
    return nullptr;
  llvm::ArrayRef<Shape> elements = instruction.shape->elements();
  auto op = CopyStartOp::create(
      builder, convertLocation(instruction),
      hlo::getType(builder.getContext(), elements.front()),
      CopyTokenType::get(builder.getContext()),
      values.at(instruction.operands.front()), /*destination=*/Value());
  op->setAttr(TesseraHLODialect::getContextAttrName(),
              builder.getStringAttr(elements.back().toString()));
  return found->second = op;
}

Operation *Importer::importCopyDone(const hlo::Instruction &instruction) {
  auto found = copyStarts.find(instruction.operands.front());
  if (found == copyStarts.end())
    return nullptr;
  return CopyDoneOp::create(builder, convertLocation(instruction),
                            found->second.getToken());
}

Operation *Importer::importInterpreted(const hlo::Instruction &instruction) {
  switch (instruction.opcode) {
  case hlo::Opcode::Constant:
    return importConstant(instruction);
  case hlo::Opcode::Copy:
    return importCopy(instruction);
  case hlo::Opcode::Bitcast:
    return importBitcast(instruction);
  case hlo::Opcode::Reshape:
    return importReshape(instruction);
  case hlo::Opcode::CopyStart:
    return importCopyStart(instruction);
  case hlo::Opcode::CopyDone:
    return importCopyDone(instruction);
  default:
    return nullptr;
  }
}

Value Importer::importInstruction(const hlo::Instruction &instruction) {
  Operation *op = options.raw ? nullptr : importInterpreted(instruction);
  if (!op)
    return importKept(instruction)->getResult(0);
  NamedAttrList attributes(op->getDiscardableAttrDictionary());
  attributes.append(getWord(TesseraHLODialect::getNameAttrName()),
                    builder.getStringAttr(instruction.name));
  if (!instruction.attributes.empty())
    attributes.append(getWord(TesseraHLODialect::getAttributesAttrName()),
                      convertAttributes(instruction.attributes));
  op->setDiscardableAttrs(attributes.getDictionary(builder.getContext()));
  // What copy-done gives is the result of the operation that started the copy.
  if (auto done = dyn_cast<CopyDoneOp>(op))
    return done.getToken().getDefiningOp<CopyStartOp>().getResult();
  return op->getResult(0);
}

//===----------------------------------------------------------------------===//
// Computations and the module
//===----------------------------------------------------------------------===//

void Importer::importComputation(const hlo::Computation &computation) {
  SmallVector<Type> inputs;
  for (const hlo::Instruction *parameter : computation.parameters())
    inputs.push_back(convertType(parameter->shape));
  Location location = convertLocation(computation.name());
  auto function = func::FuncOp::create(
      builder, location, getSymbol(computation),
      builder.getFunctionType(inputs, convertType(computation.root()->shape)));
  if (!computation.isEntry())
    function.setPrivate();
  if (!computation.attributes().empty())
    function->setAttr(TesseraHLODialect::getAttributesAttrName(),
                      convertAttributes(computation.attributes()));

  OpBuilder::InsertionGuard guard(builder);
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  for (auto [parameter, argument] :
       llvm::zip_equal(computation.parameters(), body->getArguments())) {
    argument.setLoc(convertLocation(*parameter));
    values[parameter] = argument;
  }
  SmallVector<Attribute> argumentAttributes;
  for (const hlo::Instruction *parameter : computation.parameters())
    argumentAttributes.push_back(convertParameter(*parameter));
  function.setAllArgAttrs(argumentAttributes);
  findCopyPairs(computation);
  for (const hlo::Instruction *instruction : computation.instructions())
    if (instruction->opcode != hlo::Opcode::Parameter)
      values[instruction] = importInstruction(*instruction);
  func::ReturnOp::create(builder, location, values.at(computation.root()));
}

OwningOpRef<ModuleOp> Importer::import() {
  OwningOpRef<ModuleOp> result = ModuleOp::create(
      builder, FileLineColLoc::get(fileName, 1, 1),
      module.name().empty() ? std::optional<StringRef>() : module.name());
  if (DictionaryAttr header = convertHeader(); !header.empty())
    (*result)->setAttr(TesseraHLODialect::getAttributesAttrName(), header);
  if (module.stackFrames())
    (*result)->setAttr(TesseraHLODialect::getStackFramesAttrName(),
                       convertStackFrames(*module.stackFrames()));
  if (module.isSingleInstruction())
    (*result)->setAttr(TesseraHLODialect::getSingleInstructionAttrName(),
                       builder.getUnitAttr());
  builder.setInsertionPointToEnd(result->getBody());
  for (const hlo::Computation *computation : module.computations())
    importComputation(*computation);
  return result;
}

OwningOpRef<ModuleOp> tessera::importHLO(const hlo::Module &module,
                                         StringRef fileName,
                                         MLIRContext *context,
                                         ImportHLOOptions options) {
  context->loadDialect<TesseraHLODialect>();
  const hlo::Instruction *root = module.entry()->root();
  if (module.isSingleInstruction() && root->opcode == hlo::Opcode::Parameter) {
    hlo::SourceLocation location = module.getLocation(root->name);
    emitError(
        FileLineColLoc::get(context, fileName, location.line, location.column))
        << "unsupported single instruction: expected one that computes a "
           "value, found a parameter; write the module that it is of";
    return {};
  }
  return Importer(module, fileName, context, options).import();
}

OwningOpRef<ModuleOp> tessera::importHLO(StringRef text, StringRef fileName,
                                         MLIRContext *context,
                                         ImportHLOOptions options) {
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> module = hlo::parse(text, errors);
  if (module && !options.raw && !hlo::verify(*module, errors))
    module.reset();
  for (const hlo::SourceDiagnostic &error : errors)
    emitError(FileLineColLoc::get(context, fileName, error.location.line,
                                  error.location.column))
        << error.diagnostic.message();
  if (!module)
    return {};
  return importHLO(*module, fileName, context, options);
}
