#!/usr/bin/env python3
"""Plans, trains and predicts from Python with nothing but ctypes.

    SWITCHYARD_LIBRARY=.../libswitchyard.so.1 ./sentence.py [CONFIG] [KEY=VALUE ...]
"""
import ctypes as c
import os
import random
import sys

SENTENCE = b"the quick brown fox jumps over the lazy dog, from one device to the next. "
CONTEXT, BATCH, STEPS = 16, 16, 200
CPU, INT, FORWARD_LAST = 1, 0, 1


class Device(c.Structure):
    _fields_ = [("type", c.c_int32), ("index", c.c_int32)]


class DType(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class View(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", Device), ("ndim", c.c_int32), ("dtype", DType),
                ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class RuntimeOptions(c.Structure):
    _fields_ = [("size", c.c_uint32), ("n_sets", c.c_uint32), ("config", c.c_char_p), ("text", c.c_char_p),
                ("folder", c.c_char_p), ("sets", c.POINTER(c.c_char_p)), ("rank", c.c_int32), ("ranks", c.c_int32),
                ("rendezvous", c.c_char_p)]


class StepResult(c.Structure):
    _fields_ = [("size", c.c_uint32), ("skipped", c.c_uint32), ("step", c.c_int64), ("valid", c.c_int64),
                ("loss", c.c_double), ("accuracy", c.c_double), ("grad_norm", c.c_double), ("lr", c.c_double),
                ("loss_scale", c.c_double)]


sy = c.CDLL(os.environ.get("SWITCHYARD_LIBRARY", "libswitchyard.so.1"))
sy.sy_error_text.restype = c.c_char_p
sy.sy_tensor_view.restype = c.POINTER(View)


def call(name, *arguments):
    """Calls a function whose last parameter is the error."""
    error = c.c_void_p()
    if getattr(sy, name)(*arguments, c.byref(error)) != 0:
        text = sy.sy_error_text(error).decode()
        sy.sy_error_free(error)
        raise RuntimeError(f"{name}: {text}")


def ids(rows):
    """A view of a batch of ids, and what it points to."""
    flat = (c.c_int64 * (len(rows) * CONTEXT))(*(i for row in rows for i in row))
    shape, strides = (c.c_int64 * 2)(len(rows), CONTEXT), (c.c_int64 * 2)(CONTEXT, 1)
    return View(c.cast(flat, c.c_void_p), Device(CPU, 0), 2, DType(INT, 64, 1), shape, strides, 0)


def train(pipe):
    drawn = random.Random(1)
    for step in range(1, STEPS + 1):
        begins = [drawn.randrange(len(SENTENCE)) for _ in range(BATCH)]
        windows = [[SENTENCE[(b + i) % len(SENTENCE)] for i in range(CONTEXT + 1)] for b in begins]
        inputs, targets = ids([w[:-1] for w in windows]), ids([w[1:] for w in windows])
        result = StepResult(c.sizeof(StepResult))
        call("sy_pipe_step", pipe, c.byref(inputs), c.byref(targets), c.byref(result))
        if step % 40 == 0:
            print(f"step {step}  loss {result.loss!r}")


def likeliest_next(pipe, text):
    scores = c.c_void_p()
    call("sy_pipe_forward", pipe, c.byref(ids([text[-CONTEXT:]])), c.c_uint32(FORWARD_LAST), c.byref(scores))
    values = c.cast(sy.sy_tensor_view(scores).contents.data, c.POINTER(c.c_float))[:256]
    sy.sy_tensor_drop(scores)
    return values.index(max(values))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    config = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "sentence.toml")
    sets = [a.encode() for a in sys.argv[2:]]
    options = RuntimeOptions(c.sizeof(RuntimeOptions), len(sets), config.encode(), sets=(c.c_char_p * len(sets))(*sets))
    runtime, plan, pipe, text = c.c_void_p(), c.c_void_p(), c.c_void_p(), c.c_void_p()
    call("sy_runtime_open", c.byref(options), c.byref(runtime))
    call("sy_plan_make", runtime, c.byref(plan))
    call("sy_plan_text", plan, c.byref(text))
    print(c.string_at(text).decode(), end="")
    sy.sy_free(text)
    call("sy_pipe_build", plan, c.byref(pipe))
    train(pipe)
    written = list(SENTENCE[:CONTEXT])
    while len(written) < len(SENTENCE):
        written.append(likeliest_next(pipe, written))
    print(bytes(written).decode(errors="replace"))
    sy.sy_pipe_close(pipe)
    sy.sy_plan_free(plan)
    sy.sy_runtime_close(runtime)


if __name__ == "__main__":
    main()
