"""The dialect tessera_hlo: instructions of HLO that are kept, not interpreted."""

from .._mlir_libs._tesseraDialects import BufferType, OpaqueType, TokenType
from ._tessera_hlo_ops_gen import *
from ._tessera_hlo_ops_gen import _Dialect
