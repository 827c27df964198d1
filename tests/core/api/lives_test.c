/* Who outlives whom: handles closed in any order, twice, or in another process; several runtimes in several threads;
 * exceptions of plugins; the log; cancelling. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

static void step(sy_pipe *pipe) {
  sy_view inputs = inputs_view(), targets = targets_view();
  OK(sy_pipe_step(pipe, &inputs, &targets, NULL, &err));
}

static void any_order(void) {
  int order;
  for (order = 0; order < 2; ++order) {
    sy_runtime *a = open_text(program_text, NULL, 0), *b = open_text(program_text, NULL, 0);
    sy_pipe *pa = build_pipe(a), *pb = build_pipe(b);
    step(pa);
    step(pb);
    sy_runtime_close(order ? b : a); /* before its pipe */
    step(pa);
    step(pb);
    sy_pipe_close(order ? pa : pb);
    step(order ? pb : pa);
    sy_pipe_close(order ? pb : pa);
    sy_runtime_close(order ? a : b);
  }
}

static void *lives_alone(void *unused) {
  sy_runtime *runtime = open_text(program_text, NULL, 0);
  sy_pipe *pipe = build_pipe(runtime);
  int i;
  for (i = 0; i < 20; ++i) step(pipe);
  sy_runtime_close(runtime);
  sy_pipe_close(pipe);
  return unused;
}

static void several_threads(void) {
  pthread_t threads[3];
  int i;
  for (i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, lives_alone, NULL) == 0);
  for (i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}

static int logged = 0;
static void count_log(void *user, int32_t level, const char *where, const char *text) {
  (void)level;
  (void)where;
  if (strstr(text, "closed that is not open")) ++*(int *)user;
}

static void dead_handles(void) {
  sy_runtime *runtime = open_text(program_text, NULL, 0);
  sy_plan *plan = NULL;
  char *text = NULL;
  sy_log_sink(count_log, &logged);
  OK(sy_plan_make(runtime, &plan, &err));
  FAILS(sy_plan_text((sy_plan *)(void *)runtime, &text, &err), SY_E_ARGUMENT, "no open plan");
  FAILS(sy_pipe_cancel((sy_pipe *)(void *)plan, &err), SY_E_ARGUMENT, "no open pipe");
  sy_plan_free(plan);
  FAILS(sy_plan_text(plan, &text, &err), SY_E_ARGUMENT, "closed before");
  CHECK(logged == 0);
  sy_plan_free(plan); /* twice: said in the log */
  CHECK(logged == 1);
  sy_runtime_close(runtime);
  sy_runtime_close(NULL);
  sy_plan_free(NULL);
  sy_pipe_close(NULL);
  sy_error_free(NULL);
  sy_free(NULL);
  CHECK(sy_error_code(NULL) == SY_OK && sy_error_text(NULL)[0] == '\0' && sy_error_note(NULL, "layer") == NULL);
  sy_log_sink(NULL, NULL);
}

/* A child may open its own, and is told why its parent's do not work there. */
static void forked(void) {
  sy_runtime *runtime = open_text(program_text, NULL, 0);
  sy_pipe *pipe = build_pipe(runtime);
  int status = 0;
  pid_t child;
  step(pipe);
  fflush(NULL);
  child = fork();
  if (child == 0) {
    sy_view inputs = inputs_view(), targets = targets_view();
    alarm(20);
    failures = 0;
    FAILS(sy_pipe_step(pipe, &inputs, &targets, NULL, &err), SY_E_STATE, "fork()");
    sy_pipe_close(pipe);
    sy_runtime_close(runtime);
    runtime = open_text(program_text, NULL, 0);
    pipe = build_pipe(runtime);
    step(pipe);
    sy_pipe_close(pipe);
    sy_runtime_close(runtime);
    _exit(failures != 0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  step(pipe);
  sy_pipe_close(pipe);
  sy_runtime_close(runtime);
}

/* Whatever a layer throws arrives as code and text with the place, and the next step works. */
static void exceptions(void) {
  const char *const faults[][2] = {{"throw", "f"}, {"throw_int", "f"}, {"bad_alloc", "f"}, {"escape", "f"}};
  size_t i;
  for (i = 0; i < sizeof faults / sizeof *faults; ++i) {
    char text[2000];
    sy_view inputs = inputs_view(), targets = targets_view();
    sy_error *err = NULL;
    sy_runtime *runtime;
    sy_pipe *pipe;
    snprintf(text, sizeof text, "%s[[layer]]\ntype = \"faulty\"\nname = \"f\"\nfault = \"%s\"\nstep = 1\n%s",
             "[model]\ninput = { shape = [3] }\n", faults[i][0], strstr(program_text, "[[layer]]"));
    runtime = open_text(text, NULL, 0);
    pipe = build_pipe(runtime);
    CHECK(sy_pipe_step(pipe, &inputs, &targets, NULL, &err) != SY_OK);
    CHECK(err != NULL && strstr(sy_error_text(err), "layer 0 'f' (faulty), stage 0 on cpu:0") != NULL);
    CHECK(sy_error_note(err, "layer") && strcmp(sy_error_note(err, "layer"), "f") == 0);
    CHECK(sy_error_note(err, "phase") && strcmp(sy_error_note(err, "phase"), "running") == 0);
    CHECK(sy_error_note(err, "nothing") == NULL);
    uint32_t keys = 0;
    for (const char* key = NULL; (key = sy_error_note_key(err, keys)); ++keys) CHECK(sy_error_note(err, key) != NULL);
    CHECK(keys >= 2 && sy_error_note_key(err, keys) == NULL && sy_error_note_key(NULL, 0) == NULL);
    sy_error_free(err);
    sy_pipe_close(pipe);
    sy_runtime_close(runtime);
  }
}

static sy_pipe *slow_pipe;
static int refused = 0;
static void *steps_beside(void *unused) {
  sy_view inputs = inputs_view(), targets = targets_view();
  const struct timespec wait = {0, 100 * 1000 * 1000};
  nanosleep(&wait, NULL);
  FAILS(sy_pipe_step(slow_pipe, &inputs, &targets, NULL, &err), SY_E_STATE, "another call works on this pipe");
  ++refused;
  return unused;
}

/* Two threads with one pipe are the caller's mistake: the second is told so, the first goes on. */
static void one_at_a_time(void) {
  char text[2000];
  pthread_t thread;
  sy_runtime *runtime;
  snprintf(text, sizeof text, "%s[[layer]]\ntype = \"faulty\"\nname = \"f\"\nfault = \"slow\"\nms = 400\n%s",
           "[model]\ninput = { shape = [3] }\n", strstr(program_text, "[[layer]]"));
  runtime = open_text(text, NULL, 0);
  slow_pipe = build_pipe(runtime);
  CHECK(pthread_create(&thread, NULL, steps_beside, NULL) == 0);
  step(slow_pipe);
  pthread_join(thread, NULL);
  CHECK(refused == 1);
  step(slow_pipe);
  sy_pipe_close(slow_pipe);
  sy_runtime_close(runtime);
}

static void *cancel_soon(void *unused) {
  const struct timespec wait = {0, 100 * 1000 * 1000};
  nanosleep(&wait, NULL);
  OK(sy_pipe_cancel(slow_pipe, &err));
  return unused;
}

static void cancelled(void) {
  char text[2000];
  sy_view inputs = inputs_view(), targets = targets_view();
  sy_runtime *runtime;
  pthread_t thread;
  snprintf(text, sizeof text, "%s[[layer]]\ntype = \"faulty\"\nname = \"f\"\nfault = \"slow\"\nms = 400\n%s",
           "[model]\ninput = { shape = [3] }\n", strstr(program_text, "[[layer]]"));
  runtime = open_text(text, NULL, 0);
  slow_pipe = build_pipe(runtime);
  CHECK(pthread_create(&thread, NULL, cancel_soon, NULL) == 0);
  FAILS(sy_pipe_step(slow_pipe, &inputs, &targets, NULL, &err), SY_E_CANCELLED, "cancelled");
  pthread_join(thread, NULL);
  step(slow_pipe); /* and is of use afterwards */
  sy_pipe_close(slow_pipe);
  sy_runtime_close(runtime);
}

int main(void) {
  dead_handles();
  any_order();
  several_threads();
  forked();
  exceptions();
  cancelled();
  one_at_a_time();
  return failures != 0;
}
