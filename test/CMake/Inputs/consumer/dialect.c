// A layout by the C API alone, of a project that is otherwise C.

#include "tessera-c/Dialects.h"

#include <stdio.h>

static void print(MlirStringRef part, void *userData) {
  (void)userData;
  fwrite(part.data, 1, part.length, stdout);
}

int main(void) {
  MlirContext context = mlirContextCreate();
  MlirAttribute layout = tesseraLayoutAttrGet(
      context, mlirStringRefCreateFromCString("{0,1:T(8,128)}"));
  mlirAttributePrint(layout, print, NULL);
  mlirContextDestroy(context);
  return 0;
}
