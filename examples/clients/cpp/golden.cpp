// Plans, trains, reads, saves, reloads and generates from C++.   golden CONFIG FOLDER
// The 20 losses go to stdout, everything else to stderr.
#include <switchyard/switchyard.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// DLPack 1.x, whose header need not be there: the library only names this struct. sy_view is DLTensor, byte for byte.
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  sy_view tensor;
};

namespace {

constexpr int64_t batch_size = 16, context = 16, steps = 20;
const std::string sentence = "the quick brown fox jumps over the lazy dog, from one device to the next. ";

struct Error : std::runtime_error {
  Error(sy_rc code, const char* text) : std::runtime_error(text), code(code) {}
  sy_rc code;
};

/// Calls a function whose last parameter is the error.
template <class... Parameters, class... Arguments>
void call(sy_rc (*function)(Parameters...), Arguments... arguments) {
  sy_error* err = nullptr;
  if (const sy_rc rc = function(arguments..., &err); rc != SY_OK) {
    const std::unique_ptr<sy_error, decltype(&sy_error_free)> owner(err, sy_error_free);
    throw Error(rc, sy_error_text(err));
  }
}

template <class Handle, void (*close)(Handle*)>
struct Close {
  void operator()(Handle* handle) const { close(handle); }
};
using Runtime = std::unique_ptr<sy_runtime, Close<sy_runtime, sy_runtime_close>>;
using Plan = std::unique_ptr<sy_plan, Close<sy_plan, sy_plan_free>>;
using Pipe = std::unique_ptr<sy_pipe, Close<sy_pipe, sy_pipe_close>>;
using Tensor = std::unique_ptr<sy_tensor, Close<sy_tensor, sy_tensor_drop>>;

/// What a function gives in its last output, owned.
template <class Owner, class... Parameters, class... Arguments>
Owner make(sy_rc (*function)(Parameters...), Arguments... arguments) {
  typename Owner::pointer made = nullptr;
  call(function, arguments..., &made);
  return Owner(made);
}

Runtime open(const std::string& config, const std::string& set = "") {
  const char* sets = set.c_str();
  sy_runtime_options options{};
  options.size = sizeof options;
  options.n_sets = set.empty() ? 0 : 1;
  options.config = config.c_str();
  options.sets = &sets;
  return make<Runtime>(sy_runtime_open, &options);
}

// ---- batches: windows of the sentence, handed over as DLPack tensors
// -------------------------------------------------
struct Ids {
  DLManagedTensorVersioned managed{};
  std::vector<int64_t> shape{batch_size, context}, strides{context, 1}, values;
};

Tensor tensor_of(std::vector<int64_t> values) {
  auto* ids = new Ids;
  ids->values = std::move(values);
  ids->managed.major = 1;
  ids->managed.manager_ctx = ids;
  ids->managed.deleter = [](DLManagedTensorVersioned* self) { delete static_cast<Ids*>(self->manager_ctx); };
  ids->managed.tensor = {ids->values.data(), {SY_DEVICE_CPU, 0},  2, {SY_INT, 64, 1},
                         ids->shape.data(),  ids->strides.data(), 0};
  return make<Tensor>(sy_tensor_from_dlpack, &ids->managed, nullptr);  // the library calls the deleter
}

struct Batch {
  Tensor inputs, targets;
};

Batch draw(uint64_t& state) {
  std::vector<int64_t> inputs, targets;
  for (int64_t b = 0; b < batch_size; ++b) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t begin = (state >> 33) % sentence.size();
    for (int64_t i = 0; i < context; ++i) {
      inputs.push_back(sentence[(begin + static_cast<uint64_t>(i)) % sentence.size()]);
      targets.push_back(sentence[(begin + static_cast<uint64_t>(i) + 1) % sentence.size()]);
    }
  }
  return {tensor_of(std::move(inputs)), tensor_of(std::move(targets))};
}

// ---- the run
// ---------------------------------------------------------------------------------------------------------
void print_plan(sy_plan* plan) {
  char* text = nullptr;
  call(sy_plan_text, plan, &text);
  std::cerr << text;
  sy_free(text);
}

void train(sy_pipe* pipe) {
  uint64_t state = 1;
  std::printf("c++");
  for (int64_t step = 0; step < steps; ++step) {
    const Batch batch = draw(state);
    sy_step_result result{};
    result.size = sizeof result;
    call(sy_pipe_step, pipe, sy_tensor_view(batch.inputs.get()), sy_tensor_view(batch.targets.get()), &result);
    std::printf(" %.17g", result.loss);
  }
  std::printf("\n");
}

void print_parameter(sy_pipe* pipe, const char* name) {
  uint32_t index = 0;
  sy_parameter parameter{};
  parameter.size = sizeof parameter;
  call(sy_pipe_find, pipe, name, &index);
  call(sy_pipe_parameter, pipe, index, &parameter);
  std::vector<float> values(parameter.bytes / sizeof(float));
  call(sy_pipe_read, pipe, index, values.data(), parameter.bytes);
  std::fprintf(stderr, "%s on device %d: %.9g %.9g ...\n", name, static_cast<int>(parameter.device),
               static_cast<double>(values[0]), static_cast<double>(values[1]));
}

double evaluate(sy_pipe* pipe) {
  uint64_t state = 2;
  const Batch batch = draw(state);
  sy_step_result result{};
  result.size = sizeof result;
  call(sy_pipe_evaluate, pipe, sy_tensor_view(batch.inputs.get()), sy_tensor_view(batch.targets.get()), &result);
  return result.loss;
}

void reload(sy_plan* plan, sy_pipe* trained, const std::string& folder) {
  call(sy_pipe_save, trained, folder.c_str());
  const Pipe pipe = make<Pipe>(sy_pipe_build, plan);
  call(sy_pipe_load, pipe.get(), folder.c_str());
  const double before = evaluate(trained), after = evaluate(pipe.get());
  std::fprintf(stderr, "saved %.17g, reloaded %.17g\n", before, after);
  if (before != after) throw std::runtime_error("the reloaded pipe differs");
}

void generate(const std::string& config, const std::string& folder) {
  const Runtime runtime = open(config, "model.weights={file=\"" + folder + "/checkpoint/model.safetensors\"}");
  sy_generate_options options{};
  options.size = sizeof options;
  options.user = &std::cerr;
  // Each piece of text as it comes; anything but 0 would end it.
  options.on_text = [](void* user, const char* piece) -> int32_t {
    *static_cast<std::ostream*>(user) << piece;
    return 0;
  };
  std::cerr << "the quick |";
  call(sy_generate, runtime.get(), &options, nullptr);
  std::cerr << "|\n";
}

void print_error(const std::string& config) {
  try {
    open(config, "train.batsh=3");
  } catch (const Error& e) {
    std::cerr << sy_code_name(e.code) << ": " << e.what() << '\n';
  }
}

void run(const std::string& config, const std::string& folder) {
  const Runtime runtime = open(config);
  const Plan plan = make<Plan>(sy_plan_make, runtime.get());  // nothing is allocated yet
  print_plan(plan.get());
  const Pipe pipe = make<Pipe>(sy_pipe_build, plan.get());  // weights are placed, one thread for each device
  train(pipe.get());
  print_parameter(pipe.get(), "h.1.mlp.up.weight");
  reload(plan.get(), pipe.get(), folder);
  generate(config, folder);
  print_error(config);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    run(argv[1], argv[2]);
  } catch (const std::exception& e) {
    std::cerr << "error: " << e.what() << '\n';
    return 1;
  }
}
