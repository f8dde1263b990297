"""The C++ side of an exchange: runs safetensors_exchange and says what it wrote and read."""

import json
import subprocess
import sys

import numpy

# The tensors that `safetensors_exchange write` writes: name, dtype, shape.
WRITTEN = {
    "in.residual": ("BF16", [3, 4, 77]),
    "in.x": ("F16", [3, 77]),
    "in.fn": ("F32", [24, 308]),
    "in.none": ("BF16", [0, 4, 77]),
    "in.scalar": ("F32", []),
}
WRITTEN_METADATA = {"descriptor": 'a "quoted" text, a back\\slash and \u00fc', "contract_version": "1"}


def written_bits(name):
    """The bits of each element of a written tensor, by the rule of safetensors_exchange."""
    dtype, shape = WRITTEN[name]
    index = numpy.arange(numpy.prod(shape, dtype=numpy.int64), dtype=numpy.uint32)
    bits = index * numpy.uint32(40503)
    if dtype == "F32":
        return (bits * numpy.uint32(2654435761)).reshape(shape)
    return (bits & numpy.uint32(0xFFFF)).astype(numpy.uint16).reshape(shape)


def program():
    """The path of safetensors_exchange, which ctest gives as the test's only argument."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} SAFETENSORS_EXCHANGE")
    return sys.argv[1]


class Exchange:
    def __init__(self, executable):
        self.executable = executable

    def write(self, path):
        subprocess.run([self.executable, "write", path], check=True)

    def show(self, path):
        """What the C++ reader finds: {"metadata": ..., "tensors": {name: {"dtype", "shape", "hex"}}}."""
        done = subprocess.run([self.executable, "show", path], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def refusal(self, path):
        """The reader's exit code and what it says of a file that it refuses."""
        done = subprocess.run([self.executable, "show", path], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr
