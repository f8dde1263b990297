"""Golden files and Python agree, with nothing but the standard library and numpy on the Python side.

The reader and the writer below are written from the format's description alone.
"""

import json
import os
import struct
import tempfile
import unittest

import numpy

import exchange

# bf16 has no numpy type: its bits are read as uint16, and are the upper half of an fp32.
NUMPY_DTYPES = {"BF16": "<u2", "F16": "<f2", "F32": "<f4", "F64": "<f8"}


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = numpy.frombuffer(data[begin:end], NUMPY_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return header, metadata, tensors


def write_safetensors(path, tensors, metadata):
    """tensors: {name: (dtype, array)}."""
    header = {"__metadata__": metadata}
    data = b""
    for name, (dtype, array) in tensors.items():
        begin = len(data)
        data += array.astype(NUMPY_DTYPES[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class SafetensorsWithNumpy(unittest.TestCase):
    cpp = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "f.safetensors")

    def test_python_reads_what_cpp_writes(self):
        self.cpp.write(self.path)
        header, metadata, tensors = read_safetensors(self.path)
        self.assertEqual(metadata, exchange.WRITTEN_METADATA)
        self.assertEqual(
            {name: (entry["dtype"], entry["shape"]) for name, entry in header.items()}, exchange.WRITTEN)
        for name, array in tensors.items():
            bits = exchange.written_bits(name)
            numpy.testing.assert_array_equal(array.view(bits.dtype), bits, err_msg=name)

    def test_every_tensor_is_aligned_in_the_file(self):
        self.cpp.write(self.path)
        header, _, tensors = read_safetensors(self.path)
        data_begin = os.path.getsize(self.path) - max(entry["data_offsets"][1] for entry in header.values())
        for name, entry in header.items():
            self.assertEqual((data_begin + entry["data_offsets"][0]) % tensors[name].itemsize, 0, name)

    def test_cpp_reads_what_python_writes(self):
        random = numpy.random.default_rng(1)
        arrays = {
            "out.layer_input": ("BF16", random.integers(0, 1 << 16, (3, 77), numpy.uint16)),
            "out.half": ("F16", random.standard_normal((5, 1, 2)).astype(numpy.float16)),
            "out.post_mix": ("F32", random.standard_normal((3, 4, 1)).astype(numpy.float32)),
            "exact_hi.post_mix": ("F64", random.standard_normal((3, 4, 1))),
            "out.none": ("F32", numpy.zeros((0, 4), numpy.float32)),
            "a name with \"quotes\" and \u00fc": ("F32", numpy.float32([-0.0, numpy.inf, 1e-45])),
        }
        metadata = {"descriptor": "mhc_pre:bf16:t3:n4:h77", "by": "numpy \u00fc"}
        write_safetensors(self.path, arrays, metadata)

        shown = self.cpp.show(self.path)
        self.assertEqual(shown["metadata"], metadata)
        self.assertEqual(shown["tensors"].keys(), arrays.keys())
        for name, (dtype, array) in arrays.items():
            self.assertEqual(
                shown["tensors"][name],
                {"dtype": dtype, "shape": list(array.shape), "hex": array.tobytes().hex()}, name)

    def test_cpp_refuses_a_dtype_that_kernels_do_not_have(self):
        header = json.dumps({"t": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}}).encode()
        with open(self.path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + bytes(8))
        code, message = self.cpp.refusal(self.path)
        self.assertEqual(code, 2)
        self.assertEqual(message, f'{self.path}: tensor "t" has dtype "I64", must be BF16, F16, F32 or F64\n')

    def test_cpp_refuses_every_truncation(self):
        write_safetensors(self.path, {"t": ("F32", numpy.float32([1, 2]))}, {})
        with open(self.path, "rb") as file:
            whole = file.read()
        for length in range(len(whole)):
            with open(self.path, "wb") as file:
                file.write(whole[:length])
            code, message = self.cpp.refusal(self.path)
            self.assertEqual((code, message.count("\n")), (2, 1), f"{length} bytes: {message}")


if __name__ == "__main__":
    SafetensorsWithNumpy.cpp = exchange.Exchange(exchange.program())
    unittest.main(argv=[__file__], verbosity=2)
