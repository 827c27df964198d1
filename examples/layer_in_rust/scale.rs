//! rust_scale: y[..., c] = gain[c] * x[..., c], with a learned gain for each channel and a backward written by hand.
use crate::plugin::{
    c, Binding, Call, Cost, DType, Export, Host, LayerTable, Opaque, OptionSpec, Param, Plugin, Port, Shared, ABI,
    CALL_NO_SAVE, CONFIG, DEVICE_CPU, F32, MAGIC, NO_MEMORY, OK, PORT_DIFFERENTIABLE, RANGE, T_F64, UNIMPLEMENTED,
    UNKNOWN,
};
use crate::sy::{Error, Tensor, View};
use std::ffi::CString;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{mem, ptr, slice};

pub struct Scale {
    init: CString,
    width: usize,
    gain: *const f32,
    gain_grad: *mut f32, // NULL: not trained
}

/// What forward keeps for backward: its input.
pub struct Saved(Kept);

// ---- the border: codes and texts, and no panic crosses ---------------------------------------------------------------
static HOST: AtomicPtr<Host> = AtomicPtr::new(ptr::null_mut());

fn host() -> &'static Host {
    unsafe { &*HOST.load(Ordering::Acquire) } // set by attach, before anything else is called
}

type Answer = Result<(), (i32, String)>;

fn guard(err: *mut *mut Error, body: impl FnOnce() -> Answer) -> i32 {
    let (code, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return OK,
        Ok(Err(failure)) => failure,
        Err(_) => (UNKNOWN, "rust_scale panicked".to_string()),
    };
    let text = CString::new(text).unwrap_or_default();
    unsafe { (host().fail)(host().this, err, code, text.as_ptr()) }
}

/// The code of one of the host's functions; its error is made by the host.
fn check(code: i32, text: &str) -> Answer {
    if code == OK {
        Ok(())
    } else {
        Err((code, text.to_string()))
    }
}

// ---- tensors -------------------------------------------------------------------------------------------------------
/// One use of a counted tensor of fp32, row-major.
struct Kept(*mut Tensor);

impl Kept {
    unsafe fn new(tensor: *mut Tensor) -> Kept {
        (host().tensor_keep)(tensor);
        Kept(tensor)
    }
    unsafe fn view(&self) -> &View {
        &*(host().tensor_view)(self.0)
    }
    unsafe fn shape(&self) -> &[i64] {
        slice::from_raw_parts(self.view().shape, self.view().ndim as usize)
    }
    unsafe fn data(&self) -> *mut f32 {
        (self.view().data as *mut u8).add(self.view().byte_offset as usize) as *mut f32
    }
    unsafe fn values(&self) -> &[f32] {
        slice::from_raw_parts(self.data(), self.shape().iter().product::<i64>() as usize)
    }
    /// The caller's from now on.
    fn give(self) -> *mut Tensor {
        let tensor = self.0;
        mem::forget(self);
        tensor
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        unsafe { (host().tensor_drop)(self.0) }
    }
}

/// Host memory, charged to the device of a call.
struct Block {
    memory: Opaque,
    bytes: i64,
    origin: Opaque,
}

unsafe extern "C" fn drop_block(owner: Opaque) {
    let block = Box::from_raw(owner as *mut Block);
    (host().free)(host().this, block.memory);
    (host().charge)(host().this, block.origin, -block.bytes, ptr::null_mut());
}

/// A tensor like `x`, its values made from those of `x` and their channels.
unsafe fn map(call: &Call, x: &Kept, width: usize, f: impl Fn(f32, usize) -> f32) -> Result<Kept, (i32, String)> {
    let bytes = (x.values().len() * mem::size_of::<f32>()) as i64;
    let over = "over the memory budget of the device";
    check((host().charge)(host().this, call.origin, bytes, ptr::null_mut()), over)?;
    let memory = (host().alloc)(host().this, bytes.max(1) as u64, 256);
    let owner = Box::into_raw(Box::new(Block { memory, bytes, origin: call.origin }));
    if memory.is_null() {
        drop_block(owner as Opaque);
        return Err((NO_MEMORY, "out of host memory".to_string()));
    }
    for (i, value) in x.values().iter().enumerate() {
        *(memory as *mut f32).add(i) = f(*value, i % width);
    }
    let view = View { data: memory, byte_offset: 0, device: call.device, ..ptr::read(x.view()) };
    let mut made = ptr::null_mut();
    let rc = (host().tensor_wrap)(host().this, &view, owner as Opaque, drop_block, &mut made, ptr::null_mut());
    check(rc, "no tensor could be made")?;
    Ok(Kept(made))
}

// ---- the layer -----------------------------------------------------------------------------------------------------
unsafe extern "C" fn create(_: *const Host, options: Opaque, give: *mut *mut Scale, err: *mut *mut Error) -> i32 {
    let mut start = 0.0;
    let rc = (host().cfg_f64)(options, c("start\0"), &mut start, err);
    if rc != OK {
        return rc;
    }
    guard(err, || {
        let init = CString::new(format!("constant({})", start)).unwrap();
        *give = Box::into_raw(Box::new(Scale { init, width: 0, gain: ptr::null(), gain_grad: ptr::null_mut() }));
        Ok(())
    })
}

/// Output shapes for given inputs; here the width becomes known.
unsafe extern "C" fn infer(
    layer: *mut Scale,
    _kind: u32,
    inputs: *const *mut Port,
    n_in: u32,
    outputs: *const *mut Port,
    capacity: u32,
    n_out: *mut u32,
    err: *mut *mut Error,
) -> i32 {
    guard(err, || {
        if n_in != 1 {
            return Err((CONFIG, format!("rust_scale has one input, not {}", n_in)));
        }
        let x = &**inputs;
        if x.dtype != F32 {
            return Err((CONFIG, "rust_scale computes in fp32: add it to precision.keep_fp32".to_string()));
        }
        (*layer).width = x.shape[x.ndim as usize - 1] as usize;
        *n_out = 1;
        if capacity < 1 {
            return Err((RANGE, "one output".to_string()));
        }
        let y = &mut **outputs;
        y.flags = PORT_DIFFERENTIABLE;
        y.dtype = x.dtype;
        y.ndim = x.ndim;
        y.shape = x.shape;
        Ok(())
    })
}

unsafe extern "C" fn params(layer: *mut Scale, i: u32, out: *mut Param, _: *mut *mut Error) -> i32 {
    if i > 0 {
        return RANGE; // the end of the list
    }
    (*out).ndim = 1;
    (*out).shape[0] = (*layer).width as i64;
    (*out).name = c("gain\0");
    (*out).init = (*layer).init.as_ptr();
    OK
}

/// For plans. keep_in: the core keeps input 0 unchanged until backward, and counts it.
unsafe extern "C" fn cost(
    _: *mut Scale,
    _kind: u32,
    inputs: *const *const Port,
    _n_in: u32,
    out: *mut Cost,
    _: *mut *mut Error,
) -> i32 {
    let x = &**inputs;
    let n = x.shape[..x.ndim as usize].iter().product::<i64>() as f64;
    (*out).flops_forward = n;
    (*out).flops_input = n;
    (*out).flops_weight = 2.0 * n;
    (*out).keep_in = 1;
    OK
}

/// The core owns parameters and gradients; their addresses stay.
unsafe extern "C" fn bind(layer: *mut Scale, binding: *const Binding, err: *mut *mut Error) -> i32 {
    guard(err, || {
        let b = &*binding;
        if b.device[0] != DEVICE_CPU {
            return Err((UNIMPLEMENTED, "rust_scale computes on CPUs only".to_string()));
        }
        let start = |view: *const View| ((*view).data as *mut u8).add((*view).byte_offset as usize) as *mut f32;
        (*layer).gain = start(*b.values);
        let grad = *b.grads;
        (*layer).gain_grad = if grad.is_null() { ptr::null_mut() } else { start(grad) };
        Ok(())
    })
}

unsafe extern "C" fn forward(layer: *mut Scale, call: *const Call, give: *mut *mut Saved, err: *mut *mut Error) -> i32 {
    guard(err, || {
        let (layer, call) = (&*layer, &*call);
        let x = Kept::new(*call.inputs);
        let y = map(call, &x, layer.width, |value, channel| *layer.gain.add(channel) * value)?;
        *call.outputs = y.give();
        if call.flags & CALL_NO_SAVE == 0 {
            *give = Box::into_raw(Box::new(Saved(x)));
        }
        Ok(())
    })
}

/// call.inputs: gradients of the outputs, call.outputs: those of the inputs, where call.want has their bit.
unsafe extern "C" fn backward(layer: *mut Scale, call: *const Call, take: *mut Saved, err: *mut *mut Error) -> i32 {
    guard(err, || {
        let (layer, call, x) = (&*layer, &*call, Box::from_raw(take).0);
        if (*call.inputs).is_null() {
            return Ok(()); // nothing flows back
        }
        let dy = Kept::new(*call.inputs);
        if !layer.gain_grad.is_null() {
            for (i, (dy, x)) in dy.values().iter().zip(x.values()).enumerate() {
                *layer.gain_grad.add(i % layer.width) += dy * x;
            }
        }
        if call.want & 1 != 0 {
            let dx = map(call, &dy, layer.width, |value, channel| *layer.gain.add(channel) * value)?;
            *call.outputs = dx.give();
        }
        Ok(())
    })
}

unsafe extern "C" fn free_saved(_: *mut Scale, take: *mut Saved) {
    if !take.is_null() {
        drop(Box::from_raw(take));
    }
}

unsafe extern "C" fn destroy(take: *mut Scale) {
    if !take.is_null() {
        drop(Box::from_raw(take));
    }
}

unsafe extern "C" fn attach(host: *const Host, _: *mut *mut Error) -> i32 {
    HOST.store(host as *mut Host, Ordering::Release);
    OK
}

// ---- the tables ------------------------------------------------------------------------------------------------------
static START: Shared<OptionSpec> = Shared(OptionSpec {
    size: mem::size_of::<OptionSpec>() as u32,
    kind: T_F64,
    key: c("start\0"),
    fallback: c("1.0\0"),
    min: -1e6,
    max: 1e6,
    choices: ptr::null(),
    unit: ptr::null(),
    help: c("what every gain starts from\0"),
});
static OPTIONS: Shared<[*const OptionSpec; 1]> = Shared([&START.0]);
static LAYER: Shared<LayerTable<Scale, Saved>> = Shared(LayerTable {
    size: mem::size_of::<LayerTable<Scale, Saved>>() as u32,
    caps: 0,
    id: c("rust_scale\0"),
    help: c("multiplies each channel (the last dimension) by a learned number\0"),
    options: &OPTIONS.0 as *const _ as *const *const OptionSpec,
    n_options: 1,
    reserved: 0,
    create,
    infer,
    params,
    cost,
    bind,
    forward,
    backward,
    backward_input: ptr::null_mut(),
    backward_weight: ptr::null_mut(),
    finish: ptr::null_mut(),
    free_saved,
    destroy,
    get: ptr::null_mut(),
});
static EXPORTS: Shared<[Export; 1]> =
    Shared([Export { kind: c("sy.layer/0\0"), table: &LAYER.0 as *const _ as *const _ }]);
pub static PLUGIN: Shared<Plugin> = Shared(Plugin {
    magic: MAGIC,
    size: mem::size_of::<Plugin>() as u32,
    abi_major: ABI.0,
    abi_minor: ABI.1,
    id: c("org.example.rust_scale\0"),
    version: c("1.0\0"),
    exports: &EXPORTS.0 as *const _ as *const Export,
    n_exports: 1,
    reserved: 0,
    attach,
});

const _: () = assert!(mem::size_of::<DType>() == 4);
