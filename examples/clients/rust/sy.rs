//! The part of switchyard/switchyard.h that the client calls, written by hand.
#![allow(dead_code)]
use std::os::raw::{c_char, c_int, c_void};
use std::{mem, ptr};

pub const OK: i32 = 0;
pub const CPU: i32 = 1;
pub const INT: u8 = 0;

macro_rules! opaque {
    ($($name:ident)*) => { $(#[repr(C)] pub struct $name { _private: [u8; 0] })* };
}
opaque!(Error Runtime Plan Pipe Tensor);

/// sy_view, which is DLTensor byte for byte.
#[repr(C)]
pub struct View {
    pub data: *mut c_void,
    pub device: [i32; 2],
    pub ndim: i32,
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// DLManagedTensorVersioned of DLPack 1.x.
#[repr(C)]
pub struct Managed {
    pub major: u32,
    pub minor: u32,
    pub manager_ctx: *mut c_void,
    pub deleter: unsafe extern "C" fn(*mut Managed),
    pub flags: u64,
    pub tensor: View,
}

impl Managed {
    /// Of int64 on the host, yet without data.
    pub fn empty(deleter: unsafe extern "C" fn(*mut Managed)) -> Managed {
        let tensor = View {
            data: ptr::null_mut(),
            device: [CPU, 0],
            ndim: 0,
            code: INT,
            bits: 64,
            lanes: 1,
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        Managed { major: 1, minor: 0, manager_ctx: ptr::null_mut(), deleter, flags: 0, tensor }
    }
}

/// Structs that begin with their size; the rest starts as zeroes.
macro_rules! sized {
    ($name:ident { $($field:ident: $type:ty,)* }) => {
        #[repr(C)]
        pub struct $name { pub size: u32, $(pub $field: $type,)* }
        impl Default for $name {
            fn default() -> Self {
                let mut zeroes: Self = unsafe { mem::zeroed() };
                zeroes.size = mem::size_of::<Self>() as u32;
                zeroes
            }
        }
    };
}

sized!(RuntimeOptions {
    n_sets: u32,
    config: *const c_char,
    text: *const c_char,
    folder: *const c_char,
    sets: *const *const c_char,
    rank: i32,
    ranks: i32,
    rendezvous: *const c_char,
});

sized!(StepResult {
    skipped: u32,
    step: i64,
    valid: i64,
    loss: f64,
    accuracy: f64,
    grad_norm: f64,
    lr: f64,
    loss_scale: f64,
});

sized!(Parameter {
    kind: u32,
    trainable: u32,
    owner: i32,
    device: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    ndim: i32,
    reserved: u32,
    shape: [i64; 8],
    bytes: u64,
    name: *const c_char,
});

sized!(GenerateOptions {
    given: u32,
    prompt: *const c_char,
    stop: *const c_char,
    overflow: *const c_char,
    tokens: i64,
    temperature: f64,
    top_k: i64,
    top_p: f64,
    seed: u64,
    user: *mut c_void,
    on_text: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> i32>,
});

/// sy_pipe_step and sy_pipe_evaluate.
pub type Feed = unsafe extern "C" fn(*mut Pipe, *const View, *const View, *mut StepResult, *mut *mut Error) -> i32;

#[link(name = "switchyard")]
extern "C" {
    pub fn sy_error_text(error: *const Error) -> *const c_char;
    pub fn sy_error_free(take: *mut Error);
    pub fn sy_code_name(code: c_int) -> *const c_char;
    pub fn sy_free(take: *mut c_char);
    pub fn sy_runtime_open(options: *const RuntimeOptions, give: *mut *mut Runtime, error: *mut *mut Error) -> i32;
    pub fn sy_runtime_close(take: *mut Runtime);
    pub fn sy_plan_make(runtime: *mut Runtime, give: *mut *mut Plan, error: *mut *mut Error) -> i32;
    pub fn sy_plan_text(plan: *mut Plan, give: *mut *mut c_char, error: *mut *mut Error) -> i32;
    pub fn sy_plan_free(take: *mut Plan);
    pub fn sy_pipe_build(plan: *mut Plan, give: *mut *mut Pipe, error: *mut *mut Error) -> i32;
    pub fn sy_pipe_close(take: *mut Pipe);
    pub fn sy_pipe_step(
        pipe: *mut Pipe,
        inputs: *const View,
        targets: *const View,
        result: *mut StepResult,
        error: *mut *mut Error,
    ) -> i32;
    pub fn sy_pipe_evaluate(
        pipe: *mut Pipe,
        inputs: *const View,
        targets: *const View,
        result: *mut StepResult,
        error: *mut *mut Error,
    ) -> i32;
    pub fn sy_pipe_find(pipe: *mut Pipe, name: *const c_char, index: *mut u32, error: *mut *mut Error) -> i32;
    pub fn sy_pipe_parameter(pipe: *mut Pipe, index: u32, out: *mut Parameter, error: *mut *mut Error) -> i32;
    pub fn sy_pipe_read(pipe: *mut Pipe, index: u32, to: *mut c_void, bytes: u64, error: *mut *mut Error) -> i32;
    pub fn sy_pipe_save(pipe: *mut Pipe, folder: *const c_char, error: *mut *mut Error) -> i32;
    pub fn sy_pipe_load(pipe: *mut Pipe, folder: *const c_char, error: *mut *mut Error) -> i32;
    pub fn sy_generate(
        runtime: *mut Runtime,
        options: *const GenerateOptions,
        give_json: *mut *mut c_char,
        error: *mut *mut Error,
    ) -> i32;
    pub fn sy_tensor_from_dlpack(
        take: *mut Managed,
        stream: *mut c_void,
        give: *mut *mut Tensor,
        error: *mut *mut Error,
    ) -> i32;
    pub fn sy_tensor_view(tensor: *const Tensor) -> *const View;
    pub fn sy_tensor_drop(take: *mut Tensor);

    pub fn snprintf(to: *mut c_char, size: usize, format: *const c_char, ...) -> c_int;
}
