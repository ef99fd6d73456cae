//===- Advise.cpp - Which layouts to ask for ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Advise/Advise.h"

#include "Uses.h"

#include "tessera/HLO/Attributes.h"
#include "tessera/HLO/Loops.h"
#include "tessera/Layout/Bitcast.h"
#include "tessera/Layout/Size.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::StringRef;

StringRef tessera::getName(Advice::Kind kind) {
  switch (kind) {
  case Advice::Kind::Argument:
    return "argument";
  case Advice::Kind::Result:
    return "result";
  case Advice::Kind::LoopState:
    return "loop_state";
  case Advice::Kind::Donation:
    return "donation";
  }
  return "";
}

/// The sum of `bytes` times `runs`; the largest number where it is above that.
static int64_t
sumBytes(llvm::ArrayRef<AdvisedMove> moves,
         llvm::function_ref<int64_t(const AdvisedMove &)> getRuns) {
  int64_t sum = 0;
  for (const AdvisedMove &move : moves) {
    std::optional<int64_t> next =
        llvm::checkedMulAdd(move.bytes, getRuns(move), sum);
    if (!next)
      return INT64_MAX;
    sum = *next;
  }
  return sum;
}

int64_t Advice::bytesMoved() const {
  return sumBytes(moves, [](const AdvisedMove &) { return 1; });
}

int64_t Advice::bytesPerStep() const {
  return sumBytes(
      moves, [](const AdvisedMove &move) { return move.runs.value_or(1); });
}

std::optional<int64_t> Advice::maxRuns() const {
  int64_t most = 0;
  for (const AdvisedMove &move : moves) {
    if (!move.runs)
      return std::nullopt;
    most = std::max(most, *move.runs);
  }
  return most;
}

namespace {
/// Goes through the boundary of a module and its loops.
class Adviser {
public:
  explicit Adviser(const Module &module) : module(module), uses(module) {}

  std::vector<Advice> run();

private:
  void adviseArgument(const Instruction &parameter, size_t leaf, size_t number);
  void adviseResult(const Instruction &result, size_t number);
  void adviseLoop(const Instruction &loop);
  void adviseDonation(const Instruction &parameter, size_t number,
                      const ValueUses &uses);
  void add(Advice advice);
  bool isKnown(const Advice &advice) const {
    const Instruction *first = advice.moves.front().instruction;
    return llvm::any_of(list, [&](const Advice &other) {
      return llvm::any_of(other.moves, [&](const AdvisedMove &move) {
        return move.instruction == first;
      });
    });
  }

  const Module &module;
  UseFinder uses;
  std::vector<Advice> list;
};
} // namespace

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static int64_t getBytes(const Shape &shape) {
  llvm::Expected<ShapeSize> size = getSizeOnCore(shape);
  if (size)
    return size->bytes;
  llvm::consumeError(size.takeError());
  return 0;
}

/// Whether `value`, laid out as `shape`, has the bytes of `wanted`, whose
/// elements are `map` of its elements.
static bool hasBytesOf(const Shape &shape, const Shape &wanted,
                       const IndexMap &map) {
  return mayBitcast(shape, wanted) && getBitcastMap(shape, wanted) == map;
}

/// `shape` in the first layout of some order and tiles that is right; nothing
/// where none is.
static std::optional<Shape>
findLayout(const Shape &shape, std::initializer_list<TileList> tileLists,
           llvm::function_ref<bool(const Shape &)> isRight) {
  // All orders are tried: 720 at most.
  constexpr int64_t kMaxDimensions = 6;
  if (shape.rank() > kMaxDimensions)
    return std::nullopt;
  Layout now = shape.layoutOrDefault();
  for (const TileList &tiles : tileLists) {
    llvm::SmallVector<int64_t, 6> order(now.minorToMajor);
    llvm::sort(order);
    do {
      Shape candidate = inMainMemory(shape);
      Layout &layout = candidate.mutableLayout();
      layout.minorToMajor.assign(order.begin(), order.end());
      layout.tiles = tiles;
      if (llvm::Error error = candidate.verify()) {
        llvm::consumeError(std::move(error));
        continue;
      }
      if (!isRight(candidate))
        continue;
      layout.memorySpace = now.memorySpace;
      return candidate;
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return std::nullopt;
}

/// `shape` in the layout in which a move to `wanted` would be none. Its
/// elements are `map` of those of `shape`.
static std::optional<Shape> findSource(const Shape &shape, const Shape &wanted,
                                       const IndexMap &map) {
  if (!shape.hasLayout() || !wanted.hasLayout())
    return std::nullopt;
  Shape target = inMainMemory(wanted);
  return findLayout(shape, {target.layout().tiles, shape.layout().tiles},
                    [&](const Shape &candidate) {
                      return hasBytesOf(candidate, target, map);
                    });
}

/// `(1, 0)`, as Python has it: a tuple of one has a comma.
template <typename Range, typename Print>
static std::string getTuple(const Range &range, Print print) {
  std::string text = "(";
  llvm::raw_string_ostream os(text);
  size_t count = 0;
  for (const auto &element : range)
    os << (count++ > 0 ? ", " : "") << print(element);
  return text + (count == 1 ? ",)" : ")");
}

/// `Layout(major_to_minor=(1, 0))`, with tiles where they change too.
static std::string getLayoutText(const Shape &from, const Shape &to) {
  auto toText = [](int64_t number) { return std::to_string(number); };
  std::string text = "Layout(major_to_minor=" +
                     getTuple(llvm::reverse(to.layout().minorToMajor), toText);
  if (to.layout().tiles != from.layoutOrDefault().tiles)
    text += ", tiling=" + getTuple(to.layout().tiles, [&](const Tile &tile) {
              return getTuple(tile.sizes, toText);
            });
  return text + ")";
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// What the user calls an argument: `params['w']`; its number where the module
/// does not say.
static std::string getArgumentName(const Instruction &parameter,
                                   size_t number) {
  std::string name =
      getMetadata(parameter.getAttribute("metadata"), "op_name").value_or("");
  bool isName = !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
                llvm::all_of(name, [](char c) {
                  return llvm::isAlnum(c) || StringRef("_.[]'\"").contains(c);
                });
  return isName ? name : "argument_" + llvm::utostr(number);
}

//===----------------------------------------------------------------------===//
// Advice
//===----------------------------------------------------------------------===//

void Adviser::add(Advice advice) {
  advice.bytesNow = getBytes(advice.from);
  advice.bytesThen = getBytes(advice.to);
  if (advice.bytesMoved() > 0)
    list.push_back(std::move(advice));
}

/// A move that runs as often as what it moves is there.
static AdvisedMove getMove(const Instruction &move,
                           std::optional<int64_t> runs = 1) {
  int64_t from = getBytes(*move.operands[0]->shape);
  int64_t to = getBytes(*move.shape);
  return {&move, llvm::checkedAdd(from, to).value_or(INT64_MAX), runs};
}

/// Groups relayouts that want one layout of the value, and gives the group that
/// moves most bytes in a step.
static std::optional<Advice> getBestLayout(const Shape &shape,
                                           const ValueUses &uses) {
  std::vector<Advice> groups;
  for (const Relayout &relayout : uses.relayouts) {
    std::optional<Shape> wanted =
        findSource(shape, *relayout.instruction->shape, relayout.map);
    if (!wanted || *wanted == shape)
      continue;
    auto group = llvm::find_if(
        groups, [&](const Advice &advice) { return advice.to == *wanted; });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), Advice());
      group->from = shape;
      group->to = *wanted;
    }
    group->moves.push_back(
        getMove(*relayout.instruction, relayout.source.runs));
  }
  auto best =
      llvm::max_element(groups, [](const Advice &lhs, const Advice &rhs) {
        return lhs.bytesPerStep() < rhs.bytesPerStep();
      });
  if (best == groups.end())
    return std::nullopt;
  best->otherUses = uses.others + uses.relayouts.size() - best->moves.size();
  return *best;
}

void Adviser::adviseArgument(const Instruction &parameter, size_t leaf,
                             size_t number) {
  auto shapes = getLeaves(*parameter.shape);
  const Shape &shape = *shapes[leaf];
  ValueUses found = uses.find(parameter, leaf);
  std::string name = getArgumentName(parameter, number);
  if (std::optional<Advice> advice = getBestLayout(shape, found)) {
    advice->kind = Advice::Kind::Argument;
    advice->value = &parameter;
    advice->number = number;
    advice->line = name + " = jax.device_put(" + name + ", Format(" +
                   getLayoutText(shape, advice->to) + ", " + name +
                   ".sharding))";
    add(std::move(*advice));
  }
  if (leaf == 0)
    adviseDonation(parameter, number, found);
}

/// A copy in the layout of the argument is there because somebody writes over
/// it: into a result that is given the argument's memory, or one that is not.
void Adviser::adviseDonation(const Instruction &parameter, size_t number,
                             const ValueUses &found) {
  if (found.plainCopies.empty() || !parameter.shape->isArray())
    return;
  bool isDonated =
      llvm::any_of(getAliases(module.getAttribute("input_output_alias")),
                   [&](const Alias &alias) {
                     return alias.number == parameter.parameterNumber();
                   });
  Advice advice;
  advice.kind = Advice::Kind::Donation;
  advice.value = &parameter;
  advice.number = number;
  advice.from = advice.to = *parameter.shape;
  for (const Instruction *copy : found.plainCopies)
    advice.moves.push_back(getMove(*copy));
  advice.otherUses = found.others;
  std::string numberText = llvm::utostr(number);
  advice.line = isDonated
                    ? "# read " + getArgumentName(parameter, number) +
                          " before it is updated, or copy what is read of it"
                    : "jax.jit(f, donate_argnums=(" + numberText + ",))";
  add(std::move(advice));
}

/// A move that makes a result: that could have the layout that its source has.
void Adviser::adviseResult(const Instruction &result, size_t number) {
  const Instruction *move = getSingleMove(result);
  if (!move || !result.shape->isArray() || !result.shape->hasLayout() ||
      !result.operands[0]->shape->isArray() ||
      !result.operands[0]->shape->hasLayout())
    return;
  std::optional<IndexMap> map = getMoveMap(*move);
  Shape source = inMainMemory(*result.operands[0]->shape);
  Shape shape = inMainMemory(*result.shape);
  if (!map || hasBytesOf(source, shape, *map))
    return;
  std::optional<Shape> wanted =
      findLayout(shape, {source.layout().tiles, shape.layout().tiles},
                 [&](const Shape &candidate) {
                   return hasBytesOf(source, candidate, *map);
                 });
  if (!wanted)
    return;
  Advice advice;
  advice.kind = Advice::Kind::Result;
  advice.value = &result;
  advice.number = number;
  advice.from = *result.shape;
  advice.to = *wanted;
  advice.moves = {getMove(result)};
  advice.line = "jax.jit(f, out_shardings=Format(" +
                getLayoutText(shape, *wanted) + ", sharding))  # of result " +
                llvm::utostr(number);
  add(std::move(advice));
}

/// What the body brings into another layout in each of its runs.
void Adviser::adviseLoop(const Instruction &loop) {
  const Computation *body = loop.getComputation("body");
  if (!body || body->parameters().size() != 1)
    return;
  const Instruction *state = body->parameters()[0];
  auto shapes = getLeaves(*state->shape);
  if (shapes.size() != uses.leafCounter().count(*loop.shape))
    return;
  std::optional<int64_t> trips = hlo::getTripCount(loop);
  for (auto [leaf, shape] : llvm::enumerate(shapes)) {
    if (!shape->isArray() || !shape->hasLayout())
      continue;
    std::optional<Advice> advice =
        getBestLayout(*shape, uses.find(*state, leaf, trips));
    // An argument that the loop only reads has been advised on.
    if (!advice || isKnown(*advice))
      continue;
    advice->kind = Advice::Kind::LoopState;
    advice->value = &loop;
    advice->number = leaf;
    advice->line = "x = with_layout_constraint(x, " +
                   getLayoutText(*shape, advice->to) +
                   ")  # before the loop, and at the end of its body";
    add(std::move(*advice));
  }
}

std::vector<Advice> Adviser::run() {
  const Computation &entry = *module.entry();
  size_t number = 0;
  for (const Instruction *parameter : entry.parameters())
    for (size_t leaf = 0; leaf < uses.leafCounter().count(*parameter->shape);
         ++leaf)
      adviseArgument(*parameter, leaf, number++);
  const Instruction *root = entry.root();
  if (root->opcode == Opcode::Tuple)
    for (auto [i, result] : llvm::enumerate(root->operands))
      adviseResult(*result, i);
  else
    adviseResult(*root, 0);
  for (const Computation *computation : module.computations())
    for (const Instruction *instruction : computation->instructions())
      if (instruction->opcode == Opcode::While)
        adviseLoop(*instruction);
  // The order of advice that spares as many bytes stays.
  std::vector<std::pair<int64_t, size_t>> order;
  for (auto [i, advice] : llvm::enumerate(list))
    order.emplace_back(-advice.bytesPerStep(), i);
  llvm::sort(order);
  std::vector<Advice> sorted;
  for (auto [bytes, i] : order)
    sorted.push_back(std::move(list[i]));
  return sorted;
}

std::vector<Advice> tessera::advise(const Module &module) {
  return Adviser(module).run();
}
