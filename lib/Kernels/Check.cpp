//===- Check.cpp - What a call and its kernel agree about -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules kernel_c2 to kernel_c7 of docs/hlo.md, one function each.
// kernel_c1, the number of arguments, is found when the kernel is read.
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/Kernels.h"

#include "tessera/HLO/Attributes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

/// `operand 1, %x`, `result 0`.
static std::string describe(const Kernel &kernel,
                            const KernelArgument &argument) {
  std::string text =
      (getName(argument.role) + " " + Twine(argument.number)).str();
  if (argument.role != KernelArgument::Role::Result)
    text += ", %" + kernel.call->operands[argument.number]->name.str();
  return text;
}

static int64_t getSpace(const Shape &shape) {
  return shape.layoutOrDefault().memorySpace;
}

//===----------------------------------------------------------------------===//
// kernel_c2: types and sizes
//===----------------------------------------------------------------------===//

/// MLIR's name of a type, with which `type` is read by a kernel. Kernels have
/// integers without signs, and booleans as wider ones.
static bool isReadAs(PrimitiveType type, StringRef element) {
  if (type == PrimitiveType::Pred)
    return element == "i1" || element == "i8" || element == "i32";
  if (isSignedIntegral(type) || isUnsignedIntegral(type)) {
    element.consume_front("u");
    element.consume_front("s");
    return element == "i" + llvm::utostr(getBitWidth(type));
  }
  return element.equals_insensitive(getName(type));
}

static Error checkTypes(const Kernel &kernel, const KernelArgument &argument) {
  const Shape &shape = *argument.shape;
  const KernelMemRef &memref = *argument.memref;
  if (!isReadAs(shape.elementType(), memref.elementType))
    return invalidError("kernel_c2", describe(kernel, argument),
                        "elements of the kernel's type " + memref.elementType,
                        shape.toString());
  // Windows are listed for all arrays or none, and those that are whole have no
  // sizes.
  bool isWindow = argument.window.has_value();
  llvm::ArrayRef<int64_t> sizes = shape.dimensions();
  if (isWindow && !argument.window->sizes.empty())
    sizes = argument.window->sizes;
  bool fits = memref.dimensions.size() == shape.dimensions().size();
  if (fits && isWindow && argument.window->sizes.empty())
    fits =
        llvm::all_of(llvm::zip_equal(memref.dimensions, sizes), [](auto pair) {
          return std::get<0>(pair) == kDynamic ||
                 std::get<0>(pair) <= std::get<1>(pair);
        });
  else if (fits)
    fits = llvm::ArrayRef(memref.dimensions) == sizes;
  if (fits)
    return Error::success();
  return invalidError("kernel_c2", describe(kernel, argument),
                      (isWindow ? "a window of " : "an array of ") +
                          formatSizes(memref.dimensions) +
                          ", as the kernel has it",
                      formatSizes(sizes) + " of " + shape.toString());
}

//===----------------------------------------------------------------------===//
// kernel_c3, kernel_c4: memory spaces
//===----------------------------------------------------------------------===//

/// The color that the call demands for an array, or null.
static const KernelColor *findColor(const Kernel &kernel,
                                    const KernelArgument &argument) {
  bool isResult = argument.role == KernelArgument::Role::Result;
  auto number = static_cast<int64_t>(argument.number);
  for (const KernelColor &color :
       isResult ? kernel.resultColors : kernel.operandColors) {
    int64_t of = color.operand;
    if (isResult)
      of = color.shapeIndex.empty() ? 0 : color.shapeIndex.front();
    if (of == number)
      return &color;
  }
  return nullptr;
}

static Error checkColor(const Kernel &kernel, const KernelArgument &argument) {
  const KernelColor *color = findColor(kernel, argument);
  int64_t space = getSpace(*argument.shape);
  if (!color || color->color == space)
    return Error::success();
  return invalidError("kernel_c3", describe(kernel, argument),
                      "memory space S(" + Twine(color->color) +
                          "), the color that the call demands",
                      "S(" + Twine(space) + ") in " +
                          argument.shape->toString());
}

/// Spaces that an array may be in, for a kernel that says `space`. The compiler
/// copies windows and arrays into vmem and smem itself, from cmem on v4.
static llvm::SmallVector<int64_t, 3> getSpaces(StringRef space) {
  if (space == "hbm")
    return {0};
  if (space == "any" || space == "vmem" || space.empty())
    return {0, 1, 3};
  if (space == "smem")
    return {0, 1, 3, 4, 6};
  if (space == "semaphore_mem")
    return {2};
  if (space == "cmem")
    return {3};
  if (space == "host")
    return {5};
  return {};
}

static Error checkSpace(const Kernel &kernel, const KernelArgument &argument) {
  // A color is the stronger demand.
  if (findColor(kernel, argument))
    return Error::success();
  const std::string &name = argument.memref->space;
  llvm::SmallVector<int64_t, 3> allowed = getSpaces(name);
  int64_t space = getSpace(*argument.shape);
  if (allowed.empty())
    return unsupportedError(describe(kernel, argument),
                            "a memory space that is known", name);
  if (llvm::is_contained(allowed, space))
    return Error::success();
  std::string expected;
  llvm::raw_string_ostream os(expected);
  llvm::interleave(
      allowed, os, [&](int64_t number) { os << "S(" << number << ")"; },
      " or ");
  return invalidError(
      "kernel_c4", describe(kernel, argument),
      expected + " for memory space `" + name + "` of the kernel",
      "S(" + Twine(space) + ") in " + argument.shape->toString(),
      "the kernel reads other bytes there; ask for the space "
      "where the array is made");
}

//===----------------------------------------------------------------------===//
// kernel_c5, kernel_c6: orders and tiles
//===----------------------------------------------------------------------===//

/// What the call demands of an operand's layout; nothing of its results.
static const Shape *findConstraint(const Kernel &kernel,
                                   const KernelArgument &argument) {
  const hlo::Attribute *constraints =
      kernel.call->getAttribute("operand_layout_constraints");
  if (argument.role == KernelArgument::Role::Result || !constraints ||
      argument.number >= constraints->shapes.size())
    return nullptr;
  const Shape *shape = constraints->shapes[argument.number];
  return shape->isArray() ? shape : nullptr;
}

static Error checkOrder(const Kernel &kernel, const KernelArgument &argument) {
  const Shape &shape = *argument.shape;
  const Shape *constraint = findConstraint(kernel, argument);
  Layout expected = Layout::descending(shape.rank());
  if (constraint && constraint->rank() == shape.rank())
    expected = constraint->layoutOrDefault();
  if (expected.minorToMajor == shape.layoutOrDefault().minorToMajor)
    return Error::success();
  return invalidError(
      "kernel_c5", describe(kernel, argument),
      (constraint ? "the order of its constraint, " : "row-major order, ") +
          expected.toString(),
      shape.toString());
}

/// A window has to begin and end with tiles, else it is read with other
/// elements of the tile.
static Error checkWindowTiles(const Kernel &kernel,
                              const KernelArgument &argument) {
  const Shape &shape = *argument.shape;
  Layout layout = shape.layoutOrDefault();
  if (!argument.window || layout.tiles.empty())
    return Error::success();
  // The tile's last size is that of the most minor dimension.
  for (auto [dim, tile] : llvm::zip(
           layout.minorToMajor, llvm::reverse(layout.tiles.front().sizes))) {
    int64_t window = argument.memref->dimensions[dim];
    int64_t size = shape.dimensions()[dim];
    if (window == kDynamic || tile <= 0 || window % tile == 0 || window == size)
      continue;
    return invalidError("kernel_c6", describe(kernel, argument),
                        "windows of whole tiles, a multiple of " + Twine(tile) +
                            " in dimension " + Twine(dim),
                        Twine(window) + " of " + Twine(size) + " in " +
                            shape.toString());
  }
  return Error::success();
}

static Error checkTiles(const Kernel &kernel, const KernelArgument &argument) {
  const Shape *constraint = findConstraint(kernel, argument);
  Layout layout = argument.shape->layoutOrDefault();
  if (constraint && constraint->hasLayout() &&
      !constraint->layout().tiles.empty() &&
      constraint->layout().tiles != layout.tiles)
    return invalidError("kernel_c6", describe(kernel, argument),
                        "the tiles of its constraint, " +
                            constraint->layout().toString(),
                        argument.shape->toString());
  return checkWindowTiles(kernel, argument);
}

//===----------------------------------------------------------------------===//
// kernel_c7: aliasing
//===----------------------------------------------------------------------===//

/// An array that the kernel writes over another has to be the same for it.
static Error checkAlias(const Kernel &kernel, const hlo::Alias &alias) {
  const hlo::Instruction &call = *kernel.call;
  if (alias.number < 0 ||
      alias.number >= static_cast<int64_t>(call.operands.size()))
    return Error::success(); // The verifier has said so.
  const Shape *input =
      hlo::getSubshape(*call.operands[alias.number]->shape, alias.inputIndex);
  const Shape *output = hlo::getSubshape(*call.shape, alias.outputIndex);
  if (!input || !output || *input == *output)
    return Error::success();
  return invalidError("kernel_c7",
                      "aliasing of operand " + Twine(alias.number) + ", %" +
                          call.operands[alias.number]->name,
                      "the shape of the result, " + output->toString(),
                      input->toString(),
                      "a copy of the one into the layout and space of the "
                      "other");
}

//===----------------------------------------------------------------------===//
// All rules
//===----------------------------------------------------------------------===//

using Rule = Error (*)(const Kernel &, const KernelArgument &);

/// Each rule is looked at where the ones before it hold. Before there is a
/// schedule, layouts and spaces are not chosen yet.
static Error checkArgument(const Kernel &kernel, const KernelArgument &argument,
                           bool isScheduled) {
  llvm::SmallVector<Rule, 5> rules = {checkTypes};
  if (isScheduled)
    rules.append({checkColor, checkSpace, checkOrder, checkTiles});
  for (Rule rule : rules)
    if (Error error = rule(kernel, argument))
      return error;
  return Error::success();
}

std::vector<hlo::SourceDiagnostic>
tessera::checkKernel(const hlo::Module &module, const Kernel &kernel) {
  std::vector<hlo::SourceDiagnostic> problems;
  hlo::SourceLocation location = module.getLocation(kernel.call->name);
  auto add = [&](Error error) {
    if (error)
      problems.push_back({location, takeDiagnostic(std::move(error))});
  };
  if (kernel.error)
    problems.push_back({location, *kernel.error});
  for (const KernelArgument &argument : kernel.arguments)
    if (argument.memref && argument.shape && argument.shape->isArray())
      add(checkArgument(kernel, argument, module.isScheduled()));
  for (const hlo::Alias &alias :
       hlo::getAliases(kernel.call->getAttribute("output_to_operand_aliasing")))
    add(checkAlias(kernel, alias));
  return problems;
}
