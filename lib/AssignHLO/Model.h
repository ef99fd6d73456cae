//===- Model.h - Values of a module and what joins them ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_ASSIGNHLO_MODEL_H
#define TESSERA_LIB_ASSIGNHLO_MODEL_H

#include "Instructions.h"

#include "tessera/AssignHLO/AssignHLO.h"
#include "tessera/HLO/Leaves.h"

#include <deque>

namespace tessera {

/// What an instruction reads and writes when it runs: the leaves of all
/// operands, or none, and a part of its result.
struct Traffic {
  bool reads = false;
  LeafRange written;
};
Traffic getTraffic(const hlo::Instruction &instruction, LeafCounter &leaves);

/// An array whose layout is to be chosen.
struct ModelValue {
  const hlo::Instruction *instruction = nullptr;
  size_t leaf = 0;
  /// In the module, with a layout.
  Shape own;
  int64_t runs = 1;
  /// How many instructions write it. What is inside a fusion is never in
  /// memory.
  int64_t writes = 0;
  bool isInMemory = false;
  bool isPinned = false;
  /// A part of a loop's state that the body hands on as it is: one value in
  /// front of, in and behind the loop. Copies of it go around with it.
  bool isCarried = false;
};

/// The values of an instruction's leaves; kNone for what is no array.
using Values = llvm::SmallVector<unsigned, 2>;
inline constexpr unsigned kNone = ~0u;

/// Where a value is used: a leaf of an operand of `user` or, as kResult, of
/// what the computation gives.
struct UseSite {
  static constexpr unsigned kResult = ~0u;
  unsigned frame = kNone;
  const hlo::Instruction *user = nullptr;
  unsigned operand = 0;
  unsigned leaf = 0;
};

/// A use of a value: by what makes another one, or where a layout is fixed.
struct ModelUse {
  unsigned from = 0;
  unsigned to = 0;
  Relation relation;
  int64_t runs = 1;
  bool isRead = false;
  /// Whether bytes move where the relation does not hold (views), and whether
  /// that costs nothing, as a part of a fusion.
  bool mayMove = false;
  bool movesFree = false;
  /// Whether copies of the value are out of reach.
  bool isHomeOnly = false;
  UseSite site;
};

/// A computation where it runs. One that is called twice has two.
struct ModelFrame {
  enum class Kind : uint8_t { Callee, Fusion, Body, Condition };
  const hlo::Computation *computation = nullptr;
  Kind kind = Kind::Callee;
  int64_t runs = 1;
  unsigned number = 0;
  /// By number of parameter.
  std::vector<Values> parameters;
  llvm::DenseMap<const hlo::Instruction *, Values> values;
  /// What an instruction calls, in the order in which it names that.
  llvm::DenseMap<const hlo::Instruction *, llvm::SmallVector<unsigned, 2>>
      callees;

  bool isFused() const { return kind == Kind::Fusion; }
};

struct Model {
  std::vector<ModelValue> values;
  std::vector<ModelUse> uses;
  /// The entry's is the first.
  std::deque<ModelFrame> frames;
  /// The entry's arguments and results: leaf by leaf, kNone for what is no
  /// array.
  Values arguments, results;
};

/// The layouts of a value, and which of them each use takes.
struct ModelChoice {
  struct Value {
    Shape home;
    llvm::SmallVector<Shape, 2> copies;
  };
  struct Use {
    /// 0 for the home, from 1 on for a copy.
    unsigned version = 0;
    bool moves = false;
  };
  std::vector<Value> values;
  std::vector<Use> uses;
};

/// Errors: *unsupported* for sizes that are not known, and too many values.
llvm::Expected<Model> buildModel(const hlo::Module &module,
                                 const AssignOptions &options);

/// The module with chosen layouts, as text: copies are made where values are
/// defined, what is called in two ways is written twice.
std::string writeModule(const hlo::Module &module, const Model &model,
                        const ModelChoice &choice);

} // namespace tessera

#endif // TESSERA_LIB_ASSIGNHLO_MODEL_H
