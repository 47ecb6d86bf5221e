// Tests five assumptions of JCCL's SCCL binding on a machine with two TPUs; see sccl.md beside this file.
//   cc -o sccl_check sccl_check.c -ldl && ./sccl_check FOLDER CHIP [KERNEL_MODULE]
// Ends with 0 if all assumptions that could be tested hold.
#include <dlfcn.h>
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
static int (*tpuMalloc)(void **, size_t), (*tpuMemcpyH2D)(void *, const void *, size_t);
static int (*tpuMemcpyD2H)(void *, const void *, size_t), (*tpuMemcpyH2DAsync)(void *, const void *, size_t, void *);
static void *(*tpuKernelModuleLoadFromFile)(const char *, void *), *(*tpudnnHandleFromStream)(int, void *, void *);
static int (*tpudnnFlush)(void *), (*tpudnnCheckChipMap)(int, int *);
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
           FIND(tpuMemcpyH2D) && FIND(tpuMemcpyD2H) && FIND(tpuMemcpyH2DAsync) && FIND(tpuKernelModuleLoadFromFile) &&
           FIND(tpudnnHandleFromStream) && FIND(tpudnnFlush) && FIND(tpudnnCheckChipMap) && FIND(scclCreateHandle) &&
           FIND(scclPhysToVirt) && FIND(scclSetupC2CTopology) && FIND(scclGetUniqueId) && FIND(scclCommInitRank) &&
           FIND(scclCommDestroy) && FIND(scclAllReduce);
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
        must(scclGetUniqueId(handle, &id), "scclGetUniqueId");
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
    int loaded = load();
    tell(5, loaded, "the wheel has the three libraries by these names, and they load in this order");
    if (loaded) {
        events();
        addresses();
        int chips[] = {0, 1};
        printf("   tpudnnCheckChipMap of 2 chips answers %d\n", tpudnnCheckChipMap(2, chips));
    }
    return failures == 0 ? 0 : 1;
}
