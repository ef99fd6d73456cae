func.func @f(%i: index) -> index {
  %0 = affine.apply affine_map<(d0) -> ((d0 mod 0) floordiv 2)>(%i)
  return %0 : index
}
