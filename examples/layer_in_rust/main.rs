//! Trains a net with a layer type that lives in this program.   circle [CONFIG [KEY=VALUE]]
use std::ffi::{CStr, CString};
use std::os::raw::c_void;
use std::{env, process, ptr};

mod plugin;
mod scale;
#[path = "../clients/rust/sy.rs"]
mod sy;

const BATCH: usize = 64;
const STEPS: usize = 100;

/// Ends the program with the text of what went wrong.
fn call(function: impl FnOnce(*mut *mut sy::Error) -> i32) {
    let mut error = ptr::null_mut();
    if function(&mut error) != sy::OK {
        let text = unsafe { CStr::from_ptr(sy::sy_error_text(error)) };
        eprintln!("error: {}", text.to_string_lossy());
        process::exit(1);
    }
}

fn open(config: &str, set: Option<String>) -> *mut sy::Runtime {
    let (config, set) = (CString::new(config).unwrap(), CString::new(set.unwrap_or_default()).unwrap());
    let sets = set.as_ptr();
    let mut options = sy::RuntimeOptions::default();
    options.config = config.as_ptr();
    options.n_sets = !set.as_bytes().is_empty() as u32;
    options.sets = &sets;
    let mut runtime = ptr::null_mut();
    call(|e| unsafe { sy::sy_runtime_open(&options, &mut runtime, e) });
    call(|e| unsafe { plugin::sy_plugin_register(runtime, &scale::PLUGIN.0, e) });
    runtime
}

fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) as f64 / 2147483648.0
}

/// Points in a square, and whether each lies within a circle around its middle.
fn draw(state: &mut u64) -> (Vec<f32>, Vec<i64>) {
    let (mut points, mut within) = (Vec::new(), Vec::new());
    for _ in 0..BATCH {
        let (x, y) = (2.0 * uniform(state) - 1.0, 2.0 * uniform(state) - 1.0);
        points.extend([x as f32, y as f32]);
        within.push((x * x + y * y < 0.6) as i64);
    }
    (points, within)
}

fn view(data: *const c_void, (code, bits): (u8, u8), shape: &mut [i64], strides: &mut [i64]) -> sy::View {
    sy::View {
        data: data as *mut c_void,
        device: [sy::CPU, 0],
        ndim: shape.len() as i32,
        code,
        bits,
        lanes: 1,
        shape: shape.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        byte_offset: 0,
    }
}

fn step(pipe: *mut sy::Pipe, points: &[f32], within: &[i64]) -> f64 {
    let (mut shape, mut strides) = ([BATCH as i64, 2], [2, 1]);
    let inputs = view(points.as_ptr() as *const c_void, (2, 32), &mut shape, &mut strides);
    let (mut shape, mut strides) = ([BATCH as i64], [1]);
    let targets = view(within.as_ptr() as *const c_void, (0, 64), &mut shape, &mut strides);
    let mut result = sy::StepResult::default();
    call(|e| unsafe { sy::sy_pipe_step(pipe, &inputs, &targets, &mut result, e) });
    result.loss
}

fn main() {
    let mut arguments = env::args().skip(1);
    let config = arguments.next().unwrap_or_else(|| "circle.toml".to_string());
    let runtime = open(&config, arguments.next());
    let (mut plan, mut pipe) = (ptr::null_mut(), ptr::null_mut());
    call(|e| unsafe { sy::sy_plan_make(runtime, &mut plan, e) });
    call(|e| unsafe { sy::sy_pipe_build(plan, &mut pipe, e) });
    let mut state = 1;
    for _ in 0..STEPS {
        let (points, within) = draw(&mut state);
        println!("{}", step(pipe, &points, &within));
    }
    unsafe {
        sy::sy_pipe_close(pipe);
        sy::sy_plan_free(plan);
        sy::sy_runtime_close(runtime);
    }
}
