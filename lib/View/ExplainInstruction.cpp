//===- ExplainInstruction.cpp - A line of HLO in words --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of a line have the names that XLA's documentation gives them ("op
// name", "memory location", "arguments"). Each layout in it is then explained
// by explainShape.
//
//===----------------------------------------------------------------------===//

#include "tessera/View/Explain.h"

#include "FieldList.h"

#include "tessera/HLO/Attributes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tessera;
using hlo::AttributeKind;
using hlo::Instruction;
using hlo::Opcode;
using llvm::StringRef;

/// Characters of an attribute or a literal that are shown.
static constexpr size_t kMaxValue = 100;

//===----------------------------------------------------------------------===//
// Operations and attributes in words
//===----------------------------------------------------------------------===//

static StringRef describeTrait(hlo::LayoutTrait trait) {
  switch (trait) {
  case hlo::LayoutTrait::Elementwise:
    return "element by element; arguments have the dimensions of the result, "
           "its "
           "type up to precision, and its layout but for tiles and memory "
           "space";
  case hlo::LayoutTrait::Keeps:
  case hlo::LayoutTrait::KeepsButElementSize:
    return "arguments with as many dimensions as the result have its layout, "
           "but for tiles and memory space";
  case hlo::LayoutTrait::Any:
    return "arguments and result may have different layouts";
  }
  llvm_unreachable("all traits are handled");
}

/// What the operation does to layouts and memory.
static StringRef describeOpcode(Opcode opcode) {
  switch (opcode) {
  case Opcode::Parameter:
    return "an argument of its computation, by number";
  case Opcode::Constant:
    return "a value that the program knows";
  case Opcode::Copy:
    return "moves its argument into the layout and the memory of the result";
  case Opcode::CopyStart:
    return "starts a copy, which the copy-done waits for; gives the "
           "destination, the source and a context";
  case Opcode::CopyDone:
    return "waits for the copy-start, and gives its destination";
  case Opcode::Bitcast:
    return "reads the bytes of its argument as the result; moves nothing";
  case Opcode::Reshape:
    return "gives the elements, in row-major order, other dimensions";
  case Opcode::Transpose:
    return "permutes dimensions; with the same permutation of the layout it "
           "moves nothing";
  case Opcode::Fusion:
    return "runs a computation as one kernel; values inside are in no memory";
  case Opcode::CustomCall:
    return "code that XLA knows by name alone; it may demand these layouts";
  case Opcode::Tuple:
    return "puts its arguments into a tuple; copies nothing";
  case Opcode::GetTupleElement:
    return "takes an element out of a tuple; copies nothing";
  case Opcode::While:
    return "repeats a computation while another one says so; argument and "
           "result share their memory";
  case Opcode::Conditional:
    return "runs one of several computations";
  case Opcode::Call:
    return "runs a computation";
  case Opcode::DynamicUpdateSlice:
    return "writes a part of its first argument, in place if it can; layouts "
           "are the same but for tiles and memory space";
  default:
    return describeTrait(hlo::getLayoutTrait(opcode));
  }
}

static StringRef describeFusionKind(StringRef kind) {
  return llvm::StringSwitch<StringRef>(kind)
      .Case("kLoop", "one loop over the elements of the result")
      .Case("kInput", "around an operation at the result's end, which reads "
                      "what others compute")
      .Case("kOutput", "around an operation whose result others use at once")
      .Default("a kernel that the compiler makes in its own way");
}

/// What an attribute says, or nothing where its name does.
static StringRef describeAttribute(const hlo::Attribute &attribute) {
  switch (attribute.kind) {
  case AttributeKind::FusionKind:
    return describeFusionKind(attribute.text);
  case AttributeKind::Computation:
  case AttributeKind::ComputationList:
    return llvm::StringSwitch<StringRef>(attribute.name)
        .Case("calls", "what it runs")
        .Case("to_apply", "what it runs, on elements or as a call")
        .Case("condition", "runs first, and says whether to go on")
        .Case("body", "what it repeats")
        .Default("what it may run");
  case AttributeKind::Sharding:
    return "how the array is spread over devices; dimensions are those of one "
           "device";
  case AttributeKind::ReplicaGroups:
    return "the devices that work together";
  case AttributeKind::Window:
    return "size, stride, padding and dilation of the window";
  case AttributeKind::DimLabels:
    return "dimensions of the arguments and the result: b is batch, f and i "
           "are input features, o is output features, digits are space";
  case AttributeKind::FrontendAttrs:
    return "for frameworks and tools";
  case AttributeKind::StringOrJson:
    return attribute.name == "backend_config" ? "for the compiler's back end"
                                              : "";
  case AttributeKind::InstructionList:
    return "these run before it";
  case AttributeKind::OperandAliasing:
    return "parts of the result that share memory with arguments";
  case AttributeKind::ShapeList:
    return attribute.name == "operand_layout_constraints"
               ? "shapes and layouts that the arguments must have"
               : "";
  default:
    return "";
  }
}

/// `text` on one line, cut where it is long.
static std::string shorten(StringRef text) {
  std::string line;
  for (char c : text.take_front(kMaxValue))
    line += llvm::isPrint(c) || static_cast<unsigned char>(c) >= 0x80 ? c : ' ';
  if (text.size() <= kMaxValue)
    return line;
  // The line must not end within a character of several bytes.
  while (!line.empty() && !llvm::isPrint(line.back()))
    line.pop_back();
  return line + "... (" + llvm::utostr(text.size()) + " characters)";
}

//===----------------------------------------------------------------------===//
// The line
//===----------------------------------------------------------------------===//

namespace {
/// Explains the parts of a line, then every layout in it once.
class LineExplainer {
public:
  LineExplainer(const hlo::Module &line, llvm::raw_ostream &os)
      : line(line), instruction(*line.entry()->root()), os(os) {}

  llvm::Error explain(ExplainOptions options);

private:
  void addResult();
  void addOperation();
  void addArguments();
  void printAttributes();
  /// Notes the arrays in a shape, with what they belong to.
  void collectArrays(const Shape &shape, const std::string &owner);

  const hlo::Module &line;
  const Instruction &instruction;
  llvm::raw_ostream &os;
  FieldList parts;
  struct Array {
    const Shape *shape;
    std::vector<std::string> owners;
  };
  /// Those of different shapes or layouts.
  std::vector<Array> arrays;
};
} // namespace

void LineExplainer::collectArrays(const Shape &shape,
                                  const std::string &owner) {
  if (shape.isArray()) {
    auto found = llvm::find_if(
        arrays, [&](const Array &array) { return *array.shape == shape; });
    if (found == arrays.end())
      found = arrays.insert(found, {&shape, {}});
    found->owners.push_back(owner);
    return;
  }
  for (auto [i, element] : llvm::enumerate(shape.elements()))
    collectArrays(element, owner + "." + llvm::utostr(i));
}

void LineExplainer::addResult() {
  const Shape &shape = *instruction.shape;
  collectArrays(shape, "result");
  if (!shape.isArray()) {
    parts.add("shape", shape.toString());
    return;
  }
  parts.add("shape", shape.toString(/*printLayout=*/false));
  Layout layout = shape.layoutOrDefault();
  int64_t space = std::exchange(layout.memorySpace, 0);
  parts.add("layout", layout.toString());
  parts.add("memory location", "S(" + llvm::itostr(space) + "), " +
                                   getMemorySpaceName(space).str() +
                                   (space == 0 ? " (not written)" : ""));
}

void LineExplainer::addOperation() {
  std::string name = instruction.opcodeName();
  StringRef meaning = describeOpcode(instruction.opcode);
  if (instruction.asyncWrapped)
    meaning = "a part of an operation that runs besides others";
  parts.add("operation", name + ": " + meaning.str());
  if (instruction.opcode == Opcode::Parameter)
    parts.add("number", instruction.payload);
  if (instruction.opcode == Opcode::Constant)
    parts.add("value", shorten(instruction.payload));
}

void LineExplainer::addArguments() {
  bool isElementwise =
      !instruction.asyncWrapped &&
      hlo::getLayoutTrait(instruction.opcode) == hlo::LayoutTrait::Elementwise;
  for (auto [i, operand] : llvm::enumerate(instruction.operands)) {
    std::string owner = "argument " + llvm::utostr(i);
    std::string text = operand->name.str();
    if (!operand->shape) {
      parts.add(owner, text + ", " +
                           (isElementwise ? "as the result (not written)"
                                          : "its shape is not written"));
      continue;
    }
    parts.add(owner, text + ", " +
                         (operand->shape == instruction.shape
                              ? "of the shape and layout of the result"
                              : operand->shape->toString()));
    collectArrays(*operand->shape, owner);
  }
}

void LineExplainer::printAttributes() {
  if (instruction.attributes.empty())
    return;
  FieldList list;
  for (const hlo::Attribute &attribute : instruction.attributes) {
    std::string value = shorten(attribute.text);
    StringRef meaning = describeAttribute(attribute);
    if (attribute.kind != AttributeKind::Metadata) {
      list.add(attribute.name,
               value + (meaning.empty() ? "" : ": " + meaning.str()));
      continue;
    }
    // Where it comes from, without the numbers of tables that are not here.
    std::string origin = hlo::getMetadata(&attribute, "op_name").value_or("");
    std::string location;
    if (auto file = hlo::getMetadata(&attribute, "source_file"))
      location = *file + ":" +
                 hlo::getMetadata(&attribute, "source_line").value_or("?");
    list.add(attribute.name,
             origin.empty() && location.empty()
                 ? value
                 : "it comes from " + shorten(origin) +
                       (location.empty() ? "" : " in " + location));
  }
  os << "  attributes\n";
  list.print(os, /*indent=*/4);
}

llvm::Error LineExplainer::explain(ExplainOptions options) {
  bool isRoot = line.text().ltrim().starts_with("ROOT");
  os << line.text().trim() << "\n\n";
  parts.add("op name",
            instruction.name.str() +
                (isRoot ? ", the result of its computation (ROOT)" : ""));
  addResult();
  addOperation();
  addArguments();
  parts.print(os);
  printAttributes();
  for (const Array &array : arrays) {
    os << '\n' << llvm::join(array.owners, ", ") << ": ";
    if (llvm::Error error = explainShape(*array.shape, os, options))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error tessera::explainLine(const hlo::Module &line, llvm::raw_ostream &os,
                                 ExplainOptions options) {
  return LineExplainer(line, os).explain(options);
}
