//===- IRFuzzer.cpp - IR through sequences of passes ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first line of an input is a comment with passes, the rest is a module:
//
//   // canonicalize,tessera-bufferize,cse
//
// A module is refused with an error, or each pass makes one that verifies, or
// says why it does not. What comes out is printed and parses again.
//
//===----------------------------------------------------------------------===//

#include "Fuzzing.h"

#include "TestTesseraDialect.h"
#include "tessera/Dialect/Tessera/IR/LayoutUtils.h"
#include "tessera/InitAll.h"
#include "tessera/Support/Nesting.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::fuzz;

/// All passes and pipelines of the project, and upstream's that run between
/// them.
static const std::vector<StringRef> kPasses = {
    "tessera-assign-address-spaces",
    "tessera-assign-layouts{target=tpu_v5e}",
    "tessera-bufferize",
    "tessera-erase-empty-loops",
    "tessera-split-ranges",
    "tessera-jam-loops",
    "tessera-serialize-loops",
    "tessera-poison-padding",
    "tessera-expand-ops",
    "tessera-explain-slices",
    "tessera-fold-relayouts",
    "tessera-lift-branches",
    "tessera-linalg-to-loops",
    "tessera-lower-layouts",
    "tessera-lower-relayouts",
    "tessera-lower-relayouts{max-nests=1}",
    "tessera-propagate-layouts",
    "tessera-refine-openmp",
    "tessera-report",
    "tessera-to-affine",
    "tessera-to-affine{deallocate=true}",
    "tessera-to-llvm",
    "tessera-vectorize-contractions",
    "tessera-vectorize-contractions{bf16-pairs=true}",
    "tessera-vectorize-relayouts",
    "tessera-vectorize-relayouts{nontemporal-bytes=64}",
    "tessera-verify",
    "canonicalize",
    "cse",
    "inline",
    "loop-invariant-code-motion",
    "sccp",
    "symbol-dce",
    "tessera-expand-small-floats",
    "tessera-expand-small-floats{bf16=true}"};

static constexpr size_t kMaxPasses = 8;

/// Faults that are known, by the error of the verifier that finds them: what
/// comes behind them is not looked at.
static const std::vector<StringRef> kKnownFaults = {
    // Upstream's canonicalizer drops a bound over an empty dimension.
    "'affine.for' op expected upper bound map to have at least one result",
    "'affine.for' op expected lower bound map to have at least one result",
    // Upstream's conversion frees a buffer of another address space as it is.
    "'llvm.call' op operand type mismatch for operand 0: '!llvm.ptr<"};

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

namespace {
struct Input {
  SmallVector<StringRef> passes;
  StringRef module;
};
} // namespace

static Input parseInput(StringRef text) {
  Input input;
  auto [line, module] = text.split('\n');
  if (!line.consume_front("//"))
    return {{}, text};
  SmallVector<StringRef> names;
  line.split(names, ',');
  for (StringRef name : names)
    if (auto known = llvm::find(kPasses, name.trim());
        known != kPasses.end() && input.passes.size() < kMaxPasses)
      input.passes.push_back(*known);
  input.module = module;
  return input;
}

static std::string printInput(ArrayRef<StringRef> passes, StringRef module) {
  return "// " + llvm::join(passes, ",") + "\n" + module.str();
}

//===----------------------------------------------------------------------===//
// Running them
//===----------------------------------------------------------------------===//

static void initialize(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerTransformsPasses();
  tessera::registerAllDialects(registry);
  tessera::registerAllExtensions(registry);
  tessera::registerAllPasses();
  registry.insert<tessera::test::TestTesseraDialect>();
}

/// A context for a number of inputs: types and attributes live as long as it.
static MLIRContext &getContext() {
  static DialectRegistry registry = [] {
    DialectRegistry registry;
    initialize(registry);
    return registry;
  }();
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 500 == 0) {
    context = std::make_unique<MLIRContext>(registry,
                                            MLIRContext::Threading::DISABLED);
    context->allowUnregisteredDialects();
    context->printOpOnDiagnostic(false);
  }
  return *context;
}

namespace {
/// The errors that are emitted while it lives.
class Errors {
public:
  explicit Errors(MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            text += diagnostic.str() + "\n";
          return success();
        }) {}

  bool empty() const { return text.empty(); }
  std::string take() { return std::exchange(text, ""); }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};
} // namespace

static bool isKnownFault(StringRef error) {
  return llvm::any_of(kKnownFaults,
                      [&](StringRef known) { return error.contains(known); });
}

/// Runs the pass, without the verifier behind it: what a pass refuses and what
/// it breaks differ.
static LogicalResult runPass(ModuleOp module, StringRef pass) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(false);
  std::string message;
  llvm::raw_string_ostream os(message);
  require(succeeded(parsePassPipeline(pass, manager, os)),
          "no pass " + pass + ": " + message);
  return manager.run(module);
}

/// Whether --tessera-verify refuses the module for this reason.
static bool isRefused(ModuleOp module, StringRef reason, Errors &errors) {
  errors.take();
  (void)runPass(module, "tessera-verify");
  return StringRef(errors.take()).contains(reason);
}

/// Whether upstream's folders made a constant of unknown size, which no
/// verifier refuses and no parser takes.
static bool hasDynamicConstant(ModuleOp module) {
  auto result = module.walk([](arith::ConstantOp op) {
    auto type = dyn_cast<ShapedType>(op.getType());
    return type && !type.hasStaticShape() ? WalkResult::interrupt()
                                          : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// False where the pass says no, with an error, or where nothing can follow.
static bool checkPass(ModuleOp module, StringRef pass, Errors &errors) {
  // Transpositions that move nothing and concatenations of fills, which
  // upstream replaces by values of other types.
  bool isExcused =
      isRefused(module, "canonicalization makes invalid IR of it", errors);
  if (failed(runPass(module, pass))) {
    require(!errors.empty(), pass + " fails without an error");
    return false;
  }
  errors.take();
  if (succeeded(verify(module)))
    return !hasDynamicConstant(module);
  std::string text = errors.take();
  require(isExcused || isKnownFault(text), pass + " makes invalid IR: " + text);
  return false;
}

/// Whether a constant without elements is loaded from, which upstream's folder
/// dies of.
static bool loadsFromEmptyConstant(ModuleOp module) {
  auto result = module.walk([](affine::AffineLoadOp op) {
    bool isConstant = op.getMemRef().getDefiningOp<memref::GetGlobalOp>();
    return isConstant && llvm::is_contained(op.getMemRefType().getShape(), 0)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether an expression divides by zero, which --lower-affine dies of.
static bool dividesByZero(ModuleOp module) {
  bool result = false;
  AttrTypeWalker walker;
  walker.addWalk([&](AffineMapAttr attribute) {
    attribute.getValue().walkExprs([&](AffineExpr expr) {
      auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
      bool isDivision = binary && expr.getKind() != AffineExprKind::Add &&
                        expr.getKind() != AffineExprKind::Mul;
      auto divisor = isDivision ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                                : AffineConstantExpr();
      result |= divisor && divisor.getValue() <= 0;
    });
  });
  module.walk([&](Operation *op) { walker.walk(op->getAttrDictionary()); });
  return result;
}

/// The module of a text, as the tools parse it; null for what they refuse. The
/// parser reads the zero behind the text, which a piece of an input lacks.
static OwningOpRef<ModuleOp> parse(StringRef text, MLIRContext &context) {
  if (llvm::Error error = checkParsable(text)) {
    (void)emitLayoutError([&] { return emitError(UnknownLoc::get(&context)); },
                          std::move(error));
    return nullptr;
  }
  return parseSourceString<ModuleOp>(text.str(), &context);
}

/// Whether upstream prints a body in short that it does not parse: an operation
/// that nobody registered.
static bool hasUnprintableMap(ModuleOp module) {
  auto result = module.walk([](linalg::MapOp op) {
    Block *body = op.getBody();
    return body->empty() || body->front().isRegistered()
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return result.wasInterrupted();
}

/// Whether a tensor has strides for its encoding, which upstream parses behind
/// an alias alone.
static bool hasStridedTensor(ModuleOp module) {
  bool result = false;
  AttrTypeWalker walker;
  walker.addWalk([&](RankedTensorType type) {
    result |= isa_and_nonnull<StridedLayoutAttr>(type.getEncoding());
  });
  module.walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      walker.walk(type);
    for (Region &region : op->getRegions())
      for (Type type : region.getArgumentTypes())
        walker.walk(type);
  });
  return result;
}

static void checkPrinting(ModuleOp module, Errors &errors) {
  if (hasUnprintableMap(module) || hasStridedTensor(module))
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  errors.take();
  OwningOpRef<ModuleOp> again = parse(text, *module.getContext());
  if (again)
    return;
  std::string error = errors.take();
  // One type is printed for operands of several, of other layouts or sizes.
  bool isOfSizes = StringRef(error).contains("different type than prior uses");
  require(isOfSizes || isRefused(module, "[verify_c7]", errors),
          "printed IR does not parse: " + error);
}

void tessera::fuzz::runInput(StringRef text) {
  Input input = parseInput(text);
  MLIRContext &context = getContext();
  Errors errors(context);
  OwningOpRef<ModuleOp> module = parse(input.module, context);
  if (!module)
    return require(!errors.empty(), "refused without an error");
  checkPrinting(*module, errors);
  for (StringRef pass : input.passes)
    if (dividesByZero(*module) || loadsFromEmptyConstant(*module) ||
        !checkPass(*module, pass, errors))
      return;
  checkPrinting(*module, errors);
}

//===----------------------------------------------------------------------===//
// Mutations of operations
//===----------------------------------------------------------------------===//

/// The values that `op` could use.
static std::vector<Value> getVisibleValues(Operation *op) {
  std::vector<Value> values;
  for (; op->getBlock(); op = op->getParentOp()) {
    llvm::append_range(values, op->getBlock()->getArguments());
    for (Operation &before : *op->getBlock()) {
      if (&before == op)
        break;
      llvm::append_range(values, before.getResults());
    }
    if (!op->getParentOp() ||
        op->getParentOp()->hasTrait<OpTrait::IsIsolatedFromAbove>())
      break;
  }
  return values;
}

static void replaceOperand(Operation *op, Random &random) {
  if (op->getNumOperands() == 0)
    return;
  OpOperand &operand =
      op->getOpOperand(random.number(0, op->getNumOperands() - 1));
  std::vector<Value> values = getVisibleValues(op);
  if (!random.oneIn(8))
    llvm::erase_if(values, [&](Value value) {
      return value.getType() != operand.get().getType() ||
             value == operand.get();
    });
  if (!values.empty())
    operand.set(random.pick(values));
}

/// Gives `op` an attribute of another operation, which has one of that name and
/// class.
static void replaceAttribute(Operation *op, Operation *other, Random &random) {
  ArrayRef<NamedAttribute> attributes = other->getAttrs();
  if (attributes.empty())
    return;
  NamedAttribute attribute = random.pick(attributes);
  Attribute old = op->getAttr(attribute.getName());
  if (old && old.getTypeID() == attribute.getValue().getTypeID())
    op->setAttr(attribute.getName(), attribute.getValue());
}

/// Puts a copy of `op` where `other` stands, with operands that it finds there.
static void copyOperation(Operation *op, Operation *other, Random &random) {
  if (op->getNumRegions() != 0 || op->hasTrait<OpTrait::IsTerminator>() ||
      !other->getBlock() || !op->getBlock() || isa<ModuleOp>(other))
    return;
  std::vector<Value> values = getVisibleValues(other);
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    std::vector<Value> fitting = values;
    llvm::erase_if(fitting, [&](Value value) {
      return value.getType() != operand.getType();
    });
    if (fitting.empty())
      return;
    mapping.map(operand, random.pick(fitting));
  }
  OpBuilder(other).clone(*op, mapping);
}

static void eraseOperation(Operation *op, Random &random) {
  if (op->hasTrait<OpTrait::IsTerminator>() || !op->getBlock())
    return;
  std::vector<Value> values = getVisibleValues(op);
  SmallVector<Value> replacements;
  for (Value result : op->getResults()) {
    std::vector<Value> fitting = values;
    llvm::erase_if(fitting, [&](Value value) {
      return value.getType() != result.getType();
    });
    if (fitting.empty() && !result.use_empty())
      return;
    replacements.push_back(fitting.empty() ? Value() : random.pick(fitting));
  }
  for (auto [result, value] : llvm::zip(op->getResults(), replacements))
    if (!result.use_empty())
      result.replaceAllUsesWith(value);
  op->erase();
}

static void mutateModule(ModuleOp module, Random &random) {
  std::vector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (op != module)
      ops.push_back(op);
  });
  if (ops.empty())
    return;
  Operation *op = random.pick(ops);
  switch (random.number(0, 5)) {
  case 0:
  case 1:
    return replaceOperand(op, random);
  case 2:
    return replaceAttribute(op, random.pick(ops), random);
  case 3:
  case 4:
    return copyOperation(op, random.pick(ops), random);
  default:
    return eraseOperation(op, random);
  }
}

/// The module with operations changed; nothing where it is no valid one before
/// or after.
static std::optional<std::string> mutateOperations(StringRef text,
                                                   Random &random) {
  MLIRContext &context = getContext();
  Errors errors(context);
  OwningOpRef<ModuleOp> module = parse(text, context);
  if (!module)
    return std::nullopt;
  do
    mutateModule(*module, random);
  while (!random.oneIn(3));
  if (failed(verify(*module)))
    return std::nullopt;
  std::string result;
  llvm::raw_string_ostream os(result);
  module->print(os);
  return result;
}

static void mutatePasses(SmallVectorImpl<StringRef> &passes, Random &random) {
  size_t at = random.number(0, passes.size());
  switch (random.number(0, 3)) {
  case 0:
    passes.clear();
    for (int64_t count = random.number(1, 5); count > 0; --count)
      passes.push_back(random.pick(kPasses));
    break;
  case 1:
    if (at < passes.size())
      passes.erase(passes.begin() + at);
    break;
  default:
    if (passes.size() < kMaxPasses)
      passes.insert(passes.begin() + at, random.pick(kPasses));
  }
}

std::string tessera::fuzz::mutateInput(StringRef text,
                                       const TokenMutator &mutator,
                                       Random &random) {
  Input input = parseInput(text);
  if (random.oneIn(4))
    mutatePasses(input.passes, random);
  if (random.oneIn(2))
    if (auto module = mutateOperations(input.module, random))
      return printInput(input.passes, *module);
  return printInput(input.passes, mutator.mutate(input.module, random));
}
