"""Tensors of numpy and torch go in and out by their addresses, not by copies."""
import array
import gc
import sys
import unittest

from interpreter import need

need("numpy")
import numpy as np

from switchyard import Runtime, Tensor
from switchyard.tensors import _held, lend

from models import POINTS, points

try:
    import torch
except ImportError:
    torch = None


class Numpy(unittest.TestCase):
    def test_lent_taken_and_given_at_the_same_address(self):
        values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        with lend(values) as view:
            self.assertEqual(view.data + view.byte_offset, values.ctypes.data)
        tensor = Tensor.from_dlpack(values)
        self.assertEqual((tensor.data_ptr, tensor.shape, tensor.dtype), (values.ctypes.data, (2, 3, 4), "float32"))
        back = tensor.numpy()
        self.assertEqual(back.ctypes.data, values.ctypes.data)
        values[1, 2, 3] = -1
        self.assertEqual(back[1, 2, 3], -1)

    def test_strides_stay(self):
        values = np.arange(24, dtype=np.int64).reshape(4, 6)[::2, 1::2].T
        tensor = Tensor.from_dlpack(values)
        self.assertEqual(tensor.strides, tuple(s // 8 for s in values.strides))
        self.assertEqual(tensor.data_ptr, values.ctypes.data)
        self.assertEqual(tensor.tolist(), values.tolist())

    def test_memory_lives_as_long_as_anybody_uses_it_and_no_longer(self):
        gc.collect()
        before = len(_held)
        values = np.full(1000, 7.0)
        expected = sys.getrefcount(values)
        tensor = Tensor.from_dlpack(values)
        out = tensor.numpy()
        del tensor
        gc.collect()
        self.assertGreater(sys.getrefcount(values), expected)
        self.assertEqual(out.sum(), 7000)
        del out
        gc.collect()
        self.assertEqual(sys.getrefcount(values), expected)
        unused = Tensor.from_dlpack(values).__dlpack__()  # nobody takes it
        del unused
        gc.collect()
        self.assertEqual(sys.getrefcount(values), expected)
        self.assertEqual(len(_held), before)

    def test_both_ages_of_dlpack(self):
        tensor = Tensor.from_dlpack(np.arange(3))
        self.assertIn('"dltensor_versioned"', repr(tensor.__dlpack__(max_version=(1, 0))))
        self.assertIn('"dltensor"', repr(tensor.__dlpack__()))
        self.assertEqual(Tensor.from_dlpack(tensor).data_ptr, tensor.data_ptr)
        with self.assertRaises(BufferError):
            tensor.__dlpack__(copy=True)

    def test_a_pipe_takes_any_strides_and_types_and_gives_the_same_loss(self):
        numbers, classes = (np.array(memory) for memory in points(0))
        with Runtime(text=POINTS) as runtime, runtime.plan().build() as pipe:
            expected = pipe.evaluate(*points(0)).loss
            for x in numbers, np.asfortranarray(numbers), np.repeat(numbers, 2, axis=0)[::2], numbers.astype(np.float64):
                for y in classes, classes.astype(np.int32), classes.astype(np.uint8):
                    self.assertEqual(pipe.evaluate(x, y).loss, expected)
            value = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32)
            pipe.write("a.weight", value)
            self.assertTrue(np.array_equal(pipe.read("a.weight").numpy(), value))
            with self.assertRaisesRegex(ValueError, "contiguous"):
                pipe.write("a.weight", np.asfortranarray(value))
            scores = pipe.forward(numbers)
            self.assertEqual(scores.numpy().ctypes.data, scores.data_ptr)


class Buffers(unittest.TestCase):
    def test_arrays_are_lent_at_their_address(self):
        values = array.array("d", [1, 2, 3])
        with lend(values) as view:
            self.assertEqual((view.data, view.shape[0], view.dtype.bits), (values.buffer_info()[0], 3, 64))
        with lend(memoryview(values)[::2]) as view:
            self.assertEqual((view.data, view.shape[0], view.strides[0]), (values.buffer_info()[0], 2, 2))
        for wrong in "text", [1.0], memoryview(values).cast("B").cast("c"):
            with self.assertRaises(TypeError):
                with lend(wrong):
                    pass

    def test_what_may_not_be_written_is_lent_too(self):
        values = np.frombuffer(b"The fox", dtype=np.uint8)
        self.assertFalse(values.flags.writeable)
        for text in values, values[::2]:
            with lend(text) as view:
                self.assertEqual((view.data, view.shape[0]), (text.ctypes.data, len(text)))


@unittest.skipIf(torch is None, "torch is missing")
class Torch(unittest.TestCase):
    def test_lent_taken_and_given_at_the_same_address(self):
        values = torch.arange(24, dtype=torch.float32).reshape(4, 6)[1:, ::2]
        with lend(values) as view:
            self.assertEqual(view.data + view.byte_offset, values.data_ptr())
        tensor = Tensor.from_dlpack(values)
        self.assertEqual((tensor.data_ptr, tensor.strides), (values.data_ptr(), (6, 2)))
        back = tensor.torch()
        self.assertEqual(back.data_ptr(), values.data_ptr())
        del tensor, values
        gc.collect()
        self.assertEqual(back[0, 1].item(), 8)

    def test_half_types_have_their_names(self):
        for dtype, name in (torch.bfloat16, "bfloat16"), (torch.float16, "float16"), (torch.uint8, "uint8"):
            tensor = Tensor.from_dlpack(torch.zeros(2, dtype=dtype))
            self.assertEqual(tensor.dtype, name)
            self.assertEqual(tensor.torch().dtype, dtype)

    def test_a_tensor_with_gradients_is_refused(self):
        with self.assertRaises((BufferError, RuntimeError)):
            with lend(torch.zeros(2, requires_grad=True)):
                pass


if __name__ == "__main__":
    if torch is None:
        print("[skipped] torch of Python is missing: .ci/setup --clients")
    unittest.main()
