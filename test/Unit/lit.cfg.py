"""The GoogleTest programs in <build>/unittests, each case a test."""

import os

import lit.formats

config.name = "Tessera-Unit"
config.suffixes = []
config.test_source_root = os.path.join(config.tessera_obj_root, "unittests")
config.test_exec_root = config.test_source_root
config.test_format = lit.formats.GoogleTest(".", "Tests")

lit_config.load_config(
    config, os.path.join(config.tessera_src_root, "test", "environment.cfg.py")
)
