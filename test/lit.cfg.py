"""The lit suite: IR, tools, Python, C and, under Unit, the GoogleTest programs.

A test is a file with RUN lines and one of the suffixes below. Files that tests
read stand in folders named Inputs, Python modules that they share too.

Parameters (`lit --param name=value`):
  full=1   the full number of random cases with fresh seeds, instead of a tenth
           with fixed ones; TESSERA_FULL=1 in the environment does the same.
  few=1    a hundredth of the random cases, likewise with TESSERA_FEW=1.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys

import lit.formats
import lit.util
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Tessera"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".hlo", ".py", ".c"]
config.excludes = ["Inputs", "environment.cfg.py", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tessera_obj_root, "test")


def find_python():
    """The Python that has the packages of test/requirements.txt."""
    venv = os.path.join(config.tessera_src_root, "build", "venv", "bin", "python3")
    return next(filter(os.path.exists, [config.tessera_python, venv]), sys.executable)


def has_module(python, name):
    check = "import importlib.util as u, sys; sys.exit(not u.find_spec('%s'))"
    return subprocess.call([python, "-c", check % name]) == 0


# Where things are.
tools_dir = os.path.join(config.tessera_obj_root, "bin")
lib_dir = os.path.join(config.tessera_obj_root, "lib")
python = find_python()
config.substitutions += [
    ("%cxx", config.tessera_cxx),
    ("%cc", config.tessera_cc),
    ("%python", '"%s"' % python),
    ("%shlibext", config.llvm_shlib_ext),
    ("%tessera_lib_dir", lib_dir),
    ("%tessera_obj_root", config.tessera_obj_root),
    ("%tessera_src_root", config.tessera_src_root),
]
llvm_config.use_default_substitutions()
llvm_config.with_environment("PATH", [tools_dir, config.llvm_tools_dir], append_path=True)

# Our tools and the stock ones, by full path, so that no other one is taken. One
# that is not built leaves its tests failing, not the configuration.
tools = [
    "tessera-capi-compile-test",
    "tessera-capi-dialects-test",
    "tessera-capi-layout-test",
    "tessera-capi-program-test",
    "tessera-capi-runtime-test",
    "tessera-compile",
    "tessera-hlo",
    "tessera-layout",
    "tessera-lsp-server",
    "tessera-opt",
    "tessera-run",
    "tessera-translate",
    "llvm-nm",
    "mlir-opt",
    "mlir-runner",
    "mlir-translate",
    "split-file",
]
llvm_config.add_tool_substitutions(
    [ToolSubst(tool, unresolved="ignore") for tool in tools],
    [tools_dir, config.llvm_tools_dir],
)

# What a test may ask for by REQUIRES.
for module in ["jaxlib", "libtpu", "numpy", "ruff"]:
    if has_module(python, module):
        config.available_features.add(module)
if config.tessera_has_protobuf:
    config.available_features.add("protobuf")
if config.tessera_has_python:
    config.available_features.add("tessera-python")
    config.environment["PYTHONPATH"] = os.path.join(
        config.tessera_obj_root, "python_packages"
    )
if "clang" in os.path.basename(config.tessera_cxx):
    config.available_features.add("clang")
# Registers of 64 bytes.
cpuinfo = pathlib.Path("/proc/cpuinfo")
if cpuinfo.exists() and "avx512bw" in cpuinfo.read_text():
    config.available_features.add("avx512")
# An emulator, and the libraries to link with (libc6-dev-arm64-cross and
# libgcc-12-dev-arm64-cross).
cross_libraries = ("/usr/aarch64-linux-gnu/lib/libc.a", "/usr/lib/gcc-cross/aarch64-linux-gnu")
if shutil.which("qemu-aarch64") and all(map(os.path.exists, cross_libraries)):
    config.available_features.add("aarch64-emulator")
# LLVM writes code for NVIDIA's GPUs.
if "NVPTX" in config.llvm_targets.split(";"):
    config.available_features.add("nvptx")
clang_format = os.path.join(config.llvm_tools_dir, "clang-format")
if os.path.exists(clang_format):
    config.available_features.add("clang-format")
config.substitutions.append(("%clang-format", clang_format))
if "numpy" not in config.available_features:
    lit_config.note(
        "%s has no numpy: tests that need it are skipped; scripts/test.sh makes "
        "build/venv, or pass -DTESSERA_PYTHON=<python with test/requirements.txt>"
        % python
    )
lit_config.load_config(
    config, os.path.join(config.test_source_root, "environment.cfg.py")
)


def find_importing_python():
    """The same Python, for programs that import tessera.

    An interpreter that is not instrumented cannot load libraries that are, unless
    their runtime is there before them. What Python itself leaves behind is no leak
    of ours.
    """
    if "address" not in config.tessera_sanitize:
        return '"%s"' % python
    name = "libclang_rt.asan-%s.so" % platform.machine()
    runtime = subprocess.check_output(
        [config.tessera_cxx, "-print-file-name=" + name], text=True
    ).strip()
    options = config.environment["ASAN_OPTIONS"] + ":detect_leaks=0"
    return 'env LD_PRELOAD=%s ASAN_OPTIONS=%s "%s"' % (runtime, options, python)


config.substitutions.append(("%importing-python", find_importing_python()))
