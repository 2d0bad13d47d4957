/* A program that looks like one of Go's to a reader of its file: build information, and the two places
 * octet for octet. What KIND says is wrong with its registers: nothing, "stack" (the call is not made on the
 * stack that R14 names), "unmapped" (its thread is nowhere), "other" (its thread is something else). Or what it
 * does at once: "seccomp" and "ring" make a call of that kind, "exec" executes another program, "notify" says to
 * NOTIFY_SOCKET that it is ready, "elsewhere" writes by the C library, "hidden" has itself not
 * be dumped, "unseen" does so past the rule, and sleeps past it for a while within its first answers, "filtered" has its
 * calls filtered (all are allowed), "ringed" has a ring of io_uring, if the kernel gives it one, "spawns" has a child by vfork after
 * each answer, which closes the connection for itself.
 * `lookalike PIECES` prints its address and answers each line with pieces of its own, over one connection. */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION "go1.22.0"
#endif
__attribute__((section(".note.go.buildid"), used)) static const char id[4] = "Go";
__attribute__((section(".go.buildinfo"), used, aligned(16))) static const char info[64] =
    "\xff Go buildinf:\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08" VERSION;

long syscall6(void);
__asm__(".globl syscall6\nsyscall6:\n"
        ".byte 0x49,0x89,0xf2,0x48,0x89,0xfa,0x48,0x89,0xce,0x48,0x89,0xdf,0x0f,0x05\n"
        "cmp $-4095, %rax\n jb 1f\n neg %rax\n mov %rax, %rcx\n mov $-1, %rax\n xor %ebx, %ebx\n ret\n"
        "1: mov %rdx, %rbx\n xor %ecx, %ecx\n ret\n"
        ".globl futex\nfutex:\n"
        ".byte 0x48,0x8b,0x7c,0x24,0x08,0x8b,0x74,0x24,0x10,0x8b,0x54,0x24,0x14,0x4c,0x8b,0x54,0x24,0x18\n"
        ".byte 0x4c,0x8b,0x44,0x24,0x20,0x44,0x8b,0x4c,0x24,0x28,0xb8,0xca,0,0,0,0x0f,0x05\n ret\n");

struct m;
struct g { unsigned long low, high, between[4]; struct m *m; };
struct m { struct g *g0; };
static struct g goroutine, first;
static struct m thread = {&first};

static long call(long number, long a, long b, long c)
{
    register long result __asm__("rax") = number;
    register long first_argument __asm__("rbx") = a;
    register long second __asm__("rcx") = b;
    register long third __asm__("rdi") = c;
    register struct g *task __asm__("r14") = &goroutine;
    /* Over the red zone, which Go has none of. */
    __asm__ volatile("lea -128(%%rsp), %%rsp\n xor %%esi, %%esi\n xor %%r8d, %%r8d\n xor %%r9d, %%r9d\n call syscall6\n"
                     "lea 128(%%rsp), %%rsp"
                     : "+r"(result), "+r"(first_argument), "+r"(second), "+r"(third)
                     : "r"(task)
                     : "rsi", "r8", "r9", "r10", "r11", "rdx", "memory", "cc");
    return result == -1 ? -second : result;
}

/* Reads a line whole, which may come in pieces; returns its length, or 0 at the end. */
static long line(int connection, char *to, long room)
{
    long had = 0;
    for (long got; (got = call(SYS_read, connection, (long)to + had, room - had)) > 0;) {
        had += got;
        if (to[had - 1] == '\n')
            return had;
    }
    return 0;
}

static void notify(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, getenv("NOTIFY_SOCKET"), sizeof to.sun_path - 1);
    int from = socket(AF_UNIX, SOCK_DGRAM, 0);
    sendto(from, "READY=1", 7, 0, (void *)&to, sizeof to);
    close(from);
}

static void filter(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

int main(int count, char **arguments)
{
    unsigned long here = (unsigned long)&count;
    const char *kind = getenv("KIND") ? getenv("KIND") : "";
    int slept = 0, pieces = count > 1 ? atoi(arguments[1]) : 1;
    goroutine = (struct g){.low = here - (1 << 20), .high = here + (1 << 20), .m = &thread};
    first.m = &thread;
    if (!strcmp(kind, "stack"))
        goroutine.high = goroutine.low + 4096;
    if (!strcmp(kind, "unmapped"))
        goroutine.m = (struct m *)0x123450;
    if (!strcmp(kind, "other"))
        first.m = (struct m *)&goroutine;
    if (!strcmp(kind, "seccomp"))
        call(SYS_seccomp, -1, 0, 0);
    if (!strcmp(kind, "ring"))
        call(SYS_io_uring_setup, 0, 0, 0);
    if (!strcmp(kind, "hidden"))
        call(SYS_prctl, PR_SET_DUMPABLE, 0, 0);
    if (!strcmp(kind, "unseen"))
        prctl(PR_SET_DUMPABLE, 0);
    if (!strcmp(kind, "notify"))
        notify();
    if (!strcmp(kind, "filtered"))
        filter();
    /* The parameters are 120 octets, all zero. */
    char parameters[120] = {0};
    if (!strcmp(kind, "ringed"))
        syscall(SYS_io_uring_setup, 4, parameters);
    if (!strcmp(kind, "exec")) {
        char *words[] = {"echo", "executed", 0}, *none[] = {0};
        call(SYS_execve, (long)"/bin/echo", (long)words, (long)none);
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    bind(listener, (void *)&address, length);
    listen(listener, 8);
    getsockname(listener, (void *)&address, &length);
    printf("127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int connection = accept(listener, 0, 0);
        char question[256];
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        for (long got; (got = line(connection, question, sizeof question)) > 0;) {
            question[got - 1] = 0;
            for (int piece = 0; piece < pieces; piece++) {
                char answer[300];
                int size = snprintf(answer, sizeof answer, "%s %d\n", question, piece);
                long written = strcmp(kind, "elsewhere") ? call(SYS_write, connection, (long)answer, size)
                                                         : write(connection, answer, size);
                if (written != size)
                    return 1;
                if (slept < 200 && !strcmp(kind, "unseen")) {
                    usleep(3000);
                    slept++;
                }
            }
            pid_t child = strcmp(kind, "spawns") ? -1 : vfork();
            if (child == 0) {
                call(SYS_close, connection, 0, 0);
                _exit(0);
            }
            if (child > 0)
                waitpid(child, 0, 0);
        }
        close(connection);
    }
}
