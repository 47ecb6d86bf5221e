// Tests seven assumptions of JCCL's SCCL binding on a machine with two TPUs; see sccl.md beside this file.
//   cc -o sccl_check sccl_check.c -ldl -pthread && ./sccl_check FOLDER CHIP [KERNEL_MODULE]
// Ends with 0 if all assumptions that could be tested hold.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    char internal[128];
} UniqueId;

static const char *folder, *chip, *module_file;
static int failures;

static int (*tpuInit)(void), (*tpuSetDevice)(int), (*tpuStreamCreate)(void **), (*tpuStreamSynchronize)(void *);
static int (*tpuEventCreate)(void **), (*tpuEventRecord)(void *, void *), (*tpuEventQuery)(void *);
static int (*tpuEventSynchronize)(void *), (*tpuEventElapsedTime)(float *, void *, void *), (*tpuFree)(void *);
static int (*tpuMalloc)(void **, size_t), (*tpuMemcpyH2D)(void *, const void *, size_t);
static int (*tpuMemcpyD2H)(void *, const void *, size_t), (*tpuMemcpyH2DAsync)(void *, const void *, size_t, void *);
static void *(*tpuKernelModuleLoadFromFile)(const char *, void *), *(*tpudnnHandleFromStream)(int, void *, void *);
static int (*tpudnnFlush)(void *), (*tpudnnCheckChipMap)(int, int *), (*tpudnnGetUniqueId)(void *, char *);
static void *(*scclCreateHandle)(int), *(*scclPhysToVirt)(void *, uint64_t);
static int (*scclSetupC2CTopology)(void *), (*scclGetUniqueId)(void *, UniqueId *), (*scclCommDestroy)(void *);
static int (*scclCommInitRank)(void **, int, UniqueId, int, const int *);
static int (*scclAllReduce)(const void *, void *, uint64_t, int, int, void *, void *);

static void tell(int number, int holds, const char *what) {
    printf("%d. %s: %s\n", number, holds ? "HOLDS" : "DOES NOT HOLD", what);
    fflush(stdout);
    failures += !holds;
}

static void must(int code, const char *call) {
    if (code == 0) return;
    printf("%s answers %d\n", call, code);
    exit(2);
}

static void *open_library(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) printf("   %s\n", dlerror());
    return library;
}

/** Fills in a function; 0 if no library has it. */
static int find(void *function, const char *name) {
    void *address = dlsym(RTLD_DEFAULT, name);
    if (address == NULL) printf("   no library has %s\n", name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}
#define FIND(name) find(&name, #name)

static int load(void) {
    char name[256];
    snprintf(name, sizeof name, "libtpudnn.%s.so", chip);
    int loaded = open_library(name) != NULL;
    snprintf(name, sizeof name, "libtpurt.%s.so", chip);
    loaded = open_library(name) != NULL && loaded;
    loaded = open_library("libsccl.so") != NULL && loaded;
    return loaded && FIND(tpuInit) && FIND(tpuSetDevice) && FIND(tpuStreamCreate) && FIND(tpuStreamSynchronize) &&
           FIND(tpuEventCreate) && FIND(tpuEventRecord) && FIND(tpuEventQuery) && FIND(tpuMalloc) &&
           FIND(tpuEventSynchronize) && FIND(tpuEventElapsedTime) && FIND(tpuFree) && FIND(tpudnnGetUniqueId) &&
           FIND(tpuMemcpyH2D) && FIND(tpuMemcpyD2H) && FIND(tpuMemcpyH2DAsync) && FIND(tpuKernelModuleLoadFromFile) &&
           FIND(tpudnnHandleFromStream) && FIND(tpudnnFlush) && FIND(tpudnnCheckChipMap) && FIND(scclCreateHandle) &&
           FIND(scclPhysToVirt) && FIND(scclSetupC2CTopology) && FIND(scclGetUniqueId) && FIND(scclCommInitRank) &&
           FIND(scclCommDestroy) && FIND(scclAllReduce);
}

/** Until 12 November 2024, scclGetUniqueId took the id by value, so that the caller never got it. */
static int new_id(void *handle, UniqueId *id) {
    memset(id, 0, sizeof *id);
    if (dlsym(RTLD_DEFAULT, "scclDestoryHandle") != NULL) return scclGetUniqueId(handle, id);
    printf("   this libsccl is of 2024, so tpudnnGetUniqueId makes the id\n");
    return tpudnnGetUniqueId(handle, id->internal);
}

static void *start(int device) {
    void *stream = NULL;
    must(tpuInit(), "tpuInit");
    must(tpuSetDevice(device), "tpuSetDevice");
    must(tpuStreamCreate(&stream), "tpuStreamCreate");
    return stream;
}

/** What an event answers while the copies before it are under way. */
static void events(void) {
    const size_t bytes = (size_t)16 << 20;
    const struct timespec pause = {0, 100000};
    void *stream = start(0), *event = NULL, *device = NULL, *host = calloc(1, bytes);
    must(tpuMalloc(&device, bytes), "tpuMalloc");
    must(tpuEventCreate(&event), "tpuEventCreate");
    for (int i = 0; i < 16; i++) must(tpuMemcpyH2DAsync(device, host, bytes, stream), "tpuMemcpyH2DAsync");
    must(tpuEventRecord(event, stream), "tpuEventRecord");
    int pending = 0, code = tpuEventQuery(event), expected = 1;
    for (; code != 0 && pending < 100000; code = tpuEventQuery(event)) {
        if (pending++ == 0) printf("   an event that is pending answers %d\n", code);
        expected = expected && (code == 1 || code == 2);
        nanosleep(&pause, NULL);
    }
    if (pending == 0) printf("   the copies were done at once, so no pending event was seen\n");
    tell(1, code == 0 && expected, "tpuEventQuery answers 1 or 2 for a pending event, then 0");
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/** Whether the time between two events is in milliseconds. The events must not be queried before. */
static void times(void) {
    const size_t bytes = (size_t)16 << 20;
    void *stream = start(0), *events[2] = {NULL, NULL}, *device = NULL, *host = calloc(1, bytes);
    must(tpuMalloc(&device, bytes), "tpuMalloc");
    must(tpuEventCreate(&events[0]), "tpuEventCreate");
    must(tpuEventCreate(&events[1]), "tpuEventCreate");
    double begun = seconds();
    must(tpuEventRecord(events[0], stream), "tpuEventRecord");
    for (int i = 0; i < 64; i++) must(tpuMemcpyH2DAsync(device, host, bytes, stream), "tpuMemcpyH2DAsync");
    must(tpuEventRecord(events[1], stream), "tpuEventRecord");
    must(tpuEventSynchronize(events[0]), "tpuEventSynchronize");
    must(tpuEventSynchronize(events[1]), "tpuEventSynchronize");
    double waited = 1000 * (seconds() - begun);
    float told = 0;
    must(tpuEventElapsedTime(&told, events[0], events[1]), "tpuEventElapsedTime");
    printf("   64 copies took %g ms on the host, and %g of tpuEventElapsedTime\n", waited, (double)told);
    tell(6, told > waited / 10 && told < waited * 2, "tpuEventElapsedTime answers milliseconds");
}

/** What a device without so much memory answers. */
static void full(void) {
    int local = 0;
    void *memory = &local;
    int code = tpuMalloc(&memory, (size_t)1 << 44);
    printf("   tpuMalloc of 16 TB answers %d and the address %p\n", code, code == 0 ? memory : NULL);
    tell(7, code == 6 || code == 9 || (code == 0 && memory == NULL),
         "a device without memory answers 6 or 9, or 0 with the address 0");
}

static void *set_device(void *unused) {
    must(tpuSetDevice(0), "tpuSetDevice in a thread");
    return unused;
}

/** Whether the device can still be used after a thread that has set it has ended. */
static void end_of_thread(void) {
    fflush(stdout);
    if (fork() == 0) {
        alarm(60);
        if (!load()) _exit(2);
        start(0);
        pthread_t thread;
        must(pthread_create(&thread, NULL, set_device, NULL), "pthread_create");
        must(pthread_join(thread, NULL), "pthread_join");
        sleep(2);
        void *memory = NULL;
        float value = 1;
        must(tpuMalloc(&memory, sizeof value), "tpuMalloc after a thread's end");
        must(memory == NULL, "tpuMalloc after a thread's end: no address");
        must(tpuMemcpyH2D(memory, &value, sizeof value), "tpuMemcpyH2D after a thread's end");
        must(tpuFree(memory), "tpuFree after a thread's end");
        _exit(0);
    }
    int status = 0;
    wait(&status);
    if (WIFSIGNALED(status)) printf("   the process ended by signal %d\n", WTERMSIG(status));
    printf("   a thread that has set the device %s end; JCCL works in both cases\n", status == 0 ? "may" : "must not");
}

/** What SCCL's addresses look like. */
static void addresses(void) {
    void *handle = scclCreateHandle(0), *raw = NULL;
    must(handle == NULL, "scclCreateHandle");
    must(tpuMalloc(&raw, 1 << 20), "tpuMalloc");
    char *first = scclPhysToVirt(handle, (uint64_t)raw), *later = scclPhysToVirt(handle, (uint64_t)raw + 4096);
    printf("   tpuMalloc gives %p, scclPhysToVirt makes %p of it: %s\n", raw, (void *)first,
           raw == (void *)first ? "the identity" : "not the identity");
    tell(2, later - first == 4096, "scclPhysToVirt keeps distances, whether or not it is the identity");
}

/** One of two ranks; ends with 0 if a sum is there after the flush and not before. */
static int rank(int me, int in, int out) {
    void *stream = start(me), *memory = NULL, *comm = NULL;
    void *module = tpuKernelModuleLoadFromFile(module_file, stream);
    must(module == NULL, "tpuKernelModuleLoadFromFile");
    void *handle = tpudnnHandleFromStream(me, stream, module);
    must(handle == NULL, "tpudnnHandleFromStream");
    UniqueId id;
    if (me == 0) {
        if (getenv("NO_TOPOLOGY") == NULL) printf("   scclSetupC2CTopology answers %d\n", scclSetupC2CTopology(handle));
        must(new_id(handle, &id), "the unique id");
        must(write(out, &id, sizeof id) != sizeof id, "write");
    } else {
        must(read(in, &id, sizeof id) != sizeof id, "read");
    }
    const int chips[] = {0, 1};
    must(scclCommInitRank(&comm, 2, id, me, chips), "scclCommInitRank");
    float before[4], after[4], own[4] = {1, 1, 1, 1};
    must(tpuMalloc(&memory, sizeof own), "tpuMalloc");
    must(tpuMemcpyH2D(memory, own, sizeof own), "tpuMemcpyH2D");
    void *address = scclPhysToVirt(handle, (uint64_t)memory);
    must(scclAllReduce(address, address, 4, 0, 1, comm, handle), "scclAllReduce");
    must(tpuStreamSynchronize(stream), "tpuStreamSynchronize before the flush");
    must(tpuMemcpyD2H(before, memory, sizeof before), "tpuMemcpyD2H");
    must(tpudnnFlush(handle), "tpudnnFlush");
    must(tpuStreamSynchronize(stream), "tpuStreamSynchronize after the flush");
    must(tpuMemcpyD2H(after, memory, sizeof after), "tpuMemcpyD2H");
    printf("   rank %d: %g before the flush, %g after it\n", me, before[3], after[3]);
    fflush(stdout);
    must(scclCommDestroy(comm), "scclCommDestroy");
    _exit(after[3] == 2 ? 0 : 1);
}

/** Runs two ranks for at most a minute. */
static int both(void) {
    int channel[2], well = 1, status = 0;
    must(pipe(channel), "pipe");
    fflush(stdout);
    for (int me = 0; me < 2; me++) {
        if (fork() != 0) continue;
        alarm(60);
        if (!load()) _exit(2);
        _exit(rank(me, channel[0], channel[1]));
    }
    while (wait(&status) > 0) {
        if (WIFSIGNALED(status)) printf("   a rank ended by signal %d (14: stuck for a minute)\n", WTERMSIG(status));
        well = well && status == 0;
    }
    return well;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: %s FOLDER CHIP [KERNEL_MODULE]\n", arguments[0]);
        return 2;
    }
    folder = arguments[1];
    chip = arguments[2];
    module_file = count > 3 ? arguments[3] : NULL;
    if (module_file != NULL) {
        // Before this process loads the libraries: their state does not survive a fork.
        tell(3, both(), "a sum is complete after tpudnnFlush and tpuStreamSynchronize");
        setenv("NO_TOPOLOGY", "1", 1);
        printf("   without scclSetupC2CTopology:\n");
        tell(4, both(), "chips that were linked before need no set-up, so its failure is only logged");
    } else {
        printf("3 and 4 are not tested without a kernel module\n");
    }
    end_of_thread();
    int loaded = load();
    tell(5, loaded, "the wheel has the three libraries by these names, and they load in this order");
    if (loaded) {
        events();
        addresses();
        times();
        full();
        int chips[] = {0, 1};
        printf("   tpudnnCheckChipMap of 2 chips answers %d\n", tpudnnCheckChipMap(2, chips));
    }
    return failures == 0 ? 0 : 1;
}
