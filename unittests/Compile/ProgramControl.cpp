//===- ProgramControl.cpp - Control flow in programs ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramMaker.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

using llvm::formatv;
using llvm::SmallVector;

Steps ProgramMaker::makeBlock(int64_t count,
                              llvm::function_ref<void()> finish) {
  Steps outer = std::move(steps);
  steps.clear();
  size_t numTensors = scope.size(), numIndices = indices.size();
  ++depth;
  while (count-- > 0)
    addStatement();
  finish();
  --depth;
  scope.resize(numTensors);
  indices.resize(numIndices);
  std::swap(outer, steps);
  return outer;
}

/// Copies tensors at once: they may be swapped.
static void copyAll(ProgramState &state, llvm::ArrayRef<unsigned> from,
                    llvm::ArrayRef<unsigned> to) {
  std::vector<Elements> copies;
  for (unsigned number : from)
    copies.push_back(state.tensors.at(number));
  for (auto [number, copy] : llvm::zip_equal(to, copies))
    state.tensors[number] = std::move(copy);
}

static SmallVector<unsigned> numbersOf(llvm::ArrayRef<Tensor> tensors) {
  return llvm::map_to_vector(
      tensors, [](const Tensor &tensor) { return tensor.number; });
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

Steps ProgramMaker::makeYieldingBlock(const ArrayType &type, unsigned result,
                                      llvm::StringRef end) {
  unsigned yielded = 0;
  Steps block = makeBlock(random.number(0, 3), [&] {
    Tensor from = valueOf(type);
    yielded = from.number;
    emit(formatv("scf.yield {0} : {1}\n{2}", from.name(), toText(type), end));
  });
  block.push_back(
      [=](ProgramState &state) { copyAll(state, {yielded}, {result}); });
  return block;
}

void ProgramMaker::addIf() {
  Scalar chooses = condition();
  ArrayType type = makeRelaidOut(pick().type);
  unsigned result = nextNumber();
  emit(formatv("%v{0} = scf.if {1} -> {2} {{", result, chooses.name(),
               toText(type)));
  Steps whenTrue = makeYieldingBlock(type, result, "} else {");
  Steps whenFalse = makeYieldingBlock(type, result, "}");
  steps.push_back([=](ProgramState &state) {
    runAll(state.scalars.at(chooses.number) ? whenTrue : whenFalse, state);
  });
  scope.push_back({result, type});
}

void ProgramMaker::addIndexSwitch() {
  int64_t numCases = random.number(0, 2);
  Scalar chooses = anyIndex(numCases + 2);
  ArrayType type = makeRelaidOut(pick().type);
  unsigned result = nextNumber();
  emit(formatv("%v{0} = scf.index_switch {1} -> {2}", result, chooses.name(),
               toText(type)));
  std::vector<Steps> cases;
  for (int64_t i = 0; i < numCases; ++i) {
    emit(formatv("case {0} {{", i));
    cases.push_back(makeYieldingBlock(type, result, "}"));
  }
  emit("default {");
  cases.push_back(makeYieldingBlock(type, result, "}"));
  steps.push_back([=](ProgramState &state) {
    int64_t number = state.scalars.at(chooses.number);
    runAll(cases[std::min(number, numCases)], state);
  });
  scope.push_back({result, type});
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A loop that carries two tensors.
void ProgramMaker::addFor() {
  Tensor inits[] = {pick(), pick()};
  int64_t trips = random.number(0, 3);
  Scalar lower = constant(0), upper = constant(trips), step = constant(1);
  unsigned variable = nextNumber();
  std::vector<Tensor> carried = makeParameters(inits);
  unsigned results = nextNumber();
  std::string types[] = {toText(inits[0].type), toText(inits[1].type)};
  emit(formatv("%v{0}:2 = scf.for %v{1} = {2} to {3} step {4} iter_args({5} = "
               "{6}, {7} = {8}) -> ({9}, {10}) {{",
               results, variable, lower.name(), upper.name(), step.name(),
               carried[0].name(), inits[0].name(), carried[1].name(),
               inits[1].name(), types[0], types[1]));
  scope.insert(scope.end(), carried.begin(), carried.end());
  indices.push_back({variable});
  SmallVector<unsigned> yields;
  Steps body = makeBlock(random.number(1, 4), [&] {
    Tensor from[] = {valueOf(carried[0].type), valueOf(carried[1].type)};
    yields = numbersOf(from);
    emit(formatv("scf.yield {0}, {1} : {2}, {3}\n}", from[0].name(),
                 from[1].name(), types[0], types[1]));
  });
  indices.pop_back();
  scope.resize(scope.size() - 2);

  SmallVector<unsigned> from = numbersOf(inits), arguments = numbersOf(carried);
  steps.push_back([=](ProgramState &state) {
    copyAll(state, from, arguments);
    for (int64_t i = 0; i < trips; ++i) {
      state.scalars[variable] = i;
      runAll(body, state);
      copyAll(state, yields, arguments);
    }
  });
  // The results get names of their own.
  for (auto [i, tensor] : llvm::enumerate(carried)) {
    std::string source = formatv("%v{0}#{1}", results, i);
    scope.push_back(define(
        tensor.type,
        formatv("tessera.relayout {0} : {1} to {1}", source, types[i]).str(),
        copyOf(tensor.number)));
  }
}

/// Counts up to a number, a tensor beside the count.
void ProgramMaker::addWhile() {
  Tensor init = pick();
  int64_t trips = random.number(0, 3);
  Scalar zero = constant(0), one = constant(1), limit = constant(trips);
  unsigned count = nextNumber(), next = nextNumber();
  Tensor before{nextNumber(), init.type}, after{nextNumber(), init.type};
  std::string type = toText(init.type);
  unsigned result = nextNumber();
  emit(formatv("%w{0}, %v{0} = scf.while (%n{1} = {2}, {3} = {4}) : (index, "
               "{5}) -> (index, {5}) {{\n"
               "%c{1} = arith.cmpi ult, %n{1}, {6} : index\n"
               "scf.condition(%c{1}) %n{1}, {3} : index, {5}\n} do {{\n"
               "^bb0(%v{1}: index, {7}: {5}):",
               result, count, zero.name(), before.name(), init.name(), type,
               limit.name(), after.name()));
  scope.push_back(after);
  indices.push_back({count});
  unsigned yielded = 0;
  Steps body = makeBlock(random.number(1, 3), [&] {
    Tensor from = valueOf(init.type);
    yielded = from.number;
    emit(formatv("%v{0} = arith.addi %v{1}, {2} : index\n"
                 "scf.yield %v{0}, {3} : index, {4}\n}",
                 next, count, one.name(), from.name(), type));
  });
  indices.pop_back();
  scope.pop_back();
  unsigned from = init.number, argument = after.number;
  steps.push_back([=](ProgramState &state) {
    copyAll(state, {from}, {argument});
    for (int64_t i = 0; i < trips; ++i) {
      state.scalars[count] = i;
      runAll(body, state);
      copyAll(state, {yielded}, {argument});
    }
    copyAll(state, {argument}, {result});
  });
  scope.push_back({result, init.type});
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

std::vector<Tensor>
ProgramMaker::makeParameters(llvm::ArrayRef<Tensor> operands) {
  std::vector<Tensor> parameters;
  for (const Tensor &operand : operands)
    parameters.push_back({nextNumber(), operand.type});
  return parameters;
}

std::string
ProgramMaker::makeFunction(llvm::ArrayRef<Tensor> parameters,
                           llvm::function_ref<std::string()> makeBody) {
  std::string name = formatv("f{0}_{1}", number, numFunctions++);
  std::string outerText = std::move(text);
  std::vector<Tensor> outerScope = std::move(scope);
  std::vector<Scalar> outerIndices = std::move(indices);
  text.clear();
  indices.clear();
  scope.assign(parameters.begin(), parameters.end());
  std::string results = makeBody();
  std::string arguments;
  for (const Tensor &parameter : parameters)
    arguments += (arguments.empty() ? "" : ", ") + parameter.name() + ": " +
                 toText(parameter.type);
  functions += formatv("func.func private @{0}({1}) -> ({2}) {{\n{3}}\n", name,
                       arguments, results, text);
  text = std::move(outerText);
  scope = std::move(outerScope);
  indices = std::move(outerIndices);
  return name;
}

void ProgramMaker::addCallOf(llvm::StringRef name,
                             llvm::ArrayRef<Tensor> operands,
                             llvm::ArrayRef<Tensor> parameters,
                             llvm::ArrayRef<Tensor> returned,
                             const Steps &body) {
  std::vector<Tensor> results = makeParameters(returned);
  auto join = [&](llvm::ArrayRef<Tensor> tensors, auto getText) {
    return llvm::join(llvm::map_range(tensors, getText), ", ");
  };
  auto getName = [](const Tensor &tensor) { return tensor.name(); };
  auto getType = [&](const Tensor &tensor) { return toText(tensor.type); };
  emit(formatv("{0} = func.call @{1}({2}) : ({3}) -> ({4})",
               join(results, getName), name, join(operands, getName),
               join(operands, getType), join(results, getType)));
  SmallVector<unsigned> from = numbersOf(operands), to = numbersOf(parameters);
  SmallVector<unsigned> values = numbersOf(returned);
  SmallVector<unsigned> called = numbersOf(results);
  steps.push_back([=](ProgramState &state) {
    ProgramState callee;
    for (auto [operand, parameter] : llvm::zip_equal(from, to))
      callee.tensors[parameter] = state.tensors.at(operand);
    runAll(body, callee);
    for (auto [value, result] : llvm::zip_equal(values, called))
      state.tensors[result] = callee.tensors.at(value);
  });
  scope.insert(scope.end(), results.begin(), results.end());
}

/// A function of two tensors, called at once.
void ProgramMaker::addCall() {
  Tensor operands[] = {pick(), pick()};
  std::vector<Tensor> parameters = makeParameters(operands), returned;
  Steps body;
  std::string name = makeFunction(parameters, [&] {
    std::string names, types;
    body = makeBlock(random.number(1, 3), [&] {
      for (int64_t count = random.number(1, 2); count > 0; --count) {
        returned.push_back(
            random.oneIn(3) ? makeSource(makeRelaidOut(pick().type)) : pick());
        names += (names.empty() ? "" : ", ") + returned.back().name();
        types += (types.empty() ? "" : ", ") + toText(returned.back().type);
      }
      emit(formatv("return {0} : {1}", names, types));
    });
    return types;
  });
  addCallOf(name, operands, parameters, returned, body);
}

/// A function of four blocks, two of which run.
void ProgramMaker::addBranches() {
  Tensor operands[] = {pick(), pick()};
  std::vector<Tensor> parameters = makeParameters(operands), returned;
  Steps body;
  std::string name = makeFunction(parameters, [&] {
    ArrayType type = makeRelaidOut(pick().type);
    std::string typeText = toText(type);
    body = makeBlock(random.number(0, 2), [&] {
      Scalar chooses = condition();
      Tensor passed = pick(), argument{nextNumber(), passed.type};
      Tensor merged{nextNumber(), type};
      std::string id = std::to_string(merged.number);
      emit(formatv("cf.cond_br {0}, ^a{1}({2} : {3}), ^b{1}\n^a{1}({4}: {3}):",
                   chooses.name(), id, passed.name(), toText(passed.type),
                   argument.name()));
      auto makeBranch = [&](llvm::StringRef end) {
        unsigned from = 0;
        Steps branch = makeBlock(random.number(0, 2), [&] {
          Tensor value = valueOf(type);
          from = value.number;
          emit(formatv("cf.br ^c{0}({1} : {2})\n{3}", id, value.name(),
                       typeText, end));
        });
        branch.push_back([=, to = merged.number](ProgramState &state) {
          copyAll(state, {from}, {to});
        });
        return branch;
      };
      scope.push_back(argument);
      Steps whenTrue = makeBranch("^b" + id + ":");
      whenTrue.insert(whenTrue.begin(), [=](ProgramState &state) {
        copyAll(state, {passed.number}, {argument.number});
      });
      scope.pop_back();
      Steps whenFalse = makeBranch(
          formatv("^c{0}({1}: {2}):", id, merged.name(), typeText).str());
      steps.push_back([=](ProgramState &state) {
        runAll(state.scalars.at(chooses.number) ? whenTrue : whenFalse, state);
      });
      scope.push_back(merged);
      for (int64_t count = random.number(0, 2); count > 0; --count)
        addStatement();
      returned.push_back(random.oneIn(2) ? merged : pick());
      emit(formatv("return {0} : {1}", returned[0].name(),
                   toText(returned[0].type)));
    });
    return toText(returned[0].type);
  });
  addCallOf(name, operands, parameters, returned, body);
}
