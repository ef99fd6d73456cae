//===- Modules.cpp - Modules of protocol buffers as text ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <google/protobuf/unknown_field_set.h>

using namespace tessera;
using namespace tessera::pb;
using hlo::Opcode;

llvm::StringRef pb::checkName(llvm::StringRef name, ErrorLog &log) {
  bool isName = !name.empty() && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || llvm::StringRef("._-:$").contains(c);
  });
  if (!isName)
    log.report(invalidError("", "name in a protocol buffer",
                            "letters, digits and `._-:$`", quote(name)));
  return name;
}

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

template <typename Map>
static auto find(const Map &map, int64_t id, llvm::StringRef what,
                 ErrorLog &log) -> typename Map::mapped_type {
  auto found = map.find(id);
  if (found != map.end())
    return found->second;
  log.report(
      invalidError("", "id of " + what, "one that is there", llvm::Twine(id)));
  return nullptr;
}

const Computation *Scope::getComputation(int64_t id, ErrorLog &log) const {
  return find(computations, id, "a computation", log);
}

const Instruction *Scope::getInstruction(int64_t id, ErrorLog &log) const {
  return find(instructions, id, "an instruction", log);
}

/// The computations of a module, or the instructions of a computation, by id.
template <typename Item, typename Range>
static std::map<int64_t, const Item *>
sortById(const Range &items, llvm::StringRef what, ErrorLog &log) {
  std::map<int64_t, const Item *> byId;
  for (const Item &item : items)
    if (!byId.try_emplace(item.id(), &item).second)
      log.report(invalidError("", "id of " + what, "each id once",
                              llvm::Twine(item.id()) + " again"));
  return byId;
}

const Instruction *pb::getOnlyInstruction(const Computation &computation) {
  const Instruction *only = nullptr;
  for (const Instruction &instruction : computation.instructions()) {
    if (instruction.id() == computation.root_id())
      only = &instruction;
    else if (instruction.opcode() != "parameter")
      return nullptr;
  }
  return only;
}

//===----------------------------------------------------------------------===//
// Computations
//===----------------------------------------------------------------------===//

namespace {
class ModulePrinter {
public:
  ModulePrinter(const Module &module, llvm::raw_ostream &os, ErrorLog &log)
      : module(module), os(os), log(log) {}

  void print();

private:
  void printHeader();
  void printAliases();
  void printStackFrames();
  void print(const ProgramShape &shape);
  void print(const Computation &computation);
  void print(const Computation &computation, const Instruction &instruction);
  void printOperands(const Instruction &instruction, Opcode opcode,
                     const tessera::Shape &shape);
  std::vector<const Instruction *> getOrder(const Computation &computation);
  void printWrapped(const Instruction &start, const Computation &computation,
                    const Instruction &wrapped);
  const Computation *getAsync(const Instruction &instruction);
  void refuse(const Instruction &instruction);
  std::string formatShape(const pb::Shape &shape) {
    return convertShape(shape, log).toString();
  }

  const Module &module;
  llvm::raw_ostream &os;
  ErrorLog &log;
  Scope scope;
};
} // namespace

/// The order of the schedule, where there is one, else that of the message.
std::vector<const Instruction *>
ModulePrinter::getOrder(const Computation &computation) {
  std::vector<const Instruction *> order;
  auto sequence = module.schedule().sequences().find(computation.id());
  if (sequence == module.schedule().sequences().end()) {
    for (const Instruction &instruction : computation.instructions())
      order.push_back(&instruction);
    return order;
  }
  const auto &ids = sequence->second.ids();
  std::map<int64_t, const Instruction *> left = scope.instructions;
  for (int64_t id : ids)
    if (const Instruction *instruction =
            find(left, id, "an instruction in the schedule", log)) {
      order.push_back(instruction);
      left.erase(id);
    }
  if (!left.empty())
    log.report(invalidError("", "schedule", "every instruction",
                            quote(left.begin()->second->name()) + " is not"));
  return order;
}

/// What an asynchronous step runs, by its first step.
const Computation *ModulePrinter::getAsync(const Instruction &instruction) {
  const Instruction *step = &instruction;
  // A chain that is longer goes in circles.
  for (size_t i = 0; i <= scope.instructions.size(); ++i) {
    if (!step || !llvm::StringRef(step->opcode()).starts_with("async-"))
      return nullptr;
    if (step->computation_ids_size() == 1)
      return scope.getComputation(step->computation_ids(0), log);
    if (step->operand_ids_size() == 0)
      return nullptr;
    step = scope.getInstruction(step->operand_ids(0), log);
  }
  return nullptr;
}

/// What stands in brackets.
void ModulePrinter::printOperands(const Instruction &instruction, Opcode opcode,
                                  const tessera::Shape &shape) {
  if (opcode == Opcode::Parameter)
    os << instruction.parameter_number();
  else if (opcode == Opcode::Constant)
    printConstant(instruction.literal(), shape, os, log);
  llvm::interleave(
      instruction.operand_ids(), os,
      [&](int64_t id) {
        if (const Instruction *operand = scope.getInstruction(id, log))
          os << '%' << operand->name();
      },
      ", ");
}

/// Those of newer versions may say what no text here would; what is empty says
/// nothing.
static bool hasUnknownFields(const Instruction &instruction) {
  const google::protobuf::UnknownFieldSet &fields =
      instruction.GetReflection()->GetUnknownFields(instruction);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField &field = fields.field(i);
    if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED ||
        !field.length_delimited().empty())
      return true;
  }
  return false;
}

void ModulePrinter::refuse(const Instruction &instruction) {
  bool isKnown = hlo::parseOpcode(instruction.opcode()).has_value();
  log.report(unsupportedError(
      "instruction in a protocol buffer", "opcodes and fields that are known",
      isKnown ? "another field of " + quote(instruction.name())
              : "opcode " + quote(instruction.opcode())));
}

void ModulePrinter::print(const Computation &computation,
                          const Instruction &instruction) {
  std::optional<Opcode> opcode = hlo::parseOpcode(instruction.opcode());
  if (!opcode || hasUnknownFields(instruction))
    return refuse(instruction);
  tessera::Shape shape = convertShape(instruction.shape(), log);
  os << (instruction.id() == computation.root_id() ? "  ROOT %" : "  %")
     << checkName(instruction.name(), log) << " = " << shape << ' ';
  const Computation *async = getAsync(instruction);
  const Instruction *wrapped = async ? getOnlyInstruction(*async) : nullptr;
  llvm::StringRef name = instruction.opcode();
  if (wrapped) {
    name.consume_front("async");
    os << checkName(wrapped->opcode(), log);
  }
  os << name << '(';
  printOperands(instruction, *opcode, shape);
  os << ')';
  if (!wrapped)
    printOwnAttributes(instruction, *opcode, scope, os, log);
  else if (*opcode == Opcode::AsyncStart)
    printWrapped(instruction, *async, *wrapped);
  printCommonAttributes(instruction, scope, os, log);
}

/// The attributes of the instruction that `start` runs, which is written in its
/// place.
void ModulePrinter::printWrapped(const Instruction &start,
                                 const Computation &computation,
                                 const Instruction &wrapped) {
  llvm::StringRef thread = start.execution_thread();
  if (!thread.empty() && thread != "main")
    os << ", async_execution_thread=" << quote(thread);
  std::optional<Opcode> opcode = hlo::parseOpcode(wrapped.opcode());
  if (!opcode || hasUnknownFields(wrapped))
    return refuse(wrapped);
  Scope inside{
      scope.computations,
      sortById<Instruction>(computation.instructions(), "an instruction", log)};
  printOwnAttributes(wrapped, *opcode, inside, os, log);
}

void ModulePrinter::print(const Computation &computation) {
  scope.instructions =
      sortById<Instruction>(computation.instructions(), "an instruction", log);
  bool isEntry = computation.name() == module.entry_name();
  os << (isEntry ? "ENTRY %" : "%") << checkName(computation.name(), log)
     << " {\n";
  for (const Instruction *instruction : getOrder(computation)) {
    print(computation, *instruction);
    os << '\n';
  }
  os << '}';
  llvm::StringRef thread = computation.execution_thread();
  if (!thread.empty() && thread != "main")
    os << ", execution_thread=" << quote(thread);
  os << "\n\n";
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

void ModulePrinter::print(const ProgramShape &shape) {
  os << "{(";
  llvm::interleaveComma(
      shape.parameters(), os,
      [&](const pb::Shape &parameter) { os << formatShape(parameter); });
  os << ")->" << formatShape(shape.result()) << '}';
}

void ModulePrinter::printAliases() {
  if (!module.aliases().entries().empty()) {
    os << ", input_output_alias={ ";
    llvm::interleaveComma(module.aliases().entries(), os, [&](const Alias &a) {
      constexpr int mustAlias = 2;
      os << formatList(a.output_index()) << ": (" << a.parameter() << ", "
         << formatList(a.parameter_index())
         << (a.kind() == mustAlias ? ", must-alias)" : ", may-alias)");
    });
    os << " }";
  }
  if (!module.donors().entries().empty()) {
    os << ", buffer_donor={ ";
    llvm::interleaveComma(module.donors().entries(), os, [&](const Donor &d) {
      os << '(' << d.parameter() << ", " << formatList(d.parameter_index())
         << ')';
    });
    os << " }";
  }
}

void ModulePrinter::printHeader() {
  os << "HloModule " << checkName(module.name(), log);
  if (module.has_schedule() && !module.schedule().sequences().empty())
    os << ", is_scheduled=true";
  printAliases();
  if (module.has_program_shape()) {
    os << ", entry_computation_layout=";
    print(module.program_shape());
  }
  if (!module.frontend_attributes().entries().empty())
    os << ", frontend_attributes=" << format(module.frontend_attributes(), log);
  os << "\n\n";
}

/// Rows are numbered from 1, references to frames from 0 here and from 1 in the
/// text.
void ModulePrinter::printStackFrames() {
  const StackFrames &tables = module.stack_frames();
  if (tables.frames().empty())
    return;
  auto printRows = [&](llvm::StringRef title, const auto &rows, auto printRow) {
    os << title << '\n';
    for (auto [i, row] : llvm::enumerate(rows)) {
      os << i + 1 << ' ';
      printRow(row);
      os << '\n';
    }
    os << '\n';
  };
  auto printText = [&](llvm::StringRef text) { os << quote(text); };
  printRows("FileNames", tables.files(), printText);
  printRows("FunctionNames", tables.functions(), printText);
  printRows("FileLocations", tables.locations(), [&](const FileLocation &row) {
    os << "{file_name_id=" << row.file()
       << " function_name_id=" << row.function() << " line=" << row.line()
       << " end_line=" << row.end_line() << " column=" << row.column()
       << " end_column=" << row.end_column() << '}';
  });
  printRows("StackFrames", tables.frames(), [&](const StackFrame &row) {
    os << "{file_location_id=" << row.location()
       << " parent_frame_id=" << row.parent() + int64_t(1) << '}';
  });
  os << '\n';
}

void ModulePrinter::print() {
  scope.computations =
      sortById<Computation>(module.computations(), "a computation", log);
  printHeader();
  printStackFrames();
  // What an asynchronous step runs may be written in its place.
  std::map<const Computation *, bool> isWrapped;
  for (const Computation &computation : module.computations())
    for (const Instruction &instruction : computation.instructions()) {
      bool isAsync =
          llvm::StringRef(instruction.opcode()).starts_with("async-");
      for (int64_t id : instruction.computation_ids())
        if (const Computation *callee = scope.getComputation(id, log)) {
          auto [entry, isNew] = isWrapped.try_emplace(callee, isAsync);
          entry->second &= isAsync;
        }
    }
  for (const Computation &computation : module.computations())
    if (!isWrapped[&computation] || !getOnlyInstruction(computation))
      print(computation);
}

void pb::printModule(const Module &module, llvm::raw_ostream &os,
                     ErrorLog &log) {
  ModulePrinter(module, os, log).print();
}
