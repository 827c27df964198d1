// Callbacks of the caller's: they call back in, throw, and end jobs; what they were called from goes on or ends in
// order.
#include <atomic>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

extern "C" {
#include "program.h"
}

namespace {

const char* const data_text = "[data]\ntensors = \"callbacks.safetensors\"\nvalidation = 0.0\n";

/// Two samples of the model of program.h: inputs F32 [8, 3], targets I64 [8].
void write_data() {
  std::string header =
      R"({"inputs":{"dtype":"F32","shape":[8,3],"data_offsets":[0,96]},"targets":{"dtype":"I64","shape":[8],"data_offsets":[96,160]}})";
  while (header.size() % 8) header += ' ';
  FILE* file = std::fopen("callbacks.safetensors", "wb");
  const uint64_t bytes = header.size();
  std::fwrite(&bytes, 8, 1, file);
  std::fwrite(header.data(), 1, header.size(), file);
  for (int i = 0; i < 24; ++i) {
    const float x = 0.1f * static_cast<float>(i % 7);
    std::fwrite(&x, 4, 1, file);
  }
  for (int64_t i = 0; i < 8; ++i) {
    const int64_t target = i % 4;
    std::fwrite(&target, 8, 1, file);
  }
  std::fclose(file);
}

sy_runtime* open_training() { return open_text((std::string(program_text) + data_text).c_str(), nullptr, 0); }

sy_train_options options_for(void* user) {
  sy_train_options o{};
  o.size = sizeof o;
  o.flags = SY_TRAIN_NO_FILES;
  o.at_most = 5;
  o.user = user;
  return o;
}

struct Seen {
  sy_runtime* runtime = nullptr;
  int steps = 0;
};

/// The runtime that is training prints its configuration, plans, and another one trains and is closed.
int32_t calls_back_in(void* user, const sy_report*) {
  auto& seen = *static_cast<Seen*>(user);
  char* toml = nullptr;
  OK(sy_config_print(seen.runtime, &toml, &err));
  sy_free(toml);
  sy_runtime* other = open_text(program_text, nullptr, 0);
  sy_pipe* pipe = build_pipe(other);
  sy_view inputs = inputs_view(), targets = targets_view();
  OK(sy_pipe_step(pipe, &inputs, &targets, nullptr, &err));
  sy_pipe_close(pipe);
  sy_runtime_close(other);
  ++seen.steps;
  return 0;
}

void a_callback_may_call_back_in() {
  Seen seen{open_training(), 0};
  sy_train_options options = options_for(&seen);
  options.on_step = calls_back_in;
  char* json = nullptr;
  OK(sy_train(seen.runtime, &options, &json, &err));
  CHECK(seen.steps == 5);
  sy_free(json);
  sy_runtime_close(seen.runtime);
}

/// An exception ends the job with its words; the runtime trains again.
void an_exception_ends_the_job() {
  Seen seen{open_training(), 0};
  sy_train_options options = options_for(&seen);
  options.on_step = [](void* user, const sy_report*) -> int32_t {
    if (++static_cast<Seen*>(user)->steps == 2) throw std::runtime_error("the caller's own trouble");
    return 0;
  };
  char* json = nullptr;
  sy_error* error = nullptr;
  CHECK(sy_train(seen.runtime, &options, &json, &error) != SY_OK);
  CHECK(std::strstr(sy_error_text(error), "the caller's own trouble") != nullptr);
  CHECK(seen.steps == 2);
  sy_error_free(error);
  OK(sy_train(seen.runtime, &options, &json, &err));
  sy_free(json);
  sy_runtime_close(seen.runtime);
}

/// Not 0 stops after the step.
void a_callback_may_stop() {
  Seen seen{open_training(), 0};
  sy_train_options options = options_for(&seen);
  options.on_step = [](void* user, const sy_report*) { return int32_t{++static_cast<Seen*>(user)->steps == 3}; };
  char* json = nullptr;
  OK(sy_train(seen.runtime, &options, &json, &err));
  CHECK(seen.steps == 3);
  sy_free(json);
  sy_runtime_close(seen.runtime);
}

/// The log is written from any thread; its sink asks the library for something.
void the_log_may_call_back_in() {
  static std::atomic<int> lines{0};
  sy_log_sink([](void*, int32_t, const char*, const char*) { lines += std::strlen(sy_code_name(SY_E_DATA)) > 0; },
              nullptr);
  sy_runtime* runtime = open_text(program_text, nullptr, 0);
  sy_plan* plan = nullptr;
  OK(sy_plan_make(runtime, &plan, &err));
  sy_plan_free(plan);
  sy_plan_free(plan);  // twice: said in the log
  CHECK(lines == 1);
  sy_log_sink(nullptr, nullptr);
  sy_runtime_close(runtime);
}

}  // namespace

int main() {
  write_data();
  a_callback_may_call_back_in();
  an_exception_ends_the_job();
  a_callback_may_stop();
  the_log_may_call_back_in();
  std::filesystem::remove("callbacks.safetensors");
  return failures != 0;
}
