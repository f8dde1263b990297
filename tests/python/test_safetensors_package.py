"""Golden files and the stock safetensors package agree. Exit code 77, not run, where the package is not installed."""

import os
import sys
import tempfile
import unittest

import numpy

import exchange

NOT_RUN = 77

try:
    import safetensors
    import safetensors.numpy
except ImportError:
    print("not run: Python has no package safetensors")
    sys.exit(NOT_RUN)


class SafetensorsPackage(unittest.TestCase):
    cpp = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "f.safetensors")

    def test_the_package_reads_what_cpp_writes(self):
        self.cpp.write(self.path)
        with open(self.path, "rb") as file:
            entries = dict(safetensors.deserialize(file.read()))
        self.assertEqual(entries.keys(), exchange.WRITTEN.keys())
        for name, entry in entries.items():
            self.assertEqual((entry["dtype"], list(entry["shape"])), exchange.WRITTEN[name], name)
            self.assertEqual(bytes(entry["data"]), exchange.written_bits(name).tobytes(), name)
        with safetensors.safe_open(self.path, framework="numpy") as file:
            self.assertEqual(file.metadata(), exchange.WRITTEN_METADATA)
            numpy.testing.assert_array_equal(
                file.get_tensor("in.fn").view(numpy.uint32), exchange.written_bits("in.fn"))

    def test_cpp_reads_what_the_package_writes(self):
        random = numpy.random.default_rng(2)
        arrays = {
            "out.half": random.standard_normal((5, 1, 2)).astype(numpy.float16),
            "out.post_mix": random.standard_normal((3, 4, 1)).astype(numpy.float32),
            "exact_hi.post_mix": random.standard_normal((3, 4, 1)),
            "out.none": numpy.zeros((0, 4), numpy.float32),
        }
        metadata = {"descriptor": "mhc_pre:bf16:t3:n4:h77"}
        safetensors.numpy.save_file(arrays, self.path, metadata)

        shown = self.cpp.show(self.path)
        self.assertEqual(shown["metadata"], metadata)
        self.assertEqual(
            {name: (tuple(entry["shape"]), entry["hex"]) for name, entry in shown["tensors"].items()},
            {name: (array.shape, array.tobytes().hex()) for name, array in arrays.items()})

    def test_cpp_reads_bf16_that_the_package_writes(self):
        bits = numpy.random.default_rng(3).integers(0, 1 << 16, (3, 77), numpy.uint16)
        safetensors.serialize_file({"out.y": self.bf16_entry(bits)}, self.path, {})
        self.assertEqual(
            self.cpp.show(self.path)["tensors"],
            {"out.y": {"dtype": "BF16", "shape": list(bits.shape), "hex": bits.tobytes().hex()}})

    @staticmethod
    def bf16_entry(bits):
        """What serialize_file takes for a tensor of a format that numpy lacks: it changed between versions."""
        if hasattr(safetensors, "TensorSpec"):
            return safetensors.TensorSpec(
                dtype="bfloat16", shape=bits.shape, data_ptr=bits.ctypes.data, data_len=bits.nbytes)
        return {"dtype": "bfloat16", "shape": list(bits.shape), "data": bits.tobytes()}


if __name__ == "__main__":
    SafetensorsPackage.cpp = exchange.Exchange(exchange.program())
    unittest.main(argv=[__file__], verbosity=2)
