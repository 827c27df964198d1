#!/usr/bin/env python3
"""Plans, trains, reads, saves, reloads and generates from Python with nothing but ctypes.   golden.py CONFIG FOLDER

The 20 losses go to stdout, everything else to stderr. The package in abi/python does the same in a third of the lines.
"""
import ctypes as c
import os
import sys

SENTENCE = b"the quick brown fox jumps over the lazy dog, from one device to the next. "
BATCH, CONTEXT, STEPS = 16, 16, 20
CPU, INT = 1, 0


class View(c.Structure):  # sy_view, which is DLTensor byte for byte
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_index", c.c_int32), ("ndim", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class Managed(c.Structure):  # DLManagedTensorVersioned of DLPack 1.x
    pass


Deleter = c.CFUNCTYPE(None, c.POINTER(Managed))
Managed._fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("manager_ctx", c.c_void_p), ("deleter", Deleter),
                    ("flags", c.c_uint64), ("tensor", View)]


class RuntimeOptions(c.Structure):
    _fields_ = [("size", c.c_uint32), ("n_sets", c.c_uint32), ("config", c.c_char_p), ("text", c.c_char_p),
                ("folder", c.c_char_p), ("sets", c.POINTER(c.c_char_p)), ("rank", c.c_int32), ("ranks", c.c_int32),
                ("rendezvous", c.c_char_p)]


class StepResult(c.Structure):
    _fields_ = [("size", c.c_uint32), ("skipped", c.c_uint32), ("step", c.c_int64), ("valid", c.c_int64),
                ("loss", c.c_double), ("accuracy", c.c_double), ("grad_norm", c.c_double), ("lr", c.c_double),
                ("loss_scale", c.c_double)]


class Parameter(c.Structure):
    _fields_ = [("size", c.c_uint32), ("kind", c.c_uint32), ("trainable", c.c_uint32), ("owner", c.c_int32),
                ("device", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16),
                ("ndim", c.c_int32), ("reserved", c.c_uint32), ("shape", c.c_int64 * 8), ("bytes", c.c_uint64),
                ("name", c.c_char_p)]


OnText = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_char_p)


class GenerateOptions(c.Structure):
    _fields_ = [("size", c.c_uint32), ("given", c.c_uint32), ("prompt", c.c_char_p), ("stop", c.c_char_p),
                ("overflow", c.c_char_p), ("tokens", c.c_int64), ("temperature", c.c_double), ("top_k", c.c_int64),
                ("top_p", c.c_double), ("seed", c.c_uint64), ("user", c.c_void_p), ("on_text", OnText)]


sy = c.CDLL(os.environ.get("SWITCHYARD_LIBRARY", "libswitchyard.so.1"))
sy.sy_error_text.restype = sy.sy_code_name.restype = c.c_char_p
sy.sy_tensor_view.restype = c.POINTER(View)


class Error(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def call(name, *arguments):
    """Calls a function whose last parameter is the error."""
    error = c.c_void_p()
    code = getattr(sy, name)(*arguments, c.byref(error))
    if code != 0:
        text = sy.sy_error_text(error).decode()
        sy.sy_error_free(error)
        raise Error(code, text)


def made(name, *arguments):
    """The same for a function that gives a handle."""
    handle = c.c_void_p()
    call(name, *arguments, c.byref(handle))
    return handle


def note(text, end="\n"):
    print(text, end=end, file=sys.stderr, flush=True)


# ---- batches: windows of the sentence, handed over as DLPack tensors ------------------------------------------------
alive = {}  # what a DLPack tensor points to, until its deleter was called


@Deleter
def delete(managed):
    del alive[managed.contents.manager_ctx]


def tensor_of(rows):
    """A counted tensor of the library over ids of ours."""
    values = (c.c_int64 * (BATCH * CONTEXT))(*(i for row in rows for i in row))
    shape, strides = (c.c_int64 * 2)(BATCH, CONTEXT), (c.c_int64 * 2)(CONTEXT, 1)
    view = View(c.addressof(values), CPU, 0, 2, INT, 64, 1, shape, strides, 0)
    managed = Managed(1, 0, c.addressof(values), delete, 0, view)
    alive[managed.manager_ctx] = (managed, values, shape, strides)
    return made("sy_tensor_from_dlpack", c.byref(managed), None)


def draw(state):
    """A batch, and the next state."""
    windows = []
    for _ in range(BATCH):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        begin = (state >> 33) % len(SENTENCE)
        windows.append([SENTENCE[(begin + i) % len(SENTENCE)] for i in range(CONTEXT + 1)])
    return (tensor_of([w[:-1] for w in windows]), tensor_of([w[1:] for w in windows])), state


def feed(name, pipe, batch):
    """sy_pipe_step or sy_pipe_evaluate; the batch is dropped."""
    result = StepResult(c.sizeof(StepResult))
    call(name, pipe, *(sy.sy_tensor_view(t) for t in batch), c.byref(result))
    for tensor in batch:
        sy.sy_tensor_drop(tensor)
    return result.loss


# ---- the run --------------------------------------------------------------------------------------------------------
def open_config(config, *sets):
    texts = (c.c_char_p * len(sets))(*(s.encode() for s in sets))
    options = RuntimeOptions(c.sizeof(RuntimeOptions), len(sets), config.encode(), sets=texts)
    return made("sy_runtime_open", c.byref(options))


def print_plan(plan):
    text = made("sy_plan_text", plan)
    note(c.string_at(text).decode(), end="")
    sy.sy_free(text)


def train(pipe):
    state, losses = 1, []
    for _ in range(STEPS):
        batch, state = draw(state)
        losses.append(feed("sy_pipe_step", pipe, batch))
    print("python", *("%.17g" % loss for loss in losses))


def print_parameter(pipe, name):
    index, parameter = c.c_uint32(), Parameter(c.sizeof(Parameter))
    call("sy_pipe_find", pipe, name.encode(), c.byref(index))
    call("sy_pipe_parameter", pipe, index, c.byref(parameter))
    values = (c.c_float * (parameter.bytes // 4))()
    call("sy_pipe_read", pipe, index, values, c.c_uint64(parameter.bytes))
    note("%s on device %d: %.9g %.9g ..." % (name, parameter.device, values[0], values[1]))


def evaluate(pipe):
    return feed("sy_pipe_evaluate", pipe, draw(2)[0])


def reload(plan, trained, folder):
    call("sy_pipe_save", trained, folder.encode())
    pipe = made("sy_pipe_build", plan)
    call("sy_pipe_load", pipe, folder.encode())
    before, after = evaluate(trained), evaluate(pipe)
    note("saved %.17g, reloaded %.17g" % (before, after))
    sy.sy_pipe_close(pipe)
    if before != after:
        sys.exit(1)


@OnText
def print_piece(user, piece):
    """Each piece of text as it comes; anything but 0 would end it."""
    note(piece.decode(), end="")
    return 0


def generate(config, folder):
    runtime = open_config(config, f'model.weights={{file="{folder}/checkpoint/model.safetensors"}}')
    note("the quick |", end="")
    call("sy_generate", runtime, c.byref(GenerateOptions(c.sizeof(GenerateOptions), on_text=print_piece)), None)
    note("|")
    sy.sy_runtime_close(runtime)


def print_error(config):
    try:
        open_config(config, "train.batsh=3")
    except Error as e:
        note(f"{sy.sy_code_name(e.code).decode()}: {e}")


def main(config, folder):
    runtime = open_config(config)
    plan = made("sy_plan_make", runtime)  # nothing is allocated yet
    print_plan(plan)
    pipe = made("sy_pipe_build", plan)  # weights are placed, one thread for each device
    train(pipe)
    print_parameter(pipe, "h.1.mlp.up.weight")
    reload(plan, pipe, folder)
    generate(config, folder)
    print_error(config)
    sy.sy_pipe_close(pipe)
    sy.sy_plan_free(plan)
    sy.sy_runtime_close(runtime)


if __name__ == "__main__":
    main(*sys.argv[1:])
