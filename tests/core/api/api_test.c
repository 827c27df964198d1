/* The application API from C99: a runtime, its plan, a pipe, its parameters, whole jobs, tensors. */
#define _XOPEN_SOURCE 700
#include <math.h>

#include "program.h"

static void versions(void) {
  uint32_t major = 99, minor = 99;
  CHECK(strchr(sy_version(), '.') != NULL);
  sy_abi(&major, &minor);
  CHECK(major == SY_ABI_MAJOR && minor == SY_ABI_MINOR);
  sy_abi(NULL, NULL);
  CHECK(strcmp(sy_code_name(SY_E_CONFIG), "SY_E_CONFIG") == 0);
  CHECK(sy_code_name(12345) == NULL);
}

/* A configuration with three mistakes: three lines, each with its place. */
static void mistakes(void) {
  sy_runtime *runtime = NULL;
  sy_runtime_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.text = "sead = 1\n[[layer]]\ntype = \"plain_tanh\"\n[pipelin]\n[schedule]\nmicro-batches = 2\n";
  FAILS(sy_runtime_open(&options, &runtime, &err), SY_E_CONFIG, "text.toml:1:1: ");
  FAILS(sy_runtime_open(&options, &runtime, &err), SY_E_CONFIG, "\n");
  FAILS(sy_runtime_open(&options, &runtime, &err), SY_E_CONFIG, "micro_batches");
  CHECK(runtime == NULL);
  CHECK(sy_runtime_open(&options, &runtime, NULL) == SY_E_CONFIG); /* the text is not wanted */
  options.config = "x.toml";
  FAILS(sy_runtime_open(&options, &runtime, &err), SY_E_ARGUMENT, "both");
  options.text = NULL;
  FAILS(sy_runtime_open(&options, &runtime, &err), SY_E_CONFIG, "x.toml");
  options.size = 0;
  FAILS(sy_runtime_open(&options, &runtime, &err), SY_E_ARGUMENT, "size is 0");
}

static void lists(void) {
  sy_runtime *runtime = NULL;
  char *json = NULL;
  OK(sy_runtime_open(NULL, &runtime, &err));
  OK(sy_plugins(runtime, &json, &err));
  CHECK(strstr(json, "sy-layer-plain.so") != NULL);
  sy_free(json);
  OK(sy_devices(runtime, &json, &err));
  CHECK(strstr(json, "\"cpu:0\"") != NULL && strstr(json, "\"cuda\"") != NULL);
  sy_free(json);
  OK(sy_describe(runtime, NULL, &json, &err));
  CHECK(strstr(json, "plain_linear") != NULL && strstr(json, "contiguous") != NULL);
  sy_free(json);
  OK(sy_describe(runtime, "plain_linear", &json, &err));
  CHECK(strstr(json, "\"key\":\"out\"") != NULL && strstr(json, "\"required\":true") != NULL);
  sy_free(json);
  json = NULL;
  FAILS(sy_describe(runtime, "plain_liner", &json, &err), SY_E_CONFIG, "did you mean 'plain_linear'?");
  FAILS(sy_plugin_load(runtime, "no/such.so", &err), SY_E_NOT_FOUND, "no/such.so");
  FAILS(sy_config_print(runtime, &json, &err), SY_E_STATE, "without a configuration");
  CHECK(json == NULL);
  sy_runtime_close(runtime);
}

static void plans(sy_runtime *runtime) {
  sy_plan *plan = NULL;
  char *text = NULL;
  const char *name = NULL;
  int32_t list[8];
  uint32_t count = 0;
  OK(sy_plan_make(runtime, &plan, &err));
  OK(sy_plan_stage_of_layer(plan, list, 8, &count, &err));
  CHECK(count == 4 && list[0] == 0 && list[3] == 1);
  FAILS(sy_plan_stage_of_layer(plan, NULL, 0, &count, &err), SY_E_RANGE, "4 items");
  CHECK(count == 4);
  OK(sy_plan_device_of_stage(plan, list, 8, &count, &err));
  CHECK(count == 2 && list[0] == 0 && list[1] == 1);
  OK(sy_plan_layer_name(plan, 2, &name, &err));
  CHECK(strcmp(name, "b") == 0);
  OK(sy_plan_device_name(plan, 1, &name, &err));
  CHECK(strcmp(name, "cpu:1") == 0);
  FAILS(sy_plan_layer_name(plan, 4, &name, &err), SY_E_RANGE, "layer 4 of 4");
  OK(sy_plan_text(plan, &text, &err));
  CHECK(strstr(text, "contiguous, 1f1b, 2 micro-batches of 2 x 3") != NULL);
  sy_free(text);
  OK(sy_plan_html(plan, &text, &err));
  CHECK(strstr(text, "</html>"));
  sy_free(text);
  OK(sy_plan_json(plan, &text, &err));
  CHECK(strstr(text, "\"replica\":0") != NULL);
  sy_free(text);
  sy_plan_free(plan);
}

static double step(sy_pipe *pipe) {
  sy_view inputs = inputs_view(), targets = targets_view();
  sy_step_result r;
  memset(&r, 0, sizeof r);
  r.size = sizeof r;
  OK(sy_pipe_step(pipe, &inputs, &targets, &r, &err));
  CHECK(r.valid == 4 && r.lr == 0.1 && r.grad_norm > 0 && r.skipped == 0 && r.loss_scale == 1);
  CHECK(r.accuracy >= 0 && r.accuracy <= 1);
  return r.loss;
}

static void steps(sy_pipe *pipe) {
  sy_view inputs = inputs_view(), targets = targets_view();
  sy_step_result r;
  double micro[4], first, before;
  uint32_t count = 0;
  struct { /* what a caller of an earlier version would know */
    uint32_t size, skipped;
    int64_t step, valid;
    double loss, untouched;
  } old;
  memset(&r, 0, sizeof r);
  r.size = sizeof r;
  OK(sy_pipe_evaluate(pipe, &inputs, &targets, &r, &err));
  CHECK(isnan(r.grad_norm) && isnan(r.lr) && r.step == 0);
  before = r.loss;
  first = step(pipe);
  CHECK(first == before);
  OK(sy_pipe_micro_losses(pipe, micro, 4, &count, &err));
  CHECK(count == 2 && fabs((micro[0] + micro[1]) / 4 - first) < 1e-6);
  CHECK(step(pipe) < first);
  OK(sy_pipe_step(pipe, &inputs, &targets, NULL, &err));
  memset(&old, 0, sizeof old);
  old.size = 32;
  old.untouched = 7;
  OK(sy_pipe_evaluate(pipe, &inputs, &targets, (sy_step_result *)(void *)&old, &err));
  CHECK(old.size == 32 && old.loss > 0 && old.step == 3 && old.untouched == 7);
  old.size = 0;
  FAILS(sy_pipe_step(pipe, &inputs, &targets, (sy_step_result *)(void *)&old, &err), SY_E_ARGUMENT, "size is 0");
}

/* Other types and strides hold the same batch. */
static void forms(sy_pipe *pipe) {
  double wide[3 * 4]; /* transposed */
  uint8_t ids[4] = {0, 1, 2, 3};
  int64_t transposed_strides[2] = {1, 4};
  sy_view inputs = view(wide, SY_FLOAT, 64, 2, inputs_shape, transposed_strides);
  sy_view targets = view(ids, SY_UINT, 8, 1, targets_shape, targets_strides);
  sy_view plain_inputs = inputs_view(), plain_targets = targets_view();
  sy_step_result a, b;
  int row, column;
  for (row = 0; row < 4; ++row)
    for (column = 0; column < 3; ++column) wide[column * 4 + row] = batch_inputs[row * 3 + column];
  memset(&a, 0, sizeof a);
  a.size = sizeof a;
  b = a;
  OK(sy_pipe_evaluate(pipe, &plain_inputs, &plain_targets, &a, &err));
  OK(sy_pipe_evaluate(pipe, &inputs, &targets, &b, &err));
  CHECK(a.loss == b.loss);
  ids[2] = 4;
  FAILS(sy_pipe_step(pipe, &inputs, &targets, NULL, &err), SY_E_DATA, "id 4 in row 2");
  ids[2] = 2;
  OK(sy_pipe_step(pipe, &inputs, &targets, NULL, &err));
  targets = view(wide, SY_FLOAT, 64, 1, targets_shape, targets_strides);
  FAILS(sy_pipe_step(pipe, &inputs, &targets, NULL, &err), SY_E_DATA, "targets are fp64; the model takes int64");
  inputs.device.type = SY_DEVICE_CUDA;
  FAILS(sy_pipe_step(pipe, &inputs, &plain_targets, NULL, &err), SY_E_ARGUMENT, "copy it to the host");
  inputs = inputs_view();
  inputs.ndim = 0;
  FAILS(sy_pipe_step(pipe, &inputs, &plain_targets, NULL, &err), SY_E_ARGUMENT, "dimensions");
  inputs.ndim = 1;
  FAILS(sy_pipe_step(pipe, &inputs, &plain_targets, NULL, &err), SY_E_DATA, "inputs");
}

static void forward(sy_pipe *pipe) {
  sy_view inputs = inputs_view();
  sy_tensor *scores = NULL;
  const sy_view *v;
  OK(sy_pipe_forward(pipe, &inputs, 0, &scores, &err));
  v = sy_tensor_view(scores);
  CHECK(v != NULL && v->ndim == 2 && v->shape[0] == 4 && v->shape[1] == 4 && v->dtype.bits == 32);
  sy_tensor_keep(scores);
  sy_tensor_drop(scores);
  CHECK(isfinite(((const float *)v->data)[15]));
  sy_tensor_drop(scores);
  FAILS(sy_pipe_forward(pipe, &inputs, 8, &scores, &err), SY_E_ARGUMENT, "flags");
}

static void parameters(sy_pipe *pipe) {
  uint32_t count = 0, index = 99;
  sy_parameter p;
  float values[15], again[15], gradient[15];
  memset(&p, 0, sizeof p);
  p.size = sizeof p;
  OK(sy_pipe_parameter_count(pipe, &count, &err));
  CHECK(count == 4);
  OK(sy_pipe_find(pipe, "a.weight", &index, &err));
  OK(sy_pipe_parameter(pipe, index, &p, &err));
  CHECK(strcmp(p.name, "a.weight") == 0 && p.ndim == 2 && p.shape[0] == 5 && p.shape[1] == 3 && p.bytes == sizeof values);
  CHECK(p.kind == SY_P_WEIGHT && p.trainable == 1 && p.owner == -1 && p.device == 0);
  FAILS(sy_pipe_parameter(pipe, 4, &p, &err), SY_E_RANGE, "parameter 4 of 4");
  FAILS(sy_pipe_find(pipe, "c.weight", &count, &err), SY_E_NOT_FOUND, "c.weight");
  OK(sy_pipe_read(pipe, index, values, sizeof values, &err));
  values[7] = 0.125f;
  OK(sy_pipe_write(pipe, index, values, sizeof values, &err));
  OK(sy_pipe_read(pipe, index, again, sizeof again, &err));
  CHECK(memcmp(values, again, sizeof values) == 0);
  FAILS(sy_pipe_read(pipe, index, again, 8, &err), SY_E_ARGUMENT, "takes 60 bytes, not 8");
  OK(sy_pipe_read_gradient(pipe, index, gradient, 15, &err));
  CHECK(gradient[0] != 0);
  FAILS(sy_pipe_read_gradient(pipe, index, gradient, 14, &err), SY_E_ARGUMENT, "15 elements, not 14");
}

/* What was saved after some steps gives the same next step in another pipe. */
static void checkpoints(sy_runtime *runtime, sy_pipe *pipe) {
  char folder[] = "/tmp/switchyard-api-XXXXXX";
  char command[80];
  sy_pipe *other;
  CHECK(mkdtemp(folder) != NULL);
  OK(sy_pipe_save(pipe, folder, &err));
  other = build_pipe(runtime);
  OK(sy_pipe_load(other, folder, &err));
  CHECK(step(pipe) == step(other));
  FAILS(sy_pipe_load(other, "/no/such/folder", &err), sy_error_code(err), "/no/such/folder");
  sy_pipe_close(other);
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  CHECK(system(command) == 0);
}

/* ---- DLPack, as its own header writes it */
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct DLManagedTensorVersioned *);
  uint64_t flags;
  sy_view tensor;
};
static int deleted = 0;
static void on_delete(struct DLManagedTensorVersioned *self) {
  ++deleted;
  (void)self;
}

static void dlpack(void) {
  struct DLManagedTensorVersioned from, *to = NULL;
  sy_tensor *tensor = NULL;
  memset(&from, 0, sizeof from);
  from.major = 1;
  from.minor = 1;
  from.deleter = on_delete;
  from.tensor = inputs_view();
  from.tensor.strides = NULL; /* allowed by DLPack before 1.2: row-major */
  OK(sy_tensor_from_dlpack(&from, NULL, &tensor, &err));
  CHECK(sy_tensor_view(tensor)->strides[0] == 3 && sy_tensor_view(tensor)->data == batch_inputs);
  OK(sy_tensor_to_dlpack(tensor, &to, &err));
  sy_tensor_drop(tensor);
  CHECK(deleted == 0 && to->tensor.data == batch_inputs && to->major == 1);
  to->deleter(to);
  CHECK(deleted == 1);
  from.major = 2;
  FAILS(sy_tensor_from_dlpack(&from, NULL, &tensor, &err), SY_E_ARGUMENT, "DLPack 2.1");
  CHECK(deleted == 2); /* taken on errors too */
  from.major = 1;
  from.tensor.device.type = SY_DEVICE_CUDA;
  FAILS(sy_tensor_from_dlpack(&from, NULL, &tensor, &err), SY_E_UNIMPLEMENTED, "CPU");
  CHECK(deleted == 3);
  CHECK(sy_tensor_view(NULL) == NULL);
  sy_tensor_keep(NULL);
  sy_tensor_drop(NULL);
}

/* ---- whole jobs */
static const char *const tokens_text =
    "[model]\ncontext = 8\n"
    "[[layer]]\ntype = \"plain_embedding\"\nname = \"embed\"\nvocabulary = 256\nwidth = 4\n"
    "[[layer]]\ntype = \"plain_linear\"\nname = \"a\"\nout = 4\n"
    "[[layer]]\ntype = \"plain_head\"\nname = \"head\"\nvocabulary = 256\n"
    "[devices]\nuse = [\"cpu:0\", \"cpu:1\"]\nthreads = 1\n"
    "[placement]\npolicy = \"contiguous\"\n"
    "[train]\nbatch = 2\nsteps = 4\nreport_every = 2\noptimizer = { type = \"sgd\", lr = 0.1 }\n"
    "[data]\nsynthetic = \"tokens\"\n";

struct seen {
  int plans, steps, reports, pieces, stop_after;
  double last_loss;
};
static void on_plan(void *user, const char *text, const char *json) {
  ++((struct seen *)user)->plans;
  CHECK(strstr(text, "layers") != NULL && json[0] == '{');
}
static int32_t on_step(void *user, const sy_report *r) {
  struct seen *seen = (struct seen *)user;
  CHECK(r->step == ++seen->steps && r->steps == 4 && r->n_peaks == 2 && strcmp(r->peaks[1]->device, "cpu:1") == 0);
  CHECK(isnan(r->loss_scale) && isnan(r->val_loss));
  seen->last_loss = r->loss;
  return seen->steps == seen->stop_after;
}
static int32_t on_report(void *user, const sy_report *r) {
  ++((struct seen *)user)->reports;
  CHECK(r->tokens_per_s > 0);
  return 0;
}
static int32_t on_text(void *user, const char *piece) {
  CHECK(piece != NULL);
  return ++((struct seen *)user)->pieces == 3;
}

static void jobs(void) {
  sy_runtime *runtime = open_text(tokens_text, NULL, 0);
  struct seen seen = {0, 0, 0, 0, 0, 0.0};
  sy_train_options options;
  sy_generate_options generate;
  char *json = NULL, *text = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.flags = SY_TRAIN_NO_FILES;
  options.user = &seen;
  options.on_plan = on_plan;
  options.on_step = on_step;
  options.on_report = on_report;
  OK(sy_train(runtime, &options, &json, &err));
  CHECK(seen.plans == 1 && seen.steps == 4 && seen.reports == 2);
  CHECK(strstr(json, "\"stopped\":false") != NULL && strstr(json, "\"folder\"") == NULL);
  sy_free(json);
  seen.steps = 0;
  seen.stop_after = 2;
  OK(sy_train(runtime, &options, &json, &err));
  CHECK(seen.steps == 2 && strstr(json, "\"stopped\":true") != NULL);
  sy_free(json);
  json = NULL;
  options.flags = 64;
  FAILS(sy_train(runtime, &options, NULL, &err), SY_E_ARGUMENT, "flags");

  OK(sy_evaluate(runtime, &json, &err));
  CHECK(strstr(json, "\"loss\":") != NULL);
  sy_free(json);
  OK(sy_compare(runtime, 2, &text, &json, &err));
  CHECK(strstr(json, "\"equal\":true") != NULL && strstr(text, "bit for bit") != NULL);
  sy_free(text);
  sy_free(json);
  OK(sy_inspect(runtime, NULL, &text, NULL, &err));
  CHECK(strstr(text, "embed.token.weight") != NULL);
  sy_free(text);

  memset(&generate, 0, sizeof generate);
  generate.size = sizeof generate;
  generate.prompt = "ab";
  generate.given = SY_G_TOKENS | SY_G_TEMPERATURE;
  generate.tokens = 20;
  generate.temperature = 0;
  generate.user = &seen;
  generate.on_text = on_text;
  OK(sy_generate(runtime, &generate, &json, &err));
  CHECK(seen.pieces == 3 && strstr(json, "\"prompt_tokens\":2") != NULL && strstr(json, "cancelled") != NULL);
  sy_free(json);
  generate.temperature = -1;
  FAILS(sy_generate(runtime, &generate, NULL, &err), SY_E_CONFIG, "temperature");
  sy_runtime_close(runtime);
}

/* --print-config: what is printed gives the same configuration. */
static void printing(sy_runtime *runtime) {
  char *toml = NULL, *again = NULL;
  sy_runtime *other;
  OK(sy_config_print(runtime, &toml, &err));
  CHECK(strstr(toml, "micro_batches = 2") != NULL && strstr(toml, "momentum") != NULL); /* a default of a plugin's */
  other = open_text(toml, NULL, 0);
  OK(sy_config_print(other, &again, &err));
  CHECK(toml && again && strcmp(toml, again) == 0);
  sy_runtime_close(other);
  sy_free(toml);
  sy_free(again);
}

int main(void) {
  const char *const sets[] = {"train.batch=4"};
  sy_runtime *runtime;
  sy_pipe *pipe;
  versions();
  mistakes();
  lists();
  runtime = open_text(program_text, sets, 1);
  plans(runtime);
  printing(runtime);
  pipe = build_pipe(runtime);
  steps(pipe);
  forms(pipe);
  forward(pipe);
  parameters(pipe);
  checkpoints(runtime, pipe);
  sy_pipe_close(pipe);
  sy_runtime_close(runtime);
  dlpack();
  jobs();
  return failures != 0;
}
