"""The environment that lit tests and GoogleTest programs share."""

import os

if lit_config.params.get("full", os.environ.get("TESSERA_FULL", "0")) == "1":
    config.available_features.add("full")
    config.environment["TESSERA_FULL"] = "1"
if lit_config.params.get("few", os.environ.get("TESSERA_FEW", "0")) == "1":
    config.environment["TESSERA_FEW"] = "1"
if "TESSERA_SEED" in os.environ:
    config.environment["TESSERA_SEED"] = os.environ["TESSERA_SEED"]
# No file of measurements that the user has.
config.environment["TESSERA_MACHINE"] = ""
if config.tessera_sanitize:
    config.available_features.add("sanitized")
    # libMLIR is not instrumented: containers that grow in it look overflown,
    # and what it takes from an arena stays poisoned.
    config.environment["ASAN_OPTIONS"] = (
        "detect_container_overflow=0:allow_user_poisoning=0"
    )
    # OpenMP's runtime keeps what it has of its threads.
    config.environment["LSAN_OPTIONS"] = "print_suppressions=0:suppressions=%s" % (
        os.path.join(config.tessera_src_root, "test", "leaks.supp")
    )
    config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1:halt_on_error=1"
    config.environment["ASAN_SYMBOLIZER_PATH"] = os.path.join(
        config.llvm_tools_dir, "llvm-symbolizer"
    )
