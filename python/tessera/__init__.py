"""Layouts of arrays in memory, in XLA's notation.

`tessera.ir`, `tessera.passmanager`, `tessera.rewrite` and `tessera.dialects` are
MLIR's bindings with the dialects `tessera` and `tessera_hlo`. They are loaded
when they are imported, not by `import tessera`.
"""
