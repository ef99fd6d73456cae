//===- Size.cpp - tessera-layout size -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Layout/Size.h"
#include "tessera/Support/Subcommand.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace tessera;
namespace cl = llvm::cl;
namespace json = llvm::json;

static int run();

static Subcommand command("size", "Print how large a shape is in memory", run);
static cl::opt<std::string> shapeText(cl::Positional, cl::Required,
                                      cl::desc("SHAPE"), cl::sub(command));
static cl::opt<bool> asJSON("json", cl::sub(command),
                            cl::desc("Print a JSON object"));

/// `physical_shape` is null for a tuple, `expansion` where there is padding
/// only.
static void printJSON(const Shape &shape, const ShapeSize &size) {
  json::Object object{
      {"logical_elements", size.logicalElements},
      {"allocated_elements", size.allocatedElements},
      {"bytes", size.bytes},
      {"padding_bytes", size.paddingBytes},
  };
  double expansion = size.expansion();
  object["expansion"] =
      std::isfinite(expansion) ? json::Value(expansion) : json::Value(nullptr);
  object["physical_shape"] = shape.isArray()
                                 ? json::Value(json::Array(size.physicalShape))
                                 : json::Value(nullptr);
  llvm::outs() << json::Value(std::move(object)) << '\n';
}

static void printText(const Shape &shape, const ShapeSize &size) {
  llvm::raw_ostream &os = llvm::outs();
  if (shape.isArray()) {
    os << "physical shape      [";
    llvm::interleave(size.physicalShape, os, ",");
    os << "]\n";
  }
  os << "logical elements    " << size.logicalElements << '\n'
     << "allocated elements  " << size.allocatedElements << '\n'
     << "bytes               " << size.bytes << '\n'
     << "padding bytes       " << size.paddingBytes << '\n'
     << "expansion           " << llvm::format("%.4g", size.expansion())
     << '\n';
}

static int run() {
  std::optional<Shape> shape = readShapeArgument(shapeText);
  if (!shape)
    return kExitBadInput;
  llvm::Expected<ShapeSize> size = getSize(*shape);
  if (!size)
    return reportError(size.takeError());
  if (asJSON)
    printJSON(*shape, *size);
  else
    printText(*shape, *size);
  return kExitSuccess;
}
