//! Plans, trains, reads, saves, reloads and generates from Rust, without any crate.   golden CONFIG FOLDER
//! The 20 losses go to stdout, everything else to stderr.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::{env, fmt, panic, process, ptr};

mod sy;

const BATCH: i64 = 16;
const CONTEXT: i64 = 16;
const STEPS: usize = 20;
const SENTENCE: &[u8] = b"the quick brown fox jumps over the lazy dog, from one device to the next. ";

#[derive(Debug)]
struct Error {
    code: i32,
    text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.text)
    }
}

/// Calls a function whose last parameter is the error.
fn call(function: impl FnOnce(*mut *mut sy::Error) -> i32) -> Result<(), Error> {
    let mut error = ptr::null_mut();
    let code = function(&mut error);
    if code == sy::OK {
        return Ok(());
    }
    let text = text_of(unsafe { sy::sy_error_text(error) });
    unsafe { sy::sy_error_free(error) };
    Err(Error { code, text })
}

fn text_of(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn c_text(text: &str) -> CString {
    CString::new(text).expect("text without NUL")
}

/// `number` as C prints it.
fn print(format: &str, number: f64) -> String {
    let (mut buffer, format) = ([0 as c_char; 64], c_text(format));
    unsafe { sy::snprintf(buffer.as_mut_ptr(), buffer.len(), format.as_ptr(), number) };
    text_of(buffer.as_ptr())
}

// ---- handles, each closed by its own function -----------------------------------------------------------------------
macro_rules! handle {
    ($name:ident, $close:ident) => {
        struct $name(*mut sy::$name);
        impl Drop for $name {
            fn drop(&mut self) {
                unsafe { sy::$close(self.0) }
            }
        }
    };
}
handle!(Runtime, sy_runtime_close);
handle!(Plan, sy_plan_free);
handle!(Pipe, sy_pipe_close);
handle!(Tensor, sy_tensor_drop);

impl Runtime {
    fn open(config: &str, set: Option<&str>) -> Result<Runtime, Error> {
        let (config, set) = (c_text(config), set.map(c_text));
        let sets = set.as_ref().map_or(ptr::null(), |s| s.as_ptr());
        let mut options = sy::RuntimeOptions::default();
        options.n_sets = set.is_some() as u32;
        options.config = config.as_ptr();
        options.sets = &sets;
        let mut runtime = Runtime(ptr::null_mut());
        call(|e| unsafe { sy::sy_runtime_open(&options, &mut runtime.0, e) })?;
        Ok(runtime)
    }

    fn plan(&self) -> Result<Plan, Error> {
        let mut plan = Plan(ptr::null_mut());
        call(|e| unsafe { sy::sy_plan_make(self.0, &mut plan.0, e) })?;
        Ok(plan)
    }

    /// `on_piece` gets each piece of text as it comes; false would end it.
    fn generate(&self, mut on_piece: impl FnMut(&str) -> bool) -> Result<(), Error> {
        let mut callback: &mut dyn FnMut(&str) -> bool = &mut on_piece;
        let mut options = sy::GenerateOptions::default();
        options.user = &mut callback as *mut &mut dyn FnMut(&str) -> bool as *mut c_void;
        options.on_text = Some(hand_on);
        call(|e| unsafe { sy::sy_generate(self.0, &options, ptr::null_mut(), e) })
    }
}

unsafe extern "C" fn hand_on(user: *mut c_void, piece: *const c_char) -> i32 {
    let callback = &mut *(user as *mut &mut dyn FnMut(&str) -> bool);
    // No panic may cross; one ends the text.
    let more = panic::catch_unwind(panic::AssertUnwindSafe(|| callback(&text_of(piece))));
    !more.unwrap_or(false) as i32
}

impl Plan {
    fn text(&self) -> Result<String, Error> {
        let mut given = ptr::null_mut();
        call(|e| unsafe { sy::sy_plan_text(self.0, &mut given, e) })?;
        let text = text_of(given);
        unsafe { sy::sy_free(given) };
        Ok(text)
    }

    fn build(&self) -> Result<Pipe, Error> {
        let mut pipe = Pipe(ptr::null_mut());
        call(|e| unsafe { sy::sy_pipe_build(self.0, &mut pipe.0, e) })?;
        Ok(pipe)
    }
}

impl Pipe {
    fn step(&self, batch: &Batch) -> Result<f64, Error> {
        self.feed(sy::sy_pipe_step, batch)
    }

    fn evaluate(&self, batch: &Batch) -> Result<f64, Error> {
        self.feed(sy::sy_pipe_evaluate, batch)
    }

    fn feed(&self, function: sy::Feed, batch: &Batch) -> Result<f64, Error> {
        let mut result = sy::StepResult::default();
        call(|e| unsafe { function(self.0, batch.inputs.view(), batch.targets.view(), &mut result, e) })?;
        Ok(result.loss)
    }

    /// The device of a parameter, and its value.
    fn read(&self, name: &str) -> Result<(i32, Vec<f32>), Error> {
        let (name, mut index, mut parameter) = (c_text(name), 0, sy::Parameter::default());
        call(|e| unsafe { sy::sy_pipe_find(self.0, name.as_ptr(), &mut index, e) })?;
        call(|e| unsafe { sy::sy_pipe_parameter(self.0, index, &mut parameter, e) })?;
        let mut values = vec![0f32; parameter.bytes as usize / 4];
        call(|e| unsafe { sy::sy_pipe_read(self.0, index, values.as_mut_ptr() as *mut c_void, parameter.bytes, e) })?;
        Ok((parameter.device, values))
    }

    fn save(&self, folder: &str) -> Result<(), Error> {
        let folder = c_text(folder);
        call(|e| unsafe { sy::sy_pipe_save(self.0, folder.as_ptr(), e) })
    }

    fn load(&self, folder: &str) -> Result<(), Error> {
        let folder = c_text(folder);
        call(|e| unsafe { sy::sy_pipe_load(self.0, folder.as_ptr(), e) })
    }
}

// ---- batches: windows of the sentence, handed over as DLPack tensors -------------------------------------------------
struct Batch {
    inputs: Tensor,
    targets: Tensor,
}

/// What a DLPack tensor points to, until its deleter is called.
struct Ids {
    managed: sy::Managed,
    shape: [i64; 2],
    strides: [i64; 2],
    values: Vec<i64>,
}

unsafe extern "C" fn delete(managed: *mut sy::Managed) {
    drop(Box::from_raw((*managed).manager_ctx as *mut Ids));
}

impl Tensor {
    fn of(values: Vec<i64>) -> Result<Tensor, Error> {
        let ids = Box::into_raw(Box::new(Ids {
            managed: sy::Managed::empty(delete),
            shape: [BATCH, CONTEXT],
            strides: [CONTEXT, 1],
            values,
        }));
        let mut tensor = Tensor(ptr::null_mut());
        unsafe {
            let view = &mut (*ids).managed.tensor;
            view.data = (*ids).values.as_mut_ptr() as *mut c_void;
            view.ndim = 2;
            view.shape = (*ids).shape.as_mut_ptr();
            view.strides = (*ids).strides.as_mut_ptr();
            (*ids).managed.manager_ctx = ids as *mut c_void;
            call(|e| sy::sy_tensor_from_dlpack(&mut (*ids).managed, ptr::null_mut(), &mut tensor.0, e))?;
        }
        Ok(tensor)
    }

    fn view(&self) -> *const sy::View {
        unsafe { sy::sy_tensor_view(self.0) }
    }
}

fn draw(state: &mut u64) -> Result<Batch, Error> {
    let (mut inputs, mut targets) = (Vec::new(), Vec::new());
    for _ in 0..BATCH {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let begin = (*state >> 33) as usize % SENTENCE.len();
        let byte = |i: usize| SENTENCE[(begin + i) % SENTENCE.len()] as i64;
        inputs.extend((0..CONTEXT as usize).map(byte));
        targets.extend((1..=CONTEXT as usize).map(byte));
    }
    Ok(Batch { inputs: Tensor::of(inputs)?, targets: Tensor::of(targets)? })
}

// ---- the run ---------------------------------------------------------------------------------------------------------
fn train(pipe: &Pipe) -> Result<(), Error> {
    let (mut state, mut line) = (1, String::from("rust"));
    for _ in 0..STEPS {
        line += " ";
        line += &print("%.17g", pipe.step(&draw(&mut state)?)?);
    }
    println!("{}", line);
    Ok(())
}

fn print_parameter(pipe: &Pipe, name: &str) -> Result<(), Error> {
    let (device, values) = pipe.read(name)?;
    let shown = |i: usize| print("%.9g", values[i] as f64);
    eprintln!("{} on device {}: {} {} ...", name, device, shown(0), shown(1));
    Ok(())
}

fn reload(plan: &Plan, trained: &Pipe, folder: &str) -> Result<(), Error> {
    trained.save(folder)?;
    let pipe = plan.build()?;
    pipe.load(folder)?;
    let (before, after) = (trained.evaluate(&draw(&mut 2)?)?, pipe.evaluate(&draw(&mut 2)?)?);
    eprintln!("saved {}, reloaded {}", print("%.17g", before), print("%.17g", after));
    assert_eq!(before, after);
    Ok(())
}

fn generate(config: &str, folder: &str) -> Result<(), Error> {
    let weights = format!("model.weights={{file=\"{}/checkpoint/model.safetensors\"}}", folder);
    let runtime = Runtime::open(config, Some(&weights))?;
    eprint!("the quick |");
    runtime.generate(|piece| {
        eprint!("{}", piece);
        true
    })?;
    eprintln!("|");
    Ok(())
}

fn print_error(config: &str) {
    if let Err(e) = Runtime::open(config, Some("train.batsh=3")) {
        eprintln!("{}: {}", text_of(unsafe { sy::sy_code_name(e.code as c_int) }), e);
    }
}

fn run(config: &str, folder: &str) -> Result<(), Error> {
    let runtime = Runtime::open(config, None)?;
    let plan = runtime.plan()?; // nothing is allocated yet
    eprint!("{}", plan.text()?);
    let pipe = plan.build()?; // weights are placed, one thread for each device
    train(&pipe)?;
    print_parameter(&pipe, "h.1.mlp.up.weight")?;
    reload(&plan, &pipe, folder)?;
    generate(config, folder)?;
    print_error(config);
    Ok(())
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let Err(e) = run(&arguments[1], &arguments[2]) {
        eprintln!("error: {}", e);
        process::exit(1);
    }
}
