func.func @f() {
  affine.for %i = 0 to 2 {
    %0 = affine.apply affine_map<(d0) -> (((-d0) mod 3) floordiv 2)>(%i)
    "test.use"(%0) : (index) -> ()
  }
  return
}
