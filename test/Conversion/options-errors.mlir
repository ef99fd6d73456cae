// Options that no pass can follow are refused, by one check.

// DEFINE: %{try} = not tessera-opt %s

// RUN: %{try} --tessera-vectorize-relayouts=vector-bytes=0 2>&1 | FileCheck %s --check-prefix=BYTES0
// RUN: %{try} --tessera-vectorize-relayouts=vector-bytes=-16 2>&1 | FileCheck %s --check-prefix=BYTES-16
// RUN: %{try} --tessera-vectorize-relayouts=vector-bytes=48 2>&1 | FileCheck %s --check-prefix=BYTES48
// RUN: %{try} --tessera-to-llvm=vector-bytes=0 2>&1 | FileCheck %s --check-prefix=BYTES0
// RUN: %{try} "--tessera-to-llvm=vectorize=false vector-bytes=0" 2>&1 | FileCheck %s --check-prefix=BYTES0
// BYTES0: error: invalid option vector-bytes: expected 16, 32 or 64, found 0
// BYTES-16: error: invalid option vector-bytes: expected 16, 32 or 64, found -16
// BYTES48: error: invalid option vector-bytes: expected 16, 32 or 64, found 48

// RUN: %{try} --tessera-vectorize-contractions=vector-bytes=48 2>&1 | FileCheck %s --check-prefix=BYTES48
// RUN: %{try} --tessera-vectorize-contractions=vector-registers=3 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: %{try} "--tessera-vectorize-contractions=enabled=false vector-registers=3" 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: %{try} --tessera-to-llvm=vector-registers=3 2>&1 | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: error: invalid option vector-registers: expected a number from 4 to 64, found 3

// RUN: %{try} --tessera-vectorize-relayouts=cpu=nonsense 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: %{try} --tessera-to-llvm=cpu=nonsense 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: tessera-opt %s --tessera-vectorize-relayouts=cpu=neoverse-v1 | FileCheck %s
// RUN: tessera-opt %s --tessera-vectorize-relayouts=cpu=generic | FileCheck %s
// CPU: error: invalid option cpu: expected a processor by LLVM's name, found `nonsense`

// RUN: %{try} --tessera-vectorize-relayouts=threads=-3 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: %{try} --tessera-lower-relayouts=threads=-3 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: %{try} --tessera-vectorize-contractions=threads=-3 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: %{try} --tessera-parallelize-loops=threads=-3 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: %{try} --tessera-to-llvm=threads=-3 2>&1 | FileCheck %s --check-prefix=THREADS
// THREADS: error: invalid option threads: expected a number from 1 to 1024, found -3

// RUN: %{try} --tessera-vectorize-relayouts=nontemporal-bytes=-1 2>&1 | FileCheck %s --check-prefix=NONTEMPORAL
// NONTEMPORAL: error: invalid option nontemporal-bytes: expected a number of at least 0, found -1

// RUN: %{try} --tessera-vectorize-relayouts=parallel-bytes=-1 2>&1 | FileCheck %s --check-prefix=PARALLEL
// RUN: %{try} --tessera-lower-relayouts=parallel-bytes=-1 2>&1 | FileCheck %s --check-prefix=PARALLEL
// RUN: %{try} --tessera-vectorize-contractions=parallel-bytes=-1 2>&1 | FileCheck %s --check-prefix=PARALLEL
// RUN: %{try} --tessera-parallelize-loops=parallel-bytes=-1 2>&1 | FileCheck %s --check-prefix=PARALLEL
// RUN: %{try} --tessera-to-llvm=parallel-bytes=-1 2>&1 | FileCheck %s --check-prefix=PARALLEL
// PARALLEL: error: invalid option parallel-bytes: expected a number of at least 0, found -1

// RUN: %{try} --tessera-lower-relayouts=max-nests=0 2>&1 | FileCheck %s --check-prefix=NESTS
// RUN: %{try} --tessera-to-affine=max-nests=0 2>&1 | FileCheck %s --check-prefix=NESTS
// NESTS: error: invalid option max-nests: expected a number of at least 1, found 0

// CHECK: func.func @f
func.func @f(%src: memref<4x256xf32>,
             %dst: memref<4x256xf32, #tessera.layout<{1,0:T(4,128)}>>) {
  tessera.relayout %src into %dst
      : memref<4x256xf32>, memref<4x256xf32, #tessera.layout<{1,0:T(4,128)}>>
  return
}
