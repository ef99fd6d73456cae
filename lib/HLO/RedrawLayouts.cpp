//===- RedrawLayouts.cpp - Random layouts for HLO modules -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/HLO/RedrawLayouts.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/HLO/Rewriter.h"

#include <random>

using namespace tessera;
using namespace tessera::hlo;

namespace {
class Redrawer {
public:
  Redrawer(Module &module, uint64_t seed) : rewriter(module), random(seed) {}

  void redraw(Instruction &instruction);

private:
  size_t drawBelow(size_t limit) { return random() % limit; }
  Shape draw(const Shape &shape);
  Shape drawArray(const Shape &shape);
  Shape getDerived(const Instruction &instruction, const Shape &drawn);

  Rewriter rewriter;
  std::mt19937_64 random;
};
} // namespace

/// Tiles to draw from: those of TPUs, and others that divide nothing evenly.
static TileList getTiles(size_t number) {
  switch (number) {
  case 0:
    return {Tile{{8, 128}}};
  case 1:
    return {Tile{{8, 128}}, Tile{{2, 1}}};
  case 2:
    return {Tile{{4, 16}}, Tile{{4, 1}}};
  case 3:
    return {Tile{{2, 3}}};
  case 4:
    return {Tile{{3, 4}}, Tile{{2, 1}}};
  case 5:
    return {Tile{{5}}};
  default:
    return {};
  }
}

Shape Redrawer::drawArray(const Shape &shape) {
  Layout layout = shape.layoutOrDefault();
  for (size_t i = layout.minorToMajor.size(); i > 1; --i)
    std::swap(layout.minorToMajor[i - 1], layout.minorToMajor[drawBelow(i)]);
  layout.tiles = getTiles(drawBelow(8));
  // Their positions are those of the order that was.
  layout.splitConfigs.clear();
  Shape drawn = shape;
  drawn.setLayout(layout);
  // Tiles may make an array so large that its bytes cannot be counted.
  if (llvm::Error error = drawn.verify()) {
    llvm::consumeError(std::move(error));
    return shape;
  }
  return drawn;
}

Shape Redrawer::draw(const Shape &shape) {
  if (shape.isArray())
    return drawArray(shape);
  Shape drawn = shape;
  for (Shape &element : drawn.mutableElements())
    element = draw(element);
  return drawn;
}

/// The shape of a result that is, in part, that of an operand.
Shape Redrawer::getDerived(const Instruction &instruction, const Shape &drawn) {
  auto getOperand = [&](unsigned i) { return *instruction.operands[i]->shape; };
  switch (instruction.opcode) {
  case Opcode::Tuple: {
    std::vector<Shape> elements;
    for (const Instruction *operand : instruction.operands)
      elements.push_back(*operand->shape);
    return Shape::tuple(elements);
  }
  case Opcode::GetTupleElement:
    return *getSubshape(getOperand(0),
                        {*getInt(instruction.getAttribute("index"))});
  case Opcode::CopyStart: {
    Shape result = drawn;
    result.mutableElements()[1] = getOperand(0);
    return result;
  }
  case Opcode::CopyDone:
    return getOperand(0).elements()[0];
  case Opcode::AddDependency:
  case Opcode::OptimizationBarrier:
    return getOperand(0);
  default:
    return drawn;
  }
}

void Redrawer::redraw(Instruction &instruction) {
  instruction.shape =
      rewriter.own(getDerived(instruction, draw(*instruction.shape)));
}

void hlo::redrawLayouts(Module &module, uint64_t seed) {
  Redrawer redrawer(module, seed);
  for (const Computation *computation : module.computations())
    for (Instruction *instruction : computation->instructions())
      redrawer.redraw(*instruction);
  Rewriter rewriter(module);
  rewriter.updateEntryLayout();
  rewriter.removeAttribute("is_scheduled");
}
