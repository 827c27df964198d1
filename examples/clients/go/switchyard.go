package main

/*
#cgo pkg-config: switchyard
#include <stdlib.h>
#include <switchyard/switchyard.h>

// DLPack 1.x, whose header need not be there: the library only names this struct. sy_view is DLTensor, byte for byte.
struct DLManagedTensorVersioned {
	uint32_t major, minor;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensorVersioned *);
	uint64_t flags;
	sy_view tensor;
};

// What a DLPack tensor points to, in C's memory: the library keeps it for longer than one call.
typedef struct ids {
	struct DLManagedTensorVersioned managed;
	int64_t shape[2], strides[2], values[];
} ids;

// Go's, exported below.
void deleteIds(struct DLManagedTensorVersioned *);
int32_t handOn(void *, char *);
*/
import "C"

import (
	"fmt"
	"os"
	"runtime/cgo"
	"unsafe"
)

// Error is a code with its text.
type Error struct {
	code C.sy_rc
	Text string
}

func (e *Error) Error() string { return e.Text }

// Name is "SY_E_CONFIG" and the like.
func (e *Error) Name() string { return C.GoString(C.sy_code_name(e.code)) }

// errorOf frees what the last parameter of a function received; goroutines may move between threads meanwhile.
func errorOf(code C.sy_rc, err *C.sy_error) error {
	if code == C.SY_OK {
		return nil
	}
	defer C.sy_error_free(err)
	return &Error{code, C.GoString(C.sy_error_text(err))}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// ---- runtimes, plans, pipes ------------------------------------------------------------------------------------------

type Runtime struct{ handle *C.sy_runtime }
type Plan struct{ handle *C.sy_plan }
type Pipe struct{ handle *C.sy_pipe }

// Open reads a configuration, changed as --set does.
func Open(config string, sets ...string) (*Runtime, error) {
	options := (*C.sy_runtime_options)(C.calloc(1, C.sizeof_sy_runtime_options))
	defer C.free(unsafe.Pointer(options))
	texts := (*[1 << 20]*C.char)(C.calloc(C.size_t(len(sets)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(texts))
	for i, set := range sets {
		texts[i] = C.CString(set)
		defer C.free(unsafe.Pointer(texts[i]))
	}
	options.size = C.sizeof_sy_runtime_options
	options.config = C.CString(config)
	defer C.free(unsafe.Pointer(options.config))
	options.n_sets = C.uint32_t(len(sets))
	options.sets = &texts[0]
	var runtime Runtime
	var err *C.sy_error
	code := C.sy_runtime_open(options, &runtime.handle, &err)
	return &runtime, errorOf(code, err)
}

func (r *Runtime) Close() { C.sy_runtime_close(r.handle) }

func (r *Runtime) Plan() *Plan {
	var plan Plan
	var err *C.sy_error
	check(errorOf(C.sy_plan_make(r.handle, &plan.handle, &err), err))
	return &plan
}

// Generate hands each piece of text to onPiece as it comes; false ends it.
func (r *Runtime) Generate(onPiece func(string) bool) {
	handle := cgo.NewHandle(onPiece)
	defer handle.Delete()
	options := (*C.sy_generate_options)(C.calloc(1, C.sizeof_sy_generate_options))
	defer C.free(unsafe.Pointer(options))
	options.size = C.sizeof_sy_generate_options
	options.user = C.calloc(1, C.size_t(unsafe.Sizeof(handle)))
	defer C.free(options.user)
	*(*cgo.Handle)(options.user) = handle
	options.on_text = (*[0]byte)(C.handOn)
	var err *C.sy_error
	check(errorOf(C.sy_generate(r.handle, options, nil, &err), err))
}

//export handOn
func handOn(user unsafe.Pointer, piece *C.char) C.int32_t {
	if (*(*cgo.Handle)(user)).Value().(func(string) bool)(C.GoString(piece)) {
		return 0
	}
	return 1
}

func (p *Plan) Free() { C.sy_plan_free(p.handle) }

func (p *Plan) Text() string {
	var text *C.char
	var err *C.sy_error
	check(errorOf(C.sy_plan_text(p.handle, &text, &err), err))
	defer C.sy_free(text)
	return C.GoString(text)
}

func (p *Plan) Build() *Pipe {
	var pipe Pipe
	var err *C.sy_error
	check(errorOf(C.sy_pipe_build(p.handle, &pipe.handle, &err), err))
	return &pipe
}

func (p *Pipe) Close() { C.sy_pipe_close(p.handle) }

// Step is one optimizer step; the loss before it.
func (p *Pipe) Step(batch Batch) float64 {
	result := C.sy_step_result{size: C.sizeof_sy_step_result}
	var err *C.sy_error
	code := C.sy_pipe_step(p.handle, C.sy_tensor_view(batch.Inputs), C.sy_tensor_view(batch.Targets), &result, &err)
	check(errorOf(code, err))
	return float64(result.loss)
}

// Evaluate is the loss, and nothing changes.
func (p *Pipe) Evaluate(batch Batch) float64 {
	result := C.sy_step_result{size: C.sizeof_sy_step_result}
	var err *C.sy_error
	code := C.sy_pipe_evaluate(p.handle, C.sy_tensor_view(batch.Inputs), C.sy_tensor_view(batch.Targets), &result, &err)
	check(errorOf(code, err))
	return float64(result.loss)
}

// Read gives a parameter's device and value.
func (p *Pipe) Read(name string) (int, []float32) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var index C.uint32_t
	var err *C.sy_error
	check(errorOf(C.sy_pipe_find(p.handle, text, &index, &err), err))
	parameter := C.sy_parameter{size: C.sizeof_sy_parameter}
	check(errorOf(C.sy_pipe_parameter(p.handle, index, &parameter, &err), err))
	values := make([]float32, parameter.bytes/4)
	check(errorOf(C.sy_pipe_read(p.handle, index, unsafe.Pointer(&values[0]), parameter.bytes, &err), err))
	return int(parameter.device), values
}

func (p *Pipe) Save(folder string) {
	text := C.CString(folder)
	defer C.free(unsafe.Pointer(text))
	var err *C.sy_error
	check(errorOf(C.sy_pipe_save(p.handle, text, &err), err))
}

func (p *Pipe) Load(folder string) {
	text := C.CString(folder)
	defer C.free(unsafe.Pointer(text))
	var err *C.sy_error
	check(errorOf(C.sy_pipe_load(p.handle, text, &err), err))
}

// ---- batches: DLPack tensors ------------------------------------------------------------------------------------------

type Batch struct{ Inputs, Targets *C.sy_tensor }

func (b Batch) Drop() {
	C.sy_tensor_drop(b.Inputs)
	C.sy_tensor_drop(b.Targets)
}

// tensorOf is a counted tensor of the library's over a copy of values.
func tensorOf(values []int64, rows, columns int) *C.sy_tensor {
	ids := (*C.ids)(C.calloc(1, C.sizeof_ids+C.size_t(8*len(values))))
	data := unsafe.Add(unsafe.Pointer(ids), C.sizeof_ids)
	copy(unsafe.Slice((*int64)(data), len(values)), values)
	ids.shape = [2]C.int64_t{C.int64_t(rows), C.int64_t(columns)}
	ids.strides = [2]C.int64_t{C.int64_t(columns), 1}
	ids.managed.major = 1
	ids.managed.deleter = (*[0]byte)(C.deleteIds)
	view := &ids.managed.tensor
	view.data = data
	view.device._type = C.SY_DEVICE_CPU
	view.ndim = 2
	view.dtype = C.sy_dtype{code: C.SY_INT, bits: 64, lanes: 1}
	view.shape = &ids.shape[0]
	view.strides = &ids.strides[0]
	var tensor *C.sy_tensor
	var err *C.sy_error
	check(errorOf(C.sy_tensor_from_dlpack(&ids.managed, nil, &tensor, &err), err)) // the library calls deleteIds
	return tensor
}

//export deleteIds
func deleteIds(managed *C.struct_DLManagedTensorVersioned) { C.free(unsafe.Pointer(managed)) } // the first of ids
