/* A thousand times open, train, close: neither memory, threads nor files grow. A hundred under a sanitizer. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <unistd.h>

#include "program.h"

#ifdef SANITIZED
#define CYCLES 100
#else
#define CYCLES 1000
#endif

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%ld %ld", &pages, &resident) == 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int entries_of(const char *folder) {
  int n = 0;
  DIR *dir = opendir(folder);
  while (readdir(dir)) ++n;
  closedir(dir);
  return n;
}

static void cycle(void) {
  sy_runtime *runtime = open_text(program_text, NULL, 0);
  sy_pipe *pipe = build_pipe(runtime);
  sy_view inputs = inputs_view(), targets = targets_view();
  OK(sy_pipe_step(pipe, &inputs, &targets, NULL, &err));
  sy_pipe_close(pipe);
  sy_runtime_close(runtime);
}

int main(void) {
  long before, after;
  int files, threads, i;
  for (i = 0; i < CYCLES / 5; ++i) cycle(); /* what is kept for the process is there now */
  before = resident_kib();
  files = entries_of("/proc/self/fd");
  threads = entries_of("/proc/self/task");
  for (i = 0; i < CYCLES; ++i) cycle();
  after = resident_kib();
  printf("%d cycles: %ld KiB resident, %ld before\n", CYCLES, after, before);
#ifndef SANITIZED /* which keeps what was freed; it looks for leaks itself */
  CHECK(after - before < 2048); /* two bytes lost a cycle would not show, two KiB would */
#endif
  CHECK(entries_of("/proc/self/fd") == files);
  CHECK(entries_of("/proc/self/task") == threads);
  return failures != 0;
}
