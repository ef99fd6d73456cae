#include "tessera/Dialect/Tessera/IR/TesseraOps.h"
#include "tessera/InitAll.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

int main() {
  mlir::DialectRegistry registry;
  tessera::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  llvm::outs() << mlir::parseAttribute("#tessera.layout<{0,1:T(8,128)}>",
                                       &context)
               << '\n';
}
