//===- Export.cpp - MLIR into HLO text ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Target/HLO/Export.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/Dialect/TesseraHLO/IR/TesseraHLO.h"
#include "tessera/HLO/Literal.h"
#include "tessera/HLO/Parser.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

using hlo::TesseraHLODialect;

//===----------------------------------------------------------------------===//
// Literals
//===----------------------------------------------------------------------===//

static void printElement(Attribute element, raw_ostream &os) {
  if (auto number = dyn_cast<FloatAttr>(element))
    return hlo::printFloat(number.getValue(), os);
  if (auto complex = dyn_cast<ArrayAttr>(element)) {
    os << '(';
    llvm::interleaveComma(complex, os,
                          [&](Attribute part) { printElement(part, os); });
    os << ')';
    return;
  }
  auto number = cast<IntegerAttr>(element);
  if (number.getType().isInteger(1))
    os << (number.getValue().isZero() ? "false" : "true");
  else
    number.getValue().print(os, !number.getType().isUnsignedInteger());
}

/// Elements and empty arrays that a constant of few bytes may stand for.
static constexpr int64_t kMaxRepeated = int64_t(1) << 20;

/// Refuses constants whose text is much longer than what they are made of.
static LogicalResult checkLiteral(arith::ConstantOp constant) {
  auto value = cast<DenseElementsAttr>(constant.getValue());
  int64_t count = 1;
  for (int64_t size : value.getType().getShape())
    if (size != 0 && (size > kMaxRepeated || count > kMaxRepeated / size))
      count = kMaxRepeated + 1;
    else
      count *= std::max<int64_t>(size, 1);
  bool isRepeated = value.isSplat() || value.getNumElements() == 0;
  if (!isRepeated || count <= kMaxRepeated)
    return success();
  return constant.emitOpError() << "unsupported constant: expected at most "
                                << kMaxRepeated << " equal elements, found "
                                << value.getType() << "; broadcast a scalar";
}

static void printLiteral(DenseElementsAttr value, raw_ostream &os) {
  auto elements = value.value_begin<Attribute>();
  hlo::printElements(value.getType().getShape(), os,
                     [&] { printElement(*elements++, os); });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// `, name=text` for each; references become names of computations.
static void printAttributes(DictionaryAttr attributes, raw_ostream &os) {
  auto printReference = [&](Attribute reference) {
    os << '%' << cast<FlatSymbolRefAttr>(reference).getValue();
  };
  if (!attributes)
    return;
  for (NamedAttribute attribute : attributes) {
    os << ", " << attribute.getName().strref() << '=';
    if (auto text = dyn_cast<StringAttr>(attribute.getValue())) {
      os << text.getValue();
    } else if (auto list = dyn_cast<ArrayAttr>(attribute.getValue())) {
      os << '{';
      llvm::interleaveComma(list, os, printReference);
      os << '}';
    } else {
      printReference(attribute.getValue());
    }
  }
}

static DictionaryAttr getAttributes(Operation *op) {
  if (auto instruction = dyn_cast<hlo::InstructionOp>(op))
    return instruction.getHloAttributesAttr();
  return op->getAttrOfType<DictionaryAttr>(
      TesseraHLODialect::getAttributesAttrName());
}

/// The opcode of the instruction that the operation stands for; empty when
/// there is none.
static StringRef getOpcode(Operation *op) {
  return TypeSwitch<Operation *, StringRef>(op)
      .Case([](hlo::InstructionOp op) { return op.getOpcode(); })
      .Case([](arith::ConstantOp op) {
        return isa<DenseElementsAttr>(op.getValue()) ? "constant" : "";
      })
      .Case([](RelayoutOp op) { return op.isTensorForm() ? "copy" : ""; })
      .Case([](BitcastOp) { return "bitcast"; })
      .Case([](ReshapeOp) { return "reshape"; })
      .Case(
          [](CopyStartOp op) { return op.isTensorForm() ? "copy-start" : ""; })
      .Case([](CopyDoneOp) { return "copy-done"; })
      .Default([](Operation *) { return ""; });
}

/// What stands for the value of an instruction. The tuple of copy-start is the
/// token; what copy-done gives is the result of the operation that started.
static Value getInstructionValue(Operation *op) {
  if (auto start = dyn_cast<CopyStartOp>(op))
    return start.getToken();
  if (auto done = dyn_cast<CopyDoneOp>(op))
    return done.getToken().getDefiningOp<CopyStartOp>().getResult();
  return op->getResult(0);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

namespace {
/// The texts of shapes, each made once.
class ShapeTexts {
public:
  /// Emits an error at `loc` for types that HLO does not know.
  FailureOr<StringRef> get(Type type, Location loc, bool withLayout = true) {
    std::string &text = (withLayout ? laidOut : logical)[type];
    if (!text.empty())
      return StringRef(text);
    llvm::Expected<Shape> shape = hlo::getShape(type);
    if (!shape)
      return emitLayoutError([&] { return emitError(loc); }, shape.takeError());
    text = shape->toString(withLayout);
    return StringRef(text);
  }

private:
  llvm::DenseMap<Type, std::string> laidOut, logical;
};
} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
/// Writes one function as a computation.
class ComputationWriter {
public:
  ComputationWriter(func::FuncOp function, ShapeTexts &shapes, raw_ostream &os)
      : function(function), shapes(shapes), os(os) {}

  LogicalResult write();
  /// The one instruction of the function, with the shapes of its operands.
  LogicalResult writeSingle();

private:
  LogicalResult check();
  void chooseNames();
  /// `wanted`, or the first of `base.1`, `base.2`, ... that is free.
  void chooseName(Value value, StringAttr wanted, StringRef base);
  FailureOr<std::string> getShapeText(Value value);

  LogicalResult writeHeader();
  LogicalResult writeBody();
  LogicalResult writePending(llvm::function_ref<bool(BlockArgument)> isDue);
  LogicalResult writeParameter(BlockArgument argument);
  LogicalResult writeInstruction(Operation *op, bool operandShapes);
  LogicalResult writeAssignment(Value value);

  func::FuncOp function;
  ShapeTexts &shapes;
  raw_ostream &os;
  Value root;
  llvm::DenseMap<Value, std::string> names;
  llvm::StringSet<> usedNames;
  /// Parameters that are not written yet, the next one last.
  SmallVector<BlockArgument> pending;
  int64_t numWritten = 0;
};
} // namespace

/// The position of a parameter among the instructions.
static int64_t getPosition(func::FuncOp function, BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  auto position = function.getArgAttrOfType<IntegerAttr>(
      number, TesseraHLODialect::getPositionAttrName());
  return position ? position.getValue().getLimitedValue(INT64_MAX) : number;
}

/// What HLO cannot say: several blocks, no result or several, operations that
/// are no instruction.
LogicalResult ComputationWriter::check() {
  auto emitUnsupported = [](Operation *op, const Twine &field,
                            const Twine &expected, const Twine &found) {
    return emitLayoutError([&] { return op->emitError(); },
                           unsupportedError(field, expected, found));
  };
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return emitUnsupported(function, "function in HLO", "one block",
                           function.isExternal() ? "none" : "several");
  Operation *terminator = function.getBody().front().getTerminator();
  if (terminator->getNumOperands() != 1)
    return emitUnsupported(terminator, "function in HLO", "one result",
                           Twine(terminator->getNumOperands()));
  root = terminator->getOperand(0);
  for (Operation &op : function.getBody().front().without_terminator())
    if (getOpcode(&op).empty())
      return emitUnsupported(&op, "operation in HLO",
                             "one that stands for an instruction",
                             "'" + op.getName().getStringRef() + "'");
  return success();
}

//===--- Names ------------------------------------------------------------===//

static StringAttr getWantedName(Operation *op) {
  if (auto instruction = dyn_cast<hlo::InstructionOp>(op))
    return instruction.getNameAttr();
  return op->getAttrOfType<StringAttr>(TesseraHLODialect::getNameAttrName());
}

void ComputationWriter::chooseName(Value value, StringAttr wanted,
                                   StringRef base) {
  std::string &name = names[value];
  if (!name.empty())
    return;
  name = wanted ? wanted.str() : base.str();
  for (int64_t i = 1; !usedNames.insert(name).second; ++i)
    name = (base + "." + Twine(i)).str();
}

void ComputationWriter::chooseNames() {
  struct Choice {
    Value value;
    StringAttr wanted;
    StringRef base;
  };
  SmallVector<Choice> choices;
  for (BlockArgument argument : function.getArguments())
    choices.push_back(
        {argument,
         function.getArgAttrOfType<StringAttr>(
             argument.getArgNumber(), TesseraHLODialect::getNameAttrName()),
         "parameter"});
  for (Operation &op : function.getBody().front().without_terminator())
    choices.push_back(
        {getInstructionValue(&op), getWantedName(&op), getOpcode(&op)});
  // First those that are given: a name that is made up must not take one.
  for (const Choice &choice : choices)
    if (choice.wanted && !choice.wanted.empty() &&
        !usedNames.contains(choice.wanted))
      chooseName(choice.value, choice.wanted, choice.base);
  for (const Choice &choice : choices)
    chooseName(choice.value, nullptr, choice.base);
}

//===--- Instructions -----------------------------------------------------===//

/// The shape of an instruction's value.
FailureOr<std::string> ComputationWriter::getShapeText(Value value) {
  auto start = value.getDefiningOp<CopyStartOp>();
  if (!start || value != start.getToken()) {
    FailureOr<StringRef> shape = shapes.get(value.getType(), value.getLoc());
    return failed(shape) ? FailureOr<std::string>() : shape->str();
  }
  FailureOr<std::string> result = getShapeText(start.getResult());
  FailureOr<std::string> source = getShapeText(start.getSource());
  if (failed(result) || failed(source))
    return failure();
  auto context =
      start->getAttrOfType<StringAttr>(TesseraHLODialect::getContextAttrName());
  return "(" + *result + ", " + *source + ", " +
         (context ? context.str() : "u32[]") + ")";
}

/// `[ROOT ]%name = shape `
LogicalResult ComputationWriter::writeAssignment(Value value) {
  FailureOr<std::string> shape = getShapeText(value);
  if (failed(shape))
    return failure();
  os << (value == root ? "ROOT %" : "%") << names[value] << " = " << *shape
     << ' ';
  ++numWritten;
  return success();
}

LogicalResult ComputationWriter::writeParameter(BlockArgument argument) {
  os << "  ";
  if (failed(writeAssignment(argument)))
    return failure();
  os << "parameter(" << argument.getArgNumber() << ')';
  printAttributes(
      function.getArgAttrOfType<DictionaryAttr>(
          argument.getArgNumber(), TesseraHLODialect::getAttributesAttrName()),
      os);
  os << '\n';
  return success();
}

LogicalResult
ComputationWriter::writePending(llvm::function_ref<bool(BlockArgument)> isDue) {
  while (!pending.empty() && isDue(pending.back()))
    if (failed(writeParameter(pending.pop_back_val())))
      return failure();
  return success();
}

LogicalResult ComputationWriter::writeInstruction(Operation *op,
                                                  bool operandShapes) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (constant && failed(checkLiteral(constant)))
    return failure();
  if (failed(writeAssignment(getInstructionValue(op))))
    return failure();
  os << getOpcode(op) << '(';
  if (constant)
    printLiteral(cast<DenseElementsAttr>(constant.getValue()), os);
  if (auto instruction = dyn_cast<hlo::InstructionOp>(op))
    os << instruction.getLiteral().value_or("");
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.getOperandNumber() != 0)
      os << ", ";
    FailureOr<StringRef> shape = StringRef();
    if (operandShapes)
      shape = shapes.get(operand.get().getType(), op->getLoc());
    if (failed(shape))
      return failure();
    os << *shape << (operandShapes ? " %" : "%") << names[operand.get()];
  }
  os << ')';
  printAttributes(getAttributes(op), os);
  os << '\n';
  return success();
}

//===--- The whole --------------------------------------------------------===//

LogicalResult ComputationWriter::writeHeader() {
  Location loc = function.getLoc();
  os << (function.isPublic() ? "ENTRY %" : "%") << function.getName() << " (";
  for (BlockArgument argument : function.getArguments()) {
    FailureOr<StringRef> shape =
        shapes.get(argument.getType(), loc, /*withLayout=*/false);
    if (failed(shape))
      return failure();
    os << (argument.getArgNumber() == 0 ? "" : ", ") << names[argument] << ": "
       << *shape;
  }
  FailureOr<StringRef> result =
      shapes.get(root.getType(), loc, /*withLayout=*/false);
  if (failed(result))
    return failure();
  os << ") -> " << *result << " {\n";
  return success();
}

/// Instructions in order, parameters between them where they stood.
LogicalResult ComputationWriter::writeBody() {
  pending.assign(function.getArguments().begin(),
                 function.getArguments().end());
  auto getKey = [&](BlockArgument argument) {
    return std::pair(getPosition(function, argument), argument.getArgNumber());
  };
  llvm::sort(pending, [&](BlockArgument lhs, BlockArgument rhs) {
    return getKey(lhs) > getKey(rhs);
  });
  for (Operation &op : function.getBody().front().without_terminator()) {
    auto isDue = [&](BlockArgument argument) {
      return getPosition(function, argument) <= numWritten;
    };
    // Passes may have moved a use in front of its parameter's position.
    auto isWaitedFor = [&](BlockArgument) {
      return llvm::any_of(op.getOperands(), [&](Value operand) {
        return llvm::is_contained(pending, operand);
      });
    };
    if (failed(writePending(isDue)) || failed(writePending(isWaitedFor)))
      return failure();
    os << "  ";
    if (failed(writeInstruction(&op, /*operandShapes=*/false)))
      return failure();
  }
  return writePending([](BlockArgument) { return true; });
}

LogicalResult ComputationWriter::write() {
  if (failed(check()))
    return failure();
  chooseNames();
  if (failed(writeHeader()) || failed(writeBody()))
    return failure();
  os << '}';
  printAttributes(getAttributes(function), os);
  os << "\n\n";
  return success();
}

LogicalResult ComputationWriter::writeSingle() {
  if (failed(check()))
    return failure();
  chooseNames();
  Operation *op = root.getDefiningOp();
  if (!op ||
      !llvm::hasSingleElement(function.getBody().front().without_terminator()))
    return function.emitError()
           << "invalid single instruction: expected one operation, whose "
              "result is returned";
  return writeInstruction(op, /*operandShapes=*/true);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// `{(shape, ...)->shape}` of the entry computation.
static LogicalResult printEntryLayout(func::FuncOp entry, ShapeTexts &shapes,
                                      raw_ostream &os) {
  FunctionType type = entry.getFunctionType();
  if (type.getNumResults() != 1)
    return success();
  os << ", entry_computation_layout={(";
  for (auto [i, input] : llvm::enumerate(type.getInputs())) {
    FailureOr<StringRef> shape = shapes.get(input, entry.getLoc());
    if (failed(shape))
      return failure();
    os << (i == 0 ? "" : ", ") << *shape;
  }
  FailureOr<StringRef> result = shapes.get(type.getResult(0), entry.getLoc());
  if (failed(result))
    return failure();
  os << ")->" << *result << '}';
  return success();
}

static void printStrings(StringRef title, Attribute strings, raw_ostream &os) {
  os << title << '\n';
  if (auto list = dyn_cast_if_present<ArrayAttr>(strings))
    for (auto [i, string] : llvm::enumerate(list.getAsRange<StringAttr>()))
      os << i + 1 << ' ' << string.getValue() << '\n';
  os << '\n';
}

/// The rows of a table: each number behind its name.
static void printRows(StringRef title, ArrayRef<StringLiteral> columns,
                      Attribute numbers, raw_ostream &os) {
  os << title << '\n';
  if (auto list = dyn_cast_if_present<DenseI32ArrayAttr>(numbers)) {
    ArrayRef<int32_t> rest = list;
    for (int64_t row = 1; rest.size() >= columns.size(); ++row) {
      os << row << " {";
      for (auto [i, column] : llvm::enumerate(columns))
        os << (i == 0 ? "" : " ") << column << '=' << rest[i];
      os << "}\n";
      rest = rest.drop_front(columns.size());
    }
  }
  os << '\n';
}

static void printStackFrames(DictionaryAttr tables, raw_ostream &os) {
  printStrings("FileNames", tables.get("file_names"), os);
  printStrings("FunctionNames", tables.get("function_names"), os);
  printRows("FileLocations",
            {"file_name_id", "function_name_id", "line", "end_line", "column",
             "end_column"},
            tables.get("file_locations"), os);
  printRows("StackFrames", {"file_location_id", "parent_frame_id"},
            tables.get("stack_frames"), os);
  os << '\n';
}

/// The one public function.
static FailureOr<func::FuncOp> findEntry(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (function.isPublic())
      entries.push_back(function);
  if (entries.size() == 1)
    return entries.front();
  return emitLayoutError(
      [&] { return module.emitError(); },
      invalidError("", "module in HLO",
                   "one public function, the entry computation",
                   Twine(entries.size())));
}

static LogicalResult printHeader(ModuleOp module, func::FuncOp entry,
                                 ShapeTexts &shapes, raw_ostream &os) {
  os << "HloModule " << module.getName().value_or(entry.getName());
  auto attributes = module->getAttrOfType<DictionaryAttr>(
      TesseraHLODialect::getAttributesAttrName());
  printAttributes(attributes, os);
  if (!attributes || !attributes.contains("entry_computation_layout"))
    if (failed(printEntryLayout(entry, shapes, os)))
      return failure();
  os << "\n\n";
  if (auto tables = module->getAttrOfType<DictionaryAttr>(
          TesseraHLODialect::getStackFramesAttrName()))
    printStackFrames(tables, os);
  return success();
}

static LogicalResult printModule(ModuleOp module, raw_ostream &os) {
  FailureOr<func::FuncOp> entry = findEntry(module);
  if (failed(entry))
    return failure();
  ShapeTexts shapes;
  if (module->hasAttr(TesseraHLODialect::getSingleInstructionAttrName()))
    return ComputationWriter(*entry, shapes, os).writeSingle();
  if (failed(printHeader(module, *entry, shapes, os)))
    return failure();
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return emitLayoutError(
          [&] { return op.emitError(); },
          unsupportedError("operation in HLO", "functions",
                           "'" + op.getName().getStringRef() + "'"));
    if (failed(ComputationWriter(function, shapes, os).write()))
      return failure();
  }
  return success();
}

LogicalResult tessera::exportHLO(ModuleOp module, raw_ostream &os) {
  std::string text;
  llvm::raw_string_ostream textStream(text);
  if (failed(printModule(module, textStream)))
    return failure();
  // Attributes are texts that a pass may have made stale: nothing is written
  // that cannot be read.
  std::vector<hlo::SourceDiagnostic> errors;
  std::unique_ptr<hlo::Module> parsed = hlo::parse(text, errors);
  for (const hlo::SourceDiagnostic &error : errors)
    module.emitError() << "the text of the module would be wrong, "
                       << error.message();
  if (!parsed)
    return failure();
  os << text;
  return success();
}
