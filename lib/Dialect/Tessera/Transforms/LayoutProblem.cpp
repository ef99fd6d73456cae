//===- LayoutProblem.cpp - Choices of encodings in IR ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutProblem.h"

#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/Layout/Bitcast.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tessera;

static RankedTensorType getRankedType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static RankedTensorType withEncoding(RankedTensorType type,
                                     Attribute encoding) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               encoding);
}

static Attribute getEncoding(Value value) {
  return getRankedType(value).getEncoding();
}

/// The shape of a tensor whose buffer has a size; nothing for others.
static std::optional<Shape> getSizedShape(RankedTensorType type) {
  if (!type.hasStaticShape())
    return std::nullopt;
  llvm::Expected<Shape> shape = getShape(type);
  if (!shape) {
    llvm::consumeError(shape.takeError());
    return std::nullopt;
  }
  llvm::Error error =
      checkSupported(shape->layoutOrDefault(), shape->elementType());
  error = llvm::joinErrors(std::move(error), getStorageBytes(type).takeError());
  bool isSized = !error;
  llvm::consumeError(std::move(error));
  return isSized ? std::optional<Shape>(*shape) : std::nullopt;
}

static int64_t getBufferBytes(RankedTensorType type) {
  return llvm::cantFail(getStorageBytes(type));
}

//===----------------------------------------------------------------------===//
// Nodes and edges
//===----------------------------------------------------------------------===//

/// The types of all values of a tie.
static SmallVector<RankedTensorType> getTypes(const LayoutTie &tie) {
  SmallVector<RankedTensorType> types;
  for (OpOperand *use : tie.uses)
    types.push_back(getRankedType(use->get()));
  for (Value value : tie.definitions)
    types.push_back(getRankedType(value));
  return types;
}

/// A tie is one where encodings agree already and all sizes are known.
void LayoutProblem::addNode(LayoutTie tie) {
  SmallVector<RankedTensorType> types = getTypes(tie);
  Attribute own = types.front().getEncoding();
  for (RankedTensorType type : types)
    if (type.getEncoding() != own || !getSizedShape(type))
      return;
  for (Value value : tie.definitions)
    nodeOfValue[value] = nodes.size();
  for (OpOperand *use : tie.uses)
    nodeOfUse[use] = nodes.size();
  nodes.push_back({std::move(tie), {own}, false});
}

unsigned LayoutProblem::addPinned(Attribute encoding) {
  nodes.push_back({{}, {encoding}, true});
  return nodes.size() - 1;
}

void LayoutProblem::addNodes(Operation *op) {
  for (LayoutTie &tie : getLayoutTies(op))
    addNode(std::move(tie));
  auto relayout = dyn_cast<RelayoutOp>(op);
  if (!relayout || !relayout.isTensorForm() ||
      !getSizedShape(getRankedType(relayout.getSource())))
    return;
  relayouts.push_back(relayout);
  addNode({{}, {relayout.getResult()}});
}

unsigned LayoutProblem::getNode(Value value) {
  auto found = nodeOfValue.find(value);
  if (found != nodeOfValue.end())
    return found->second;
  unsigned node = addPinned(getEncoding(value));
  nodeOfValue[value] = node;
  return node;
}

/// The source of a relayout that is a node may have any layout. A use in no tie
/// wants the type that it has.
void LayoutProblem::addEdges(Operation *op) {
  auto relayout = dyn_cast<RelayoutOp>(op);
  bool isNode = relayout && nodeOfValue.contains(op->getResult(0));
  for (OpOperand &use : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(use.get().getType());
    if (!type || !getSizedShape(type))
      continue;
    unsigned from = getNode(use.get());
    auto tied = nodeOfUse.find(&use);
    if (isNode)
      edges.push_back({from, nodeOfValue[relayout.getResult()], &use});
    else if (tied != nodeOfUse.end())
      edges.push_back({from, tied->second, &use});
    else if (!nodes[from].isPinned)
      edges.push_back({from, addPinned(type.getEncoding()), &use});
  }
}

LayoutProblem::LayoutProblem(Operation *root, LayoutProblemOptions options)
    : root(root), options(options) {
  root->walk([&](Operation *op) { addNodes(op); });
  root->walk([&](Operation *op) { addEdges(op); });
  addCandidates();
  buildGraph();
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Whether order and tiles are all that a layout says, but for its space.
static bool isPlain(const Layout &layout) {
  Layout plain;
  plain.minorToMajor = layout.minorToMajor;
  plain.tiles = layout.tiles;
  plain.memorySpace = layout.memorySpace;
  return plain == layout;
}

/// Nothing for what has no text.
static std::optional<Layout> getLayoutOf(Attribute encoding, int64_t rank) {
  if (!encoding)
    return Layout::descending(rank);
  auto layout = dyn_cast<LayoutAttrInterface>(encoding);
  return layout ? layout.asLayout(rank) : std::nullopt;
}

/// `encoding` in the memory space of a type; nothing where they do not mix.
static std::optional<Attribute> adapt(RankedTensorType type,
                                      Attribute encoding) {
  std::optional<Layout> own = getLayoutOf(type.getEncoding(), type.getRank());
  std::optional<Layout> layout = getLayoutOf(encoding, type.getRank());
  if (!own || !layout || !isPlain(*own) || !isPlain(*layout) ||
      own->rank() != layout->rank())
    return std::nullopt;
  if (layout->memorySpace == own->memorySpace)
    return encoding;
  layout->memorySpace = own->memorySpace;
  return LayoutAttr::get(type.getContext(), *layout);
}

/// Whether a tensor may have an encoding that one of its shape has.
static bool isValid(RankedTensorType type, Attribute encoding) {
  SilentDiagnostics ignore(type.getContext());
  auto changed = RankedTensorType::getChecked(ignore, type.getShape(),
                                              type.getElementType(), encoding);
  return changed && getSizedShape(changed);
}

bool LayoutProblem::addCandidate(unsigned number, Attribute encoding) {
  Node &node = nodes[number];
  if (node.isPinned || node.candidates.size() >= options.maxCandidates)
    return false;
  SmallVector<RankedTensorType> types = getTypes(node.tie);
  std::optional<Attribute> adapted = adapt(types.front(), encoding);
  if (!adapted || llvm::is_contained(node.candidates, *adapted) ||
      !llvm::all_of(types, [&](RankedTensorType type) {
        return isValid(type, *adapted);
      }))
    return false;
  node.candidates.push_back(*adapted);
  return true;
}

/// What the target would choose, if the module has one.
void LayoutProblem::addDefaults() {
  for (unsigned i = 0; options.target && i < nodes.size(); ++i) {
    if (nodes[i].isPinned)
      continue;
    RankedTensorType type = getTypes(nodes[i].tie).front();
    llvm::Expected<Shape> shape = chooseDefaultLayout(
        options.target.getLayoutRule(), *getSizedShape(type));
    if (shape)
      addCandidate(i, LayoutAttr::get(type.getContext(), shape->layout()));
    else
      llvm::consumeError(shape.takeError());
  }
}

/// Carries encodings along edges until nothing is new.
void LayoutProblem::addCandidates() {
  addDefaults();
  for (bool changes = true; changes;) {
    changes = false;
    for (const Edge &edge : edges)
      for (auto [from, to] :
           {std::pair(edge.from, edge.to), std::pair(edge.to, edge.from)})
        for (size_t i = 0; i < nodes[from].candidates.size(); ++i)
          changes |= addCandidate(to, nodes[from].candidates[i]);
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static int64_t multiply(int64_t lhs, int64_t rhs) {
  return llvm::checkedMul(lhs, rhs).value_or(kInfiniteCost - 1);
}

static int64_t add(int64_t lhs, int64_t rhs) {
  return std::min(llvm::checkedAdd(lhs, rhs).value_or(kInfiniteCost),
                  kInfiniteCost - 1);
}

/// How often an operation runs each time the root does.
int64_t LayoutProblem::getTrips(Operation *op) const {
  int64_t trips = 1;
  for (Operation *parent = op->getParentOp(); parent && op != root;
       op = parent, parent = op->getParentOp()) {
    auto loop = dyn_cast<LoopLikeOpInterface>(parent);
    if (!loop)
      continue;
    std::optional<APInt> count = loop.getStaticTripCount();
    bool isKnown = count && count->getActiveBits() < 63;
    trips = multiply(trips, isKnown ? int64_t(count->getZExtValue())
                                    : options.unknownTrips);
  }
  return trips;
}

int64_t LayoutProblem::getRelayoutBytes(RankedTensorType from,
                                        RankedTensorType to) {
  auto [entry, isNew] = relayoutBytes.try_emplace({from, to}, 0);
  if (isNew && from != to &&
      !isRelayoutBitcast(*getSizedShape(from), *getSizedShape(to)))
    entry->second = add(getBufferBytes(from), getBufferBytes(to));
  return entry->second;
}

/// Padding that is read and written. Loops and branches hand values on.
int64_t LayoutProblem::getUnaryCost(const Node &node, Attribute encoding) {
  int64_t cost = 0;
  auto addPadding = [&](RankedTensorType type, Operation *op) {
    llvm::Expected<int64_t> plain =
        getStorageBytes(withEncoding(type, Attribute()));
    if (!plain) {
      llvm::consumeError(plain.takeError());
      return;
    }
    int64_t padding = std::max<int64_t>(getBufferBytes(type) - *plain, 0);
    cost = add(cost, multiply(padding, getTrips(op)));
  };
  auto moves = [](Operation *op) {
    return op && op->getNumRegions() == 0 && !isa<RelayoutOp>(op) &&
           !op->hasTrait<OpTrait::IsTerminator>() &&
           !op->hasTrait<OpTrait::ConstantLike>();
  };
  for (OpOperand *use : node.tie.uses)
    if (moves(use->getOwner()))
      addPadding(withEncoding(getRankedType(use->get()), encoding),
                 use->getOwner());
  for (Value value : node.tie.definitions)
    if (moves(value.getDefiningOp()))
      addPadding(withEncoding(getRankedType(value), encoding),
                 value.getDefiningOp());
  return cost;
}

void LayoutProblem::addCosts(const Edge &edge) {
  if (edge.from == edge.to)
    return;
  int64_t trips = getTrips(edge.use->getOwner());
  RankedTensorType type = getRankedType(edge.use->get());
  std::vector<int64_t> costs;
  for (Attribute from : nodes[edge.from].candidates)
    for (Attribute to : nodes[edge.to].candidates)
      costs.push_back(multiply(
          getRelayoutBytes(withEncoding(type, from), withEncoding(type, to)),
          trips));
  graph.addCosts(edge.from, edge.to, std::move(costs));
}

void LayoutProblem::buildGraph() {
  for (const Node &node : nodes) {
    std::vector<int64_t> costs;
    for (Attribute encoding : node.candidates)
      costs.push_back(getUnaryCost(node, encoding));
    graph.addVariable(std::move(costs));
  }
  for (const Edge &edge : edges)
    addCosts(edge);
}

/// The first candidate of each node is what it has.
std::optional<int64_t> LayoutProblem::getBytes() const {
  if (!graph.dearest())
    return std::nullopt;
  return graph.evaluate(Choices(nodes.size()));
}

llvm::Expected<Solution> LayoutProblem::solve() {
  return tessera::solve(graph, Choices(nodes.size()));
}

//===----------------------------------------------------------------------===//
// The change
//===----------------------------------------------------------------------===//

void LayoutProblem::setTypes(const Choices &choices, Changes &changes) {
  for (auto [node, choice] : llvm::zip_equal(nodes, choices)) {
    if (choice == 0)
      continue;
    for (Value value : node.tie.definitions) {
      ++changes.changed;
      RankedTensorType type =
          withEncoding(getRankedType(value), node.candidates[choice]);
      value.setType(type);
      Operation *op = value.getDefiningOp();
      if (!op || !op->hasTrait<OpTrait::ConstantLike>())
        continue;
      if (auto elements = op->getAttrOfType<DenseElementsAttr>("value"))
        op->setAttr("value", elements.reshape(type));
    }
  }
}

void LayoutProblem::addRelayout(const Edge &edge, Attribute wanted,
                                Changes &changes) {
  if (getEncoding(edge.use->get()) == wanted)
    return;
  ++changes.inserted;
  Operation *op = edge.use->getOwner();
  OpBuilder builder(op);
  RankedTensorType type = withEncoding(getRankedType(edge.use->get()), wanted);
  edge.use->set(RelayoutOp::create(builder, op->getLoc(), type, edge.use->get())
                    .getResult());
}

LayoutProblem::Changes LayoutProblem::apply(const Choices &choices) {
  Changes changes;
  setTypes(choices, changes);
  for (const Edge &edge : edges)
    if (!isa<RelayoutOp>(edge.use->getOwner()) ||
        !nodeOfValue.contains(edge.use->getOwner()->getResult(0)))
      addRelayout(edge, nodes[edge.to].candidates[choices[edge.to]], changes);
  for (RelayoutOp relayout : relayouts) {
    if (relayout.getSource().getType() != relayout.getResult().getType())
      continue;
    ++changes.erased;
    relayout.getResult().replaceAllUsesWith(relayout.getSource());
    relayout.erase();
  }
  return changes;
}
