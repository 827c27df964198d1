/* Plans, trains, reads, saves, reloads and generates from C.   golden CONFIG FOLDER
 * The 20 losses go to stdout, everything else to stderr. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <switchyard/switchyard.h>

enum { BATCH = 16, CONTEXT = 16, STEPS = 20 };
static const char sentence[] = "the quick brown fox jumps over the lazy dog, from one device to the next. ";
static const int64_t length = sizeof sentence - 1;

/* DLPack 1.x, whose header need not be there: the library only names this struct. sy_view is DLTensor, byte for byte.
 */
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags;
  sy_view tensor;
};

static void die(sy_error* err) {
  fprintf(stderr, "error: %s\n", sy_error_text(err));
  sy_error_free(err);
  exit(1);
}
/* Every function returns a code; the last parameter receives an error with its text. */
#define CALL(function, ...)                             \
  do {                                                  \
    sy_error* err = NULL;                               \
    if (function(__VA_ARGS__, &err) != SY_OK) die(err); \
  } while (0)

/* ---- batches: windows of the sentence, handed over as DLPack tensors ----------------------------------------------
 */
typedef struct Ids {
  struct DLManagedTensorVersioned managed;
  int64_t shape[2], strides[2], values[BATCH][CONTEXT];
} Ids;

static void free_ids(struct DLManagedTensorVersioned* self) { free(self->manager_ctx); }

static Ids* new_ids(void) {
  Ids* ids = calloc(1, sizeof *ids);
  if (!ids) exit(1);
  ids->shape[0] = BATCH;
  ids->shape[1] = ids->strides[0] = CONTEXT;
  ids->strides[1] = 1;
  ids->managed.major = 1;
  ids->managed.manager_ctx = ids;
  ids->managed.deleter = free_ids;
  ids->managed.tensor = (sy_view){ids->values, {SY_DEVICE_CPU, 0}, 2, {SY_INT, 64, 1}, ids->shape, ids->strides, 0};
  return ids;
}

typedef struct Batch {
  sy_tensor *inputs, *targets;
} Batch;

static uint64_t next_number(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static Batch draw(uint64_t* state) {
  Ids *inputs = new_ids(), *targets = new_ids();
  for (int b = 0; b < BATCH; ++b) {
    const int64_t begin = (int64_t)(next_number(state) % (uint64_t)length);
    for (int i = 0; i < CONTEXT; ++i) {
      inputs->values[b][i] = sentence[(begin + i) % length];
      targets->values[b][i] = sentence[(begin + i + 1) % length];
    }
  }
  Batch batch = {0};
  CALL(sy_tensor_from_dlpack, &inputs->managed, NULL, &batch.inputs); /* the library calls free_ids */
  CALL(sy_tensor_from_dlpack, &targets->managed, NULL, &batch.targets);
  return batch;
}

static void drop(Batch batch) {
  sy_tensor_drop(batch.inputs);
  sy_tensor_drop(batch.targets);
}

/* ---- the run --------------------------------------------------------------------------------------------------------
 */
static sy_rc open_with(const char* config, const char* set, sy_runtime** runtime, sy_error** err) {
  const sy_runtime_options options = {.size = sizeof options, .n_sets = set != NULL, .config = config, .sets = &set};
  return sy_runtime_open(&options, runtime, err);
}

static void train(sy_pipe* pipe) {
  uint64_t state = 1;
  printf("c");
  for (int step = 0; step < STEPS; ++step) {
    const Batch batch = draw(&state);
    sy_step_result result = {.size = sizeof result};
    CALL(sy_pipe_step, pipe, sy_tensor_view(batch.inputs), sy_tensor_view(batch.targets), &result);
    drop(batch);
    printf(" %.17g", result.loss);
  }
  printf("\n");
}

static void print_parameter(sy_pipe* pipe, const char* name) {
  uint32_t index = 0;
  sy_parameter parameter = {.size = sizeof parameter};
  CALL(sy_pipe_find, pipe, name, &index);
  CALL(sy_pipe_parameter, pipe, index, &parameter);
  float* values = malloc(parameter.bytes);
  if (!values) exit(1);
  CALL(sy_pipe_read, pipe, index, values, parameter.bytes);
  fprintf(stderr, "%s on device %" PRId32 ": %.9g %.9g ...\n", name, parameter.device, (double)values[0],
          (double)values[1]);
  free(values);
}

static double evaluate(sy_pipe* pipe) {
  uint64_t state = 2;
  const Batch batch = draw(&state);
  sy_step_result result = {.size = sizeof result};
  CALL(sy_pipe_evaluate, pipe, sy_tensor_view(batch.inputs), sy_tensor_view(batch.targets), &result);
  drop(batch);
  return result.loss;
}

static void reload(sy_plan* plan, sy_pipe* trained, const char* folder) {
  sy_pipe* pipe = NULL;
  CALL(sy_pipe_save, trained, folder);
  CALL(sy_pipe_build, plan, &pipe);
  CALL(sy_pipe_load, pipe, folder);
  const double before = evaluate(trained), after = evaluate(pipe);
  fprintf(stderr, "saved %.17g, reloaded %.17g\n", before, after);
  sy_pipe_close(pipe);
  if (before != after) exit(1);
}

/* Each piece of text as it comes; anything but 0 would end it. */
static int32_t print_piece(void* user, const char* piece) {
  fputs(piece, user);
  return 0;
}

static void generate(const char* config, const char* folder) {
  char weights[4096];
  snprintf(weights, sizeof weights, "model.weights={file=\"%s/checkpoint/model.safetensors\"}", folder);
  sy_runtime* runtime = NULL;
  CALL(open_with, config, weights, &runtime);
  const sy_generate_options options = {.size = sizeof options, .user = stderr, .on_text = print_piece};
  fprintf(stderr, "the quick |");
  CALL(sy_generate, runtime, &options, NULL);
  fprintf(stderr, "|\n");
  sy_runtime_close(runtime);
}

static void print_error(const char* config) {
  sy_runtime* runtime = NULL;
  sy_error* err = NULL;
  const sy_rc rc = open_with(config, "train.batsh=3", &runtime, &err);
  fprintf(stderr, "%s: %s\n", sy_code_name(rc), sy_error_text(err));
  sy_error_free(err);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  sy_runtime* runtime = NULL;
  CALL(open_with, argv[1], NULL, &runtime);
  sy_plan* plan = NULL; /* nothing is allocated yet */
  CALL(sy_plan_make, runtime, &plan);
  char* text = NULL;
  CALL(sy_plan_text, plan, &text);
  fputs(text, stderr);
  sy_free(text);

  sy_pipe* pipe = NULL; /* weights are placed, one thread for each device */
  CALL(sy_pipe_build, plan, &pipe);
  train(pipe);
  print_parameter(pipe, "h.1.mlp.up.weight");
  reload(plan, pipe, argv[2]);
  generate(argv[1], argv[2]);
  print_error(argv[1]);

  sy_pipe_close(pipe);
  sy_plan_free(plan);
  sy_runtime_close(runtime);
  return 0;
}
