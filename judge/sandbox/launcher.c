/* Two kinds of processes: a template, which bubblewrap starts and which starts containers, and process 1 of a container,
 * which runs programs one after another, enforces their limits, measures and reports each run, and removes its traces.
 *
 * usage: launcher SOCKET FILTER GROUP
 *        launcher start STACK COMMAND [ARGUMENT]…
 *
 * The first form is a template. SOCKET is the descriptor of a sequenced-packet socket to the judge; the template and its
 * containers end when the judge closes it or dies. FILTER is the descriptor of a file with a system call filter for
 * containers, or -1. GROUP is "-", or
 * nine numbers joined by commas: the descriptors of eight files of a control group (judge/sandbox/cgroups.py), -1 for a
 * missing file: three to join the group, CPU time, memory in use, peak memory, memory limit and events; then the number of
 * units of CPU time in a microsecond. The template joins the group, and its containers start in it: a process that changes
 * its group waits for all processors.
 *
 * Process 1 shares the memory of its template, as after vfork: a copy would take as long as all that it does. The template
 * waits for its end. So that nothing of a container is left for the next one, process 1 has memory of its own for what it
 * receives and for its stack, allocates no memory (no opendir, fopen or dprintf either), and changes only variables that
 * `forget_container` resets or the next container sets.
 *
 * The second form executes the command as `run` would, with signals and a stack limit of STACK bytes like those of a
 * program. The command is an interpreter with fork_server.py, which loads this file as a library and calls
 * `serve_template`: the template is then an interpreter that has started. Process 1 never uses it, but forks the fork server
 * from it, which goes on in the interpreter with the rights and limits of a program, loads the program, and calls
 * `serve_forks`. Both functions are C because Python code writes to many pages, which are copied.
 *
 * A request is one packet of words, each ended by a zero byte, with its descriptors. The request to the template:
 *   USER SCRATCH variable…
 *     starts a container. USER is the user to switch to before a program starts, or 0 for no switch. SCRATCH is the
 *     size of the scratch folder in bytes. The variables (NAME=VALUE) are added to the environment.
 *     descriptors: the socket between the judge and process 1, and the files for /program: for each its name and the
 *     number of its bytes in decimal, each ended by a zero byte, then the bytes. A third one is a file with the compiled
 *     program for the fork server.
 *     answer of process 1 on this socket: started, with its process descriptor. The container ends when the judge closes
 *     the socket. The judge requests a container only after the end of the last one.
 * Requests to process 1 of a container:
 *   run FORK CPU IDLE WALL MEMORY ADDRESS_SPACE FILE_SIZE PROCESSES SIDE FILES COLLECTED name… name… COMMAND [ARGUMENT]…
 *     descriptors: standard input, output, error, then the content of each of the FILES files to write into the
 *     scratch folder. CPU, IDLE and WALL are microseconds, MEMORY, ADDRESS_SPACE and FILE_SIZE bytes. FORK 1: the
 *     program is a fork of the fork server, or COMMAND if there can be none. SIDE is 1 for the program of an
 *     interaction and 2 for the validator; a last descriptor is then the memory that both launchers share. Else 0.
 *     answer: ended CAUSE STATUS CPU IDLE WALL MEMORY TIME CLEAN name… with the descriptors of the existing COLLECTED
 *     files; the name * stands for all files whose names do not begin with a dot. STATUS as wait returns it, TIME the
 *     end on the monotonic clock. CLEAN 0: this container must not be used again.
 *   stop    ends the run in progress, if there is one.
 * Instead of an answer: "fault MESSAGE", and the container has ended.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/limits.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD = 10000, OPEN_FILES = 256, USAGE = 64, WORDS = 250, PACKET = 65536, ABOVE = 10,
       SERVER_START = 8000, FORK_TIMEOUT = 3000, QUIET = 5, LOOK = 20000, LONGEST_LOOK = 100000, PROCESSES = 256,
       STACK = 1 << 19, SERVER_STACK = 1 << 14, ENTRIES = 4096 };
enum { LAUNCHER = 3 }; /* the fork server's socket to process 1 */
enum { ALONE, PROGRAM, VALIDATOR };
enum { ACTIVE, WAITING, SLEEPING, GONE }; /* states of a side of an interaction, in the shared memory */

typedef long long number;
typedef struct { number cpu, idle, wall, memory, address_space, file_size, processes; } limits;
typedef struct { int socket, filter; } template;
typedef struct { int join[3], cpu, usage, peak, limit, events; number unit, limited_to; } group;

/* What process 1 learns of programs lies here. The fork server does not inherit this memory, and it is empty at the start
 * of each container. `found_names` are those of the files to be collected, each ended by a zero byte. */
typedef struct { char packet[PACKET], found_names[PACKET / 2], stack[STACK]; } own_memory;

static own_memory *own;
static int judge, scratch, is_interpreter, server_socket = -1, server_end;
static int code; /* the file with the compiled program for the fork server, or -1 */
static pid_t server; /* the fork server, or 0 */
static limits server_limits;
static number server_memory; /* bytes that each fork shares with the server; a normal start allocates them */
static uid_t user;
static group control = {.cpu = -1};
static char *words[WORDS + 1], *packet_end;
static int descriptors[WORDS], word_count, descriptor_count;
static char **environment; /* of programs */
static int found[WORDS], found_count;
static size_t found_length;
static sigset_t usual;
static struct sigaction handlers[NSIG]; /* of the interpreter */
static jmp_buf interpreter; /* where the fork server goes on */

/* Write to a socket or a file what dprintf would write; dprintf allocates memory. */
static void print(int file, const char *format, ...) {
    char text[512];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    (void)!write(file, text, length < (int)sizeof text ? length : (int)sizeof text - 1);
}

static void fault(const char *what) {
    print(judge, "fault %s: %s", what, strerror(errno));
    _exit(1); /* the end of process 1 ends the container */
}

static number now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static number microseconds(const struct rusage *usage) {
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000LL + usage->ru_utime.tv_usec
           + usage->ru_stime.tv_usec;
}

static number own_time(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return microseconds(&usage);
}

/* Return the number after `key` in a file of the control group, or -1. */
static number counter(int file, const char *key) {
    char text[4096];
    ssize_t length = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
    if (length <= 0) return -1;
    text[length] = 0;
    const char *found = strstr(text, key);
    return found ? atoll(found + strlen(key)) : -1;
}

static number group_time(void) { return counter(control.cpu, control.unit == 1 ? "usage_usec" : "") / control.unit; }

/* Allow the group `memory` bytes more than now; beyond that the kernel kills a process. */
static void limit_group(number in_use, number memory) {
    enum { SLACK = 4 << 20 }; /* the kernel counts in batches; the verdict follows from the peak, which is exact */
    number wanted = in_use + memory + SLACK, change = wanted - control.limited_to;
    if (change > SLACK / 2 || change < -SLACK / 2) {
        char text[32];
        int length = snprintf(text, sizeof text, "%lld", wanted);
        if (pwrite(control.limit, text, length, 0) != length) fault("memory limit of the control group");
        control.limited_to = wanted;
    }
}

/* Allow the launcher to write files of this size. The limit is still that of the last run, perhaps of another container. */
static void make_room(number size) {
    enum { SMALL = 1 << 20, RESERVE = 64 << 20 };
    if (control.cpu >= 0 && size > SMALL) limit_group(counter(control.usage, ""), size + RESERVE);
}

/* A folder that is being read. Its names lie on the stack: allocated memory would keep them for later containers. */
typedef struct { int file, length, at; char entries[ENTRIES] __attribute__((aligned(8))); } folder;

static int open_folder(folder *folder, int parent, const char *path) {
    folder->length = folder->at = 0;
    return (folder->file = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0;
}

/* Return the next name in the folder, or NULL at its end, which closes it. */
static const char *next_name(folder *folder) {
    if (folder->at == folder->length) {
        folder->at = 0;
        folder->length = syscall(SYS_getdents64, folder->file, folder->entries, sizeof folder->entries);
        if (folder->length <= 0) {
            close(folder->file);
            return NULL;
        }
    }
    struct dirent64 *entry = (struct dirent64 *)(folder->entries + folder->at);
    folder->at += entry->d_reclen;
    return entry->d_name;
}

/* Measure the CPU time of all processes of a program, with the children they waited for, and their resident memory. */
static void measure(number *cpu, number *memory, int *processes_left) {
    static long tick, page;
    if (!tick) tick = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    *cpu = *memory = *processes_left = 0;
    folder processes;
    if (!open_folder(&processes, AT_FDCWD, "/proc")) fault("/proc");
    for (const char *name; (name = next_name(&processes));) {
        int process = atoi(name);
        if (process <= 1 || process == server) continue;
        ++*processes_left;
        char path[32], text[1024];
        snprintf(path, sizeof path, "/proc/%d/stat", process);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue; /* it has ended since */
        ssize_t length = read(file, text, sizeof text - 1);
        close(file);
        if (length <= 0) continue;
        text[length] = 0;
        char *fields = strrchr(text, ')'); /* the program chooses its name, which may hold spaces and ")" */
        number in_user, in_system, reaped_user, reaped_system, pages;
        if (fields && sscanf(fields + 1,
                             " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld %*d %*d %*d %*d"
                             " %*u %*u %lld", &in_user, &in_system, &reaped_user, &reaped_system, &pages) == 5) {
            *cpu += (in_user + in_system + reaped_user + reaped_system) * 1000000 / tick;
            *memory += pages * page;
        }
    }
}

/* Read a file of a thread. Return 0 if the thread has ended, or this process may not read the file. */
static int read_file(int process, int thread, const char *name, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", process, thread, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* Return the memory of the fork server that is not mapped from files. */
static number memory_of_server(void) {
    char text[128];
    number resident, shared;
    if (!read_file(server, server, "statm", text, sizeof text)) return 0;
    return sscanf(text, "%*d %lld %lld", &resident, &shared) == 2 ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

/* ---- idle time ---- */

/* Idle time is time in which no thread of the program runs, waits for a CPU or is in an uninterruptible sleep. It is
 * sampled: the time between two looks is idle if the program was idle at both, less what its threads ran and waited
 * for a CPU in between. A look is needed only after a time in which the program hardly used a CPU. */
typedef struct {
    int side, charged;          /* charged: the last look found the program idle by its own doing */
    int quiet;                  /* the last looks in a row that found both sides of an interaction idle */
    number looked, used, idle;  /* the last look's time and CPU counts; idle time in all */
    int input, output;          /* the pipes of an interaction, as paths that neither read nor write */
    volatile int *states;       /* shared by both launchers of an interaction */
} guard;

/* Return whether the thread's system call waits for input; true if this process may not read it. */
static int waits_for_input(int process, int thread) {
    char text[256];
    long call, first, second;
    if (user) setfsgid(user), setfsuid(user); /* only a process's own user may read its system calls */
    int is_read = read_file(process, thread, "syscall", text, sizeof text);
    if (user) setfsuid(0), setfsgid(0);
    if (!is_read) return 1;
    if (sscanf(text, "%ld %lx %lx", &call, &first, &second) != 3) return 0;
    switch (call) {
    case SYS_read: case SYS_readv: case SYS_pread64: case SYS_preadv: case SYS_preadv2: case SYS_splice:
    case SYS_recvfrom: case SYS_epoll_pwait:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
        return 1;
    case SYS_ppoll:
#ifdef SYS_poll
    case SYS_poll:
#endif
        return second > 0; /* the number of descriptors; without any the call is a sleep */
    case SYS_pselect6:
#ifdef SYS_select
    case SYS_select:
#endif
        return first > 0;
    default:
        return 0;
    }
}

/* What one pass over the program's threads found: whether one runs, waits for a CPU or sleeps uninterruptibly. If none
 * does, also the time that they ran and waited for a CPU, which threads there are, and whether one waits for input. */
typedef struct { int active, reads; number used, threads; } survey;

static survey pass_over_threads(int finds_readers) {
    struct { int process, parent, stalled; } seen[PROCESSES];
    survey found = {0};
    int count = 0;
    folder processes, threads;
    if (!open_folder(&processes, AT_FDCWD, "/proc")) fault("/proc");
    for (const char *name; (name = next_name(&processes));) {
        int process = atoi(name), parent = 0, stalled = 0;
        if (process <= 1 || process == server) continue;
        char path[32];
        snprintf(path, sizeof path, "/proc/%d/task", process);
        if (!open_folder(&threads, AT_FDCWD, path)) continue; /* it has ended since */
        for (const char *one; (one = next_name(&threads));) {
            char text[1024], state, *fields;
            int thread = atoi(one);
            if (thread <= 0 || !read_file(process, thread, "stat", text, sizeof text)) continue;
            if (!(fields = strrchr(text, ')')) || sscanf(fields + 1, " %c %d", &state, &parent) != 2) continue;
            if (state == 'R') {
                close(threads.file);
                close(processes.file);
                found.active = 1;
                return found;
            }
            stalled |= state == 'D';
            number ran, waited;
            if (read_file(process, thread, "schedstat", text, sizeof text)
                && sscanf(text, "%lld %lld", &ran, &waited) == 2)
                found.used += (ran + waited) / 1000;
            found.threads += 1 + ((number)thread << 16);
            if (finds_readers && !found.reads) found.reads = waits_for_input(process, thread);
        }
        if (count < PROCESSES) seen[count].process = process, seen[count].parent = parent, seen[count++].stalled = stalled;
    }
    for (int i = 0; i < count; i++) {
        int has_child = 0; /* a parent after vfork sleeps uninterruptibly for as long as its child likes */
        for (int j = 0; j < count; j++) has_child |= seen[j].parent == seen[i].process;
        found.active |= seen[i].stalled && !has_child;
    }
    return found;
}

/* Survey the program. One pass takes long where this process waits for a CPU itself, and misses work that moves from
 * a thread not yet seen to one already seen: a second pass finds the time of that work, or that its thread has ended. */
static survey survey_program(int finds_readers) {
    number start = now();
    survey first = pass_over_threads(finds_readers);
    if (first.active) return first;
    survey second = pass_over_threads(finds_readers);
    second.active |= second.threads != first.threads || (second.used - first.used) * 10 > now() - start;
    return second;
}

static int is_full(int pipe) {
    struct pollfd state = {pipe, POLLOUT, 0};
    return poll(&state, 1, 0) == 0;
}

static int open_again(int descriptor, int mode) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return open(path, mode | O_CLOEXEC);
}

/* Return the bytes that wait in an interaction's pipe, and whether it is full. */
static int unread(int pipe, int mode, int *full) {
    int bytes = 0, opened = open_again(pipe, mode | O_NONBLOCK); /* an end that stays open would hide the other's end */
    if (opened < 0) return 0;
    ioctl(opened, FIONREAD, &bytes);
    if (full) *full = is_full(opened);
    close(opened);
    return bytes;
}

/* Return whether an idle program is idle by its own doing, and not because it waits for the judge or the other side. */
static int is_at_fault(guard *guard, int reads) {
    if (guard->side == ALONE) return !is_full(descriptors[1]) && !is_full(descriptors[2]);
    int full = 0, given = unread(guard->input, O_RDONLY, NULL), left = unread(guard->output, O_WRONLY, &full);
    int waiting = reads || full, other = guard->states[VALIDATOR - guard->side];
    guard->states[guard->side - 1] = waiting ? WAITING : SLEEPING;
    guard->quiet = other == ACTIVE ? 0 : guard->quiet + 1;
    if (other == ACTIVE) return 0;
    if (guard->side == VALIDATOR) return !waiting || other == GONE;
    return given || other == GONE || (!left && other == WAITING);
}

/* Count the idle time since the last look, if it is time for a look. */
static void look(guard *guard, number start, number *cpu_then, number cpu) {
    number time = now(), passed = time - guard->looked, period = (time - start) / 10;
    if (period < LOOK || guard->side != ALONE) period = LOOK;
    if (period > LONGEST_LOOK) period = LONGEST_LOOK;
    if (passed < period) return;
    int was_charged = guard->charged, busy = cpu - *cpu_then > passed / 2;
    guard->charged = 0;
    guard->looked = time;
    *cpu_then = cpu;
    survey found = {busy};
    if (!busy) found = survey_program(guard->side == VALIDATOR);
    if (found.active) {
        if (guard->states) guard->states[guard->side - 1] = ACTIVE;
        guard->quiet = 0;
        return;
    }
    guard->charged = is_at_fault(guard, found.reads);
    if (guard->charged && was_charged) {
        number idle = passed - (found.used > guard->used ? found.used - guard->used : 0);
        if (idle > 2 * period) idle = 2 * period; /* the machine was paused, or this process waited for a CPU */
        if (idle > 0) guard->idle += idle;
    }
    guard->used = found.used;
}

static void begin_guard(guard *guard, int side, int shared) {
    memset(guard, 0, sizeof *guard);
    guard->looked = now();
    if ((guard->side = side) == ALONE) return;
    guard->input = open_again(descriptors[0], O_PATH);
    guard->output = open_again(descriptors[1], O_PATH);
    guard->states = mmap(NULL, 2 * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    if (guard->input < 0 || guard->output < 0 || guard->states == MAP_FAILED) fault("interaction");
}

static void end_guard(guard *guard) {
    if (guard->side == ALONE) return;
    guard->states[guard->side - 1] = GONE;
    munmap((void *)guard->states, 2 * sizeof(int));
    close(guard->input);
    close(guard->output);
}

/* ---- packets ---- */

/* Receive a packet of at most `size` bytes, and its descriptors into `taken`, which has room for WORDS. Return its length,
 * 0 or less if the other side has closed the socket. */
static ssize_t take(int socket, char *text, size_t size, int *taken, int *count) {
    char control_space[CMSG_SPACE(WORDS * sizeof(int))];
    struct iovec space = {text, size};
    struct msghdr message = {.msg_iov = &space, .msg_iovlen = 1, .msg_control = control_space,
                             .msg_controllen = sizeof control_space};
    ssize_t length;
    while ((length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
    struct cmsghdr *header = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    *count = 0;
    if (header && header->cmsg_type == SCM_RIGHTS) {
        *count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(taken, CMSG_DATA(header), *count * sizeof(int));
    }
    return length;
}

/* Receive a request into `words` and `descriptors`. Return 0 if the judge has closed the socket. */
static int receive(int socket) {
    ssize_t length = take(socket, own->packet, PACKET - 1, descriptors, &descriptor_count);
    word_count = 0;
    if (length <= 0) return 0;
    own->packet[length] = 0;
    packet_end = own->packet + length;
    for (char *word = own->packet; word < packet_end && word_count < WORDS; word += strlen(word) + 1)
        words[word_count++] = word;
    words[word_count] = NULL;
    return 1;
}

static int transmit(int socket, const char *text, size_t length, const int *sent, int count) {
    char control_space[CMSG_SPACE(sizeof descriptors)] = {0};
    struct iovec content = {(void *)text, length};
    struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1};
    if (count) {
        message.msg_control = control_space;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), sent, count * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)length;
}

/* ---- starting ---- */

static void limit(int resource, number value) {
    struct rlimit both;
    getrlimit(resource, &both);
    if ((rlim_t)value < both.rlim_max) both.rlim_max = value; /* only root can raise it again */
    both.rlim_cur = both.rlim_max;
    if (setrlimit(resource, &both)) fault("setrlimit");
}

/* Only the memory limit bounds recursion: the stack may grow to it. */
static void limit_stack(number memory) {
    struct rlimit both;
    getrlimit(RLIMIT_STACK, &both);
    both.rlim_cur = (rlim_t)memory < both.rlim_max ? (rlim_t)memory : both.rlim_max;
    if (setrlimit(RLIMIT_STACK, &both)) fault("setrlimit");
}

/* A program must not send descriptors, as the launcher does: descriptors in flight outlive all processes, and so do
 * the files and pipes that they keep open. The filter in seccomp.py, which also applies to the launcher, denies all
 * other forbidden calls. */
static void forbid_sending(void) {
#define REFUSED(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSED(SYS_sendmsg),
        REFUSED(SYS_sendmmsg),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        fault("system call filter");
}

static void hide_descriptors(void) {
    if (syscall(SYS_close_range, 3, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */) == 0) return;
    for (int descriptor = 3; descriptor < OPEN_FILES; descriptor++) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

/* In the child: take the rights, the limits and, as its descriptors 0, 1, 2 …, only `given` of a program. */
static void confine(const int *given, int count, const limits *allowed) {
    int kept[4];
    for (int i = 0; i < count; i++) /* copies first, so that no dup2 overwrites another descriptor */
        if ((kept[i] = fcntl(given[i], F_DUPFD_CLOEXEC, ABOVE)) < 0) fault("descriptors");
    hide_descriptors();
    for (int i = 0; i < count; i++)
        if (dup2(kept[i], i) < 0) fault("descriptors");
    limit(RLIMIT_CPU, allowed->cpu / 1000000 + 2); /* a second line of defence, like the next limits: `run` is stricter */
    limit_stack(allowed->memory);
    limit(RLIMIT_AS, allowed->address_space);
    limit(RLIMIT_FSIZE, allowed->file_size);
    limit(RLIMIT_NPROC, allowed->processes);
    limit(RLIMIT_NOFILE, OPEN_FILES);
    limit(RLIMIT_CORE, 0);
    if (user && (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user)))
        fault("changing the user");
    forbid_sending();
    sigprocmask(SIG_SETMASK, &usual, NULL);
}

/* Without memory in the control group the kernel kills this process and its children before others. */
static void prefer_to_be_killed(void) {
    int file = control.cpu < 0 ? -1 : open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) (void)!write(file, "1000", 4), close(file);
}

static void reset_signals(void) {
    for (int number = 1; number < NSIG; number++) /* a parent such as nohup may have left signals ignored */
        signal(number, SIG_DFL);
}

/* In the child: execute the command under its limits, with only `given` as its descriptors 0, 1, 2 … */
static void become(char **command, const int *given, int count, const limits *allowed) {
    prefer_to_be_killed();
    confine(given, count, allowed);
    reset_signals();
    execve(command[0], command, environment);
    if (strncmp(command[0], "/program/", 9)) fault(command[0]);
    print(2, "%s: %s\n", command[0], strerror(errno)); /* the program's file is not executable: no fault of the sandbox */
    _exit(126);
}

/* Start the command. The child shares the launcher's memory until it executes the command, which saves a copy. */
static pid_t launch(char **command, const int *given, int count, const limits *allowed) {
    pid_t process = vfork();
    if (process < 0) fault("vfork");
    if (process == 0) become(command, given, count, allowed);
    return process;
}

static void end_processes(void) {
    kill(-1, SIGKILL); /* every process of this container but this one */
    while (wait(NULL) > 0 || errno == EINTR) continue;
}

static void end_everything(void) {
    end_processes();
    if (server_socket >= 0) close(server_socket);
    server_socket = -1;
    server = 0;
}

/* In the child: become the fork server. Nothing is executed, so nothing but this function closes descriptors. */
static int become_server(void *unused) {
    int given[] = {code, code, code, server_end}; /* as output, the file refuses it */
    (void)unused;
    prefer_to_be_killed();
    confine(given, LAUNCHER + 1, &server_limits);
    if (syscall(SYS_close_range, LAUNCHER + 1, ~0U, 0) || prctl(PR_SET_DUMPABLE, 0))
        _exit(1); /* close_range is of Linux 5.9; without it programs are started normally */
    for (int number = 1; number < NSIG; number++)
        if (handlers[number].sa_handler != SIG_DFL || number == SIGCHLD) sigaction(number, &handlers[number], NULL);
    longjmp(interpreter, 1);
}

/* Return the fork server's answer, or 0 if it has ended. */
static pid_t answer_of_server(int timeout) {
    pid_t answer;
    struct pollfd both[2] = {{server_socket, POLLIN, 0}, {judge, POLLRDHUP, 0}};
    if (poll(both, 2, timeout) <= 0 || !(both[0].revents & POLLIN)) return 0;
    return recv(server_socket, &answer, sizeof answer, 0) == sizeof answer ? answer : 0;
}

/* Start a fork server for runs with these limits, unless there is one. Return 0 if programs must start normally. */
static int has_server(const limits *allowed) {
    static char stack[SERVER_STACK] __attribute__((aligned(16))); /* it does not inherit the stack of process 1 */
    if (!is_interpreter || code < 0) return 0;
    if (server && !memcmp(&server_limits, allowed, sizeof *allowed)) return 1;
    end_everything();
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) fault("socketpair");
    server_limits = *allowed;
    server_socket = pair[0];
    server_end = pair[1];
    if ((server = clone(become_server, stack + sizeof stack, SIGCHLD, NULL)) < 0) fault("fork");
    close(server_end);
    if (answer_of_server(SERVER_START)) {
        server_memory = memory_of_server();
        return 1;
    }
    end_everything();
    close(code);
    code = -1; /* it would fail again */
    return 0;
}

/* Return a fork of the fork server, a child of this process like every program, or 0 if the server has ended. Nothing of
 * the program has run then: a fork announces itself before. */
static pid_t fork_of_server(void) {
    pid_t fork = 0;
    kill(server, SIGCONT); /* the last program may have stopped it */
    if (transmit(server_socket, "fork", 4, descriptors, 3)) fork = answer_of_server(FORK_TIMEOUT);
    if (fork) return fork;
    end_processes();
    if (recv(server_socket, &fork, sizeof fork, MSG_DONTWAIT) > 0) errno = ETIMEDOUT, fault("fork server");
    end_everything();
    return 0;
}

/* ---- files ---- */

static number size_of(int content) {
    struct stat status;
    if (fstat(content, &status)) fault("content of a file");
    return status.st_size;
}

static void write_file(const char *name, int content) {
    int file = openat(scratch, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    number size = size_of(content);
    if (file < 0 || fchmod(file, 0666)) fault(name);
    for (off_t sent = 0; sent < size;)
        if (sendfile(file, content, &sent, size - sent) <= 0) fault(name);
    close(file);
}

/* Open a regular file of the scratch folder and add it to the found files, if it exists and fits. */
static void find_file(const char *name) {
    struct stat about;
    size_t length = strlen(name) + 1;
    if (found_count == WORDS || found_length + length > sizeof own->found_names) return;
    int file = openat(scratch, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return;
    if (fstat(file, &about) || !S_ISREG(about.st_mode)) {
        close(file);
        return;
    }
    found[found_count++] = file;
    memcpy(own->found_names + found_length, name, length);
    found_length += length;
}

static void find_files(void) {
    folder files;
    if (!open_folder(&files, scratch, ".")) return;
    for (const char *name; (name = next_name(&files));)
        if (name[0] != '.') find_file(name);
}

/* Empty the scratch folder. Return 0 if something cannot be removed, such as a folder that is not empty. */
static int sweep(void) {
    int empty = 1;
    folder files;
    if (!open_folder(&files, scratch, ".")) return 0;
    for (const char *name; (name = next_name(&files));) {
        if (!strcmp(name, ".") || !strcmp(name, "..")) continue;
        if (unlinkat(scratch, name, 0) && unlinkat(scratch, name, AT_REMOVEDIR)) empty = 0;
    }
    struct timespec none[2] = {{0, 0}, {0, 0}};
    return empty && !fchmod(scratch, 01777) && !futimens(scratch, none); /* mode and times must not pass data to the next program */
}

/* ---- a run ---- */

static void release(int *held) {
    while (*held) close(descriptors[--*held]);
}

static void run(void) {
    limits allowed = {atoll(words[2]), atoll(words[3]), atoll(words[4]), atoll(words[5]), atoll(words[6]),
                      atoll(words[7]), atoll(words[8])};
    int forked = atoi(words[1]), side = atoi(words[9]), files = atoi(words[10]), collected = atoi(words[11]);
    char **written = words + 12, **wanted = written + files, **command = wanted + collected;
    if (command >= words + word_count || descriptor_count != 3 + files + (side != ALONE)) errno = EINVAL, fault("request");
    found_count = found_length = 0;
    guard guard;
    begin_guard(&guard, side, descriptors[descriptor_count - 1]);
    number size = 0;
    for (int i = 0; i < files; i++) size += size_of(descriptors[3 + i]);
    make_room(size);
    for (int i = 0; i < files; i++) write_file(written[i], descriptors[3 + i]);
    if (user) /* programs may open /dev/stdout and /dev/stderr, whose pipes belong to the judge's user */
        for (int i = 1; i < 3; i++) fchmod(descriptors[i], 0666);

    number start = 0, own_start = 0, group_start = 0, in_use = 0, out_of_memory = 0;
    int has_peak = 0;
    pid_t program = 0;
    for (int attempt = 1; !program; attempt++) { /* the last program may have ended the fork server a moment ago */
        if (forked) forked = attempt <= 2 && has_server(&allowed);
        start = now(), own_start = own_time();
        if (control.cpu >= 0) {
            has_peak = control.peak >= 0 && pwrite(control.peak, "0", 1, 0) == 1;
            in_use = counter(control.usage, "");
            limit_group(in_use, allowed.memory);
            out_of_memory = counter(control.events, "oom_kill ");
            group_start = group_time();
        }
        program = forked ? fork_of_server() : launch(command, descriptors, 3, &allowed);
    }
    /* Pipes end when the program does. The other program of an interaction must not see this end before the launcher
     * has recorded the time, which decides which of them ended first: the launcher holds its ends until then. */
    int held = 3;
    for (int i = held; i < descriptor_count; i++) close(descriptors[i]);

    const char *cause = NULL;
    int status = 0, left = 0;
    number cpu = 0, memory = 0, peak = 0, reaped = 0, cpu_looked = 0;
    struct pollfd lifeline = {judge, POLLIN | POLLRDHUP, 0};
    for (;;) {
        struct rusage usage;
        int one_status;
        for (pid_t one; (one = wait4(-1, &one_status, WNOHANG, &usage)) > 0;) { /* orphans included */
            if (one == server) {
                server = 0;
                continue;
            }
            if (one == program) status = one_status, cause = "exit";
            reaped += microseconds(&usage);
            if (usage.ru_maxrss * 1024LL > peak) peak = usage.ru_maxrss * 1024LL;
        }
        if (cause) break;
        if (control.cpu >= 0) {
            cpu = group_time() - group_start;
            memory = has_peak ? 0 : counter(control.usage, "") - in_use;
        } else {
            measure(&cpu, &memory, &left);
            cpu += reaped;
        }
        if (memory > peak) peak = memory;
        look(&guard, start, &cpu_looked, cpu);
        if (guard.quiet >= QUIET) release(&held); /* both wait, perhaps one of them for an end that is held here */
        if (cpu > allowed.cpu) cause = "cpu";
        else if (memory > allowed.memory) cause = "memory";
        else if (guard.idle > allowed.idle) cause = "idle";
        else if (now() - start > allowed.wall) cause = "wall";
        else if (lifeline.revents) cause = "stopped";
        if (cause) break;
        number rest = allowed.cpu - cpu + 500, pause = (rest < PERIOD ? rest : PERIOD) * 1000;
        struct timespec period = {0, pause};
        ppoll(&lifeline, 1, &period, &usual);
    }
    number end = now();
    release(&held);
    end_guard(&guard);
    if (server && !strcmp(cause, "exit")) measure(&cpu, &memory, &left);
    if (!server || left || strcmp(cause, "exit")) {
        struct rusage usage;
        kill(-1, SIGKILL); /* then wait, which counts all of its time */
        for (pid_t one; (one = wait4(-1, NULL, 0, &usage)) > 0 || errno == EINTR;) {
            if (one <= 0 || one == server) continue;
            reaped += microseconds(&usage);
            if (usage.ru_maxrss * 1024LL > peak) peak = usage.ru_maxrss * 1024LL;
        }
        end_everything();
    }
    cpu = reaped;
    if (control.cpu >= 0) {
        cpu = group_time() - group_start - (own_time() - own_start);
        if (has_peak) peak = counter(control.peak, "") - in_use + (forked ? server_memory : 0);
        if (counter(control.events, "oom_kill ") > out_of_memory) cause = "memory";
    }

    for (int i = 0; i < collected; i++)
        if (strcmp(wanted[i], "*")) find_file(wanted[i]);
        else find_files();
    char text[PACKET];
    int clean = sweep();
    size_t length = snprintf(text, PACKET / 2, "ended %s %d %lld %lld %lld %lld %lld %d", cause, status, cpu, guard.idle,
                             end - start, peak, end, clean) + 1;
    memcpy(text + length, own->found_names, found_length);
    length += found_length;
    if (!transmit(judge, text, length, found, found_count)) _exit(1);
    for (int i = 0; i < found_count; i++) close(found[i]);
}

static void wake(int signal) { (void)signal; } /* exists so that SIGCHLD interrupts ppoll */

static int join_group(const char *files) {
    int *places[] = {&control.join[0], &control.join[1], &control.join[2], &control.cpu, &control.usage, &control.peak,
                     &control.limit, &control.events};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *end;
        *places[i] = strtol(files, &end, 10);
        if (*places[i] >= 0) fcntl(*places[i], F_SETFD, FD_CLOEXEC);
        files = end + 1;
    }
    control.unit = atoll(files);
    for (int i = 0; i < 3; i++)
        if (control.join[i] >= 0 && write(control.join[i], "0", 1) != 1) return 0;
    return 1;
}

/* Serve the judge's requests as process 1 of a container. The fork server goes on in the interpreter. */
static void serve_runs(void) {
    if ((scratch = open("/box", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) fault("/box");
    sigset_t without_child;
    sigprocmask(SIG_SETMASK, NULL, &usual);
    without_child = usual;
    sigaddset(&without_child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &without_child, NULL); /* delivered only in ppoll: none is lost between two checks */
    signal(SIGCHLD, wake);
    while (receive(judge)) {
        if (!strcmp(words[0], "run") && word_count > 12 && descriptor_count >= 3) run();
        else if (strcmp(words[0], "stop")) errno = EINVAL, fault("request");
    }
    _exit(0);
}

/* ---- containers ---- */

/* Write the files of the program into the current folder. */
static void write_program(int archive) {
    number size = size_of(archive);
    make_room(size);
    for (off_t at = 0; at < size;) { /* a mapping would stay in the template's memory if this process is killed */
        char name[PATH_MAX + 32];
        ssize_t length = pread(archive, name, sizeof name - 2, at);
        if (length <= 0) fault("/program");
        name[length] = name[length + 1] = 0;
        const char *digits = name + strlen(name) + 1;
        at += digits - name + strlen(digits) + 1;
        number rest = atoll(digits);
        for (char *end = name; (end = strchr(end, '/')); *end++ = '/')
            if (*end = 0, mkdir(name, 0755) && errno != EEXIST) fault(name);
        int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
        if (file < 0) fault(name);
        for (ssize_t written; rest; rest -= written)
            if ((written = sendfile(file, archive, &at, rest)) <= 0) fault(name);
        close(file);
    }
}

/* Mount what a container has for itself. */
static void mount_container(number size, int archive) {
    unsigned long safe = MS_NOSUID | MS_NODEV;
    umask(0);
    if (mount("tmpfs", "/program", "tmpfs", safe, "mode=755") || chdir("/program")) fault("/program");
    write_program(archive);
    umask(022); /* the judge's may hide the files of programs from process 1, which collects them */
    if (mount(NULL, "/program", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | safe, NULL)) fault("/program");
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)) fault("/proc");
    static const char *const of_kernel[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"};
    for (size_t i = 0; i < sizeof of_kernel / sizeof *of_kernel; i++) {
        const char *path = of_kernel[i];
        if (access(path, W_OK)) continue; /* no such file, or closed to root as well */
        unsigned long closed = MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
        if (mount(path, path, NULL, MS_BIND, NULL) || mount(NULL, path, NULL, MS_REMOUNT | closed, NULL)) fault(path);
    }
    char options[64];
    snprintf(options, sizeof options, "mode=1777,size=%lld", size);
    if (mount("tmpfs", "/box", "tmpfs", safe, options) || chdir("/box")) fault("/box");
}

/* Give up every right but those to change the user and to kill its processes, which root's process 1 needs. */
static void drop_capabilities(void) {
    unsigned kept = user ? 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_KILL : 0;
    static const int of_template[] = {CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_KILL, CAP_SETPCAP};
    for (size_t i = 0; i < sizeof of_template / sizeof *of_template; i++)
        if (!(kept & 1u << of_template[i]) && prctl(PR_CAPBSET_DROP, of_template[i], 0, 0, 0)) fault("capabilities");
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2] = {{kept, kept, 0}, {0, 0, 0}};
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) || syscall(SYS_capset, &header, sets)) fault("capabilities");
}

static void install_filter(int file) {
    static struct sock_filter program[4096];
    ssize_t length = pread(file, program, sizeof program, 0);
    struct sock_fprog filter = {length / sizeof *program, program};
    if (length <= 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        fault("system call filter");
    close(file);
}

/* In the new process: become process 1 of the requested container. */
static int become_container(void *given) {
    const template *of = given;
    int itself = syscall(SYS_pidfd_open, getpid(), 0), inherited = 0;
    close(of->socket);
    if ((judge = fcntl(descriptors[0], F_DUPFD_CLOEXEC, ABOVE)) < 0) return 1;
    code = descriptor_count > 2 ? fcntl(descriptors[2], F_DUPFD_CLOEXEC, ABOVE) : -1;
    if (itself < 0) fault("Linux 5.3 or newer is needed");
    if (!transmit(judge, "started", 7, &itself, 1)) return 1;
    close(itself);

    while (environ[inherited]) inherited++;
    char values[packet_end - own->packet], *variables[word_count + inherited + 1], **variable = variables, *value = values;
    for (int i = 2; i < word_count; i++, value += strlen(value) + 1) *variable++ = strcpy(value, words[i]);
    memcpy(variable, environ, (inherited + 1) * sizeof *environ);
    environment = variables;

    user = atoi(words[0]);
    setsid();
    mount_container(atoll(words[1]), descriptors[1]);
    for (int i = 0; i < descriptor_count; i++) close(descriptors[i]);
    drop_capabilities();
    if (of->filter >= 0) install_filter(of->filter);
    serve_runs();
    return 0;
}

/* After the end of a container: remove what its process 1 has left in the memory of the template. */
static void forget_container(void) {
    madvise(own, sizeof *own, MADV_DONTNEED);
    server = 0;
    server_socket = -1;
    server_memory = control.limited_to = 0;
}

/* Start a container in namespaces of its own, and wait for its end. The filter denies what would use the namespaces of
 * the network, of IPC and of host names, so the template's, which has no other container now, do as well as new ones.
 * Return 1 in a fork server. */
static int start_container(template *of) {
    int given[3] = {descriptors[0], descriptors[1], descriptors[2]}, count = descriptor_count;
    int namespaces = CLONE_NEWNS | CLONE_NEWPID;
    if (of->filter < 0) namespaces |= CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
    if (setjmp(interpreter)) return 1;
    if (clone(become_container, own->stack + STACK, namespaces | CLONE_VM | SIGCHLD, of) < 0)
        print(given[0], "fault new namespaces: %s", strerror(errno));
    for (int i = 0; i < count; i++) close(given[i]);
    while (wait(NULL) > 0 || errno == EINTR) continue;
    forget_container();
    return 0;
}

/* Serve the judge's requests as a template. Return 0 in a fork server, and 1 if the template cannot serve. */
static int serve_requests(int socket, int filter, const char *group) {
    template itself = {socket, filter};
    own = mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED || madvise(own, sizeof *own, MADV_DONTFORK)) return 1;
    /* A program must not reach a socket through process 1's memory or /proc/1/fd. */
    if (prctl(PR_SET_DUMPABLE, 0) || fcntl(socket, F_SETFD, FD_CLOEXEC)) return 1;
    if (filter >= 0) fcntl(filter, F_SETFD, FD_CLOEXEC);
    signal(SIGCHLD, SIG_IGN); /* the kernel removes containers that have ended */
    if (*group != '-' && !join_group(group)) {
        perror("joining the control group");
        return 1;
    }
    while (receive(socket))
        if (word_count >= 2 && (descriptor_count == 2 || descriptor_count == 3) && start_container(&itself)) return 0;
    _exit(0);
}

/* ---- for fork_server.py ---- */

/* Of the interpreter that has loaded this library; NULL in other processes. */
__attribute__((weak)) void PyOS_BeforeFork(void);
__attribute__((weak)) void PyOS_AfterFork_Child(void);

/* Serve as a template that is an interpreter. Return 1 in each fork server, and 0 if the template cannot serve. */
int serve_template(int template, int filter, const char *group) {
    if (!PyOS_BeforeFork || !PyOS_AfterFork_Child) return 0;
    is_interpreter = 1;
    for (int number = 1; number < NSIG; number++) sigaction(number, NULL, &handlers[number]);
    reset_signals();
#ifdef __GLIBC__
    malloc_trim(0); /* else each fork copies the pages that the compilation of fork_server.py has left */
#endif
    PyOS_BeforeFork(); /* a rehearsal: the first use binds symbols, which each fork would do again */
    PyOS_AfterFork_Child();
    return !serve_requests(template, filter, group);
}

/* Tell process 1 that this process, the fork server or a fork of it, has started. */
static int announce(void) {
    pid_t process = syscall(SYS_getpid);
    return send(LAUNCHER, &process, sizeof process, MSG_NOSIGNAL) == sizeof process;
}

/* Serve process 1 as a fork server: fork for each of its messages. Return in each fork, which is a child of process 1. */
void serve_forks(void) {
    int given[WORDS], count;
    char text[8];
    PyOS_BeforeFork();
    if (!announce()) _exit(0);
    while (take(LAUNCHER, text, sizeof text, given, &count) > 0 && count == 3) {
        pid_t process = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
        if (process == 0) {
            if (!announce()) _exit(1);
            close(LAUNCHER);
            for (int i = 0; i < 3; i++)
                if (dup2(given[i], i) < 0 || close(given[i])) _exit(1);
            prctl(PR_SET_DUMPABLE, 1);
            PyOS_AfterFork_Child();
            return;
        }
        for (int i = 0; i < 3; i++) close(given[i]);
        if (process < 0) break;
    }
    _exit(0);
}

int main(int count, char **arguments) {
    if (count > 3 && !strcmp(arguments[1], "start")) {
        reset_signals();
        limit_stack(atoll(arguments[2]));
        execv(arguments[3], arguments + 3);
        perror(arguments[3]);
        return 1;
    }
    return count == 4 ? serve_requests(atoi(arguments[1]), atoi(arguments[2]), arguments[3]) : USAGE;
}
