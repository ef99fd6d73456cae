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
#include "tessera/Layout/Size.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/IntEqClasses.h"

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

//===----------------------------------------------------------------------===//
// Relayouts
//===----------------------------------------------------------------------===//

/// Whether it is a relayout that stays in its space.
bool LayoutProblem::isTransparent(Operation *op) const {
  auto relayout = dyn_cast_or_null<RelayoutOp>(op);
  if (!relayout || !relayout.isTensorForm())
    return false;
  std::optional<Shape> from = getSized(getRankedType(relayout.getSource())),
                       to = getSized(getRankedType(relayout.getResult()));
  return from && to &&
         from->layoutOrDefault().memorySpace ==
             to->layoutOrDefault().memorySpace;
}

/// What relayouts in front of a value relayout.
Value LayoutProblem::getOrigin(Value value) const {
  while (isTransparent(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

//===----------------------------------------------------------------------===//
// Nodes
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

unsigned LayoutProblem::addPinned(Attribute encoding) {
  Node &node = nodes.emplace_back();
  node.candidates = {encoding};
  node.isPinned = true;
  return nodes.size() - 1;
}

/// Types stay where encodings do not agree already, and where a tie says so.
void LayoutProblem::addNode(ArrayRef<const LayoutTie *> ties) {
  Node node;
  for (const LayoutTie *tie : ties) {
    llvm::append_range(node.tie.uses, tie->uses);
    llvm::append_range(node.tie.definitions, tie->definitions);
    node.isPinned |= tie->isPinned;
  }
  SmallVector<RankedTensorType> types = getTypes(node.tie);
  for (RankedTensorType type : types)
    if (node.isPinned || !getSized(type) ||
        type.getEncoding() != types.front().getEncoding())
      return;
  node.candidates = {types.front().getEncoding()};
  for (Value value : node.tie.definitions)
    nodeOfValue[value] = nodes.size();
  for (OpOperand *use : node.tie.uses)
    nodeOfUse[use] = nodes.size();
  nodes.push_back(std::move(node));
}

/// What a block returns from a function of some results; none where it ends
/// otherwise.
static MutableArrayRef<OpOperand> getReturned(Block &block, size_t numResults) {
  if (!block.mightHaveTerminator())
    return {};
  Operation *terminator = block.getTerminator();
  bool isReturn = terminator->hasTrait<OpTrait::ReturnLike>() &&
                  terminator->getNumOperands() == numResults;
  return isReturn ? terminator->getOpOperands() : MutableArrayRef<OpOperand>();
}

/// Arguments and results of functions that nobody calls from elsewhere.
void LayoutProblem::addCallTies(std::vector<LayoutTie> &ties) {
  root->walk([&](CallOpInterface call) {
    FunctionOpInterface callee = runs.calls.getCallee(call);
    if (!callee)
      return;
    MutableOperandRange operands = call.getArgOperandsMutable();
    if (operands.size() != callee.getNumArguments())
      return;
    for (auto [operand, argument] :
         llvm::zip_equal(operands, callee.getArguments()))
      ties.push_back(LayoutTie(&operand, Value(argument)));
    for (Block &block : callee.getFunctionBody())
      for (auto [operand, result] : llvm::zip(
               getReturned(block, call->getNumResults()), call->getResults()))
        ties.push_back(LayoutTie(&operand, Value(result)));
  });
}

void LayoutProblem::addTies(std::vector<LayoutTie> &ties) {
  root->walk([&](Operation *op) {
    if (!isTransparent(op))
      llvm::append_range(ties, getLayoutTies(op));
  });
  addCallTies(ties);
  auto isOther = [](Value value) {
    return !isa<RankedTensorType>(value.getType());
  };
  llvm::erase_if(ties, [&](const LayoutTie &tie) {
    return llvm::any_of(tie.definitions, isOther);
  });
}

/// Ties that share a value or a use are one node, in the order of their first.
void LayoutProblem::addNodes() {
  std::vector<LayoutTie> ties;
  addTies(ties);
  llvm::DenseMap<void *, unsigned> first;
  llvm::IntEqClasses classes(ties.size());
  for (auto [i, tie] : llvm::enumerate(ties)) {
    for (OpOperand *use : tie.uses)
      classes.join(i, first.try_emplace(use, i).first->second);
    for (Value value : tie.definitions)
      classes.join(
          i, first.try_emplace(value.getAsOpaquePointer(), i).first->second);
  }
  classes.compress();
  std::vector<SmallVector<const LayoutTie *, 2>> members(
      classes.getNumClasses());
  for (auto [i, tie] : llvm::enumerate(ties))
    members[classes[i]].push_back(&tie);
  for (ArrayRef<const LayoutTie *> list : members)
    addNode(list);
  root->walk([&](Operation *op) { addTouched(op); });
}

/// What an operation touches of its own ties.
void LayoutProblem::addTouched(Operation *op) {
  if (isTransparent(op))
    return;
  for (const LayoutTie &tie : getLayoutTies(op)) {
    std::optional<unsigned> node;
    for (OpOperand *use : tie.uses)
      if (auto found = nodeOfUse.find(use); found != nodeOfUse.end())
        node = found->second;
    for (Value value : tie.definitions)
      if (auto found = nodeOfValue.find(value); found != nodeOfValue.end())
        node = found->second;
    for (Value value : node ? ArrayRef<Value>(tie.touched) : ArrayRef<Value>())
      nodes[*node].touched.emplace_back(getRankedType(value), op);
  }
}

unsigned LayoutProblem::getNode(Value value) {
  auto found = nodeOfValue.find(value);
  if (found != nodeOfValue.end())
    return found->second;
  unsigned node = addPinned(getEncoding(value));
  nodeOfValue[value] = node;
  return node;
}

/// A use in no tie wants the type that it has.
void LayoutProblem::addUses(Operation *op) {
  if (isTransparent(op))
    return;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !getSized(type))
      continue;
    Value origin = getOrigin(operand.get());
    unsigned node = getNode(origin);
    auto tied = nodeOfUse.find(&operand);
    bool isFixed = tied == nodeOfUse.end();
    // Nothing can change.
    if (isFixed && nodes[node].isPinned && origin == operand.get())
      continue;
    unsigned wanted = isFixed ? addPinned(type.getEncoding()) : tied->second;
    nodeOfUse[&operand] = wanted;
    Source &source = sources[origin];
    source.node = node;
    source.uses.push_back({&operand, wanted});
  }
}

void LayoutProblem::addRelations(Operation *op) {
  if (isTransparent(op))
    return;
  for (LayoutRelation &relation : getLayoutRelations(op)) {
    auto type = dyn_cast<RankedTensorType>(relation.result.getType());
    if (!type || !getSized(type) || !nodeOfUse.contains(relation.use))
      continue;
    getNode(relation.result);
    relations.push_back(std::move(relation));
  }
}

LayoutProblem::LayoutProblem(Operation *root, LayoutProblemOptions options)
    : root(root), options(options), runs(root, options.unknownTrips) {
  addNodes();
  root->walk([&](Operation *op) { addUses(op); });
  root->walk([&](Operation *op) { addRelations(op); });
  addCandidates();
  addVersions();
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

void LayoutProblem::addCandidate(unsigned number, Attribute encoding) {
  Node &node = nodes[number];
  if (node.isPinned || node.candidates.size() >= options.maxCandidates)
    return;
  SmallVector<RankedTensorType> types = getTypes(node.tie);
  std::optional<Attribute> adapted = adapt(types.front(), encoding);
  if (!adapted || llvm::is_contained(node.candidates, *adapted) ||
      !llvm::all_of(types, [&](RankedTensorType type) {
        return isValid(type, *adapted);
      }))
    return;
  node.candidates.push_back(*adapted);
  worklist.emplace_back(number, *adapted);
}

/// A candidate of one side of a relation makes others on the other side.
void LayoutProblem::addInduced(const LayoutRelation &relation, bool isResult,
                               Attribute encoding) {
  unsigned to =
      isResult ? nodeOfValue[relation.result] : nodeOfUse[relation.use];
  if (nodes[to].isPinned ||
      nodes[to].candidates.size() >= options.maxCandidates)
    return;
  RankedTensorType given = getRankedType(relation.use->get());
  RankedTensorType wanted = getRankedType(relation.result);
  if (!isResult)
    std::swap(given, wanted);
  std::optional<Shape> source = getSized(withEncoding(given, encoding));
  std::optional<Shape> like =
      getSized(withEncoding(wanted, nodes[to].candidates.front()));
  if (!source || !like)
    return;
  source->setLayout(source->layoutOrDefault());
  like->setLayout(like->layoutOrDefault());
  // What has no tiles makes nothing that has.
  LayoutRule likeGiven =
      source->layout().tiles.empty() ? LayoutRule::RowMajor : rule;
  for (const Shape &shape :
       induce(relation.relation, *source, *like, isResult, likeGiven)) {
    bool isRowMajor = shape.layout() == Layout::descending(shape.rank());
    bool isAbsent = isRowMajor && (!encoding || !namesRowMajor);
    addCandidate(to, isAbsent
                         ? Attribute()
                         : LayoutAttr::get(root->getContext(), shape.layout()));
  }
}

/// The target's, else that of a TPU where there are tiles; and how row-major
/// order is written.
void LayoutProblem::findRule() {
  bool hasTiles = false;
  for (const Node &node : nodes)
    if (auto attr = dyn_cast_or_null<LayoutAttr>(node.candidates.front())) {
      const Layout &layout = attr.getLayout();
      hasTiles |= !layout.tiles.empty();
      namesRowMajor |= layout == Layout::descending(layout.rank());
    }
  if (options.target)
    rule = options.target.getLayoutRule();
  else if (hasTiles)
    rule = LayoutRule::TPU;
}

/// What the target would choose, if the module has one.
void LayoutProblem::addDefaults() {
  for (unsigned i = 0; options.target && i < nodes.size(); ++i) {
    if (nodes[i].isPinned)
      continue;
    RankedTensorType type = getTypes(nodes[i].tie).front();
    llvm::Expected<Shape> shape = chooseDefaultLayout(rule, *getSized(type));
    if (shape)
      addCandidate(i, LayoutAttr::get(type.getContext(), shape->layout()));
    else
      llvm::consumeError(shape.takeError());
  }
}

/// Carries encodings along uses and relations until nothing is new.
void LayoutProblem::propagate() {
  while (!worklist.empty()) {
    auto list = std::move(worklist);
    worklist.clear();
    for (auto [node, encoding] : list) {
      for (unsigned other : neighbours[node])
        addCandidate(other, encoding);
      for (auto [number, isResult] : joined[node])
        addInduced(relations[number], !isResult, encoding);
    }
  }
}

void LayoutProblem::addCandidates() {
  neighbours.resize(nodes.size());
  joined.resize(nodes.size());
  for (const auto &[value, source] : sources)
    for (const Use &use : source.uses) {
      neighbours[source.node].push_back(use.node);
      neighbours[use.node].push_back(source.node);
    }
  for (auto [i, relation] : llvm::enumerate(relations)) {
    joined[nodeOfUse[relation.use]].emplace_back(i, false);
    joined[nodeOfValue[relation.result]].emplace_back(i, true);
  }
  for (auto [i, node] : llvm::enumerate(nodes))
    worklist.emplace_back(i, node.candidates.front());
  findRule();
  propagate();
  addDefaults();
  propagate();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The block in which a relayout of `value` is in front of `uses` and runs
/// least often: its own, or behind loops of blocks.
Block *LayoutProblem::findPlace(Value value, ArrayRef<OpOperand *> uses) {
  Block *own = value.getParentBlock(), *common = nullptr;
  if (own->getParent()->hasOneBlock())
    return own;
  for (OpOperand *use : uses) {
    Operation *op = own->getParent()->findAncestorOpInRegion(*use->getOwner());
    common = common
                 ? dominance.findNearestCommonDominator(common, op->getBlock())
                 : op->getBlock();
  }
  return common && runs.get(common) < runs.get(own) ? common : own;
}

/// Two copies at most are looked at, and those that there are.
void LayoutProblem::addVersions(Value value, Source &source) {
  Encodings wanted;
  Versions own = {getEncoding(value)};
  for (const Use &use : source.uses) {
    Attribute now = getEncoding(use.operand->get());
    if (!llvm::is_contained(own, now))
      own.push_back(now);
    for (Attribute encoding : nodes[use.node].candidates)
      if (wanted.size() < options.maxCandidates &&
          !llvm::is_contained(wanted, encoding))
        wanted.push_back(encoding);
  }
  source.versions.push_back(own);
  for (Attribute home : nodes[source.node].candidates) {
    source.versions.push_back({home});
    for (auto [i, one] : llvm::enumerate(wanted)) {
      if (one == home)
        continue;
      source.versions.push_back({home, one});
      for (Attribute two : ArrayRef(wanted).drop_front(i + 1))
        if (two != home && source.uses.size() > 2)
          source.versions.push_back({home, one, two});
    }
  }
}

void LayoutProblem::addVersions() {
  for (auto &[value, source] : sources) {
    SmallVector<OpOperand *> operands;
    for (const Use &use : source.uses)
      operands.push_back(use.operand);
    source.place = findPlace(value, operands);
    source.runs = runs.get(source.place);
    if (source.uses.size() > 1)
      addVersions(value, source);
  }
}

/// Each is made of those before it that cost least together.
SmallVector<std::pair<unsigned, unsigned>, 2>
LayoutProblem::orderCopies(RankedTensorType type,
                           ArrayRef<Attribute> versions) {
  SmallVector<std::pair<unsigned, unsigned>, 2> order;
  std::vector<bool> isMade(versions.size());
  isMade[0] = true;
  while (order.size() + 1 < versions.size()) {
    std::pair<unsigned, unsigned> next;
    int64_t least = kInfiniteCost;
    for (unsigned from = 0; from < versions.size(); ++from)
      for (unsigned to = 0; to < versions.size(); ++to) {
        if (!isMade[from] || isMade[to])
          continue;
        int64_t cost = getRelayoutBytes(withEncoding(type, versions[from]),
                                        withEncoding(type, versions[to]));
        if (cost >= least)
          continue;
        least = cost;
        next = {from, to};
      }
    isMade[next.second] = true;
    order.push_back(next);
  }
  return order;
}

/// What has the encoding already is better than what moves nothing.
unsigned LayoutProblem::findCheapest(RankedTensorType type,
                                     ArrayRef<Attribute> versions,
                                     Attribute wanted) {
  auto getCost = [&](Attribute version) {
    return std::pair(getRelayoutBytes(withEncoding(type, version),
                                      withEncoding(type, wanted)),
                     version != wanted);
  };
  const auto *least =
      llvm::min_element(versions, [&](Attribute lhs, Attribute rhs) {
        return getCost(lhs) < getCost(rhs);
      });
  return least - versions.begin();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

int64_t LayoutProblem::getBytes(RankedTensorType type) const {
  std::optional<Shape> shape = getSized(type);
  return shape ? llvm::cantFail(getSizeOnCore(*shape)).bytes : 0;
}

/// Bytes are kept where types are equal, or where the rule of bitcasts says so,
/// which knows static sizes.
int64_t LayoutProblem::getRelayoutBytes(RankedTensorType from,
                                        RankedTensorType to) {
  auto [entry, isNew] = relayoutBytes.try_emplace({from, to}, 0);
  if (!isNew || from == to)
    return entry->second;
  bool isKept = from.hasStaticShape() &&
                isRelayoutBitcast(*getSized(from), *getSized(to));
  return entry->second = isKept ? 0 : sumCosts(getBytes(from), getBytes(to));
}

static bool isRowMajor(RankedTensorType type) {
  std::optional<Layout> layout =
      getLayoutOf(type.getEncoding(), type.getRank());
  return layout && *layout == Layout::descending(type.getRank());
}

/// Whether a relation holds. Of views of dynamic sizes it is known where both
/// are row-major.
static bool holds(const Relation &relation, RankedTensorType from,
                  RankedTensorType to) {
  bool isView = relation.kind == Relation::Kind::View;
  if (isView && !relation.map)
    return isRowMajor(from) && isRowMajor(to);
  Shape source = *getSizedShape(from), result = *getSizedShape(to);
  source.setLayout(source.layoutOrDefault());
  result.setLayout(result.layoutOrDefault());
  return relation.accepts(source, result);
}

int64_t LayoutProblem::getMovedBytes(const LayoutRelation &relation,
                                     Attribute from, Attribute to) {
  using Traffic = LayoutRelation::Traffic;
  if (relation.traffic == Traffic::None)
    return 0;
  RankedTensorType source =
      withEncoding(getRankedType(relation.use->get()), from);
  RankedTensorType result = withEncoding(getRankedType(relation.result), to);
  bool isFree = relation.traffic != Traffic::Always &&
                holds(relation.relation, source, result);
  if (isFree)
    return 0;
  if (relation.traffic == Traffic::Fixed)
    return kInfiniteCost;
  return multiplyCosts(sumCosts(getBytes(source), getBytes(result)),
                       runs.get(relation.use->getOwner()));
}

/// Padding that is read and written.
int64_t LayoutProblem::getPadding(const Node &node, Attribute encoding) {
  int64_t cost = 0;
  for (auto [type, op] : node.touched) {
    int64_t padding = getBytes(withEncoding(type, encoding)) -
                      getBytes(withEncoding(type, Attribute()));
    cost = sumCosts(cost,
                    multiplyCosts(std::max<int64_t>(padding, 0), runs.get(op)));
  }
  return cost;
}

void LayoutProblem::addVersionVariable(Value value, Source &source) {
  RankedTensorType type = getRankedType(value);
  std::vector<int64_t> costs, agree;
  for (const Versions &versions : source.versions) {
    int64_t cost = 0;
    for (auto [from, to] : orderCopies(type, versions))
      cost = sumCosts(cost, getRelayoutBytes(withEncoding(type, versions[from]),
                                             withEncoding(type, versions[to])));
    costs.push_back(multiplyCosts(cost, source.runs));
    for (Attribute home : nodes[source.node].candidates)
      agree.push_back(versions.front() == home ? 0 : kInfiniteCost);
  }
  source.variable = graph.addVariable(std::move(costs));
  graph.addCosts(*source.variable, source.node, std::move(agree));
}

/// Each use reads the version that costs it least.
void LayoutProblem::addSource(Value value, Source &source) {
  std::vector<Versions> versions = source.versions;
  if (versions.empty())
    for (Attribute home : nodes[source.node].candidates)
      versions.push_back({home});
  else
    addVersionVariable(value, source);
  RankedTensorType type = getRankedType(value);
  unsigned from = source.variable.value_or(source.node);
  for (const Use &use : source.uses) {
    if (from == use.node)
      continue;
    int64_t count = runs.get(findPlace(value, use.operand));
    std::vector<int64_t> costs;
    for (const Versions &each : versions)
      for (Attribute wanted : nodes[use.node].candidates) {
        Attribute version = each[findCheapest(type, each, wanted)];
        costs.push_back(
            multiplyCosts(getRelayoutBytes(withEncoding(type, version),
                                           withEncoding(type, wanted)),
                          count));
      }
    graph.addCosts(from, use.node, std::move(costs));
  }
}

void LayoutProblem::addRelation(const LayoutRelation &relation) {
  unsigned from = nodeOfUse[relation.use], to = nodeOfValue[relation.result];
  if (relation.traffic == LayoutRelation::Traffic::None)
    return;
  std::vector<int64_t> costs;
  for (Attribute source : nodes[from].candidates)
    for (Attribute result : nodes[to].candidates)
      costs.push_back(getMovedBytes(relation, source, result));
  if (from != to)
    return graph.addCosts(from, to, std::move(costs));
  // In a loop that hands its result to itself, both have one encoding.
  size_t count = nodes[from].candidates.size();
  for (size_t i = 0; i < count; ++i)
    graph.addCost(from, i, costs[i * count + i]);
}

void LayoutProblem::buildGraph() {
  for (const Node &node : nodes) {
    std::vector<int64_t> costs;
    for (Attribute encoding : node.candidates)
      costs.push_back(getPadding(node, encoding));
    graph.addVariable(std::move(costs));
  }
  for (auto &[value, source] : sources)
    addSource(value, source);
  for (const LayoutRelation &relation : relations)
    addRelation(relation);
}

std::optional<int64_t> LayoutProblem::countBytes() {
  if (!graph.dearest())
    return std::nullopt;
  int64_t sum = 0;
  for (const Node &node : nodes)
    sum = sumCosts(sum, getPadding(node, node.candidates.front()));
  for (const LayoutRelation &relation : relations)
    sum =
        sumCosts(sum, getMovedBytes(relation, getEncoding(relation.use->get()),
                                    getEncoding(relation.result)));
  root->walk([&](RelayoutOp op) {
    if (isTransparent(op))
      sum = sumCosts(
          sum, multiplyCosts(getRelayoutBytes(getRankedType(op.getSource()),
                                              getRankedType(op.getResult())),
                             runs.get(op)));
  });
  return sum;
}

llvm::Expected<Solution> LayoutProblem::solve() {
  return tessera::solve(graph);
}

//===----------------------------------------------------------------------===//
// The change
//===----------------------------------------------------------------------===//

void LayoutProblem::setTypes(const Choices &choices, Changes &changes) {
  for (auto [i, node] : llvm::enumerate(nodes)) {
    Attribute encoding = node.candidates[choices[i]];
    if (choices[i] == 0)
      continue;
    for (Value value : node.tie.definitions) {
      ++changes.changed;
      RankedTensorType type = withEncoding(getRankedType(value), encoding);
      value.setType(type);
      Operation *op = value.getDefiningOp();
      if (!op || !op->hasTrait<OpTrait::ConstantLike>())
        continue;
      if (auto elements = op->getAttrOfType<DenseElementsAttr>("value"))
        op->setAttr("value", elements.reshape(type));
    }
  }
}

/// Functions say what their arguments and results are.
void LayoutProblem::setFunctionTypes() {
  root->walk([&](FunctionOpInterface function) {
    if (runs.calls.getCallers(function).empty())
      return;
    SmallVector<Type> results(function.getResultTypes());
    for (Block &block : function.getFunctionBody())
      for (auto [operand, result] :
           llvm::zip(getReturned(block, results.size()), results))
        result = operand.get().getType();
    Block &entry = function.getFunctionBody().front();
    function.setType(function.cloneTypeWith(entry.getArgumentTypes(), results));
  });
}

/// The only block of a branch of `op` that has all uses; null where they are in
/// several, or where `op` may run it more than once.
static Block *findBranch(Operation *op, ArrayRef<OpOperand *> uses) {
  if (!isa<RegionBranchOpInterface>(op) || isa<LoopLikeOpInterface>(op) ||
      op->getNumRegions() < 2)
    return nullptr;
  for (Region &region : op->getRegions())
    if (region.hasOneBlock() && llvm::all_of(uses, [&](OpOperand *use) {
          return region.isAncestor(use->getOwner()->getParentRegion());
        }))
      return &region.front();
  return nullptr;
}

/// In front of the first use in `block`, or of what contains it; in a branch
/// that has all uses, there.
static void setInsertionPoint(OpBuilder &builder, Block *block,
                              ArrayRef<OpOperand *> uses) {
  Operation *first = nullptr;
  for (OpOperand *use : uses) {
    Operation *op = block->findAncestorOpInBlock(*use->getOwner());
    if (op && (!first || op->isBeforeInBlock(first)))
      first = op;
  }
  // Else blocks behind this one have the uses.
  if (!first)
    first = block->getTerminator();
  builder.setInsertionPoint(first);
  if (Block *branch = findBranch(first, uses))
    setInsertionPoint(builder, branch, uses);
}

Value LayoutProblem::relayout(OpBuilder &builder, Value value,
                              Attribute encoding, Changes &changes) {
  ++changes.inserted;
  return RelayoutOp::create(builder, value.getLoc(),
                            withEncoding(getRankedType(value), encoding), value)
      .getResult();
}

/// Makes the copies that are chosen, and gives each use the one that costs it
/// least.
void LayoutProblem::relayoutUses(Value value, const Source &source,
                                 const Choices &choices, Changes &changes) {
  RankedTensorType type = getRankedType(value);
  Versions versions = {type.getEncoding()};
  if (source.variable)
    versions = source.versions[choices[*source.variable]];
  OpBuilder builder(value.getContext());
  SmallVector<OpOperand *> operands;
  for (const Use &use : source.uses)
    operands.push_back(use.operand);
  SmallVector<Value> copies(versions.size(), value);
  setInsertionPoint(builder, source.place, operands);
  for (auto [from, to] : orderCopies(type, versions))
    copies[to] = relayout(builder, copies[from], versions[to], changes);
  for (const Use &use : source.uses) {
    Attribute wanted = nodes[use.node].candidates[choices[use.node]];
    unsigned version = findCheapest(type, versions, wanted);
    use.operand->set(copies[version]);
    if (versions[version] == wanted)
      continue;
    setInsertionPoint(builder, findPlace(value, use.operand), use.operand);
    use.operand->set(relayout(builder, copies[version], wanted, changes));
  }
  // What moves nothing may be chosen for nothing.
  for (Value copy : llvm::reverse(copies))
    if (copy != value && copy.use_empty())
      copy.getDefiningOp()->erase();
}

LayoutProblem::Changes LayoutProblem::apply(const Choices &choices) {
  Changes changes;
  SmallVector<RelayoutOp> before;
  root->walk([&](RelayoutOp op) {
    if (isTransparent(op))
      before.push_back(op);
  });
  setTypes(choices, changes);
  for (const auto &[value, source] : sources)
    relayoutUses(value, source, choices, changes);
  setFunctionTypes();
  for (RelayoutOp relayout : llvm::reverse(before)) {
    if (!relayout->use_empty())
      continue;
    ++changes.erased;
    relayout.erase();
  }
  return changes;
}
