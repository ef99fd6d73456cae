import os

import numpy

print("numpy ok" if numpy.arange(3).sum() == 3 else "numpy broken")
print("counts ok" if os.environ.get("TESSERA_FULL", "1") == "1" else "counts broken")
