//===- Program.cpp - C API of programs ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Program.h"

#include "Objects.h"

#include "tessera/Compile/Program.h"

using namespace tessera;

struct TesseraProgram {
  explicit TesseraProgram(Program compiled) : program(std::move(compiled)) {
    for (const ProgramArray &array : program.inputs())
      inputs.emplace_back(array.shape);
    for (const ProgramArray &array : program.outputs())
      outputs.emplace_back(array.shape);
  }

  Program program;
  /// Of the arrays of `program`, in their order.
  std::vector<TesseraShape> inputs, outputs;
};

TesseraError *tesseraProgramCompile(const char *module, size_t length,
                                    const TesseraProgramOptions *options,
                                    TesseraProgram **program) {
  ProgramOptions programOptions;
  if (options) {
    programOptions.entry = options->entry ? options->entry : "";
    programOptions.poisonsPadding = options->poisonsPadding;
    programOptions.threads = options->threads == 0 ? 1 : options->threads;
  }
  llvm::Expected<Program> compiled =
      Program::compile(llvm::StringRef(module, length), programOptions);
  if (!compiled)
    return wrapError(compiled.takeError());
  *program = new TesseraProgram(std::move(*compiled));
  return nullptr;
}

void tesseraProgramDestroy(TesseraProgram *program) { delete program; }

size_t tesseraProgramGetNumInputs(const TesseraProgram *program) {
  return program->inputs.size();
}

size_t tesseraProgramGetNumOutputs(const TesseraProgram *program) {
  return program->outputs.size();
}

static TesseraProgramArray wrap(const TesseraShape &shape,
                                const ProgramArray &array) {
  return {&shape, array.bytes};
}

TesseraProgramArray tesseraProgramGetInput(const TesseraProgram *program,
                                           size_t input) {
  return wrap(program->inputs[input], program->program.inputs()[input]);
}

TesseraProgramArray tesseraProgramGetOutput(const TesseraProgram *program,
                                            size_t output) {
  return wrap(program->outputs[output], program->program.outputs()[output]);
}

TesseraError *tesseraProgramRun(const TesseraProgram *program,
                                const void *const *inputs,
                                void *const *outputs) {
  if (llvm::Error error =
          program->program(llvm::ArrayRef(inputs, program->inputs.size()),
                           llvm::ArrayRef(outputs, program->outputs.size())))
    return wrapError(std::move(error));
  return nullptr;
}
