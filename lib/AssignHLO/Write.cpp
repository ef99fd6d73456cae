//===- Write.cpp - Modules with chosen layouts ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions keep their names and places. Copies follow what they copy; where
// a use takes one, or takes parts of a tuple in other layouts than the tuple
// has them in, the operand is put together anew. Copies of what goes around a
// loop unchanged are further elements of its state.
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "tessera/HLO/Attributes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using namespace tessera::hlo;
using llvm::StringRef;

namespace {
/// A value in its layout (0), or a copy of it. kNone is what is no array.
struct Version {
  unsigned value = kNone;
  unsigned copy = 0;
  bool operator==(const Version &other) const {
    return value == other.value && copy == other.copy;
  }
};
using Versions = llvm::SmallVector<Version, 2>;
using Instructions = llvm::SmallVector<Instruction *, 4>;

/// An instruction of the new module, and what its leaves are.
struct Written {
  Instruction *instruction = nullptr;
  Versions leaves;
};

/// Owns what the new module is made of, and its names.
class Pool {
public:
  explicit Pool(const Module &module);

  /// `base` with a number that no name has.
  StringRef makeName(StringRef base);
  StringRef save(const llvm::Twine &text);
  const Shape *save(Shape shape) {
    return &shapes.emplace_back(std::move(shape));
  }
  template <typename T> llvm::MutableArrayRef<T> save(llvm::ArrayRef<T> list) {
    return list.copy(arena);
  }
  Instruction *make(const Instruction &like) {
    return &instructions.emplace_back(like);
  }

private:
  llvm::BumpPtrAllocator arena;
  std::deque<Shape> shapes;
  std::deque<Instruction> instructions;
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> numbers;
};

/// What frames share.
class ModuleWriter {
public:
  ModuleWriter(const Module &module, const Model &model,
               const ModelChoice &choice);
  std::string write();

  const Model &model;
  const ModelChoice &choice;
  Pool pool;
  /// The name of each frame's computation.
  std::vector<StringRef> names;
  using UseKey = std::tuple<const Instruction *, unsigned, unsigned>;
  /// Of each frame, by user, operand and leaf.
  std::vector<llvm::DenseMap<UseKey, unsigned>> uses;

private:
  llvm::DenseSet<const Computation *> findKept() const;

  const Module &module;
};

/// Writes one computation.
class FrameWriter {
public:
  FrameWriter(ModuleWriter &writer, const ModelFrame &frame)
      : writer(writer), frame(frame) {}

  void write(llvm::raw_ostream &os);

private:
  const Values &getValues(const Instruction &instruction) const {
    return frame.values.find(&instruction)->second;
  }
  const ModelUse *findUse(const Instruction &user, unsigned operand,
                          unsigned leaf) const;
  ModelChoice::Use getUse(const Instruction &user, unsigned operand,
                          unsigned leaf) const;
  const Shape &getShape(Version version) const;
  Shape getNewShape(const Shape &shape, llvm::ArrayRef<Version> leaves) const;
  Versions getWanted(const Instruction &user, unsigned operand,
                     const Values &values) const;
  Versions getCarriedCopies(const Values &values) const;
  Versions getResultExtras() const;

  Instruction *create(const Instruction &like, StringRef name, Shape shape,
                      llvm::ArrayRef<Instruction *> operands);
  Instruction *create(Opcode opcode, Shape shape,
                      llvm::ArrayRef<Instruction *> operands,
                      llvm::ArrayRef<Attribute> attributes = {});
  Instruction *copy(Instruction *source, Version target);
  Instruction *makeTuple(llvm::ArrayRef<Instruction *> operands);
  Instruction *extract(Instruction *source, size_t leaf);
  Instruction *get(Version version);
  Instruction *assemble(const Shape &shape, llvm::ArrayRef<Version> leaves,
                        Instruction *source, size_t first);
  Instructions getElements(const Shape &shape, llvm::ArrayRef<Version> leaves,
                           Instruction *source, size_t first);
  Instruction *getIn(const Instruction &source, llvm::ArrayRef<Version> leaves);
  Instruction *getOperand(const Instruction &user, unsigned operand);
  llvm::ArrayRef<Attribute> getAttributes(const Instruction &instruction);

  void record(const Instruction &instruction, Instruction *made,
              Versions leaves);
  void emit(const Instruction &instruction);
  void emitPart(const Instruction &instruction, const Versions &leaves);
  void emitParameter(const Instruction &instruction, Versions leaves);
  void emitLoop(const Instruction &instruction, Versions leaves);
  void emitTuple(const Instruction &instruction, Versions leaves);
  void emitCopyStart(const Instruction &instruction, Versions leaves);
  void emitOther(const Instruction &instruction, const Versions &leaves);
  Instruction *bridge(const ModelUse &use, Instruction *source,
                      const Shape &result);
  void emitMove(const Instruction &bitcast, const ModelUse &use,
                Instruction *source, Shape to, const Versions &leaves);
  void emitCopies(const Instruction &instruction);
  const Instruction *emitRoot();

  ModuleWriter &writer;
  const ModelFrame &frame;
  std::vector<Instruction *> body;
  std::vector<Instruction *> parameters;
  llvm::DenseMap<const Instruction *, Written> written;
  /// Where versions are: an array, or a leaf of a tuple.
  llvm::DenseMap<std::pair<unsigned, unsigned>,
                 std::pair<Instruction *, size_t>>
      places;
  /// Copies are made once, behind what defines a value.
  llvm::DenseSet<unsigned> defined;
  /// Computations that this one calls and the module does not have.
  std::string callees;
};
} // namespace

//===----------------------------------------------------------------------===//
// Names and memory
//===----------------------------------------------------------------------===//

Pool::Pool(const Module &module) {
  for (const Computation *computation : module.computations()) {
    names.insert(computation->name());
    for (const Instruction *instruction : computation->instructions())
      names.insert(instruction->name);
  }
}

StringRef Pool::save(const llvm::Twine &text) {
  std::string string = text.str();
  return StringRef(
      llvm::ArrayRef(string.data(), string.size()).copy(arena).data(),
      string.size());
}

StringRef Pool::makeName(StringRef base) {
  while (true) {
    std::string name = (base + "." + llvm::Twine(++numbers[base])).str();
    if (names.insert(name).second)
      return save(name);
  }
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static size_t countLeaves(const Shape &shape) {
  return getLeaves(shape).size();
}

/// A leaf of the module in another layout: its space stays.
static Shape getLeaf(const Shape &own, const Shape &chosen) {
  Shape leaf = own;
  Layout layout = chosen.layout();
  layout.memorySpace = own.layoutOrDefault().memorySpace;
  // What says no layout keeps saying none, where it has that.
  if (own.layoutOrDefault() != layout)
    leaf.setLayout(layout);
  return leaf;
}

Shape FrameWriter::getNewShape(const Shape &shape,
                               llvm::ArrayRef<Version> leaves) const {
  if (!shape.isTuple())
    return leaves.front().value == kNone
               ? shape
               : getLeaf(shape, getShape(leaves.front()));
  std::vector<Shape> elements;
  for (const Shape &element : shape.elements()) {
    size_t count = countLeaves(element);
    elements.push_back(getNewShape(element, leaves.take_front(count)));
    leaves = leaves.drop_front(count);
  }
  return Shape::tuple(std::move(elements));
}

const Shape &FrameWriter::getShape(Version version) const {
  const ModelChoice::Value &value = writer.choice.values[version.value];
  return version.copy == 0 ? value.home : value.copies[version.copy - 1];
}

static Versions getHomes(const Values &values) {
  Versions versions;
  for (unsigned value : values)
    versions.push_back({value, 0});
  return versions;
}

//===----------------------------------------------------------------------===//
// Which version is wanted
//===----------------------------------------------------------------------===//

const ModelUse *FrameWriter::findUse(const Instruction &user, unsigned operand,
                                     unsigned leaf) const {
  const auto &uses = writer.uses[frame.number];
  auto found = uses.find({&user, operand, leaf});
  return found == uses.end() ? nullptr : &writer.model.uses[found->second];
}

ModelChoice::Use FrameWriter::getUse(const Instruction &user, unsigned operand,
                                     unsigned leaf) const {
  const ModelUse *use = findUse(user, operand, leaf);
  return use ? writer.choice.uses[use - writer.model.uses.data()]
             : ModelChoice::Use();
}

Versions FrameWriter::getWanted(const Instruction &user, unsigned operand,
                                const Values &values) const {
  Versions wanted = getHomes(values);
  for (auto [leaf, version] : llvm::enumerate(wanted))
    if (version.value != kNone)
      version.copy = getUse(user, operand, leaf).version;
  return wanted;
}

/// Copies of what goes around a loop.
Versions FrameWriter::getCarriedCopies(const Values &values) const {
  Versions copies;
  for (unsigned value : values)
    if (value != kNone && writer.model.values[value].isCarried)
      for (unsigned i = 0; i < writer.choice.values[value].copies.size(); ++i)
        copies.push_back({value, i + 1});
  return copies;
}

/// What the body of a loop gives in addition.
Versions FrameWriter::getResultExtras() const {
  return frame.kind == ModelFrame::Kind::Body
             ? getCarriedCopies(frame.parameters[0])
             : Versions();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Instruction *FrameWriter::create(const Instruction &like, StringRef name,
                                 Shape shape,
                                 llvm::ArrayRef<Instruction *> operands) {
  Instruction *made = writer.pool.make(like);
  made->name = name;
  made->isRoot = false;
  made->shape = writer.pool.save(std::move(shape));
  made->operands = writer.pool.save(operands);
  body.push_back(made);
  return made;
}

Instruction *FrameWriter::create(Opcode opcode, Shape shape,
                                 llvm::ArrayRef<Instruction *> operands,
                                 llvm::ArrayRef<Attribute> attributes) {
  Instruction like;
  like.opcode = opcode;
  like.attributes = writer.pool.save(attributes);
  return create(like, writer.pool.makeName(getName(opcode)), std::move(shape),
                operands);
}

Instruction *FrameWriter::copy(Instruction *source, Version target) {
  Instruction *made =
      create(Opcode::Copy, getLeaf(*source->shape, getShape(target)), {source});
  places[{target.value, target.copy}] = {made, 0};
  return made;
}

Instruction *FrameWriter::makeTuple(llvm::ArrayRef<Instruction *> operands) {
  std::vector<Shape> elements;
  for (const Instruction *operand : operands)
    elements.push_back(*operand->shape);
  return create(Opcode::Tuple, Shape::tuple(std::move(elements)), operands);
}

/// Leaf `leaf` of what an instruction gives, out of all tuples around it.
Instruction *FrameWriter::extract(Instruction *source, size_t leaf) {
  while (source->shape->isTuple()) {
    size_t index = 0;
    for (const Shape &element : source->shape->elements()) {
      size_t count = countLeaves(element);
      if (leaf < count)
        break;
      leaf -= count;
      ++index;
    }
    Attribute number;
    number.name = "index";
    number.text = writer.pool.save(llvm::Twine(index));
    source = create(Opcode::GetTupleElement, source->shape->elements()[index],
                    {source}, number);
  }
  return source;
}

Instruction *FrameWriter::get(Version version) {
  auto &[source, leaf] = places[{version.value, version.copy}];
  source = extract(source, leaf);
  leaf = 0;
  return source;
}

/// What has the structure of `shape` and `leaves`. What is no array is leaf
/// `first` of `source` and the following.
Instruction *FrameWriter::assemble(const Shape &shape,
                                   llvm::ArrayRef<Version> leaves,
                                   Instruction *source, size_t first) {
  if (shape.isTuple())
    return makeTuple(getElements(shape, leaves, source, first));
  Version version = leaves.front();
  return version.value == kNone ? extract(source, first) : get(version);
}

/// The same for each element of a tuple.
Instructions FrameWriter::getElements(const Shape &shape,
                                      llvm::ArrayRef<Version> leaves,
                                      Instruction *source, size_t first) {
  Instructions elements;
  for (const Shape &element : shape.elements()) {
    size_t count = countLeaves(element);
    elements.push_back(
        assemble(element, leaves.take_front(count), source, first));
    leaves = leaves.drop_front(count);
    first += count;
  }
  return elements;
}

/// An instruction of the module with its leaves in other versions, where that
/// is not how it is written.
Instruction *FrameWriter::getIn(const Instruction &source,
                                llvm::ArrayRef<Version> leaves) {
  const Written &made = written.find(&source)->second;
  if (llvm::ArrayRef(made.leaves) == leaves)
    return made.instruction;
  return assemble(*source.shape, leaves, made.instruction, 0);
}

Instruction *FrameWriter::getOperand(const Instruction &user,
                                     unsigned operand) {
  const Instruction &source = *user.operands[operand];
  return getIn(source, getWanted(user, operand, getValues(source)));
}

/// Callees by their new names.
llvm::ArrayRef<Attribute>
FrameWriter::getAttributes(const Instruction &instruction) {
  auto found = frame.callees.find(&instruction);
  if (found == frame.callees.end())
    return instruction.attributes;
  llvm::SmallVector<unsigned, 2> callees(found->second);
  llvm::SmallVector<Attribute, 6> attributes(instruction.attributes);
  for (Attribute &attribute : attributes) {
    llvm::SmallVector<std::string, 2> texts;
    for (const Computation *callee : attribute.computations) {
      auto *next = llvm::find_if(callees, [&](unsigned number) {
        return writer.model.frames[number].computation == callee;
      });
      texts.push_back("%" + writer.names[*next].str());
      callees.erase(next);
    }
    if (attribute.kind == AttributeKind::ComputationList)
      attribute.text = writer.pool.save("{" + llvm::join(texts, ", ") + "}");
    else if (!texts.empty())
      attribute.text = writer.pool.save(texts.front());
  }
  return writer.pool.save(llvm::ArrayRef<Attribute>(attributes));
}

//===----------------------------------------------------------------------===//
// One after another
//===----------------------------------------------------------------------===//

void FrameWriter::record(const Instruction &instruction, Instruction *made,
                         Versions leaves) {
  for (auto [leaf, version] : llvm::enumerate(leaves))
    if (version.value != kNone)
      places.try_emplace({version.value, version.copy}, made, leaf);
  written[&instruction] = {made, std::move(leaves)};
}

void FrameWriter::emitParameter(const Instruction &instruction,
                                Versions leaves) {
  Shape shape = getNewShape(*instruction.shape, leaves);
  bool isState = frame.kind == ModelFrame::Kind::Body ||
                 frame.kind == ModelFrame::Kind::Condition;
  if (isState)
    for (Version extra : getCarriedCopies(frame.parameters[0])) {
      shape.mutableElements().push_back(getShape(extra));
      leaves.push_back(extra);
    }
  Instruction *made = create(instruction, instruction.name, shape, {});
  parameters[instruction.parameterNumber()] = made;
  record(instruction, made, std::move(leaves));
}

/// A part of a tuple. It is not needed where the tuple has another there.
void FrameWriter::emitPart(const Instruction &instruction,
                           const Versions &leaves) {
  const Instruction &whole = *instruction.operands[0];
  const Written &source = written.find(&whole)->second;
  bool isDone = instruction.opcode == Opcode::CopyDone;
  int64_t index =
      isDone ? 0 : getInt(instruction.getAttribute("index")).value_or(-1);
  LeafCounter counter;
  LeafRange range =
      counter.getRange(*whole.shape, {index}).value_or(LeafRange());
  Instruction *made;
  if (llvm::ArrayRef(source.leaves).slice(range.begin, range.count) ==
      llvm::ArrayRef(leaves))
    made =
        create(instruction, instruction.name,
               getNewShape(*instruction.shape, leaves), {source.instruction});
  else
    made =
        assemble(*instruction.shape, leaves, source.instruction, range.begin);
  record(instruction, made, leaves);
}

/// Copies of what goes around are made in front of the loop.
void FrameWriter::emitLoop(const Instruction &instruction, Versions leaves) {
  const Instruction &operand = *instruction.operands[0];
  Versions initial = getWanted(instruction, 0, getValues(operand));
  Versions extras = getCarriedCopies(getValues(instruction));
  Shape shape = getNewShape(*instruction.shape, leaves);
  Instruction *start = getIn(operand, initial);
  if (!extras.empty()) {
    Instructions elements = getElements(*operand.shape, initial, start, 0);
    for (Version extra : extras) {
      size_t leaf =
          llvm::find(leaves, Version{extra.value, 0}) - leaves.begin();
      elements.push_back(copy(get(initial[leaf]), extra));
      shape.mutableElements().push_back(*elements.back()->shape);
      // Behind the loop it is what the loop gives.
      places.erase({extra.value, extra.copy});
    }
    start = makeTuple(elements);
  }
  leaves.append(extras);
  Instruction *made =
      create(instruction, instruction.name, std::move(shape), {start});
  made->attributes = getAttributes(instruction);
  record(instruction, made, std::move(leaves));
}

/// The root has what the computation gives at once: loops are counted by it.
void FrameWriter::emitTuple(const Instruction &instruction, Versions leaves) {
  bool isRoot = &instruction == frame.computation->root();
  if (isRoot)
    leaves = getWanted(instruction, UseSite::kResult, getValues(instruction));
  Instructions operands;
  llvm::ArrayRef<Version> rest = leaves;
  for (const Instruction *operand : instruction.operands) {
    size_t count = countLeaves(*operand->shape);
    operands.push_back(getIn(*operand, rest.take_front(count)));
    rest = rest.drop_front(count);
  }
  for (Version extra : isRoot ? getResultExtras() : Versions()) {
    operands.push_back(get(extra));
    leaves.push_back(extra);
  }
  std::vector<Shape> elements;
  for (const Instruction *operand : operands)
    elements.push_back(*operand->shape);
  record(instruction,
         create(instruction, instruction.name,
                Shape::tuple(std::move(elements)), operands),
         std::move(leaves));
}

/// The start gives what it copies back beside the copy.
void FrameWriter::emitCopyStart(const Instruction &instruction,
                                Versions leaves) {
  const Instruction &operand = *instruction.operands[0];
  Instruction *source = getOperand(instruction, 0);
  Versions wanted = getWanted(instruction, 0, getValues(operand));
  LeafCounter counter;
  auto back = counter.getRange(*instruction.shape, {1});
  Shape shape = getNewShape(*instruction.shape, leaves);
  if (back && back->count == wanted.size()) {
    llvm::copy(wanted, leaves.begin() + back->begin);
    shape.mutableElements()[1] = *source->shape;
  }
  // What is on its way is read where it has arrived.
  Instruction *made =
      create(instruction, instruction.name, std::move(shape), {source});
  written[&instruction] = {made, std::move(leaves)};
}

/// An operand in the order of the result, where they differ in the places of
/// sizes of 1.
Instruction *FrameWriter::bridge(const ModelUse &use, Instruction *source,
                                 const Shape &result) {
  if (use.relation.kind != Relation::Kind::Order || !result.hasLayout() ||
      !source->shape->hasLayout())
    return source;
  Shape ordered = getInOrderOf(*source->shape, result);
  if (ordered == *source->shape)
    return source;
  return create(frame.isFused() ? Opcode::Copy : Opcode::Bitcast,
                std::move(ordered), {source});
}

void FrameWriter::emitOther(const Instruction &instruction,
                            const Versions &leaves) {
  Shape shape = getNewShape(*instruction.shape, leaves);
  Instructions operands;
  const ModelUse *first = nullptr;
  for (unsigned i = 0; i < instruction.operands.size(); ++i) {
    Instruction *operand = getOperand(instruction, i);
    const ModelUse *use = findUse(instruction, i, 0);
    if (use && operand->shape->isArray() && shape.isArray())
      operand = bridge(*use, operand, shape);
    if (i == 0)
      first = use;
    operands.push_back(operand);
  }
  bool isMemoryView =
      first && first->relation.kind == Relation::Kind::View && !frame.isFused();
  bool moves = isMemoryView && getUse(instruction, 0, 0).moves;
  if (moves && instruction.opcode == Opcode::Bitcast)
    return emitMove(instruction, *first, operands[0], std::move(shape), leaves);
  Instruction *made =
      create(instruction, instruction.name, std::move(shape), operands);
  made->attributes = getAttributes(instruction);
  if (isMemoryView && !moves && instruction.opcode == Opcode::Copy)
    made->opcode = Opcode::Bitcast;
  record(instruction, made, leaves);
}

/// A view whose bytes have to be moved: a fusion of the view that the module
/// has, between layouts that it is one for.
void FrameWriter::emitMove(const Instruction &bitcast, const ModelUse &use,
                           Instruction *source, Shape to,
                           const Versions &leaves) {
  auto inRegisters = [](Shape shape) {
    if (shape.hasLayout())
      shape.mutableLayout().memorySpace = 0;
    return shape;
  };
  std::vector<Instruction *> outside;
  std::swap(outside, body);
  Instruction *parameter =
      create(Opcode::Parameter, inRegisters(*source->shape), {});
  parameter->payload = "0";
  Instruction *result =
      create(Opcode::Copy, inRegisters(writer.model.values[use.from].own),
             {parameter});
  result = create(Opcode::Bitcast, inRegisters(writer.model.values[use.to].own),
                  {result});
  result = create(Opcode::Copy, inRegisters(to), {result});
  result->isRoot = true;
  std::swap(outside, body);

  StringRef name = writer.pool.makeName("fused_move");
  llvm::raw_string_ostream os(callees);
  hlo::print({name, /*isEntry=*/false, parameter, outside, result, {}}, os);
  Attribute attributes[2];
  attributes[0].name = "kind";
  attributes[0].text = "kLoop";
  attributes[1].name = "calls";
  attributes[1].text = writer.pool.save("%" + name);
  Instruction *made = create(bitcast, bitcast.name, std::move(to), {source});
  made->opcode = Opcode::Fusion;
  made->attributes = writer.pool.save(llvm::ArrayRef<Attribute>(attributes));
  record(bitcast, made, leaves);
}

void FrameWriter::emit(const Instruction &instruction) {
  Versions leaves = getHomes(getValues(instruction));
  switch (instruction.opcode) {
  case Opcode::Parameter:
    return emitParameter(instruction, std::move(leaves));
  case Opcode::GetTupleElement:
  case Opcode::CopyDone:
    return emitPart(instruction, leaves);
  case Opcode::Tuple:
    return emitTuple(instruction, std::move(leaves));
  case Opcode::While:
    return emitLoop(instruction, std::move(leaves));
  case Opcode::CopyStart:
    return emitCopyStart(instruction, std::move(leaves));
  default:
    return emitOther(instruction, leaves);
  }
}

/// Copies of what an instruction defines.
void FrameWriter::emitCopies(const Instruction &instruction) {
  for (unsigned value : getValues(instruction)) {
    if (value == kNone || writer.model.values[value].isCarried ||
        !places.contains({value, 0}) || !defined.insert(value).second)
      continue;
    for (unsigned i = 0; i < writer.choice.values[value].copies.size(); ++i)
      copy(get({value, 0}), {value, i + 1});
  }
}

const Instruction *FrameWriter::emitRoot() {
  const Instruction &root = *frame.computation->root();
  Versions wanted = getWanted(root, UseSite::kResult, getValues(root));
  const Written &made = written.find(&root)->second;
  Instruction *result = made.instruction;
  Versions extras = getResultExtras(), all = wanted;
  all.append(extras);
  if (made.leaves != all && extras.empty()) {
    result = getIn(root, wanted);
  } else if (made.leaves != all) {
    Instructions elements = getElements(*root.shape, wanted, result, 0);
    for (Version extra : extras)
      elements.push_back(get(extra));
    result = makeTuple(elements);
  }
  result->isRoot = true;
  return result;
}

void FrameWriter::write(llvm::raw_ostream &os) {
  const Computation &computation = *frame.computation;
  parameters.resize(computation.parameters().size());
  // The test of a loop makes no copies of its state, and a fusion none at all.
  if (frame.kind == ModelFrame::Kind::Condition)
    defined.insert_range(frame.parameters[0]);
  for (const Instruction *instruction : computation.instructions()) {
    emit(*instruction);
    if (!frame.isFused())
      emitCopies(*instruction);
  }
  const Instruction *root = emitRoot();
  os << callees;
  hlo::print({writer.names[frame.number], computation.isEntry(), parameters,
              body, root, computation.attributes()},
             os);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

ModuleWriter::ModuleWriter(const Module &module, const Model &model,
                           const ModelChoice &choice)
    : model(model), choice(choice), pool(module), names(model.frames.size()),
      uses(model.frames.size()), module(module) {
  for (auto [i, use] : llvm::enumerate(model.uses))
    if (use.site.user)
      uses[use.site.frame][{use.site.user, use.site.operand, use.site.leaf}] =
          i;
}

/// Computations that keep their text: those that no frame has, those that
/// instructions call which are not looked into, and what these call.
llvm::DenseSet<const Computation *> ModuleWriter::findKept() const {
  llvm::SmallVector<const Computation *> list;
  llvm::DenseSet<const Computation *> framed, kept;
  auto addCallees = [&](const Instruction &instruction) {
    for (const Attribute &attribute : instruction.attributes)
      llvm::append_range(list, attribute.computations);
  };
  for (const ModelFrame &frame : model.frames) {
    framed.insert(frame.computation);
    for (const Instruction *instruction : frame.computation->instructions())
      if (!frame.callees.contains(instruction))
        addCallees(*instruction);
  }
  for (const Computation *computation : module.computations())
    if (!framed.contains(computation))
      list.push_back(computation);
  while (!list.empty()) {
    const Computation *next = list.pop_back_val();
    if (kept.insert(next).second)
      for (const Instruction *instruction : next->instructions())
        addCallees(*instruction);
  }
  return kept;
}

std::string ModuleWriter::write() {
  llvm::DenseMap<const Computation *, llvm::SmallVector<unsigned, 1>> frames;
  for (const ModelFrame &frame : model.frames)
    frames[frame.computation].push_back(frame.number);
  llvm::DenseSet<const Computation *> kept = findKept();
  for (const ModelFrame &frame : model.frames) {
    const Computation *computation = frame.computation;
    bool isFirst = frames[computation].front() == frame.number;
    names[frame.number] = isFirst && !kept.contains(computation)
                              ? computation->name()
                              : pool.makeName(computation->name());
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  module.printHeader(os);
  for (const Computation *computation : module.computations()) {
    if (kept.contains(computation))
      print(getText(*computation), os);
    for (unsigned number : frames[computation])
      FrameWriter(*this, model.frames[number]).write(os);
  }
  return text;
}

std::string tessera::writeModule(const Module &module, const Model &model,
                                 const ModelChoice &choice) {
  if (module.isSingleInstruction())
    return module.toString();
  return ModuleWriter(module, model, choice).write();
}
