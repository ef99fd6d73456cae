"""Prints an attribute of so many levels of brackets."""

import sys

levels = int(sys.argv[1])
print('"t.op"() {a = ' + "[" * levels + "]" * levels + "} : () -> ()")
