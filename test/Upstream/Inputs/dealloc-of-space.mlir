func.func @f(%m: memref<4xf32, 1>) {
  memref.dealloc %m : memref<4xf32, 1>
  return
}
