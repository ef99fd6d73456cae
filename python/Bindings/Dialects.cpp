//===- Dialects.cpp - The dialects' attributes and types in Python --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classes over the C API (tessera-c/Dialects.h), which says what each function
// means. What is null there, because it is not valid, is a ValueError here with
// the message that was diagnosed.
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Dialects.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir/Bindings/Python/Nanobind.h"
// The casters of this header need the one above.
#include "mlir/Bindings/Python/NanobindAdaptors.h"

namespace nb = nanobind;
using namespace mlir::python::nanobind_adaptors;
using namespace nanobind::literals;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

namespace {
/// Takes what is diagnosed in a context while it lives.
class DiagnosticText {
public:
  explicit DiagnosticText(MlirContext context)
      : context(context), id(mlirContextAttachDiagnosticHandler(
                              context, handle, &text, nullptr)) {}
  ~DiagnosticText() { mlirContextDetachDiagnosticHandler(context, id); }
  DiagnosticText(const DiagnosticText &) = delete;
  DiagnosticText &operator=(const DiagnosticText &) = delete;

  [[noreturn]] void raise() const { throw nb::value_error(text.c_str()); }

private:
  static void append(MlirStringRef part, void *text) {
    static_cast<std::string *>(text)->append(part.data, part.length);
  }

  /// A line for each message: `layout:1:8: invalid ...`.
  static MlirLogicalResult handle(MlirDiagnostic diagnostic, void *userData) {
    auto &text = *static_cast<std::string *>(userData);
    if (!text.empty())
      text += '\n';
    MlirLocation location = mlirDiagnosticGetLocation(diagnostic);
    if (mlirLocationIsAFileLineColRange(location)) {
      MlirStringRef file =
          mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location));
      append(file, &text);
      for (int number : {mlirLocationFileLineColRangeGetStartLine(location),
                         mlirLocationFileLineColRangeGetStartColumn(location)})
        text += ':' + std::to_string(number);
      text += ": ";
    }
    mlirDiagnosticPrint(diagnostic, append, &text);
    return mlirLogicalResultSuccess();
  }

  MlirContext context;
  std::string text;
  MlirDiagnosticHandlerID id;
};
} // namespace

static MlirStringRef toStringRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

static std::string toString(MlirStringRef text) {
  return std::string(text.data, text.length);
}

/// The text that `print` hands to a callback.
static std::string collect(void (*print)(MlirAttribute, MlirStringCallback,
                                         void *),
                           MlirAttribute attribute) {
  std::string text;
  print(
      attribute,
      [](MlirStringRef part, void *text) {
        static_cast<std::string *>(text)->append(part.data, part.length);
      },
      &text);
  return text;
}

/// What `make` makes; a ValueError where it is null.
template <typename MakeT>
static MlirAttribute getOrRaise(MlirContext context, MakeT make) {
  DiagnosticText diagnostics(context);
  MlirAttribute attribute = make();
  if (mlirAttributeIsNull(attribute))
    diagnostics.raise();
  return attribute;
}

/// [get(attribute, 0), ..., get(attribute, count(attribute) - 1)]
template <typename T>
static std::vector<T> list(MlirAttribute attribute,
                           intptr_t (*count)(MlirAttribute),
                           T (*get)(MlirAttribute, intptr_t)) {
  std::vector<T> values;
  for (intptr_t i = 0, e = count(attribute); i < e; ++i)
    values.push_back(get(attribute, i));
  return values;
}

/// The same, with None for `absent`.
static std::vector<std::optional<int64_t>>
listOptional(MlirAttribute attribute, intptr_t (*count)(MlirAttribute),
             int64_t (*get)(MlirAttribute, intptr_t), int64_t absent) {
  std::vector<std::optional<int64_t>> values;
  for (int64_t value : list(attribute, count, get))
    values.push_back(value == absent ? std::nullopt : std::optional(value));
  return values;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// `paddedDimensions` as `padded_dimensions`.
static std::string toSnakeCase(std::string_view name) {
  std::string text;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z')
      text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// A getter for each field of LayoutFields.def that is no number.

static std::vector<MlirAttribute> getTiles(MlirAttribute layout) {
  return list(layout, tesseraLayoutAttrGetNumTiles, tesseraLayoutAttrGetTile);
}

static std::vector<int64_t> getPaddedDimensions(MlirAttribute layout) {
  return list(layout, tesseraLayoutAttrGetNumPaddedDimensions,
              tesseraLayoutAttrGetPaddedDimension);
}

static std::vector<std::optional<int64_t>> getBounds(MlirAttribute layout) {
  return listOptional(layout, tesseraLayoutAttrGetNumBounds,
                      tesseraLayoutAttrGetBound,
                      mlirShapedTypeGetDynamicSize());
}

static std::optional<std::string> getPaddingValue(MlirAttribute layout) {
  switch (tesseraLayoutAttrGetPaddingValue(layout)) {
  case TesseraPaddingValueUnspecified:
    return std::nullopt;
  case TesseraPaddingValueZero:
    return "zero";
  case TesseraPaddingValueOne:
    return "one";
  case TesseraPaddingValueLowest:
    return "lowest";
  case TesseraPaddingValueHighest:
    return "highest";
  }
  return std::nullopt;
}

static std::vector<std::pair<int64_t, std::vector<int64_t>>>
getSplitConfigs(MlirAttribute layout) {
  std::vector<std::pair<int64_t, std::vector<int64_t>>> configs;
  for (intptr_t i = 0, e = tesseraLayoutAttrGetNumSplitConfigs(layout); i < e;
       ++i) {
    std::vector<int64_t> indices;
    for (intptr_t k = 0,
                  n = tesseraLayoutAttrGetSplitConfigNumIndices(layout, i);
         k < n; ++k)
      indices.push_back(tesseraLayoutAttrGetSplitConfigIndex(layout, i, k));
    configs.emplace_back(tesseraLayoutAttrGetSplitConfigDimension(layout, i),
                         std::move(indices));
  }
  return configs;
}

static void defineLayout(nb::module_ &m) {
  mlir_attribute_subclass(m, "LayoutAttr", tesseraAttributeIsALayout,
                          tesseraLayoutAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, const std::string &text,
             MlirContext context) {
            return cls(getOrRaise(context, [&] {
              return tesseraLayoutAttrGet(context, toStringRef(text));
            }));
          },
          "cls"_a, "text"_a, "context"_a = nb::none(),
          "The layout of XLA's text, `{1,0:T(8,128)}`.")
      .def_classmethod(
          "get_descending",
          [](const nb::object &cls, intptr_t rank, MlirContext context) {
            return cls(getOrRaise(context, [&] {
              return tesseraLayoutAttrGetDescending(context, rank);
            }));
          },
          "cls"_a, "rank"_a, "context"_a = nb::none(),
          "The layout of a type without one, `{rank-1,...,1,0}`.")
      .def_property_readonly(
          "text",
          [](MlirAttribute self) {
            return collect(tesseraLayoutAttrGetText, self);
          },
          "The canonical text, braces included.")
      .def_property_readonly("rank", tesseraLayoutAttrGetRank,
                             "The number of dimensions.")
      .def_property_readonly(
          "minor_to_major",
          [](MlirAttribute self) {
            return list(self, tesseraLayoutAttrGetRank,
                        tesseraLayoutAttrGetMinorToMajor);
          },
          "Dimensions from the fastest varying to the slowest.")
#define LAYOUT_NUMBER(ID, KEY, MEMBER, DEFAULT, PHRASE, IGNORE, NUMBER, NAME,  \
                      DOC)                                                     \
  .def_property_readonly(toSnakeCase(#MEMBER).c_str(),                         \
                         tesseraLayoutAttrGet##ID, DOC)
#define LAYOUT_FIELD(ID, KEY, TYPE, MEMBER, PHRASE, IGNORE, NUMBER, NAME, DOC) \
  .def_property_readonly(toSnakeCase(#MEMBER).c_str(), get##ID, DOC)
#include "tessera/Layout/LayoutFields.def"
      ;
}

static void defineTile(nb::module_ &m) {
  mlir_attribute_subclass(m, "TileAttr", tesseraAttributeIsATile,
                          tesseraTileAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, const std::string &text,
             MlirContext context) {
            return cls(getOrRaise(context, [&] {
              return tesseraTileAttrGet(context, toStringRef(text));
            }));
          },
          "cls"_a, "text"_a, "context"_a = nb::none(),
          "The tile of XLA's text, `(8,128)`.")
      .def_classmethod(
          "from_sizes",
          [](const nb::object &cls,
             const std::vector<std::optional<int64_t>> &sizes,
             MlirContext context) {
            std::vector<int64_t> numbers;
            numbers.reserve(sizes.size());
            for (std::optional<int64_t> size : sizes)
              numbers.push_back(size.value_or(tesseraTileAttrGetCombine()));
            return cls(getOrRaise(context, [&] {
              return tesseraTileAttrGetFromSizes(context, numbers.size(),
                                                 numbers.data());
            }));
          },
          "cls"_a, "sizes"_a, "context"_a = nb::none(),
          "The tile of sizes from major to minor, None for `*`.")
      .def_property_readonly(
          "text",
          [](MlirAttribute self) {
            return collect(tesseraTileAttrGetText, self);
          },
          "The text, `(8,128)`.")
      .def_property_readonly(
          "sizes",
          [](MlirAttribute self) {
            return listOptional(self, tesseraTileAttrGetNumSizes,
                                tesseraTileAttrGetSize,
                                tesseraTileAttrGetCombine());
          },
          "Sizes from major to minor, None for `*`.");
}

static void defineShape(nb::module_ &m) {
  mlir_attribute_subclass(m, "ShapeAttr", tesseraAttributeIsAShape,
                          tesseraShapeAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, const std::string &text,
             MlirContext context) {
            return cls(getOrRaise(context, [&] {
              return tesseraShapeAttrGet(context, toStringRef(text));
            }));
          },
          "cls"_a, "text"_a, "context"_a = nb::none(),
          "The shape of XLA's text, `(f32[2,3]{1,0}, token[])`.")
      .def_property_readonly(
          "text",
          [](MlirAttribute self) {
            return toString(tesseraShapeAttrGetText(self));
          },
          "The canonical text.");
}

static void defineMemorySpace(nb::module_ &m) {
  mlir_attribute_subclass(m, "MemorySpaceAttr", tesseraAttributeIsAMemorySpace,
                          tesseraMemorySpaceAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, int64_t number, MlirContext context) {
            return cls(getOrRaise(context, [&] {
              return tesseraMemorySpaceAttrGet(context, number);
            }));
          },
          "cls"_a, "number"_a, "context"_a = nb::none(),
          "The memory space of a memref in S(number), from 1 to 127.")
      .def_property_readonly("number", tesseraMemorySpaceAttrGetNumber,
                             "The number in S(number).");
}

static void defineSpace(nb::module_ &m) {
  mlir_attribute_subclass(m, "SpaceAttr", tesseraAttributeIsASpace,
                          tesseraSpaceAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, int64_t number, const std::string &name,
             int64_t capacity, int64_t alignment, int64_t addressSpace,
             MlirContext context) {
            return cls(getOrRaise(context, [&] {
              return tesseraSpaceAttrGet(context, number, toStringRef(name),
                                         capacity, alignment, addressSpace);
            }));
          },
          "cls"_a, "number"_a, "name"_a, "capacity"_a = 0, "alignment"_a = 1,
          "address_space"_a = 0, "context"_a = nb::none(),
          "One memory of a target: capacity (0: no limit that is known) and "
          "alignment in bytes.")
      .def_property_readonly("number", tesseraSpaceAttrGetNumber,
                             "The number in S(number).")
      .def_property_readonly(
          "name",
          [](MlirAttribute self) {
            return toString(tesseraSpaceAttrGetSpaceName(self));
          },
          "The name for people.")
      .def_property_readonly("capacity", tesseraSpaceAttrGetCapacity,
                             "Bytes; 0: no limit that is known.")
      .def_property_readonly("alignment", tesseraSpaceAttrGetAlignment,
                             "Bytes that buffers are aligned to.")
      .def_property_readonly("address_space", tesseraSpaceAttrGetAddressSpace,
                             "The address space in LLVM IR.");
}

static void defineTarget(nb::module_ &m) {
  mlir_attribute_subclass(m, "TargetAttr", tesseraAttributeIsATarget,
                          tesseraTargetAttrGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, const std::string &name,
             const std::vector<MlirAttribute> &spaces, MlirContext context) {
            return cls(getOrRaise(context, [&] {
              return tesseraTargetAttrGet(context, toStringRef(name),
                                          spaces.size(), spaces.data());
            }));
          },
          "cls"_a, "name"_a, "spaces"_a = std::vector<MlirAttribute>(),
          "context"_a = nb::none(),
          "The preset of that name, or a machine of one's own with spaces.")
      .def_property_readonly(
          "name",
          [](MlirAttribute self) {
            return toString(tesseraTargetAttrGetTargetName(self));
          },
          "The name of the preset, or of one's own.")
      .def_property_readonly(
          "spaces",
          [](MlirAttribute self) {
            return list(self, tesseraTargetAttrGetNumSpaces,
                        tesseraTargetAttrGetSpace);
          },
          "The memories, of a preset too, each a SpaceAttr.");
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// A type without parameters.
static void defineType(nb::module_ &m, const char *name, bool (*isa)(MlirType),
                       MlirTypeID (*getTypeID)(void),
                       MlirType (*get)(MlirContext)) {
  mlir_type_subclass(m, name, isa, getTypeID)
      .def_classmethod(
          "get",
          [get](const nb::object &cls, MlirContext context) {
            return cls(get(context));
          },
          "cls"_a, "context"_a = nb::none());
}

static void defineTypes(nb::module_ &m) {
  defineType(m, "CopyTokenType", tesseraTypeIsACopyToken,
             tesseraCopyTokenTypeGetTypeID, tesseraCopyTokenTypeGet);
  defineType(m, "TokenType", tesseraTypeIsAHLOToken,
             tesseraHLOTokenTypeGetTypeID, tesseraHLOTokenTypeGet);
  defineType(m, "OpaqueType", tesseraTypeIsAHLOOpaque,
             tesseraHLOOpaqueTypeGetTypeID, tesseraHLOOpaqueTypeGet);
  mlir_type_subclass(m, "BufferType", tesseraTypeIsAHLOBuffer,
                     tesseraHLOBufferTypeGetTypeID)
      .def_classmethod(
          "get",
          [](const nb::object &cls, MlirType array) {
            DiagnosticText diagnostics(mlirTypeGetContext(array));
            MlirType type = tesseraHLOBufferTypeGet(array);
            if (mlirTypeIsNull(type))
              diagnostics.raise();
            return cls(type);
          },
          "cls"_a, "array"_a, "The buffer that holds a ranked tensor.")
      .def_property_readonly("array", tesseraHLOBufferTypeGetArray,
                             "The tensor.");
}

// NOLINTNEXTLINE
NB_MODULE(_tesseraDialects, m) {
  m.doc() = "Attributes and types of the dialects tessera and tessera_hlo.";
  defineLayout(m);
  defineTile(m);
  defineShape(m);
  defineMemorySpace(m);
  defineSpace(m);
  defineTarget(m);
  defineTypes(m);
}
