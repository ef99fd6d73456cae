"""The dialect tessera: layouts as attributes, operations between layouts."""

from .._mlir_libs._tesseraDialects import (
    CopyTokenType,
    LayoutAttr,
    MemorySpaceAttr,
    ShapeAttr,
    SpaceAttr,
    TargetAttr,
    TileAttr,
)
from ._tessera_ops_gen import *
from ._tessera_ops_gen import _Dialect
