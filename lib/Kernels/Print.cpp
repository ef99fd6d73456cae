//===- Print.cpp - Kernels for people and for programs --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/Kernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::StringRef;

/// The name of the operand in the module; empty for other roles.
static StringRef getOperandName(const Kernel &kernel,
                                const KernelArgument &argument) {
  bool isOperand = argument.role == KernelArgument::Role::Operand ||
                   argument.role == KernelArgument::Role::Prefetch;
  return isOperand && argument.shape
             ? kernel.call->operands[argument.number]->name
             : StringRef();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string joinElements(const KernelMemRef &memref) {
  std::string sizes = formatSizes(memref.dimensions);
  return sizes.empty() ? memref.elementType : sizes + "x" + memref.elementType;
}

/// What an argument is, in the kernel and in the module.
static std::vector<std::string> getCells(const Kernel &kernel,
                                         const KernelArgument &argument) {
  std::vector<std::string> cells = {
      (getName(argument.role) + " " + llvm::Twine(argument.number)).str(),
      argument.memref ? joinElements(*argument.memref) : argument.type,
      argument.memref ? argument.memref->space : "",
      argument.window ? argument.window->transform : ""};
  StringRef name = getOperandName(kernel, argument);
  std::string inModule = name.empty() ? "" : "%" + name.str() + " ";
  if (argument.shape)
    inModule += argument.shape->toString();
  cells.push_back(inModule);
  return cells;
}

static void printTable(llvm::ArrayRef<std::vector<std::string>> rows,
                       llvm::raw_ostream &os) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto &row : rows)
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      width = std::max(width, cell.size());
  for (const auto &row : rows) {
    std::string line;
    llvm::raw_string_ostream text(line);
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      text << "  " << llvm::left_justify(cell, width);
    os << StringRef(line).rtrim() << '\n';
  }
}

static void printHead(const hlo::Module &module, const Kernel &kernel,
                      llvm::raw_ostream &os) {
  os << '%' << kernel.call->name << ", line "
     << module.getLocation(kernel.call->name).line;
  if (!kernel.function.empty())
    os << ": kernel @" << kernel.function;
  if (!kernel.grid.empty())
    os << ", grid " << formatSizes(kernel.grid);
  if (!kernel.semantics.empty())
    os << " (" << llvm::join(kernel.semantics, ", ") << ")";
  if (kernel.isBytecode && !kernel.body.empty())
    os << ", from bytecode";
  os << '\n';
}

static void printKernel(const hlo::Module &module, const Kernel &kernel,
                        bool withBody, llvm::raw_ostream &os) {
  printHead(module, kernel, os);
  if (kernel.error)
    os << "  " << kernel.error->message() << '\n';
  if (!kernel.arguments.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"argument", "in the kernel", "space", "window", "in the module"}};
    for (const KernelArgument &argument : kernel.arguments)
      rows.push_back(getCells(kernel, argument));
    printTable(rows, os);
  }
  if (withBody && !kernel.body.empty())
    os << '\n' << StringRef(kernel.body).rtrim() << '\n';
}

void tessera::printKernels(const hlo::Module &module,
                           llvm::ArrayRef<Kernel> kernels, bool withBody,
                           llvm::raw_ostream &os) {
  os << "module " << module.name() << ": " << kernels.size()
     << (kernels.size() == 1 ? " kernel" : " kernels") << '\n';
  for (const Kernel &kernel : kernels) {
    os << '\n';
    printKernel(module, kernel, withBody, os);
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Text of dumps need not be UTF-8, strings of JSON must.
static std::string repair(StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

static void printSizes(llvm::json::OStream &json, StringRef name,
                       llvm::ArrayRef<int64_t> sizes) {
  json.attributeArray(name, [&] {
    for (int64_t size : sizes)
      if (size == kDynamic)
        json.value(nullptr);
      else
        json.value(size);
  });
}

static void printColor(llvm::json::OStream &json, const Kernel &kernel,
                       const KernelArgument &argument) {
  for (const KernelColor &color : kernel.operandColors)
    if (!getOperandName(kernel, argument).empty() &&
        color.operand == static_cast<int64_t>(argument.number))
      json.attribute("color", color.color);
}

static void printArgument(llvm::json::OStream &json, const Kernel &kernel,
                          const KernelArgument &argument) {
  json.attribute("role", getName(argument.role));
  json.attribute("number", static_cast<int64_t>(argument.number));
  json.attribute("type", repair(argument.type));
  if (argument.memref) {
    printSizes(json, "dimensions", argument.memref->dimensions);
    json.attribute("element_type", repair(argument.memref->elementType));
    json.attribute("space", repair(argument.memref->space));
  }
  if (argument.window) {
    json.attribute("transform", repair(argument.window->transform));
    printSizes(json, "window", argument.window->sizes);
  }
  if (argument.shape)
    json.attribute("shape", argument.shape->toString());
  if (StringRef name = getOperandName(kernel, argument); !name.empty())
    json.attribute("operand", repair(name));
  printColor(json, kernel, argument);
}

static void printKernel(llvm::json::OStream &json, const hlo::Module &module,
                        const Kernel &kernel) {
  json.attribute("name", repair(kernel.call->name));
  json.attribute(
      "line", static_cast<int64_t>(module.getLocation(kernel.call->name).line));
  json.attribute("function", repair(kernel.function));
  json.attribute("bytecode", kernel.isBytecode);
  if (kernel.error)
    json.attribute("error", repair(kernel.error->message()));
  printSizes(json, "grid", kernel.grid);
  json.attributeArray("semantics", [&] {
    for (StringRef word : kernel.semantics)
      json.value(repair(word));
  });
  json.attributeArray("arguments", [&] {
    for (const KernelArgument &argument : kernel.arguments)
      json.object([&] { printArgument(json, kernel, argument); });
  });
  json.attribute("body", repair(kernel.body));
}

void tessera::printKernelsJSON(const hlo::Module &module,
                               llvm::ArrayRef<Kernel> kernels,
                               llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "tessera.kernels");
    json.attribute("version", 1);
    json.attribute("module", repair(module.name()));
    json.attributeArray("kernels", [&] {
      for (const Kernel &kernel : kernels)
        json.object([&] { printKernel(json, module, kernel); });
    });
  });
  os << '\n';
}
