"""Tensors from and to numpy, torch and everything else that speaks DLPack, without a copy."""

from __future__ import annotations

import contextlib
import ctypes as c
import math
import weakref
from typing import TYPE_CHECKING, Any, Iterator, Protocol, Union, runtime_checkable

from ._library import call, lib
from ._structs import BFLOAT, BOOL, CPU, FLOAT, INT, UINT, Device, DType, View

if TYPE_CHECKING:
    import array

    import numpy
    import torch


@runtime_checkable
class SupportsDLPack(Protocol):
    """An array of numpy, torch, or another library."""

    def __dlpack__(self, *, stream: None = ...) -> Any:
        """A DLPack capsule."""


TensorLike = Union[SupportsDLPack, "array.array[Any]", memoryview, bytearray, bytes]

_NAMES = {INT: "int", UINT: "uint", FLOAT: "float", BFLOAT: "bfloat"}
# Of the elements of a memoryview.
_FORMATS = {**dict.fromkeys("bhilqn", INT), **dict.fromkeys("BHILQN", UINT), **dict.fromkeys("efd", FLOAT), "?": BOOL}


def dtype_name(dtype: DType) -> str:
    """``"float32"``, ``"int64"``, ``"bfloat16"``, ``"bool"`` and so on."""
    return "bool" if dtype.code == BOOL else f"{_NAMES.get(dtype.code, 'type')}{dtype.bits}"


# ---- DLPack's structs and capsules -----------------------------------------------------------------------------------
class _Managed(c.Structure):
    """``DLManagedTensorVersioned`` of DLPack 1.x"""

    tensor: View
    deleter: Any


_Deleter = c.CFUNCTYPE(None, c.c_void_p)
_Managed._fields_ = [
    ("major", c.c_uint32),
    ("minor", c.c_uint32),
    ("manager_ctx", c.c_void_p),
    ("deleter", _Deleter),
    ("flags", c.c_uint64),
    ("tensor", View),
]


class _Legacy(c.Structure):
    """``DLManagedTensor`` of DLPack 0.x, which numpy before 2.1 and torch before 2.9 exchange"""

    tensor: View
    deleter: Any
    _fields_ = [("tensor", View), ("manager_ctx", c.c_void_p), ("deleter", _Deleter)]


_VERSIONED_NAME, _LEGACY_NAME = b"dltensor_versioned", b"dltensor"
_USED_VERSIONED, _USED_LEGACY = b"used_dltensor_versioned", b"used_dltensor"


def _python(name: str, result: Any, *parameters: Any) -> Any:
    return c.PYFUNCTYPE(result, *parameters)((name, c.pythonapi))


_Destructor = c.CFUNCTYPE(None, c.c_void_p)
_new_capsule = _python("PyCapsule_New", c.py_object, c.c_void_p, c.c_char_p, _Destructor)
_is_capsule = _python("PyCapsule_IsValid", c.c_int, c.py_object, c.c_char_p)
_pointer = _python("PyCapsule_GetPointer", c.c_void_p, c.py_object, c.c_char_p)
_rename = _python("PyCapsule_SetName", c.c_int, c.py_object, c.c_char_p)
# The same for a capsule that is going away, which must not be counted up again.
_is_dying = _python("PyCapsule_IsValid", c.c_int, c.c_void_p, c.c_char_p)
_dying_pointer = _python("PyCapsule_GetPointer", c.c_void_p, c.c_void_p, c.c_char_p)


class _Buffer(c.Structure):
    """``Py_buffer``"""

    buf: int | None
    itemsize: int
    ndim: int
    format: bytes | None
    shape: Any
    strides: Any
    _fields_ = [
        ("buf", c.c_void_p),
        ("obj", c.c_void_p),
        ("len", c.c_ssize_t),
        ("itemsize", c.c_ssize_t),
        ("readonly", c.c_int),
        ("ndim", c.c_int),
        ("format", c.c_char_p),
        ("shape", c.POINTER(c.c_ssize_t)),
        ("strides", c.POINTER(c.c_ssize_t)),
        ("suboffsets", c.POINTER(c.c_ssize_t)),
        ("internal", c.c_void_p),
    ]


_STRIDED_WITH_FORMAT = 0x1C  # PyBUF_RECORDS_RO
_get_buffer = _python("PyObject_GetBuffer", c.c_int, c.py_object, c.POINTER(_Buffer), c.c_int)
_release_buffer = _python("PyBuffer_Release", None, c.POINTER(_Buffer))


def _capsule_of(value: SupportsDLPack) -> Any:
    exporter: Any = value.__dlpack__
    try:
        return exporter(max_version=(1, 0))
    except TypeError:  # older than DLPack 1.0
        return exporter()


# ---- lending: for the length of one call -----------------------------------------------------------------------------
def _contiguous(shape: tuple[int, ...]) -> list[int]:
    strides, step = [0] * len(shape), 1
    for i in reversed(range(len(shape))):
        strides[i], step = step, step * shape[i]
    return strides


def _view(address: int, dtype: DType, shape: tuple[int, ...]) -> View:
    """A row-major view of host memory."""
    sizes = (c.c_int64 * len(shape))(*shape)
    strides = (c.c_int64 * len(shape))(*_contiguous(shape))
    return View(address, Device(CPU, 0), len(shape), dtype, sizes, strides, 0)


@contextlib.contextmanager
def _lend_buffer(value: Any) -> Iterator[View]:
    """A view of an object with Python's buffer protocol, such as ``array.array``, or an array that may not be written."""
    buffer = _Buffer()
    try:
        _get_buffer(value, c.byref(buffer), _STRIDED_WITH_FORMAT)
    except TypeError:
        raise TypeError(f"{type(value).__name__} is no tensor: give an array of numpy or torch") from None
    try:
        kind, size = (buffer.format or b"B").decode().lstrip("@="), buffer.itemsize
        strides = [buffer.strides[i] for i in range(buffer.ndim)]
        if kind not in _FORMATS or any(step % size for step in strides):
            raise TypeError(f"elements of format {kind!r} are no numbers of a tensor")
        view = _view(buffer.buf or 0, DType(_FORMATS[kind], 8 * size, 1), tuple(buffer.shape[: buffer.ndim]))
        for i, step in enumerate(strides):
            view.strides[i] = step // size
        yield view
    finally:
        _release_buffer(c.byref(buffer))


def _legacy_view(capsule: Any) -> View:
    view = _Legacy.from_address(_pointer(capsule, _LEGACY_NAME)).tensor
    if view.strides:
        return view
    shape = tuple(view.shape[i] for i in range(view.ndim))  # without strides it is row-major
    return _view((view.data or 0) + view.byte_offset, view.dtype, shape)


@contextlib.contextmanager
def _lend_dlpack(value: SupportsDLPack) -> Iterator[View]:
    capsule = _capsule_of(value)
    if _is_capsule(capsule, _VERSIONED_NAME):
        yield _Managed.from_address(_pointer(capsule, _VERSIONED_NAME)).tensor
    else:
        yield _legacy_view(capsule)
    del capsule  # kept the memory until here


@contextlib.contextmanager
def lend(value: Tensor | TensorLike) -> Iterator[View]:
    """A view of a tensor's own memory, valid inside the block.

    Takes a :class:`Tensor`, anything with ``__dlpack__`` (numpy, torch, ...), or a buffer such as ``array.array``.
    """
    if isinstance(value, Tensor):
        yield value._view
        return
    lender = _lend_dlpack if hasattr(value, "__dlpack__") else _lend_buffer
    if lender is _lend_dlpack and _is_read_only_array(value):  # which DLPack before 1.0 cannot tell
        lender = _lend_buffer
    with lender(value) as view:
        yield view


def _is_read_only_array(value: Any) -> bool:
    flags = getattr(value, "flags", None)  # numpy's
    return getattr(flags, "writeable", True) is False


# ---- giving: for as long as somebody uses it ---------------------------------------------------------------------------
_held: dict[int, Any] = {}  # what a DLPack tensor made here points to, until its deleter is called


def _forget(managed: int) -> None:
    _held.pop(managed, None)


def _delete_legacy(legacy: int) -> None:
    _, versioned = _held.pop(legacy)
    _delete(versioned)


def _delete(versioned: int) -> None:
    _Managed.from_address(versioned).deleter(versioned)


def _destroy_versioned(capsule: int) -> None:
    if _is_dying(capsule, _VERSIONED_NAME):  # nobody took it
        _delete(_dying_pointer(capsule, _VERSIONED_NAME))


def _destroy_legacy(capsule: int) -> None:
    if _is_dying(capsule, _LEGACY_NAME):
        _delete_legacy(_dying_pointer(capsule, _LEGACY_NAME))


_c_forget, _c_delete_legacy = _Deleter(_forget), _Deleter(_delete_legacy)
_c_destroy_versioned, _c_destroy_legacy = _Destructor(_destroy_versioned), _Destructor(_destroy_legacy)


def _from_managed(managed: int) -> Tensor:
    given = c.c_void_p()
    call("sy_tensor_from_dlpack", managed, None, c.byref(given))
    return Tensor(given)


def _over(view: View, owner: Any) -> Tensor:
    """A tensor over memory that ``owner`` holds."""
    managed = _Managed(1, 0, None, _c_forget, 0, view)
    address = c.addressof(managed)
    _held[address] = (managed, view, owner)
    return _from_managed(address)


def allocate(dtype: DType, shape: tuple[int, ...]) -> Tensor:
    """A row-major tensor of zeroes on the host."""
    memory = (c.c_char * max(1, math.prod(shape) * dtype.bits // 8))()
    return _over(_view(c.addressof(memory), dtype, shape), memory)


def _drop(address: int) -> None:
    lib.sy_tensor_drop(address)


class Tensor:
    """A counted tensor of the library, on the host. numpy and torch take it as it is: ``numpy.from_dlpack(tensor)``."""

    def __init__(self, handle: c.c_void_p) -> None:
        assert handle.value is not None
        self._handle = handle
        self._finalizer = weakref.finalize(self, _drop, handle.value)

    @classmethod
    def from_dlpack(cls, value: SupportsDLPack) -> Tensor:
        """A tensor over the memory of an array of numpy, torch, ...; it stays alive as long as this one."""
        capsule = _capsule_of(value)
        if _is_capsule(capsule, _VERSIONED_NAME):
            managed = _pointer(capsule, _VERSIONED_NAME)
            _rename(capsule, _USED_VERSIONED)  # the library takes it, also when it fails
            return _from_managed(managed)
        return _over(_legacy_view(capsule), capsule)

    @property
    def _view(self) -> View:
        view: View = lib.sy_tensor_view(self._handle).contents
        return view

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        view = self._view
        return tuple(view.shape[i] for i in range(view.ndim))

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
        view = self._view
        return tuple(view.strides[i] for i in range(view.ndim))

    @property
    def dtype(self) -> str:
        """``"float32"``, ``"int64"``, ..."""
        return dtype_name(self._view.dtype)

    @property
    def data_ptr(self) -> int:
        """The address of its first element."""
        return (self._view.data or 0) + self._view.byte_offset

    def __repr__(self) -> str:
        return f"switchyard.Tensor(shape={self.shape}, dtype={self.dtype})"

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's numbers for type and index of its device."""
        return self._view.device.type, self._view.device.index

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the version that the consumer knows."""
        if copy or (dl_device and dl_device != self.__dlpack_device__()):
            raise BufferError("this tensor is given as it is: not copied, not moved to another device")
        given = c.c_void_p()
        call("sy_tensor_to_dlpack", self._handle, c.byref(given))
        assert given.value is not None
        if max_version and max_version[0] >= 1:
            return _new_capsule(given, _VERSIONED_NAME, _c_destroy_versioned)
        legacy = _Legacy(_Managed.from_address(given.value).tensor, None, _c_delete_legacy)
        address = c.addressof(legacy)
        _held[address] = (legacy, given.value)
        return _new_capsule(address, _LEGACY_NAME, _c_destroy_legacy)

    def numpy(self) -> numpy.ndarray[Any, Any]:
        """The same memory as an array of numpy."""
        import numpy

        array: numpy.ndarray[Any, Any] = numpy.from_dlpack(self)
        return array

    def torch(self) -> torch.Tensor:
        """The same memory as a tensor of torch."""
        import torch.utils.dlpack

        tensor: torch.Tensor = torch.utils.dlpack.from_dlpack(self)
        return tensor

    def tolist(self) -> list[Any]:
        """Its numbers as nested lists."""
        types: dict[str, Any] = {
            "float32": c.c_float, "float64": c.c_double, "int64": c.c_int64, "int32": c.c_int32, "uint8": c.c_uint8
        }
        if self.dtype not in types:
            raise TypeError(f"{self.dtype} has no Python type; use numpy() or torch()")
        kind, shape, strides = types[self.dtype], self.shape, self.strides

        def at(dimension: int, address: int) -> Any:
            if dimension == len(shape):
                return kind.from_address(address).value
            step = strides[dimension] * c.sizeof(kind)
            return [at(dimension + 1, address + i * step) for i in range(shape[dimension])]

        result: list[Any] = at(0, self.data_ptr)
        return result
