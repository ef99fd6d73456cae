// RUN: tessera-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

func.func @copy_start_c1(%a: tensor<4xf32>, %m: memref<4xf32>) {
  // expected-error @+1 {{[copy_start_c1]}}
  %t = tessera.copy_start %a into %m : tensor<4xf32>, memref<4xf32>
  tessera.copy_done %t
  return
}

// -----

func.func @copy_start_c2_dimensions(%a: tensor<4xf32>) {
  // expected-error @+1 {{invalid dimensions: expected 4 as in the source, found 5; tessera.reshape changes dimensions [copy_start_c2]}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<5xf32>
  tessera.copy_done %t
  return
}

// -----

func.func @copy_start_c2_element_type(%a: memref<4xf32>, %m: memref<4xi32>) {
  // expected-error @+1 {{[copy_start_c2]}}
  %t = tessera.copy_start %a into %m : memref<4xf32>, memref<4xi32>
  tessera.copy_done %t
  return
}

// -----

func.func @copy_start_c3_never(%a: tensor<4xf32>) {
  // expected-error @+1 {{invalid use of the token: expected one tessera.copy_done in the same region, on all paths, found 0 uses; await each copy once [copy_start_c3]}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<4xf32>
  return
}

// -----

func.func @copy_start_c3_twice(%a: tensor<4xf32>) {
  // expected-error @+1 {{found 2 uses}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<4xf32>
  tessera.copy_done %t
  tessera.copy_done %t
  return
}

// -----

func.func @copy_start_c3_other_use(%a: tensor<4xf32>) {
  // expected-error @+1 {{[copy_start_c3]}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<4xf32>
  "test.use"(%t) : (!tessera.copy_token) -> ()
  return
}

// -----

func.func @copy_start_c3_other_block(%a: tensor<4xf32>, %c: i1) {
  // expected-error @+1 {{found 1 uses, in another block}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<4xf32>
  scf.if %c {
    tessera.copy_done %t
  }
  return
}

// -----

func.func @copy_start_c4_result(%a: tensor<4xf32>) {
  // expected-error @+1 {{invalid use before the copy is done: expected that nothing uses the result, found an operation that does; move it behind the copy_done [copy_start_c4]}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<4xf32>
  // expected-note @+1 {{the operation is here}}
  "test.use"(%b) : (tensor<4xf32>) -> ()
  tessera.copy_done %t
  return
}

// -----

func.func @copy_start_c4_nested(%a: tensor<4xf32>, %c: i1) {
  // expected-error @+1 {{[copy_start_c4]}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<4xf32>
  // expected-note @+1 {{the operation is here}}
  scf.if %c {
    "test.use"(%b) : (tensor<4xf32>) -> ()
  }
  tessera.copy_done %t
  return
}

// -----

func.func @copy_done_c1(%t: !tessera.copy_token) {
  // expected-error @+1 {{invalid token: expected the token of a tessera.copy_start, found one from elsewhere; await the copy where it is started [copy_done_c1]}}
  tessera.copy_done %t
  return
}

// -----

func.func @copy_start_c3_one_path(%a: tensor<4xf32>, %c: i1) {
  // expected-error @+1 {{found 1 uses, in another block}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<4xf32>
  cf.cond_br %c, ^done, ^end
^done:
  tessera.copy_done %t
  cf.br ^end
^end:
  return
}

// -----

func.func @copy_start_c3_often(%a: tensor<4xf32>, %c: i1) {
  // expected-error @+1 {{found 1 uses, in another block}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<4xf32>
  cf.br ^done
^done:
  tessera.copy_done %t
  cf.cond_br %c, ^done, ^end
^end:
  return
}

// -----

func.func @copy_start_c3_again(%a: tensor<4xf32>, %c: i1) {
  cf.br ^start
^start:
  // expected-error @+1 {{found 1 uses, in another block}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<4xf32>
  cf.cond_br %c, ^start, ^done
^done:
  tessera.copy_done %t
  return
}

// -----

func.func @copy_start_c4_blocks(%a: tensor<4xf32>, %c: i1) {
  // expected-error @+1 {{[copy_start_c4]}}
  %b, %t = tessera.copy_start %a : tensor<4xf32> to tensor<4xf32>
  cf.cond_br %c, ^between, ^done
^between:
  // expected-note @+1 {{the operation is here}}
  "test.use"(%b) : (tensor<4xf32>) -> ()
  cf.br ^done
^done:
  tessera.copy_done %t
  return
}
