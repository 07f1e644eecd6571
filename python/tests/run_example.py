"""Runs an example of a document: ``run_example.py FILE``.

The GPU is there first: torch brings the real libcupti along, which must not meet the simulated driver.
"""

import runpy
import sys

import gpu

if __name__ == "__main__":
    gpu.make()
    runpy.run_path(sys.argv[1], run_name="__main__")
