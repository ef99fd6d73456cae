// A relayout of a project in C that has no LLVM.

#include "tessera-c/Runtime.h"

#include <stdio.h>

int main(void) {
  TesseraRuntimeRelayout *relayout = NULL;
  int rows[6] = {0, 1, 2, 3, 4, 5}, columns[6];
  if (tesseraRuntimeRelayoutCreate("s32[2,3]", "s32[2,3]{0,1}", NULL,
                                   &relayout) ||
      tesseraRuntimeRelayoutRun(relayout, rows, sizeof(rows), columns,
                                sizeof(columns)))
    return 1;
  for (int i = 0; i < 6; ++i)
    printf("%d ", columns[i]);
  tesseraRuntimeRelayoutDestroy(relayout);
  return 0;
}
