#include "tessera/Layout/Text.h"
#include "llvm/Support/raw_ostream.h"

int main() {
  llvm::ExitOnError exitOnError;
  auto shape =
      exitOnError(tessera::parseShape("bf16[32, 4096]{1,0 : T(8,128)}"));
  llvm::outs() << shape.toString() << '\n';
}
