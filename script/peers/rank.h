// A rank of a C program in script/bench/peers, which says over a socket what to measure next. What includes this has
// `call` and `barrier`; rank.py and org.jccl.benchmarks.PeerRank do the same for Python and Java.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

enum operation { ALL_REDUCE, BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, SENDRECV, BARRIER, OPERATIONS };

static const char* const names[OPERATIONS] = {"all_reduce",     "broadcast",  "reduce",   "all_gather",
                                              "reduce_scatter", "all_to_all", "sendrecv", "barrier"};

static int rank, size;
static int root;  // goes round, so that no rank can be calls ahead of the others

// On `floats` in all parts together, or in the one buffer there is. All_reduce, broadcast and reduce work on the output
// in place; sendrecv goes from the input of rank 0 to the output of rank 1, and from there to the output of rank 0.
static void call(enum operation operation, float* input, float* output, size_t floats);
static void barrier(void);

static long long nanos(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int by_length(const void* one, const void* other) {
  long long difference = *(const long long*)one - *(const long long*)other;
  return difference < 0 ? -1 : difference > 0;
}

static void next(enum operation operation, float* input, float* output, size_t floats) {
  call(operation, input, output, floats);
  root = root + 1 == size ? 0 : root + 1;
}

static void fill(float* data, size_t floats, float value) {
  for (size_t i = 0; i < floats; i++) {
    data[i] = value;
  }
}

// Every part of every result is one number, the same all over. Returns whether all are right, or says what is not.
static int check(enum operation operation, float* input, float* output, size_t floats, FILE* out) {
  int in_place = operation <= REDUCE;
  fill(input, floats, rank + 1);
  fill(output, floats, in_place ? rank + 1 : -1);
  barrier();
  root = 0;
  next(operation, input, output, floats);
  int unused = (operation == REDUCE && rank != 0) || (operation == SENDRECV && rank > 1) || operation == BARRIER;
  size_t results = operation == REDUCE_SCATTER ? floats / size : floats;
  for (size_t i = 0; i < results && !unused; i++) {
    float wanted = operation == BROADCAST || operation == SENDRECV      ? 1
                   : operation == ALL_GATHER || operation == ALL_TO_ALL ? (float)(i / (floats / size) + 1)
                                                                        : (float)(size * (size + 1) / 2);
    if (output[i] != wanted) {
      fprintf(out, "wrong element %zu is %g instead of %g\n", i, output[i], wanted);
      return 0;
    }
  }
  // Sums of zeros stay what they are, however often they are added up.
  fill(input, floats, 0);
  fill(output, floats, 0);
  return 1;
}

// Does what it is told until it is told to end.
static void serve(const char* path, const char* version) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr*)&address, sizeof address) != 0) {
    perror(path);
    exit(1);
  }
  FILE* in = fdopen(fd, "r");
  FILE* out = fdopen(dup(fd), "w");
  setvbuf(out, NULL, _IOLBF, 0);
  fprintf(out, "hello %d %s\n", rank, version);
  float *input = NULL, *output = NULL;
  enum operation prepared = OPERATIONS;
  size_t prepared_floats = 0;
  char line[200], name[50];
  while (fgets(line, sizeof line, in) != NULL) {
    if (strcmp(line, "end\n") == 0) {
      return;
    }
    size_t floats;
    int warm, chunks, calls;
    enum operation operation = ALL_REDUCE;
    if (sscanf(line, "%49s %zu %d %d %d", name, &floats, &warm, &chunks, &calls) != 5) {
      fprintf(out, "wrong line\n");
      continue;
    }
    while (operation < OPERATIONS && strcmp(name, names[operation]) != 0) {
      operation++;
    }
    if (operation == OPERATIONS) {
      fprintf(out, "none there is no such operation\n");
      continue;
    }
    if (operation != prepared || floats != prepared_floats) {
      free(input);
      free(output);
      size_t bytes = (floats > 0 ? floats : 1) * sizeof(float);
      input = malloc(bytes);
      output = malloc(bytes);
      if (!check(operation, input, output, floats, out)) {
        continue;
      }
      prepared = operation;
      prepared_floats = floats;
    }
    long long* times = malloc(chunks * sizeof *times);
    barrier();
    for (int i = 0; i < warm; i++) {
      next(operation, input, output, floats);
    }
    long long begun = nanos(), last = begun;
    for (int i = 0; i < chunks; i++) {
      for (int each = 0; each < calls; each++) {
        next(operation, input, output, floats);
      }
      long long now = nanos();
      times[i] = now - last;
      last = now;
    }
    qsort(times, chunks, sizeof *times, by_length);
    fprintf(out, "ok %lld %lld\n", last - begun, times[chunks / 2]);
    free(times);
  }
  fprintf(stderr, "script/bench/peers is gone\n");
  exit(1);
}
