# REQUIRES: tessera-python
# RUN: %python %s | FileCheck %s
"""Attributes and types of the dialects: made from text, read, and refused."""

from tessera.dialects import tessera, tessera_hlo
from tessera.ir import *


def refused(make, kind=ValueError):
    try:
        print("made:", make())
    except kind as error:
        print(f"{type(error).__name__}: {error}")


def layouts():
    text = "{1, 0:T(8,128)(*,2)L(2)E(32)S(3)SC(0:4,8)M(16)PD(9,256)PV(lowest)B(8,?)}"
    layout = tessera.LayoutAttr.get(text)
    # CHECK: {1,0:T(8,128)(*,2)L(2)E(32)S(3)SC(0:4,8)M(16)PD(9,256)PV(lowest)B(8,?)}
    print(layout.text)
    # CHECK-NEXT: #tessera.layout<{1,0:T(8,128)
    print(layout)
    # CHECK-NEXT: LayoutAttr(#tessera.layout<{1,0:T(8,128)
    print(repr(layout))
    # CHECK-NEXT: 2 [1, 0]
    print(layout.rank, layout.minor_to_major)
    # CHECK-NEXT: {{\[\[}}8, 128], [None, 2]]
    print([tile.sizes for tile in layout.tiles])
    # CHECK-NEXT: 2 32 3 16
    print(
        layout.tail_padding_alignment,
        layout.element_size_in_bits,
        layout.memory_space,
        layout.dynamic_shape_metadata_prefix_bytes,
    )
    # CHECK-NEXT: [(0, [4, 8])] [9, 256] lowest [8, None]
    print(
        layout.split_configs,
        layout.padded_dimensions,
        layout.padding_value,
        layout.bounds,
    )
    plain = tessera.LayoutAttr.get_descending(3)
    # CHECK-NEXT: {2,1,0} 3 [] 1 0 0 0 [] [] None []
    print(
        plain.text,
        plain.rank,
        plain.tiles,
        plain.tail_padding_alignment,
        plain.element_size_in_bits,
        plain.memory_space,
        plain.dynamic_shape_metadata_prefix_bytes,
        plain.split_configs,
        plain.padded_dimensions,
        plain.padding_value,
        plain.bounds,
    )
    # CHECK-NEXT: zero one highest
    for value in ["zero", "one", "highest"]:
        print(tessera.LayoutAttr.get(f"{{0:PV({value})}}").padding_value, end=" ")
    # CHECK-NEXT: True True False
    parsed = Attribute.parse("#tessera.layout<{2,1,0}>")
    print()
    print(
        parsed == plain,
        isinstance(parsed, tessera.LayoutAttr),
        tessera.TileAttr.isinstance(parsed),
    )
    # CHECK-NEXT: ValueError: layout:1:4: invalid minor_to_major: expected a permutation {{.*}} [layout_c1]
    refused(lambda: tessera.LayoutAttr.get("{1,1}"))
    # CHECK-NEXT: ValueError: layout:1:10: invalid tile size: {{.*}} [text_c1]
    refused(lambda: tessera.LayoutAttr.get("{1,0:T(8,}"))
    # CHECK-NEXT: ValueError: layout:1:1: invalid layout: {{.*}} found the end
    refused(lambda: tessera.LayoutAttr.get(""))
    # CHECK-NEXT: ValueError: unsupported rank: expected a number from 0 to 1048576, found -1
    refused(lambda: tessera.LayoutAttr.get_descending(-1))
    # CHECK-NEXT: ValueError: unsupported rank: {{.*}} found 1099511627776
    refused(lambda: tessera.LayoutAttr.get_descending(2**40))
    # CHECK-NEXT: ValueError: Cannot cast attribute to LayoutAttr
    refused(lambda: tessera.LayoutAttr(tessera.TileAttr.get("(8)")))
    # CHECK-NEXT: MLIRError: Unable to parse attribute:
    # CHECK-NEXT: error: {{.*}}:1:20: invalid minor_to_major: {{.*}} [layout_c1]
    refused(lambda: Attribute.parse("#tessera.layout<{1,1}>"), MLIRError)


def others():
    tile = tessera.TileAttr.get("(*, 128)")
    # CHECK-NEXT: #tessera.tile<(*,128)> (*,128) [None, 128] True
    print(tile, tile.text, tile.sizes, tile == tessera.TileAttr.from_sizes([None, 128]))
    # CHECK-NEXT: ValueError: invalid tile size: {{.*}} found 0 [layout_c3]
    refused(lambda: tessera.TileAttr.from_sizes([8, 0]))
    # CHECK-NEXT: ValueError: tile:1:1: invalid
    refused(lambda: tessera.TileAttr.get("8"))

    shape = tessera.ShapeAttr.get("( f32[2,3] , token[])")
    # CHECK-NEXT: #tessera.shape<"(f32[2,3], token[])"> (f32[2,3], token[])
    print(shape, shape.text)
    # CHECK-NEXT: ValueError: shape:1:6: invalid
    refused(lambda: tessera.ShapeAttr.get("f32[2"))

    space = tessera.MemorySpaceAttr.get(5)
    # CHECK-NEXT: #tessera.memory_space<5> 5
    print(space, space.number)
    # CHECK-NEXT: ValueError: invalid memory space: {{.*}} [memory_space_c1]
    refused(lambda: tessera.MemorySpaceAttr.get(128))

    sram = tessera.SpaceAttr.get(1, "sram", capacity=65536, alignment=32, address_space=3)
    # CHECK-NEXT: 1 sram 65536 32 3
    print(sram.number, sram.name, sram.capacity, sram.alignment, sram.address_space)
    # CHECK-NEXT: ValueError: invalid alignment: {{.*}} [space_c1]
    refused(lambda: tessera.SpaceAttr.get(1, "sram", alignment=3))
    target = tessera.TargetAttr.get("mine", [tessera.SpaceAttr.get(0, "dram"), sram])
    # CHECK-NEXT: mine ['dram', 'sram'] True
    print(target.name, [s.name for s in target.spaces], target.spaces[1] == sram)
    # CHECK-NEXT: hbm vmem
    print(*[s.name for s in tessera.TargetAttr.get("tpu_v5e").spaces][:2])
    # CHECK-NEXT: ValueError: {{.*}} found 'none'
    refused(lambda: tessera.TargetAttr.get("none"))
    # CHECK-NEXT: ValueError: invalid space of a target: {{.*}} found #tessera.tile
    refused(lambda: tessera.TargetAttr.get("mine", [tile]))


def types():
    # CHECK-NEXT: !tessera.copy_token !tessera_hlo.token !tessera_hlo.opaque
    print(
        tessera.CopyTokenType.get(),
        tessera_hlo.TokenType.get(),
        tessera_hlo.OpaqueType.get(),
    )
    layout = tessera.LayoutAttr.get("{0,1:T(8,128)}")
    tensor = RankedTensorType.get([40, 256], F32Type.get(), encoding=layout)
    # CHECK-NEXT: tensor<40x256xf32, #tessera.layout<{0,1:T(8,128)}>> True
    print(tensor, Type.parse(str(tensor)) == tensor)
    # CHECK-NEXT: LayoutAttr {0,1:T(8,128)}
    print(type(tensor.encoding).__name__, tensor.encoding.text)
    memref = MemRefType.get([40, 256], F32Type.get(), layout, tessera.MemorySpaceAttr.get(1))
    # CHECK-NEXT: memref<40x256xf32, #tessera.layout<{0,1:T(8,128)}>, #tessera.memory_space<1>> True
    print(memref, Type.parse(str(memref)) == memref)
    # CHECK-NEXT: LayoutAttr MemorySpaceAttr
    print(type(memref.layout).__name__, type(memref.memory_space).__name__)
    # CHECK-NEXT: MLIRError: Invalid type:
    # CHECK-NEXT: error: {{.*}} [memref_layout_c1]
    spaced = tessera.LayoutAttr.get("{1,0:S(1)}")
    refused(lambda: MemRefType.get([40, 256], F32Type.get(), spaced), MLIRError)
    buffer = tessera_hlo.BufferType.get(tensor)
    # CHECK-NEXT: !tessera_hlo.buffer<tensor<40x256xf32, #tessera.layout<{0,1:T(8,128)}>>> True
    print(buffer, buffer.array == tensor)
    # CHECK-NEXT: ValueError: invalid array of a buffer: {{.*}} found 'f32'
    refused(lambda: tessera_hlo.BufferType.get(F32Type.get()))
    # A layout that does not fit the array is refused where the type is made.
    # CHECK-NEXT: MLIRError: Invalid type:
    # CHECK-NEXT: error: {{.*}}: invalid {{.*}}
    refused(lambda: RankedTensorType.get([40], F32Type.get(), encoding=layout), MLIRError)
    # An element type that is missing or unknown, in front of a layout.
    # CHECK-NEXT: MLIRError: Unable to parse type:
    # CHECK-NEXT: error: {{.*}} expected non-function type
    refused(lambda: Type.parse("tensor<4x, #tessera.layout<{0}>>"), MLIRError)
    # CHECK-NEXT: MLIRError: Unable to parse type:
    # CHECK-NEXT: error: {{.*}} undefined symbol alias id 'nope'
    refused(lambda: Type.parse("tensor<4x!nope, #tessera.layout<{0}>>"), MLIRError)


with Context(), Location.unknown():
    layouts()
    others()
    types()

# A context may be given, and must be there.
context = Context()
# CHECK-NEXT: True
print(tessera.LayoutAttr.get("{0}", context=context).context is context)
# CHECK-NEXT: True
print(tessera.CopyTokenType.get(context).context is context)
