//===- Kernels.cpp - Mosaic kernels in HLO modules ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/Kernels.h"

#include "FunctionText.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/Layout/JSON.h"
#include "tessera/Support/FileKind.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Base64.h"

using namespace tessera;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

StringRef tessera::getName(KernelArgument::Role role) {
  switch (role) {
  case KernelArgument::Role::GridIndex:
    return "grid index";
  case KernelArgument::Role::Prefetch:
    return "prefetched operand";
  case KernelArgument::Role::Operand:
    return "operand";
  case KernelArgument::Role::Result:
    return "result";
  case KernelArgument::Role::Scratch:
    return "scratch";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The configuration of the call
//===----------------------------------------------------------------------===//

/// custom_call_config of the backend_config.
static Expected<json::Object> readConfig(const hlo::Attribute *attribute) {
  std::string text = hlo::getString(attribute).value_or("");
  auto fail = [](const llvm::Twine &found) {
    return unsupportedError("backend_config",
                            "JSON with custom_call_config.body", found);
  };
  Expected<json::Value> value = parseJSON(text);
  if (!value)
    return fail(llvm::toString(value.takeError()));
  json::Object *whole = value->getAsObject();
  json::Object *config =
      whole ? whole->getObject("custom_call_config") : nullptr;
  if (!config)
    return fail("none");
  return std::move(*config);
}

/// Protocol buffers write 64-bit integers as strings.
static int64_t readInteger(const json::Value *value) {
  if (!value)
    return 0;
  if (std::optional<int64_t> number = value->getAsInteger())
    return *number;
  int64_t number = 0;
  if (std::optional<StringRef> text = value->getAsString())
    if (text->getAsInteger(10, number))
      return 0;
  return number;
}

static std::vector<KernelColor> readColors(const json::Object &config,
                                           StringRef name) {
  std::vector<KernelColor> colors;
  const json::Array *entries = config.getArray(name);
  if (!entries)
    return colors;
  for (const json::Value &entry : *entries) {
    const json::Object *object = entry.getAsObject();
    if (!object)
      continue;
    KernelColor &color = colors.emplace_back();
    color.color = readInteger(object->get("color"));
    color.operand = readInteger(object->get("operand_index"));
    if (const json::Array *index = object->getArray("shape_index"))
      for (const json::Value &number : *index)
        color.shapeIndex.push_back(readInteger(&number));
  }
  return colors;
}

/// The bytes of the body.
static Expected<std::string> readBody(const json::Object &config) {
  std::optional<StringRef> encoded = config.getString("body");
  if (!encoded)
    return unsupportedError("kernel body", "custom_call_config.body", "none");
  std::vector<char> bytes;
  if (Error error = llvm::decodeBase64(*encoded, bytes)) {
    return invalidError("", "kernel body", "base64",
                        llvm::toString(std::move(error)));
  }
  return std::string(bytes.begin(), bytes.end());
}

Expected<std::string>
tessera::readKernelBody(const hlo::Attribute *backendConfig) {
  Expected<json::Object> config = readConfig(backendConfig);
  if (!config)
    return config.takeError();
  return readBody(*config);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// The shapes of the arrays of a result, in order.
static std::vector<const Shape *> getArrays(const Shape &shape) {
  if (!shape.isTuple())
    return {&shape};
  std::vector<const Shape *> arrays;
  for (const Shape &element : shape.elements())
    llvm::append_range(arrays, getArrays(element));
  return arrays;
}

/// `#tpu.dimension_semantics<parallel>` without what is around the word.
static StringRef getSemantics(StringRef text) {
  StringRef word = text.split('<').second;
  return word.empty() ? text : word.rtrim('>');
}

static KernelWindow readWindow(StringRef text) {
  KernelWindow window;
  for (auto [key, value] :
       splitDictionary(unwrap(text, "{", "}").value_or(""))) {
    if (key == "transform_indices")
      window.transform =
          unwrap(value, "affine_map<", ">").value_or(value).str();
    if (key == "window_bounds")
      window.sizes =
          readIntegers(value).value_or(llvm::SmallVector<int64_t, 4>());
  }
  return window;
}

/// `2`, `2 : i64`; 0 for anything else, as for what no function has as many
/// arguments as.
static size_t readCount(StringRef text) {
  uint32_t count = 0;
  return text.split(':').first.trim().getAsInteger(10, count) ? 0 : count;
}

namespace {
/// How many arguments of each role a function has, in this order.
struct Roles {
  size_t grid = 0, prefetch = 0, operands = 0, results = 0, scratch = 0;
  /// Operands of the call that are sizes of the grid, and no arguments.
  size_t gridSizes = 0;

  size_t total() const {
    return grid + prefetch + operands + results + scratch;
  }

  /// The role of argument `i`, and its number.
  KernelArgument get(size_t i) const {
    using Role = KernelArgument::Role;
    KernelArgument argument;
    for (auto [count, role, first] :
         {std::tuple(grid, Role::GridIndex, size_t(0)),
          {prefetch, Role::Prefetch, gridSizes},
          {operands, Role::Operand, gridSizes + prefetch},
          {results, Role::Result, 0}}) {
      argument.role = role;
      argument.number = first + i;
      if (i < count)
        return argument;
      i -= count;
    }
    argument.role = Role::Scratch;
    argument.number = i;
    return argument;
  }
};
} // namespace

static Roles getRoles(const Kernel &kernel, const FunctionText &function) {
  Roles roles;
  size_t operands = kernel.call->operands.size();
  roles.grid = kernel.grid.size();
  roles.gridSizes =
      std::min<size_t>(llvm::count(kernel.grid, kDynamic), operands);
  operands -= roles.gridSizes;
  roles.prefetch =
      std::min(readCount(function.get("scalar_prefetch")), operands);
  roles.operands = operands - roles.prefetch;
  roles.results = getArrays(*kernel.call->shape).size();
  roles.scratch = readCount(function.get("scratch_operands"));
  return roles;
}

/// Gives the operands and results of the call to the arguments.
static void addShapes(Kernel &kernel) {
  std::vector<const Shape *> results = getArrays(*kernel.call->shape);
  for (KernelArgument &argument : kernel.arguments) {
    if (argument.role == KernelArgument::Role::Result)
      argument.shape = results[argument.number];
    else if (argument.role == KernelArgument::Role::Operand ||
             argument.role == KernelArgument::Role::Prefetch)
      argument.shape = kernel.call->operands[argument.number]->shape;
  }
}

static void addWindows(Kernel &kernel, StringRef text) {
  std::vector<StringRef> windows =
      splitList(unwrap(text, "[", "]").value_or(""));
  size_t next = 0;
  for (KernelArgument &argument : kernel.arguments)
    if (argument.role == KernelArgument::Role::Operand ||
        argument.role == KernelArgument::Role::Result)
      if (next < windows.size())
        argument.window = readWindow(windows[next++]);
}

static Error addFunction(Kernel &kernel) {
  Expected<FunctionText> function = readFunction(kernel.body);
  if (!function)
    return function.takeError();
  kernel.function = function->name.str();
  kernel.grid = readIntegers(function->get("iteration_bounds"))
                    .value_or(llvm::SmallVector<int64_t, 4>());
  for (StringRef word : splitList(
           unwrap(function->get("dimension_semantics"), "[", "]").value_or("")))
    kernel.semantics.push_back(getSemantics(word).str());
  Roles roles = getRoles(kernel, *function);
  bool isKnown = roles.total() == function->argumentTypes.size();
  for (auto [i, type] : llvm::enumerate(function->argumentTypes)) {
    KernelArgument &argument = kernel.arguments.emplace_back();
    if (isKnown)
      argument = roles.get(i);
    else
      argument.number = i;
    argument.type = type.str();
    argument.memref = readMemRef(type);
  }
  if (!isKnown)
    return invalidError(
        "kernel_c1", "number of arguments",
        llvm::Twine(roles.grid) + " indices of the grid, " +
            llvm::Twine(roles.prefetch + roles.operands) + " operands, " +
            llvm::Twine(roles.results) + " results and " +
            llvm::Twine(roles.scratch) + " scratch arguments",
        llvm::Twine(function->argumentTypes.size()) + " arguments");
  addShapes(kernel);
  addWindows(kernel, function->get("window_params"));
  return Error::success();
}

static Error addBody(Kernel &kernel, const json::Object &config,
                     const BytecodeReader &readBytecode) {
  Expected<std::string> body = readBody(config);
  if (!body)
    return body.takeError();
  kernel.isBytecode = isBytecode(*body);
  if (kernel.isBytecode && !readBytecode)
    return unsupportedError("kernel body", "MLIR as text", "bytecode");
  if (kernel.isBytecode)
    body = readBytecode(*body);
  if (!body)
    return body.takeError();
  // What is printed of it has to be text.
  kernel.body = json::isUTF8(*body) ? std::move(*body) : json::fixUTF8(*body);
  return addFunction(kernel);
}

static Kernel readKernel(const hlo::Instruction &call,
                         const BytecodeReader &readBytecode) {
  Kernel kernel;
  kernel.call = &call;
  Expected<json::Object> config =
      readConfig(call.getAttribute("backend_config"));
  if (!config) {
    kernel.error = takeDiagnostic(config.takeError());
    return kernel;
  }
  kernel.operandColors = readColors(*config, "input_memory_space_colors");
  kernel.resultColors = readColors(*config, "output_memory_space_colors");
  if (Error error = addBody(kernel, *config, readBytecode))
    kernel.error = takeDiagnostic(std::move(error));
  return kernel;
}

std::vector<Kernel> tessera::findKernels(const hlo::Module &module,
                                         const BytecodeReader &readBytecode) {
  std::vector<Kernel> kernels;
  for (const hlo::Computation *computation : module.computations())
    for (const hlo::Instruction *instruction : computation->instructions()) {
      const hlo::Attribute *target =
          instruction->getAttribute("custom_call_target");
      if (target && target->text == "\"tpu_custom_call\"")
        kernels.push_back(readKernel(*instruction, readBytecode));
    }
  return kernels;
}
