/* Process 1 of the sandbox: starts one program, holds it to its limits, measures it, reports, and ends.
 *
 * usage: launcher REPORT USER CPU WALL MEMORY ADDRESS_SPACE FILE_SIZE PROCESSES COMMAND [ARGUMENT]...
 *
 * REPORT is the descriptor of a socket to the judge. One line is written to it:
 *   "ended CAUSE STATUS CPU WALL MEMORY" (STATUS as wait returns it) or "fault WHAT WENT WRONG".
 * The judge stops the run by closing its side, and so does the judge's death.
 * USER is the user to become before the program starts, or 0 to stay who we are. CPU and WALL are
 * microseconds, MEMORY, ADDRESS_SPACE and FILE_SIZE bytes. python_launcher.py does the same where there is
 * no C compiler.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_MS = 10, OPEN_FILES = 256, USAGE = 64 };

typedef long long number;
static int report;

static void fault(const char *what) {
    dprintf(report, "fault %s: %s\n", what, strerror(errno));
    _exit(1);
}

static void limit(int resource, number value) {
    struct rlimit both;
    getrlimit(resource, &both);
    if ((rlim_t)value < both.rlim_max) both.rlim_max = value; /* nobody but root may raise it again */
    both.rlim_cur = both.rlim_max;
    if (setrlimit(resource, &both)) fault("setrlimit");
}

static number now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static number used_by_reaped(struct rusage *usage) {
    getrusage(RUSAGE_CHILDREN, usage);
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000LL + usage->ru_utime.tv_usec
           + usage->ru_stime.tv_usec;
}

/* CPU time of all living processes with the children they waited for, and the sum of their resident memory. */
static void look(number *cpu, number *memory) {
    static long tick, page;
    if (!tick) tick = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    *cpu = *memory = 0;
    DIR *processes = opendir("/proc");
    if (!processes) fault("/proc");
    for (struct dirent *entry; (entry = readdir(processes));) {
        int process = atoi(entry->d_name);
        if (process <= 1) continue;
        char path[32], text[1024];
        snprintf(path, sizeof path, "/proc/%d/stat", process);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue; /* it has ended since */
        ssize_t length = read(file, text, sizeof text - 1);
        close(file);
        if (length <= 0) continue;
        text[length] = 0;
        char *fields = strrchr(text, ')'); /* the program chooses its name, which may hold spaces and ")" */
        number user, system, reaped_user, reaped_system, pages;
        if (fields && sscanf(fields + 1,
                             " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld %*d %*d %*d %*d"
                             " %*u %*u %lld", &user, &system, &reaped_user, &reaped_system, &pages) == 5) {
            *cpu += (user + system + reaped_user + reaped_system) * 1000000 / tick;
            *memory += pages * page;
        }
    }
    closedir(processes);
}

static void wake(int signal) { (void)signal; } /* exists so that SIGCHLD interrupts ppoll */

int main(int count, char **arguments) {
    if (count < 10) return USAGE;
    number value[9];
    for (int i = 1; i <= 8; i++) value[i] = atoll(arguments[i]);
    report = value[1];
    number user = value[2], cpu_limit = value[3], wall_limit = value[4], memory_limit = value[5];

    fcntl(report, F_SETFD, FD_CLOEXEC);         /* the program must not be able to write the report … */
    if (prctl(PR_SET_DUMPABLE, 0)) fault("prctl"); /* … nor reach it through our memory or /proc/1/fd */
    if (user) { /* programs may open /dev/stdout and /dev/stderr, whose pipes belong to the judge's user */
        fchmod(1, 0666);
        fchmod(2, 0666);
    }
    sigset_t usual, without_child;
    sigprocmask(SIG_SETMASK, NULL, &usual);
    without_child = usual;
    sigaddset(&without_child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &without_child, NULL); /* only ppoll lets it in: none gets lost between two looks */
    signal(SIGCHLD, wake);

    number start = now();
    pid_t program = fork();
    if (program < 0) fault("fork");
    if (program == 0) {
        for (int descriptor = 3; descriptor < OPEN_FILES; descriptor++) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        limit(RLIMIT_CPU, cpu_limit / 1000000 + 2); /* backstops: the loop below is stricter */
        limit(RLIMIT_AS, value[6]);
        limit(RLIMIT_STACK, memory_limit); /* deep recursion is limited by memory alone */
        limit(RLIMIT_FSIZE, value[7]);
        limit(RLIMIT_NPROC, value[8]);
        limit(RLIMIT_NOFILE, OPEN_FILES);
        limit(RLIMIT_CORE, 0);
        if (user && (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user)))
            fault("changing the user");
        sigprocmask(SIG_SETMASK, &usual, NULL);
        execv(arguments[9], arguments + 9);
        if (strncmp(arguments[9], "/program/", 9)) fault(arguments[9]);
        perror(arguments[9]); /* compiled from a source that made it so: not our fault */
        _exit(126);
    }

    const char *cause = NULL;
    int status = 0;
    number cpu, memory, peak = 0;
    struct rusage usage;
    struct pollfd lifeline = {report, POLLIN | POLLRDHUP, 0};
    struct timespec period = {0, PERIOD_MS * 1000000};
    while (!cause) {
        ppoll(&lifeline, 1, &period, &usual);
        int one_status;
        for (pid_t one; (one = waitpid(-1, &one_status, WNOHANG)) > 0;) /* orphans are ours to wait for too */
            if (one == program) status = one_status, cause = "exit";
        if (cause) break;
        look(&cpu, &memory);
        if (memory > peak) peak = memory;
        if (cpu + used_by_reaped(&usage) > cpu_limit) cause = "cpu";
        else if (memory > memory_limit) cause = "memory";
        else if (now() - start > wall_limit) cause = "wall";
        else if (lifeline.revents) cause = "stopped";
    }
    number wall = now() - start;
    kill(-1, SIGKILL); /* everything in this namespace but us; then wait, so that all of its time is counted */
    while (wait(NULL) > 0 || errno == EINTR) continue;
    cpu = used_by_reaped(&usage);
    if (usage.ru_maxrss * 1024LL > peak) peak = usage.ru_maxrss * 1024LL;
    dprintf(report, "ended %s %d %lld %lld %lld\n", cause, status, cpu, wall, peak);
    return 0;
}
