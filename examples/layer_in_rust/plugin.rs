//! The part of switchyard/plugin.h and switchyard/layer.h that a layer needs, written by hand.
#![allow(dead_code)]
use crate::sy::{Error, Runtime, Tensor, View};
use std::os::raw::{c_char, c_void};

pub const OK: i32 = 0;
pub const UNKNOWN: i32 = 2;
pub const NO_MEMORY: i32 = 8;
pub const RANGE: i32 = 11;
pub const UNIMPLEMENTED: i32 = 12;
pub const CONFIG: i32 = 65;

pub const DEVICE_CPU: i32 = 1;
pub const T_F64: u32 = 3;
pub const PORT_DIFFERENTIABLE: u32 = 1;
pub const CALL_NO_SAVE: u32 = 1;
pub const F32: DType = DType { code: 2, bits: 32, lanes: 1 };

/// Something without fields that anybody may see.
pub type Opaque = *mut c_void;

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
pub struct DType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

/// `sy_host`; slots that are not used here are opaque.
#[repr(C)]
pub struct Host {
    pub size: u32,
    pub abi_minor: u32,
    pub this: Opaque,
    pub core_version: *const c_char,
    pub fail: unsafe extern "C" fn(Opaque, *mut *mut Error, i32, *const c_char) -> i32,
    pub note: Opaque,
    pub log: Opaque,
    pub alloc: unsafe extern "C" fn(Opaque, u64, u64) -> Opaque,
    pub free: unsafe extern "C" fn(Opaque, Opaque),
    pub charge: unsafe extern "C" fn(Opaque, Opaque, i64, *mut *mut Error) -> i32,
    pub cfg_bool: Opaque,
    pub cfg_i64: Opaque,
    pub cfg_f64: unsafe extern "C" fn(Opaque, *const c_char, *mut f64, *mut *mut Error) -> i32,
    pub cfg_str: Opaque,
    pub cfg_count: Opaque,
    pub cfg_i64_at: Opaque,
    pub cfg_f64_at: Opaque,
    pub cfg_str_at: Opaque,
    pub cfg_given: Opaque,
    pub tensor_wrap: unsafe extern "C" fn(
        Opaque,
        *const View,
        Opaque,
        unsafe extern "C" fn(Opaque),
        *mut *mut Tensor,
        *mut *mut Error,
    ) -> i32,
    pub tensor_view: unsafe extern "C" fn(*const Tensor) -> *const View,
    pub tensor_keep: unsafe extern "C" fn(*mut Tensor),
    pub tensor_drop: unsafe extern "C" fn(*mut Tensor),
    pub text_add: Opaque,
    pub get: Opaque,
}

#[repr(C)]
pub struct OptionSpec {
    pub size: u32,
    pub kind: u32,
    pub key: *const c_char,
    pub fallback: *const c_char,
    pub min: f64,
    pub max: f64,
    pub choices: *const *const c_char,
    pub unit: *const c_char,
    pub help: *const c_char,
}

#[repr(C)]
pub struct Port {
    pub size: u32,
    pub flags: u32,
    pub dtype: DType,
    pub ndim: i32,
    pub shape: [i64; 8],
    pub id_limit: i64,
    pub ignore_id: i64,
    pub compute: DType,
    pub reserved: u32,
}

#[repr(C)]
pub struct Param {
    pub size: u32,
    pub kind: u32,
    pub dtype_class: u32,
    pub flags: u32,
    pub dtype: DType,
    pub ndim: i32,
    pub shape: [i64; 8],
    pub name: *const c_char,
    pub init: *const c_char,
    pub tied_to: *const c_char,
}

#[repr(C)]
pub struct Cost {
    pub size: u32,
    pub flags: u32,
    pub flops_forward: f64,
    pub flops_input: f64,
    pub flops_weight: f64,
    pub bytes_saved: u64,
    pub bytes_held: u64,
    pub bytes_workspace: u64,
    pub bytes_workspace_backward: u64,
    pub keep_in: u64,
    pub keep_out: u64,
}

#[repr(C)]
pub struct Binding {
    pub size: u32,
    pub n_params: u32,
    pub values: *const *const View,
    pub grads: *const *const View,
    pub device: [i32; 2],
    pub origin: Opaque,
    pub threads: i64,
}

#[repr(C)]
pub struct Call {
    pub size: u32,
    pub flags: u32,
    pub kind: u32,
    pub micro_batch: u32,
    pub micro_batches: u32,
    pub n_in: u32,
    pub n_out: u32,
    pub param_version: u32,
    pub device: [i32; 2],
    pub stream: Opaque,
    pub native_stream: Opaque,
    pub origin: Opaque,
    pub threads: i64,
    pub rows: i64,
    pub batch_rows: i64,
    pub first_sample: i64,
    pub step: u64,
    pub seed: u64,
    pub layer_key: u64,
    pub loss_weight: f64,
    pub inputs: *const *mut Tensor,
    pub outputs: *mut *mut Tensor,
    pub want: u64,
}

/// `sy_layer_api`, for a layer that is an `L` and keeps an `S` from forward to backward.
#[repr(C)]
pub struct LayerTable<L, S> {
    pub size: u32,
    pub caps: u32,
    pub id: *const c_char,
    pub help: *const c_char,
    pub options: *const *const OptionSpec,
    pub n_options: u32,
    pub reserved: u32,
    pub create: unsafe extern "C" fn(*const Host, Opaque, *mut *mut L, *mut *mut Error) -> i32,
    pub infer: unsafe extern "C" fn(
        *mut L,
        u32,
        *const *mut Port,
        u32,
        *const *mut Port,
        u32,
        *mut u32,
        *mut *mut Error,
    ) -> i32,
    pub params: unsafe extern "C" fn(*mut L, u32, *mut Param, *mut *mut Error) -> i32,
    pub cost: unsafe extern "C" fn(*mut L, u32, *const *const Port, u32, *mut Cost, *mut *mut Error) -> i32,
    pub bind: unsafe extern "C" fn(*mut L, *const Binding, *mut *mut Error) -> i32,
    pub forward: unsafe extern "C" fn(*mut L, *const Call, *mut *mut S, *mut *mut Error) -> i32,
    pub backward: unsafe extern "C" fn(*mut L, *const Call, *mut S, *mut *mut Error) -> i32,
    pub backward_input: Opaque, // optional slots, empty
    pub backward_weight: Opaque,
    pub finish: Opaque,
    pub free_saved: unsafe extern "C" fn(*mut L, *mut S),
    pub destroy: unsafe extern "C" fn(*mut L),
    pub get: Opaque,
}

#[repr(C)]
pub struct Export {
    pub kind: *const c_char,
    pub table: *const c_void,
}

#[repr(C)]
pub struct Plugin {
    pub magic: u32,
    pub size: u32,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub id: *const c_char,
    pub version: *const c_char,
    pub exports: *const Export,
    pub n_exports: u32,
    pub reserved: u32,
    pub attach: unsafe extern "C" fn(*const Host, *mut *mut Error) -> i32,
}

pub const MAGIC: u32 = 0x50435953;
pub const ABI: (u32, u32) = (0, 1);

/// A constant with pointers in it.
#[repr(transparent)]
pub struct Shared<T>(pub T);
unsafe impl<T> Sync for Shared<T> {}

/// A literal that ends with NUL.
pub const fn c(text: &'static str) -> *const c_char {
    assert!(text.as_bytes()[text.len() - 1] == 0);
    text.as_ptr() as *const c_char
}

extern "C" {
    pub fn sy_plugin_register(runtime: *mut Runtime, lend: *const Plugin, error: *mut *mut Error) -> i32;
}
