//===- Core.cpp - Shapes and relayouts in Python --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The extension tessera._tessera, over the C API. What needs numpy is written
// in Python beside it.
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Compile.h"
#include "tessera-c/HLO.h"
#include "tessera-c/Program.h"
#include "tessera-c/Runtime.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <deque>
#include <memory>

namespace nb = nanobind;
using namespace nb::literals;

//===----------------------------------------------------------------------===//
// Errors and texts
//===----------------------------------------------------------------------===//

/// Raises the exception of tessera._errors for `error`, which may be null;
/// `text` is what was parsed, where something was.
static void check(TesseraError *owned, std::string_view text = {}) {
  struct Destroy {
    void operator()(TesseraError *error) const { tesseraErrorDestroy(error); }
  };
  std::unique_ptr<TesseraError, Destroy> error(owned);
  if (!error)
    return;
  static constexpr const char *kNames[] = {"InvalidError", "UnsupportedError",
                                           "TesseraError"};
  const char *name = kNames[tesseraErrorGetKind(error.get())];
  nb::object type = nb::module_::import_("tessera._errors").attr(name);
  nb::object value = type(
      tesseraErrorGetMessage(error.get()), tesseraErrorGetRule(error.get()),
      tesseraErrorGetPosition(error.get()), nb::str(text.data(), text.size()));
  PyErr_SetObject(type.ptr(), value.ptr());
  throw nb::python_error();
}

/// Raises InvalidError; the arguments are those of invalidError in C++.
[[noreturn]] static void raiseInvalid(const std::string &field,
                                      const std::string &expected,
                                      const std::string &found) {
  nb::object type =
      nb::module_::import_("tessera._errors").attr("InvalidError");
  std::string message =
      "invalid " + field + ": expected " + expected + ", found " + found;
  PyErr_SetObject(type.ptr(), type(message).ptr());
  throw nb::python_error();
}

/// The number of a word among those that an argument may be.
static int parseChoice(const char *field, const std::string &word,
                       std::initializer_list<const char *> choices) {
  std::string all;
  int number = 0;
  for (const char *choice : choices) {
    if (word == choice)
      return number;
    all += (number++ ? ", '" : "'") + std::string(choice) + "'";
  }
  raiseInvalid(field, "one of " + all, "'" + word + "'");
}

/// The text that `print` hands to a callback; `print` takes both.
template <typename Print> static std::string collect(Print print) {
  std::string text;
  print(
      [](const char *data, size_t length, void *userData) {
        static_cast<std::string *>(userData)->append(data, length);
      },
      &text);
  return text;
}

/// The same while other threads of Python run; `print` returns an error or
/// null.
template <typename Print> static std::string collectUnlocked(Print print) {
  TesseraError *error = nullptr;
  std::string text;
  {
    nb::gil_scoped_release release;
    text = collect([&](TesseraTextCallback callback, void *userData) {
      error = print(callback, userData);
    });
  }
  check(error);
  return text;
}

/// A text that C reads up to a zero, which must not hold one.
static const char *toC(const std::string &text) {
  if (text.find('\0') != std::string::npos)
    raiseInvalid("text", "no zero characters", "one in '" + text + "'");
  return text.c_str();
}
static const char *toC(const std::optional<std::string> &text) {
  return text ? toC(*text) : nullptr;
}

/// A path of a file, as Python takes one, or nothing for None.
static std::optional<std::string> toPath(nb::handle path) {
  if (path.is_none())
    return std::nullopt;
  nb::object bytes = nb::module_::import_("os").attr("fsencode")(path);
  const auto &name = nb::cast<nb::bytes>(bytes);
  return std::string(name.c_str(), name.size());
}

static nb::tuple toTuple(TesseraInt64s numbers) {
  nb::list list;
  for (size_t i = 0; i < numbers.size; ++i) {
    // The number that stands for `?` and `*`.
    if (numbers.data[i] == INT64_MIN)
      list.append(nb::none());
    else
      list.append(numbers.data[i]);
  }
  return nb::tuple(list);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

namespace {

class Shape {
public:
  explicit Shape(std::string_view text) {
    TesseraShape *parsed = nullptr;
    check(tesseraShapeParse(text.data(), text.size(), &parsed), text);
    handle.reset(parsed);
  }
  explicit Shape(TesseraShape *owned) : handle(owned) {}

  TesseraShape *get() const { return handle.get(); }

  std::string toString(bool withLayout = true) const {
    return collect([&](TesseraTextCallback callback, void *text) {
      tesseraShapePrint(get(), withLayout, callback, text);
    });
  }

  TesseraShapeSize getSize() const {
    TesseraShapeSize size;
    check(tesseraShapeGetSize(get(), &size));
    return size;
  }

  int64_t getLinearIndex(const std::vector<int64_t> &index) const {
    int64_t position = 0;
    check(tesseraShapeGetLinearIndex(get(), {index.data(), index.size()},
                                     &position));
    return position;
  }

  nb::object getLogicalIndex(int64_t position) const {
    std::vector<int64_t> index(tesseraShapeGetDimensions(get()).size);
    bool isPadding = false;
    check(
        tesseraShapeGetLogicalIndex(get(), position, index.data(), &isPadding));
    if (isPadding)
      return nb::none();
    return toTuple({index.data(), index.size()});
  }

  nb::tuple getTiles() const {
    nb::list tiles;
    for (size_t i = 0, e = tesseraShapeGetNumTiles(get()); i < e; ++i)
      tiles.append(toTuple(tesseraShapeGetTile(get(), i)));
    return nb::tuple(tiles);
  }

  /// Elements of a type whose numpy type is known to tessera._dtypes.
  nb::object getDtype() const {
    return nb::module_::import_("tessera._dtypes")
        .attr("get_dtype")(tesseraShapeGetElementType(get()));
  }

private:
  struct Destroy {
    void operator()(TesseraShape *shape) const { tesseraShapeDestroy(shape); }
  };
  std::unique_ptr<TesseraShape, Destroy> handle;
};

/// An argument that may be a shape or its text.
struct ShapeArgument {
  explicit ShapeArgument(nb::handle argument) {
    // An instance whose __init__ did not run holds no shape.
    const Shape *known = nullptr;
    std::string text;
    if (nb::try_cast(argument, known) && known)
      shape = nb::borrow(argument);
    else if (nb::try_cast(argument, text))
      shape = nb::cast(Shape(text));
    else
      throw nb::type_error("a shape is a tessera.Shape or its text");
  }

  const Shape &operator*() const { return *nb::inst_ptr<Shape>(shape); }
  const Shape *operator->() const { return &**this; }

  /// Keeps it alive.
  nb::object shape;
};

/// What may_bitcast says.
struct BitcastAnswer {
  bool isYes() const { return answer == "yes"; }

  std::string answer;
  std::string reason;
};

} // namespace

static Shape getDefault(nb::handle argument, const std::string &target) {
  TesseraShape *result = nullptr;
  check(tesseraShapeGetDefault(ShapeArgument(argument)->get(), toC(target),
                               &result));
  return Shape(result);
}

static BitcastAnswer mayBitcast(const Shape &from, nb::handle to,
                                const std::string &kind) {
  auto rule = static_cast<TesseraBitcastKind>(
      parseChoice("kind", kind, {"any", "relayout", "reshape"}));
  static constexpr const char *kAnswers[] = {"yes", "no", "unknown"};
  BitcastAnswer result;
  ShapeArgument target(to);
  result.reason = collectUnlocked([&](TesseraTextCallback callback,
                                      void *text) -> TesseraError * {
    result.answer = kAnswers[tesseraShapeMayBitcast(from.get(), target->get(),
                                                    rule, callback, text)];
    return nullptr;
  });
  return result;
}

static std::string draw(const Shape &shape, nb::handle to, bool isSVG,
                        bool useColor, int64_t rows, int64_t columns,
                        int64_t width) {
  std::optional<ShapeArgument> other;
  if (!to.is_none())
    other.emplace(to);
  TesseraDrawOptions options = tesseraDrawOptionsGetDefault();
  options.isSVG = isSVG;
  options.useColor = useColor;
  options.maxRows = rows;
  options.maxColumns = columns;
  options.width = width;
  const TesseraShape *target = other ? (*other)->get() : nullptr;
  return collectUnlocked([&](TesseraTextCallback callback, void *text) {
    return tesseraShapeDraw(shape.get(), target, options, callback, text);
  });
}

static std::string explain(const Shape &shape, bool isVerbose) {
  return collectUnlocked([&](TesseraTextCallback callback, void *text) {
    return tesseraShapeExplain(shape.get(), isVerbose, callback, text);
  });
}

static std::string explainSlice(const Shape &shape, std::string_view slice,
                                const std::string &format) {
  bool isJSON = parseChoice("format", format, {"text", "json"}) == 1;
  return collectUnlocked([&](TesseraTextCallback callback, void *text) {
    return tesseraShapeExplainSlice(shape.get(), slice.data(), slice.size(),
                                    isJSON, callback, text);
  });
}

static void defineShape(nb::module_ &module) {
  nb::class_<BitcastAnswer>(
      module, "BitcastAnswer",
      "Whether a shape may be read as another; true for yes alone.")
      .def_ro("answer", &BitcastAnswer::answer, "'yes', 'no' or 'unknown'.")
      .def_ro("reason", &BitcastAnswer::reason, "Why it is not yes, or ''.")
      .def("__bool__", &BitcastAnswer::isYes)
      .def("__repr__", [](const BitcastAnswer &self) {
        return self.isYes() ? self.answer : self.answer + ": " + self.reason;
      });

  TesseraDrawOptions drawing = tesseraDrawOptionsGetDefault();
  nb::class_<Shape>(
      // No class of Python may add what could refer back to a shape's owner.
      module, "Shape", nb::is_final(),
      "A shape in XLA's notation, such as 'bf16[32,4096]{1,0:T(8,128)(2,1)}'.\n"
      "\n"
      "It never changes, and compares by all its fields. Raises InvalidError\n"
      "for other texts. Questions about positions and sizes raise\n"
      "UnsupportedError where a dimension is '?', and InvalidError for what "
      "is\n"
      "no array.")
      .def(nb::init<std::string_view>(), "text"_a)
      .def("__str__", [](const Shape &self) { return self.toString(); })
      .def("__repr__",
           [](const Shape &self) { return "Shape('" + self.toString() + "')"; })
      .def(
          "__eq__",
          [](const Shape &self, nb::handle other) {
            const Shape *known = nullptr;
            return nb::try_cast(other, known) && known &&
                   tesseraShapeEqual(self.get(), known->get());
          },
          "other"_a.none())
      .def("__hash__",
           [](const Shape &self) {
             return std::hash<std::string>()(self.toString());
           })
      .def("__reduce__",
           [](nb::handle self) {
             return nb::make_tuple(self.type(), nb::make_tuple(nb::str(self)));
           })
      .def("to_string", &Shape::toString, "layout"_a = true,
           "XLA's text, without layouts where `layout` is false.")
      .def_prop_ro(
          "is_array",
          [](const Shape &self) { return tesseraShapeIsArray(self.get()); },
          "Whether it is an array, not a tuple, buffer or token.")
      .def_prop_ro(
          "element_type",
          [](const Shape &self) {
            return tesseraShapeGetElementType(self.get());
          },
          "XLA's name of the element type, 'bf16'.")
      .def_prop_ro("dtype", &Shape::getDtype,
                   "The numpy type of the elements, of ml_dtypes where numpy\n"
                   "has none; what is narrower than a byte takes one.")
      .def_prop_ro(
          "dimensions",
          [](const Shape &self) {
            return toTuple(tesseraShapeGetDimensions(self.get()));
          },
          "Sizes in elements: the bound of '<=N', None for '?'.")
      .def_prop_ro(
          "minor_to_major",
          [](const Shape &self) {
            return toTuple(tesseraShapeGetMinorToMajor(self.get()));
          },
          "Dimensions from fastest varying to slowest.")
      .def_prop_ro("tiles", &Shape::getTiles,
                   "Sizes of each tile, major to minor; None for '*'.")
      .def_prop_ro(
          "memory_space",
          [](const Shape &self) {
            return tesseraShapeGetMemorySpace(self.get());
          },
          "The number in S(...); 0 is the device's main memory.")
      .def_prop_ro(
          "storage_bits",
          [](const Shape &self) {
            return tesseraShapeGetStorageBits(self.get());
          },
          "Bits that an element takes in the buffer.")
      .def_prop_ro(
          "physical_shape",
          [](const Shape &self) {
            return toTuple(self.getSize().physicalShape);
          },
          "Extents of the buffer's axes in elements, padding included.")
      .def_prop_ro(
          "logical_elements",
          [](const Shape &self) { return self.getSize().logicalElements; },
          "The product of the dimensions.")
      .def_prop_ro(
          "allocated_elements",
          [](const Shape &self) { return self.getSize().allocatedElements; },
          "Positions of the buffer.")
      .def_prop_ro(
          "bytes", [](const Shape &self) { return self.getSize().bytes; },
          "Bytes of the buffer.")
      .def_prop_ro(
          "padding_bytes",
          [](const Shape &self) { return self.getSize().paddingBytes; },
          "Bytes of the buffer that hold no element.")
      .def("linear_index", &Shape::getLinearIndex, "index"_a,
           "The position of an element in the buffer, in elements.")
      .def(
          "logical_index", &Shape::getLogicalIndex, "position"_a,
          "The index of the element at a position, or None for padding.",
          nb::sig("def logical_index(self, position: int) -> tuple[int, ...] | "
                  "None"))
      .def("with_default_layout", &getDefault, "target"_a,
           "The shape with the layout that a target would choose, such as\n"
           "'tpu_v5e' (docs/targets.md has their names).")
      .def("may_bitcast", &mayBitcast, "to"_a, "kind"_a = "any",
           "Whether the bytes may be read as the shape `to`, or whether a\n"
           "'relayout' or row-major 'reshape' to it moves nothing.")
      .def("draw", &draw, "to"_a = nb::none(), nb::kw_only(), "svg"_a = false,
           "color"_a = false, "rows"_a = drawing.maxRows,
           "columns"_a = drawing.maxColumns, "width"_a = drawing.width,
           "A picture of which element lies where, as text or as an SVG file;\n"
           "with `to`, of what a relayout to that shape moves.")
      .def("explain", &explain, "verbose"_a = false,
           "The notation in words, with the numbers of this shape.")
      .def("explain_slice", &explainSlice, "slice"_a, "format"_a = "text",
           "What a slice such as 'd0=8*i:+16, d1=0:+128' is in memory for all\n"
           "values of its variables: whole tiles or runs, and how aligned;\n"
           "'json' as docs/problems.md has it.");
}

//===----------------------------------------------------------------------===//
// Relayouts
//===----------------------------------------------------------------------===//

namespace {

/// The bytes of an object that has Python's buffer interface.
class Bytes {
public:
  Bytes(nb::handle object, bool isWritten) {
    refuseObjects(object);
    int flags = isWritten ? PyBUF_SIMPLE | PyBUF_WRITABLE : PyBUF_SIMPLE;
    if (PyObject_GetBuffer(object.ptr(), &view, flags) != 0)
      throw nb::python_error();
  }
  Bytes(const Bytes &) = delete;
  Bytes &operator=(const Bytes &) = delete;
  ~Bytes() { PyBuffer_Release(&view); }

  void *data() const { return view.buf; }
  int64_t size() const { return view.len; }

  bool overlaps(const Bytes &other) const {
    const char *begin = static_cast<const char *>(data());
    const char *otherBegin = static_cast<const char *>(other.data());
    return begin < otherBegin + other.size() && otherBegin < begin + size();
  }

private:
  /// Pointers to objects of Python are no bytes to be moved. Types that numpy
  /// has no format for, such as bfloat16, are no such pointers.
  static void refuseObjects(nb::handle object) {
    Py_buffer view;
    if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_FULL_RO) != 0) {
      PyErr_Clear();
      return;
    }
    bool hasObjects = view.format && std::strchr(view.format, 'O');
    PyBuffer_Release(&view);
    if (hasObjects)
      throw nb::type_error("the buffer holds objects of Python, not numbers");
  }

  Py_buffer view;
};

/// InvalidError unless a buffer has the bytes of the side that it is for.
void checkBytes(const std::string &side, int64_t expected, int64_t found) {
  if (expected != found)
    raiseInvalid("size of the " + side, std::to_string(expected) + " bytes",
                 std::to_string(found));
}

/// InvalidError unless there are as many buffers as arrays.
void checkCount(const std::string &side, size_t expected, size_t found) {
  if (expected != found)
    raiseInvalid("number of " + side + "s", std::to_string(expected),
                 std::to_string(found));
}

class Relayout {
public:
  Relayout(nb::handle source, nb::handle destination,
           std::optional<std::string> sourceBox,
           std::optional<std::string> destinationBox, int64_t threads,
           const std::string &buffers, nb::handle machine, bool tune)
      : source(source), destination(destination),
        sourceBox(std::move(sourceBox)),
        destinationBox(std::move(destinationBox)), threads(threads),
        buffers(static_cast<TesseraBufferState>(
            parseChoice("buffers", buffers, {"unknown", "hot", "cold"}))),
        machine(toPath(machine)), tune(tune) {
    TesseraRelayoutRequest request = getRequest();
    TesseraRelayout *compiled = nullptr;
    TesseraError *error;
    {
      nb::gil_scoped_release release;
      error = tesseraRelayoutGet(&request, &compiled);
    }
    check(error);
    handle.reset(compiled);
    sourceBytes = this->source->getSize().bytes;
    destinationBytes = this->destination->getSize().bytes;
  }

  void run(nb::handle from, nb::handle to) const {
    Bytes input(from, /*isWritten=*/false), output(to, /*isWritten=*/true);
    checkBytes("buffer for " + source->toString(), sourceBytes, input.size());
    checkBytes("buffer for " + destination->toString(), destinationBytes,
               output.size());
    if (input.overlaps(output))
      raiseInvalid("buffers", "two that do not overlap", "two that do");
    nb::gil_scoped_release release;
    tesseraRelayoutRun(handle.get(), input.data(), output.data());
  }

  /// Text for the first kinds, bytes for machine code.
  nb::object emit(const std::string &kind, const std::string &symbol) const {
    TesseraRelayoutRequest request = getRequest();
    auto emitKind = static_cast<TesseraEmitKind>(parseChoice(
        "kind", kind, {"plan", "mlir", "llvm", "object", "shared"}));
    const char *symbolText = toC(symbol);
    std::string code =
        collectUnlocked([&](TesseraTextCallback callback, void *text) {
          return tesseraRelayoutEmit(&request, emitKind, symbolText, callback,
                                     text);
        });
    if (emitKind == TesseraEmitObject || emitKind == TesseraEmitShared)
      return nb::bytes(code.data(), code.size());
    return nb::str(code.data(), code.size());
  }

  std::string toString() const {
    return "Relayout('" + source->toString() + "', '" +
           destination->toString() + "')";
  }

  const ShapeArgument source, destination;

private:
  TesseraRelayoutRequest getRequest() const {
    return {source->get(),  destination->get(),
            toC(sourceBox), toC(destinationBox),
            threads,        buffers,
            toC(machine),   tune};
  }

  struct Destroy {
    void operator()(TesseraRelayout *relayout) const {
      tesseraRelayoutDestroy(relayout);
    }
  };

  std::optional<std::string> sourceBox, destinationBox;
  int64_t threads;
  TesseraBufferState buffers;
  std::optional<std::string> machine;
  bool tune;
  int64_t sourceBytes = 0, destinationBytes = 0;
  std::unique_ptr<TesseraRelayout, Destroy> handle;
};

/// A relayout by kernels that are there already, so that nothing is compiled.
class RuntimeRelayout {
public:
  using Offsets = std::optional<std::vector<int64_t>>;

  RuntimeRelayout(std::string source, std::string destination,
                  const std::optional<std::string> &sourceBox,
                  const std::optional<std::string> &destinationBox)
      : source(std::move(source)), destination(std::move(destination)) {
    TesseraRuntimeOptions options = {};
    options.zeroPadding = true;
    options.sourceBox = toC(sourceBox);
    options.destinationBox = toC(destinationBox);
    TesseraRuntimeRelayout *relayout = nullptr;
    check(tesseraRuntimeRelayoutCreate(
        toC(this->source), toC(this->destination), &options, &relayout));
    handle.reset(relayout);
    sourceBytes = tesseraRuntimeRelayoutGetSourceBytes(relayout);
    destinationBytes = tesseraRuntimeRelayoutGetDestinationBytes(relayout);
  }

  void run(nb::handle from, nb::handle to, const Offsets &sourceOffsets,
           const Offsets &destinationOffsets) const {
    Bytes input(from, /*isWritten=*/false), output(to, /*isWritten=*/true);
    checkBytes("buffer for " + source, sourceBytes, input.size());
    checkBytes("buffer for " + destination, destinationBytes, output.size());
    auto move = [&] {
      return tesseraRuntimeRelayoutRunAt(
          handle.get(), wrap(sourceOffsets), wrap(destinationOffsets),
          input.data(), input.size(), output.data(), output.size());
    };
    TesseraError *error;
    // Giving the lock away and taking it again takes longer than small moves.
    if (destinationBytes < kLongBytes) {
      error = move();
    } else {
      nb::gil_scoped_release release;
      error = move();
    }
    check(error);
  }

private:
  static constexpr int64_t kLongBytes = 16 << 10;

  static TesseraInt64s wrap(const Offsets &offsets) {
    return offsets ? TesseraInt64s{offsets->data(), offsets->size()}
                   : TesseraInt64s{};
  }

  struct Destroy {
    void operator()(TesseraRuntimeRelayout *relayout) const {
      tesseraRuntimeRelayoutDestroy(relayout);
    }
  };

  const std::string source, destination;
  int64_t sourceBytes = 0, destinationBytes = 0;
  std::unique_ptr<TesseraRuntimeRelayout, Destroy> handle;
};

} // namespace

static void defineRuntimeRelayout(nb::module_ &module) {
  nb::class_<RuntimeRelayout>(
      module, "RuntimeRelayout", nb::is_final(),
      "What Relayout does, by one thread, without a compiler: it is made in\n"
      "microseconds. Padding of a whole destination becomes zero. Raises\n"
      "UnsupportedError where only compiled code can do it.")
      .def(
          nb::init<std::string, std::string, const std::optional<std::string> &,
                   const std::optional<std::string> &>(),
          "source"_a, "destination"_a, nb::kw_only(),
          "source_box"_a = nb::none(), "destination_box"_a = nb::none())
      .def("__call__", &RuntimeRelayout::run, "source"_a, "destination"_a,
           "source_offsets"_a = nb::none(),
           "destination_offsets"_a = nb::none(),
           "Moves the bytes of `source` into `destination`, as Relayout does.\n"
           "Offsets let the parts begin at other indices than the boxes say,\n"
           "with the same sizes and steps.",
           nb::sig("def __call__(self, source: collections.abc.Buffer, "
                   "destination: collections.abc.Buffer, source_offsets: "
                   "collections.abc.Sequence[int] | None = None, "
                   "destination_offsets: collections.abc.Sequence[int] | None "
                   "= None) -> None"));
}

static void defineRelayout(nb::module_ &module) {
  nb::class_<Relayout>(
      module, "Relayout", nb::is_final(),
      "A function that moves an array from one layout to another, compiled\n"
      "for this processor. The last ones are kept, so that another one like\n"
      "it is free.\n"
      "\n"
      "Shapes may be given as text; both have the same element type, and the\n"
      "same dimensions or boxes of the same sizes. A box has a slice for each\n"
      "dimension as in Python, '8:16,:,0:128:2'; nothing else of the\n"
      "destination is written. `buffers` says what the code is made for:\n"
      "'hot' where both are in the caches when it runs, if they fit, 'cold'\n"
      "where they are in memory, or 'unknown'.\n"
      "\n"
      "Plans are chosen by the file of measurements `machine`, a path, as\n"
      "tessera-compile writes it: by default the one that the environment\n"
      "names in TESSERA_MACHINE, or this processor's in the user's cache\n"
      "folder, if it is there; '' for none. With `tune`, a relayout that the\n"
      "file lacks is timed by all its plans, and the best one is added to the\n"
      "file, which is made where there is none: later ones find it there.\n"
      "That takes seconds, memory for both arrays, and up to 640 MiB more for\n"
      "'cold' ones; one at a time is timed.\n"
      "\n"
      "Raises InvalidError, also for a file that cannot be read or is of\n"
      "another processor, and UnsupportedError, also where `tune` has no\n"
      "memory for the arrays; calls also BufferError or TypeError for what\n"
      "is no contiguous buffer of numbers, and one to be written.")
      .def(nb::init<nb::handle, nb::handle, std::optional<std::string>,
                    std::optional<std::string>, int64_t, const std::string &,
                    nb::handle, bool>(),
           "source"_a, "destination"_a, nb::kw_only(),
           "source_box"_a = nb::none(), "destination_box"_a = nb::none(),
           "threads"_a = 1, "buffers"_a = "unknown",
           "machine"_a.none() = nb::none(), "tune"_a = false,
           nb::sig("def __init__(self, source: Shape | str, destination: Shape "
                   "| str, *, source_box: str | None = None, destination_box: "
                   "str | None = None, threads: int = 1, buffers: str = "
                   "'unknown', machine: str | os.PathLike[str] | None = None, "
                   "tune: bool = False) -> None"))
      .def("__call__", &Relayout::run, "source"_a, "destination"_a,
           "Moves the bytes of `source` into `destination`: objects with\n"
           "Python's buffer interface, contiguous, of the sizes of the whole\n"
           "arrays, at any address. They must not overlap. Other threads of\n"
           "Python run meanwhile.",
           nb::sig("def __call__(self, source: collections.abc.Buffer, "
                   "destination: collections.abc.Buffer) -> None"))
      .def("emit", &Relayout::emit, "kind"_a, "symbol"_a = "tessera_relayout",
           "The function as 'plan', 'mlir' or 'llvm', which are text, or as\n"
           "'object' or 'shared', which are bytes of a file.",
           nb::sig("def emit(self, kind: str, symbol: str = "
                   "'tessera_relayout') -> str | bytes"))
      .def_prop_ro(
          "source", [](const Relayout &self) { return self.source.shape; },
          nb::sig("def source(self) -> Shape"))
      .def_prop_ro(
          "destination",
          [](const Relayout &self) { return self.destination.shape; },
          nb::sig("def destination(self) -> Shape"))
      .def("__repr__", &Relayout::toString);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {

/// A compiled function on the bytes of arrays, which tessera._program makes.
class Program {
public:
  Program(std::string_view module, const std::optional<std::string> &entry,
          bool poisonsPadding, int64_t threads) {
    TesseraProgramOptions options{toC(entry), poisonsPadding, threads};
    TesseraProgram *compiled = nullptr;
    TesseraError *error;
    {
      nb::gil_scoped_release release;
      error = tesseraProgramCompile(module.data(), module.size(), &options,
                                    &compiled);
    }
    check(error);
    handle.reset(compiled);
  }

  nb::tuple getInputs() const {
    return describe(tesseraProgramGetNumInputs(get()), tesseraProgramGetInput);
  }
  nb::tuple getOutputs() const {
    return describe(tesseraProgramGetNumOutputs(get()),
                    tesseraProgramGetOutput);
  }

  void run(const nb::list &from, const nb::list &to) const {
    std::deque<Bytes> buffers;
    auto add = [&](const char *side, const nb::list &list, size_t count,
                   auto *getArray) {
      checkCount(side, count, list.size());
      std::vector<void *> addresses;
      for (size_t i = 0; i < count; ++i) {
        const Bytes &buffer = buffers.emplace_back(
            list[i], /*isWritten=*/getArray == tesseraProgramGetOutput);
        checkBytes(side, getArray(get(), i).bytes, buffer.size());
        addresses.push_back(buffer.data());
      }
      return addresses;
    };
    std::vector<void *> inputs =
        add("input", from, tesseraProgramGetNumInputs(get()),
            tesseraProgramGetInput);
    std::vector<void *> outputs =
        add("output", to, tesseraProgramGetNumOutputs(get()),
            tesseraProgramGetOutput);
    TesseraError *error;
    {
      nb::gil_scoped_release release;
      error = tesseraProgramRun(get(), inputs.data(), outputs.data());
    }
    check(error);
  }

  const TesseraProgram *get() const { return handle.get(); }

private:
  /// Shape and bytes of each array.
  nb::tuple describe(size_t count,
                     TesseraProgramArray (*getArray)(const TesseraProgram *,
                                                     size_t)) const {
    nb::list arrays;
    for (size_t i = 0; i < count; ++i) {
      TesseraProgramArray array = getArray(get(), i);
      std::string text = collect([&](TesseraTextCallback callback, void *data) {
        tesseraShapePrint(array.shape, true, callback, data);
      });
      arrays.append(nb::make_tuple(Shape(text), array.bytes));
    }
    return nb::tuple(arrays);
  }

  struct Destroy {
    void operator()(TesseraProgram *program) const {
      tesseraProgramDestroy(program);
    }
  };
  std::unique_ptr<TesseraProgram, Destroy> handle;
};

} // namespace

static void defineProgram(nb::module_ &module) {
  nb::class_<Program>(module, "Program")
      .def(nb::init<std::string_view, const std::optional<std::string> &, bool,
                    int64_t>(),
           "module"_a, "entry"_a = nb::none(), "poison_padding"_a = false,
           "threads"_a = 1)
      .def_prop_ro("inputs", &Program::getInputs)
      .def_prop_ro("outputs", &Program::getOutputs)
      .def("__call__", &Program::run, "inputs"_a, "outputs"_a);
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static std::string report(std::string_view module, const std::string &format,
                          size_t rows) {
  auto form = static_cast<TesseraReportFormat>(
      parseChoice("format", format, {"text", "json", "html"}));
  return collectUnlocked([&](TesseraTextCallback callback, void *text) {
    return tesseraHLOReport(module.data(), module.size(), form, rows, callback,
                            text);
  });
}

static std::string explainOutOfMemory(std::string_view log,
                                      const std::string &format, size_t rows) {
  auto form = static_cast<TesseraReportFormat>(
      parseChoice("format", format, {"text", "json"}));
  return collectUnlocked([&](TesseraTextCallback callback, void *text) {
    return tesseraOutOfMemoryExplain(log.data(), log.size(), form, rows,
                                     callback, text);
  });
}

static std::string explainText(std::string_view what) {
  return collectUnlocked([&](TesseraTextCallback callback, void *text) {
    return tesseraTextExplain(what.data(), what.size(), /*isVerbose=*/false,
                              callback, text);
  });
}

NB_MODULE(_tessera, module) {
  module.doc() =
      "Shapes, relayouts, programs and reports, over the C API of Tessera.";
  defineShape(module);
  defineRelayout(module);
  defineRuntimeRelayout(module);
  defineProgram(module);
  module.def(
      "report",
      [](const nb::bytes &module, const std::string &format, size_t rows) {
        return report({module.c_str(), module.size()}, format, rows);
      },
      "module"_a, "format"_a = "text", nb::kw_only(), "rows"_a = 10);
  module.def(
      "report", &report, "module"_a, "format"_a = "text", nb::kw_only(),
      "rows"_a = 10,
      "Where memory and bytes go in an HLO module, given as text, or as\n"
      "bytes of a protocol buffer of XLA: for\n"
      "people ('text'), as docs/report.md has it ('json'), or a page\n"
      "that needs nothing else ('html'). Lists for people have about\n"
      "`rows` rows; 0 for all. Raises InvalidError or UnsupportedError\n"
      "with all errors of the text, a line each.");
  module.def("explain_out_of_memory", &explainOutOfMemory, "log"_a,
             "format"_a = "text", nb::kw_only(), "rows"_a = 10,
             "Why a program ran out of memory, from what XLA printed then.");
  module.def("explain_text", &explainText, "text"_a,
             "Shapes, layouts, lines of HLO and types of MLIR in words.");
}
