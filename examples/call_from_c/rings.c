/* Plans and trains from C: two devices, batches of our own, 200 steps.   ./rings [CONFIG] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <switchyard/switchyard.h>

enum { BATCH = 64 };

/* Every function returns a code; the last parameter receives an error with its text. */
static void check(sy_rc rc, sy_error* err) {
  if (rc == SY_OK) return;
  fprintf(stderr, "error: %s\n", sy_error_text(err));
  sy_error_free(err);
  exit(1);
}

static double uniform(void) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 33) / 2147483648.0;
}

/* Ring 0 has radius 0.5, ring 1 has radius 1. */
static void draw(float points[BATCH][2], int64_t rings[BATCH]) {
  for (int i = 0; i < BATCH; ++i) {
    const double angle = 6.283185307179586 * uniform();
    rings[i] = uniform() < 0.5;
    const double radius = 0.5 + 0.5 * (double)rings[i] + 0.2 * (uniform() - 0.5);
    points[i][0] = (float)(radius * cos(angle));
    points[i][1] = (float)(radius * sin(angle));
  }
}

int main(int argc, char** argv) {
  sy_error* err = NULL;
  const sy_runtime_options options = {.size = sizeof options, .config = argc > 1 ? argv[1] : "rings.toml"};
  sy_runtime* runtime = NULL;
  check(sy_runtime_open(&options, &runtime, &err), err);

  sy_plan* plan = NULL; /* nothing is allocated yet */
  check(sy_plan_make(runtime, &plan, &err), err);
  char* text = NULL;
  check(sy_plan_text(plan, &text, &err), err);
  fputs(text, stdout);
  sy_free(text);

  sy_pipe* pipe = NULL; /* weights are placed, one thread for each device */
  check(sy_pipe_build(plan, &pipe, &err), err);

  static float points[BATCH][2];
  static int64_t rings[BATCH];
  int64_t shape[] = {BATCH, 2}, strides[] = {2, 1}, one[] = {1};
  const sy_device host = {SY_DEVICE_CPU, 0};
  const sy_view inputs = {points, host, 2, {SY_FLOAT, 32, 1}, shape, strides, 0};
  const sy_view targets = {rings, host, 1, {SY_INT, 64, 1}, shape, one, 0};
  sy_step_result result = {.size = sizeof result};
  for (int step = 1; step <= 200; ++step) {
    draw(points, rings);
    check(sy_pipe_step(pipe, &inputs, &targets, &result, &err), err);
    if (step % 40 == 0) printf("step %d  loss %.9g\n", step, result.loss);
  }
  draw(points, rings); /* points that it has not seen */
  check(sy_pipe_evaluate(pipe, &inputs, &targets, &result, &err), err);
  printf("new points: accuracy %.2f\n", result.accuracy);

  uint32_t index = 0;
  sy_parameter bias = {.size = sizeof bias};
  float values[2];
  check(sy_pipe_find(pipe, "head.bias", &index, &err), err);
  check(sy_pipe_parameter(pipe, index, &bias, &err), err);
  check(sy_pipe_read(pipe, index, values, bias.bytes, &err), err);
  printf("head.bias = %.9g %.9g, on device %d\n", (double)values[0], (double)values[1], (int)bias.device);

  sy_pipe_close(pipe);
  sy_plan_free(plan);
  sy_runtime_close(runtime);
  return 0;
}
