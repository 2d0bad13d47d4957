/* Programs that do to their sockets what real programs do, and worse. Each scenario connects to a
 * sink (sink.rs) and sends frames:
 *
 *     stream (1) | flags (1) | length (2) | sequence (4) | payload, each byte (stream*31 + sequence*7 + index)
 *
 * The sink checks that every stream is whole and in order, and answers a frame that asks for it with
 * the number of frames it has seen on the connection. Small writes on purpose: a frame is written in
 * up to three pieces, each of which may be held. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER = 1, LAST = 2, HEADER = 8 };
static int port;

#define MUST(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))
static void fail(const char *what, int line) {
    fprintf(stderr, "hostile.c:%d: %s (%s)\n", line, what, strerror(errno));
    _exit(99);
}

static struct sockaddr_in sink_address(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static int dial(int flags) {
    struct sockaddr_in a = sink_address();
    int fd = socket(AF_INET, SOCK_STREAM | flags, 0);
    MUST(fd >= 0);
    MUST(connect(fd, (struct sockaddr *)&a, sizeof a) == 0 || errno == EINPROGRESS);
    return fd;
}

static void put(int fd, const void *bytes, size_t len) {
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {fd, POLLOUT, 0};
            MUST(poll(&p, 1, 10000) == 1);
            continue;
        }
        MUST(n > 0);
        at += n, len -= n;
    }
}

static size_t build(unsigned char *frame, int stream, int flags, unsigned sequence, size_t len) {
    frame[0] = stream, frame[1] = flags, frame[2] = len, frame[3] = len >> 8;
    memcpy(frame + 4, &sequence, 4);
    for (size_t i = 0; i < len; i++) frame[HEADER + i] = stream * 31 + sequence * 7 + i;
    return HEADER + len;
}

/* One frame in three writes. */
static void send_frame(int fd, int stream, int flags, unsigned sequence, size_t len) {
    unsigned char frame[HEADER + 65535];
    size_t whole = build(frame, stream, flags, sequence, len), half = HEADER + len / 2;
    put(fd, frame, HEADER);
    put(fd, frame + HEADER, half - HEADER);
    put(fd, frame + half, whole - half);
}

static void expect_answer(int fd, unsigned frames) {
    unsigned seen;
    size_t got = 0;
    while (got < sizeof seen) {
        ssize_t n = read(fd, (char *)&seen + got, sizeof seen - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {fd, POLLIN, 0};
            MUST(poll(&p, 1, 10000) == 1);
            continue;
        }
        MUST(n > 0);
        got += n;
    }
    MUST(seen == frames);
}

/* Request and answer, so often that a hold of 200 ms would show. */
static void converse(int fd, int stream, int rounds) {
    for (int i = 0; i < rounds; i++) {
        send_frame(fd, stream, ANSWER | (i == rounds - 1 ? LAST : 0), i, i % 300);
        expect_answer(fd, i + 1);
    }
}

static void stream_out(int fd, int stream, int frames) {
    for (int i = 0; i < frames; i++) send_frame(fd, stream, i == frames - 1 ? LAST : 0, i, i % 500);
}

static void reap(pid_t child, int signal) {
    int status;
    MUST(waitpid(child, &status, 0) == child);
    MUST(signal ? WIFSIGNALED(status) && WTERMSIG(status) == signal : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void plain(void) {
    int fd = dial(0);
    converse(fd, 1, 500);
    close(fd);
}

static void nonblocking(void) {
    int fd = dial(SOCK_NONBLOCK);
    struct pollfd p = {fd, POLLOUT, 0};
    MUST(poll(&p, 1, 10000) == 1);
    converse(fd, 1, 500);
    close(fd);
}

/* Parent and child in turn on one socket, each with bytes held as the other begins. */
static void forked(void) {
    int fd = dial(0), turn[2][2];
    MUST(pipe(turn[0]) == 0 && pipe(turn[1]) == 0);
    char token = 0;
    send_frame(fd, 1, 0, 0, 10);
    pid_t child = fork();
    int me = child == 0;
    for (int i = 0; i < 200; i++) {
        if (me || i > 0) MUST(read(turn[me][0], &token, 1) == 1);
        send_frame(fd, 1 + me, i == 199 ? LAST : 0, me ? i : i + 1, 30);
        MUST(write(turn[!me][1], &token, 1) == 1);
    }
    if (me) _exit(0);
    reap(child, 0);
    close(fd);
}

/* What the program is told of TCP_NODELAY. */
static int nodelay_of(int fd) {
    int value = -1;
    socklen_t len = sizeof value;
    MUST(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &len) == 0);
    return !!value;
}

static void set_nodelay(int fd, int on) {
    MUST(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    MUST(nodelay_of(fd) == on);
}

/* Bytes held, then the whole memory is gone, with the knowledge of them. */
static void executed(void) {
    int fd = dial(0);
    char number[16];
    send_frame(fd, 1, 0, 0, 10);
    send_frame(fd, 1, 0, 1, 10);
    snprintf(number, sizeof number, "%d", fd);
    char where[16];
    snprintf(where, sizeof where, "%d", port);
    execl("/proc/self/exe", "hostile", "executed-after", where, number, (char *)NULL);
    fail("execl", __LINE__);
}

static void executed_after(int fd) {
    MUST(nodelay_of(fd) == 0);
    for (int on = 1; on >= 0; on--) set_nodelay(fd, on);
    for (int i = 2; i < 300; i++) send_frame(fd, 1, i == 299 ? LAST : 0, i, 40);
    close(fd);
}

/* A child in its parent's memory moves descriptors about; the parent's must stay what they are. */
static void vforked(void) {
    int fd = dial(0);
    for (int i = 0; i < 200; i++) {
        send_frame(fd, 1, i == 199 ? LAST : 0, i, 20);
        pid_t child = vfork();
        if (child == 0) {
            dup2(fd, 0);
            close(fd);
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        reap(child, 0);
    }
    close(fd);
}

struct shared {
    int fd, stream, frames;
    pthread_mutex_t *lock;
};

static void *sharer(void *argument) {
    struct shared *s = argument;
    for (int i = 0; i < s->frames; i++) {
        pthread_mutex_lock(s->lock);
        send_frame(s->fd, s->stream, i == s->frames - 1 ? LAST : 0, i, i % 100);
        pthread_mutex_unlock(s->lock);
        if (i % 7 == 0) sched_yield();
    }
    return NULL;
}

static void threads(void) {
    enum { N = 8 };
    int fd = dial(0);
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread[N];
    struct shared s[N];
    for (int i = 0; i < N; i++) {
        s[i] = (struct shared){fd, i + 1, 500, &lock};
        MUST(pthread_create(&thread[i], NULL, sharer, &s[i]) == 0);
    }
    for (int i = 0; i < N; i++) pthread_join(thread[i], NULL);
    close(fd);
}

/* The papers' Telnet client: one thread reads, blocked for ever, while another writes. */
static void *answers(void *argument) {
    int fd = *(int *)argument;
    for (unsigned i = 0; i < 500; i++) expect_answer(fd, i + 1);
    return NULL;
}

static void reader_writer(void) {
    int fd = dial(0);
    pthread_t reader;
    MUST(pthread_create(&reader, NULL, answers, &fd) == 0);
    for (int i = 0; i < 500; i++) {
        send_frame(fd, 1, ANSWER | (i == 499 ? LAST : 0), i, 50);
        if (i % 50 == 0) usleep(1000);
    }
    pthread_join(reader, NULL);
    close(fd);
}

static void duplicated(void) {
    int fd[4] = {dial(0)};
    fd[1] = dup(fd[0]), fd[2] = fcntl(fd[0], F_DUPFD_CLOEXEC, 100), fd[3] = dup2(fd[0], 77);
    for (int i = 0; i < 400; i++) {
        if (i == 300) close(fd[0]), fd[0] = fd[3];
        if (i % 40 == 0) fcntl(fd[1], F_SETFL, i % 80 ? O_NONBLOCK : 0);
        send_frame(fd[i % 4], 1, ANSWER | (i == 399 ? LAST : 0), i, 60);
        expect_answer(fd[(i + 1) % 4], i + 1);
    }
    for (int i = 1; i < 4; i++) close(fd[i]);
}

/* The socket goes to another process with bytes held, and the sender forgets it. */
static void handed_on(void) {
    int fd = dial(0), pair[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    pid_t child = fork();
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (child == 0) {
        close(fd);
        MUST(recvmsg(pair[1], &message, 0) == 1);
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
        MUST(nodelay_of(fd) == 0);
        for (int i = 2; i < 300; i++) send_frame(fd, 1, i == 299 ? LAST : 0, i, 20);
        _exit(0);
    }
    send_frame(fd, 1, 0, 0, 10);
    send_frame(fd, 1, 0, 1, 10);
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET, control->cmsg_type = SCM_RIGHTS, control->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(control), &fd, sizeof fd);
    MUST(sendmsg(pair[0], &message, 0) == 1);
    close(fd);
    reap(child, 0);
}

/* A handler writes to one socket whatever the program is doing to another. */
static int handler_fd;
static volatile sig_atomic_t handled;
static void handler(int signal) {
    (void)signal;
    int before = errno;
    unsigned char frame[HEADER + 20];
    size_t len = build(frame, 2, 0, handled++, 20);
    MUST(write(handler_fd, frame, len) == (ssize_t)len);
    errno = before;
}

static void signals(void) {
    int fd = dial(0);
    handler_fd = dial(0);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    converse(fd, 1, 1000);
    setitimer(ITIMER_REAL, &never, NULL);
    send_frame(handler_fd, 2, LAST, handled, 5);
    close(fd);
    close(handler_fd);
}

static sigjmp_buf out;
static void jump(int signal) {
    (void)signal;
    siglongjmp(out, 1);
}

/* Out of every wait by longjmp, over the hook's frames. */
static void jumps(void) {
    int fd = dial(0), silent[2];
    MUST(pipe(silent) == 0);
    signal(SIGALRM, jump);
    for (volatile int i = 0; i < 300; i++) {
        send_frame(fd, 1, ANSWER | (i == 299 ? LAST : 0), i, 30);
        struct itimerval soon = {{0, 0}, {0, 300}};
        if (sigsetjmp(out, 1) == 0) {
            struct pollfd p = {silent[0], POLLIN, 0};
            char byte;
            setitimer(ITIMER_REAL, &soon, NULL);
            if (i % 2) poll(&p, 1, 10000);
            else MUST(read(silent[0], &byte, 1) == 1);
        }
        expect_answer(fd, i + 1);
    }
    close(fd);
}

/* A thread is cancelled while it waits in a hook, with bytes held. */
static void *cancelled(void *argument) {
    struct shared *s = argument;
    send_frame(s->fd, s->stream, LAST, 0, 30);
    char byte;
    MUST(recv(s->frames, &byte, 1, 0) == 1);
    return NULL;
}

static void cancels(void) {
    int quiet = dial(0);
    for (int i = 0; i < 50; i++) {
        struct shared s = {dial(0), 1, quiet, NULL};
        pthread_t thread;
        void *result;
        MUST(pthread_create(&thread, NULL, cancelled, &s) == 0);
        usleep(i % 5 * 300);
        pthread_cancel(thread);
        MUST(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        /* Cancelled before it wrote, it left the stream empty. */
        close(s.fd);
    }
    close(quiet);
}

/* Writes a piece, which has no room. */
static void *fills(void *argument) {
    int fd = *(int *)argument;
    for (;;) MUST(write(fd, "x", 1) > 0);
}

static void *echoes(void *argument) {
    int fd = *(int *)argument;
    char bytes[65536];
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;)
        if (bytes[n - 1] == 'b') MUST(write(fd, "c", 1) == 1);
    return NULL;
}

/* A thread is cancelled inside a held send; another goes on with its connection. */
static void cancels_sends(void) {
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM, 0), near = socket(AF_INET, SOCK_STREAM, 0), far;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MUST(bind(listener, (struct sockaddr *)&a, sizeof a) == 0 && listen(listener, 1) == 0);
    MUST(getsockname(listener, (struct sockaddr *)&a, &len) == 0);
    MUST(connect(near, (struct sockaddr *)&a, sizeof a) == 0);
    MUST((far = accept(listener, NULL, NULL)) >= 0);
    /* So that its writes are held, it has a habit of pieces. */
    pthread_t peer, writer;
    MUST(pthread_create(&peer, NULL, echoes, &far) == 0);
    char byte;
    for (int i = 0; i < 20; i++)
        MUST(write(near, "aa", 2) == 2 && write(near, "b", 1) == 1 && read(near, &byte, 1) == 1);
    pthread_cancel(peer), pthread_join(peer, NULL);
    static char much[65536];
    /* Full to the last octet, so that the thread's first write, which is held, waits. Without a wait
     * between: all is one answer in many pieces. */
    for (int full = 0; full < 5;) {
        ssize_t sent = send(near, much, sizeof much, MSG_DONTWAIT);
        full = sent < 0 && send(near, much, 1, MSG_DONTWAIT) < 0 ? full + 1 : 0;
        struct timespec begun, now;
        clock_gettime(CLOCK_MONOTONIC, &begun);
        do clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < 5000000);
    }
    MUST(pthread_create(&writer, NULL, fills, &near) == 0);
    usleep(100000);
    void *result;
    pthread_cancel(writer);
    MUST(pthread_join(writer, &result) == 0 && result == PTHREAD_CANCELED);
    MUST(pthread_create(&peer, NULL, echoes, &far) == 0);
    for (int i = 0; i < 400; i++)
        MUST(write(near, "aa", 2) == 2 && write(near, "b", 1) == 1 && read(near, &byte, 1) == 1);
    close(near), pthread_join(peer, NULL), close(far), close(listener);
    int fd = dial(0);
    send_frame(fd, 1, LAST, 0, 10);
    close(fd);
}

/* A filter that kills for every call that our own program does not need: setsockopt among them. */
static void sandboxed(void) {
    int fd = dial(0);
    converse(fd, 1, 20);
    send_frame(fd, 2, 0, 0, 10);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    for (int i = 1; i < 300; i++) send_frame(fd, 2, i == 299 ? LAST : 0, i, 30);
    struct timespec while_ = {0, 5000000};
    nanosleep(&while_, NULL);
    close(fd);
    _exit(0);
}

static void many(void) {
    enum { N = 2000 };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    int n = limit.rlim_cur > N + 100 ? N : (int)limit.rlim_cur - 100, fd[N];
    for (int i = 0; i < n; i++) fd[i] = dial(0);
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < n; i++) send_frame(fd[i], 1, ANSWER | (round == 3 ? LAST : 0), round, 20);
    for (int i = n - 1; i >= 0; i--)
        for (unsigned round = 0; round < 4; round++) expect_answer(fd[i], round + 1);
    for (int i = 0; i < n; i++) close(fd[i]);
}

/* Closed with bytes held: plainly, after a shutdown, beside a duplicate that stays open. */
static void closed(void) {
    for (int i = 0; i < 300; i++) {
        int fd = dial(0);
        send_frame(fd, 1, 0, 0, 10);
        send_frame(fd, 1, LAST, 1, 10);
        if (i % 3 == 1) shutdown(fd, SHUT_WR);
        int other = i % 3 == 2 ? dup(fd) : -1;
        close(fd);
        if (other >= 0) usleep(100), close(other);
    }
}

static void spins(void);

static void *alone(void *ignored) {
    usleep(20000);
    spins();
    exit(0);
    return ignored;
}

/* The first thread ends before the process does. */
static void orphaned(void) {
    pthread_t other;
    int fd = dial(0);
    converse(fd, 1, 50);
    close(fd);
    MUST(pthread_create(&other, NULL, alone, NULL) == 0);
    pthread_exit(NULL);
}

static void *brief(void *ignored) {
    usleep(20000);
    int fd = dial(0);
    converse(fd, 1, 50);
    close(fd);
    return ignored;
}

/* The process ends with the last thread that the program itself made. */
static void bereft(void) {
    pthread_t other;
    int fd = dial(0);
    converse(fd, 1, 50);
    close(fd);
    MUST(pthread_create(&other, NULL, brief, NULL) == 0);
    pthread_exit(NULL);
}

/* Never waits: only the watchdog can help. The sink's answers must come meanwhile. */
static void spins(void) {
    int fd = dial(0), slow = 0;
    converse(fd, 1, 2);
    for (unsigned i = 0; i < 30; i++) {
        struct timespec begun, now;
        clock_gettime(CLOCK_MONOTONIC, &begun);
        send_frame(fd, 2, ANSWER | (i == 29 ? LAST : 0), i, 30);
        int ready = 0;
        do {
            ioctl(fd, 0x541B /* FIONREAD */, &ready);
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while (ready < 4);
        double ms = (now.tv_sec - begun.tv_sec) * 1e3 + (now.tv_nsec - begun.tv_nsec) / 1e6;
        slow += ms > 150;
        expect_answer(fd, 3 + i);
    }
    MUST(slow < 5); /* a loaded machine may be slow now and then; the kernel's bound would be slow always */
    close(fd);
}

static atomic_int ends;

/* Holds and flushes all the time. */
static void *converses(void *argument) {
    int fd = dial(0);
    unsigned i = 0;
    while (!ends) {
        send_frame(fd, 1, ANSWER, i, 30);
        expect_answer(fd, ++i);
    }
    send_frame(fd, 1, LAST, i, 30);
    close(fd);
    return argument;
}

/* Spins on calls that no hook sees, beside a thread that flushes by itself: that thread must not put
 * off the watchdog. After two rescues nothing more is held, so the first frames tell. */
static void spins_beside(void) {
    int fd = dial(0), slow = 0;
    pthread_t other;
    MUST(pthread_create(&other, NULL, converses, NULL) == 0);
    converse(fd, 1, 20);
    for (unsigned i = 0; i < 10; i++) {
        struct timespec begun, now;
        clock_gettime(CLOCK_MONOTONIC, &begun);
        send_frame(fd, 2, ANSWER | (i == 9 ? LAST : 0), i, i % 2 ? 30 : 1);
        int ready = 0;
        do {
            syscall(SYS_ioctl, fd, FIONREAD, &ready);
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while (ready < 4);
        double ms = (now.tv_sec - begun.tv_sec) * 1e3 + (now.tv_nsec - begun.tv_nsec) / 1e6;
        if (getenv("HOSTILE_SAYS")) fprintf(stderr, "%.2f ", ms);
        slow += ms > 150;
        expect_answer(fd, 21 + i);
    }
    MUST(slow < 2); /* a loaded machine may be slow once */
    ends = 1;
    MUST(pthread_join(other, NULL) == 0);
    close(fd);
}

/* Killed with bytes held: the kernel's own close sends them. */
static void killed(void) {
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            int fd = dial(0);
            converse(fd, 2, 3);
            send_frame(fd, 1, 0, 0, 10);
            send_frame(fd, 1, LAST, 1, 10);
            kill(getpid(), i % 2 ? SIGKILL : SIGTERM);
        }
        reap(child, i % 2 ? SIGKILL : SIGTERM);
    }
}

/* Every way to write, and the events through every way to wait. */
static void every_call(void) {
    int fd = dial(0), epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
    int file = memfd_create("frame", 0);
    for (unsigned i = 0; i < 700; i++) {
        unsigned char frame[HEADER + 5000];
        size_t payload = i % 11 == 0 ? 3000 : i % 200, len = build(frame, 1, ANSWER | (i == 699 ? LAST : 0), i, payload);
        struct iovec pieces[2] = {{frame + HEADER, payload / 2}, {frame + HEADER + payload / 2, payload - payload / 2}};
        struct mmsghdr batch[1] = {{.msg_hdr = {.msg_iov = pieces, .msg_iovlen = 2}}};
        off_t at = HEADER;
        put(fd, frame, HEADER);
        switch (payload == 0 ? 99 : i % 7) {
        case 0: MUST(writev(fd, pieces, 2) == (ssize_t)payload); break;
        case 1: MUST(send(fd, frame + HEADER, payload, MSG_NOSIGNAL) == (ssize_t)payload); break;
        case 2: MUST(sendto(fd, frame + HEADER, payload, 0, NULL, 0) == (ssize_t)payload); break;
        case 3: MUST(sendmsg(fd, &batch->msg_hdr, 0) == (ssize_t)payload); break;
        case 4: MUST(sendmmsg(fd, batch, 1, 0) == 1 && batch->msg_len == payload); break;
        case 5:
            MUST(pwrite(file, frame, len, 0) == (ssize_t)len);
            MUST(sendfile(fd, file, &at, payload) == (ssize_t)payload);
            break;
        case 6: MUST(syscall(SYS_write, fd, frame + HEADER, payload) == (ssize_t)payload); break;
        }
        struct pollfd p = {fd, POLLIN, 0};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(fd, &set);
        struct timeval ten = {10, 0};
        struct timespec ten_too = {10, 0};
        switch (i % 6) {
        case 0: MUST(poll(&p, 1, 10000) == 1 && p.revents & POLLIN); break;
        case 1: MUST(select(fd + 1, &set, NULL, NULL, &ten) == 1 && FD_ISSET(fd, &set)); break;
        case 2: MUST(epoll_wait(epoll, &event, 1, 10000) == 1); break;
        case 3: MUST(pselect(fd + 1, &set, NULL, NULL, &ten_too, NULL) == 1 && FD_ISSET(fd, &set)); break;
        case 4: MUST(ppoll(&p, 1, &ten_too, NULL) == 1); break;
        case 5: break;
        }
        expect_answer(fd, i + 1);
    }
    close(fd);
}

/* A stream over the socket: buffered writes inside the C library, closed inside it too; the number
 * comes back as a datagram socket, which must never be corked. */
static void streams(void) {
    for (int i = 0; i < 100; i++) {
        int fd = dial(0);
        send_frame(fd, 1, 0, 0, 10);
        FILE *stream = fdopen(fd, "r+");
        unsigned char frame[HEADER + 300];
        for (int j = 1; j < 5; j++) {
            size_t len = build(frame, 1, j == 4 ? LAST : 0, j, 60 * j);
            MUST(fwrite(frame, 1, len, stream) == len);
            if (j % 2) fflush(stream);
        }
        fclose(stream);
        int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof a;
        MUST(bind(receiver, (struct sockaddr *)&a, len) == 0 && getsockname(receiver, (struct sockaddr *)&a, &len) == 0);
        MUST(connect(sender, (struct sockaddr *)&a, len) == 0);
        MUST(write(sender, "one", 3) == 3 && send(sender, "three", 5, 0) == 5);
        char room[16];
        MUST(read(receiver, room, sizeof room) == 3 && recv(receiver, room, sizeof room, 0) == 5);
        close(receiver), close(sender);
    }
}

/* More than the buffers take, on sockets that must not wait: one with room for megabytes, and one
 * whose buffer the program made so small that it lives on early acknowledgments. */
static void floods(void) {
    for (int with_small_buffer = 0; with_small_buffer < 2; with_small_buffer++) {
        int fd = dial(SOCK_NONBLOCK), small = 4096;
        if (with_small_buffer) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
        struct pollfd p = {fd, POLLOUT, 0};
        MUST(poll(&p, 1, 10000) == 1);
        stream_out(fd, 1, 20000);
        close(fd);
    }
}

/* The program's own word on Nagle and the cork is kept, and shown to it. */
static void options(void) {
    int fd = dial(0);
    MUST(nodelay_of(fd) == 0);
    for (int on = 1; on >= 0; on--) {
        pid_t child = fork();
        if (child == 0) set_nodelay(fd, on), _exit(0);
        reap(child, 0);
        MUST(nodelay_of(fd) == on);
    }
    int copy = dup(fd);
    for (int on = 1; on >= 0; on--) {
        set_nodelay(copy, on);
        MUST(nodelay_of(fd) == on);
    }
    close(copy);
    converse(fd, 1, 20);
    int on = 1, off = 0;
    MUST(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on) == 0);
    send_frame(fd, 2, ANSWER, 0, 30);
    struct pollfd p = {fd, POLLIN, 0};
    MUST(poll(&p, 1, 20) == 0); /* corked by the program: not ours to flush */
    MUST(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &off, sizeof off) == 0);
    expect_answer(fd, 21);
    send_frame(fd, 2, ANSWER | LAST, 1, 30);
    expect_answer(fd, 22);
    close(fd);
}

/* One attempt to hear of an answer without waiting, in every way there is; a program that spins on it
 * has nothing else to do, and what it holds must leave. */
enum { WAYS_TO_SPIN = 9 };
static int hears(int fd, int epoll, int way) {
    struct pollfd p = {fd, POLLIN, 0};
    struct timespec none = {0, 0};
    struct timeval never = {0, 0};
    struct epoll_event event;
    fd_set set;
    int pending = 0;
    char byte;
    FD_ZERO(&set); FD_SET(fd, &set);
    switch (way) {
    case 0: return epoll_wait(epoll, &event, 1, 0);
    case 1: return epoll_pwait(epoll, &event, 1, 0, NULL);
    case 2: return poll(&p, 1, 0);
    case 3: return ppoll(&p, 1, &none, NULL);
    case 4:
    case 5: {
        int ready = way == 4 ? select(fd + 1, &set, NULL, NULL, &never) : pselect(fd + 1, &set, NULL, NULL, &none, NULL);
        MUST(!!ready == !!FD_ISSET(fd, &set));
        return ready;
    }
    case 6: return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
    case 7: MUST(ioctl(fd, FIONREAD, &pending) == 0); return pending > 0;
    default: sched_yield(); return syscall(SYS_poll, &p, 1, 0);
    }
}

/* Answers of a thousand tiny writes, which take longer than the watchdog's millisecond, and no waiting
 * between them: whole, and never left to the watchdog. */
static void long_answers(void) {
    int fd = dial(0);
    for (int i = 0; i < 40; i++) {
        unsigned char frame[HEADER + 8000];
        size_t len = build(frame, 1, ANSWER | (i == 39 ? LAST : 0), i, 8000);
        for (size_t at = 0; at < len; at += 4) put(fd, frame + at, len - at < 4 ? len - at : 4);
        expect_answer(fd, i + 1);
    }
    close(fd);
}

/* What a close_range does not close is still known: nothing of it is counted twice, nor lost. */
static void close_range_spares(void) {
    int fd = dial(0);
    for (int i = 0; i < 200; i++) {
        send_frame(fd, 1, ANSWER | (i == 199 ? LAST : 0), i, 10);
        if (i % 20 == 10) {
            MUST(close_range(fd, fd, CLOSE_RANGE_CLOEXEC) == 0);
            MUST(close_range(fd, fd, 1 << 20) == -1 && errno == EINVAL);
            MUST(close_range(fd, fd - 1, 0) == -1 && errno == EINVAL);
            int value = 1;
            socklen_t size = sizeof value;
            MUST(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0 && value == 0);
        }
        expect_answer(fd, i + 1);
    }
    close(fd);
}

static int only_way = -1;
static void polls_empty(void) {
    for (int way = 0; way < WAYS_TO_SPIN; way++) {
        if (only_way >= 0 && way != only_way) continue;
        int fd = dial(0), epoll = epoll_create1(0);
        struct epoll_event event = {.events = EPOLLIN};
        MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
        for (int i = 0; i < 300; i++) {
            /* Of changing length, so that no write is known to be the last. */
            unsigned char frame[HEADER + 100];
            size_t len = build(frame, 1, ANSWER | (i == 299 ? LAST : 0), i, 100);
            int pieces = 2 + i % 3;
            for (int nth = 0; nth < pieces; nth++)
                put(fd, frame + len * nth / pieces, len * (nth + 1) / pieces - len * nth / pieces);
            while (!hears(fd, epoll, way)) {}
            expect_answer(fd, i + 1);
        }
        close(epoll);
        close(fd);
    }
}

/* All memory locked, within a limit that many systems have: what we map must fit beside it. */
static void locked(void) {
    struct rlimit limit = {8 << 20, 8 << 20};
    MUST(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    if (getuid() == 0) MUST(setgid(65534) == 0 && setuid(65534) == 0);
    MUST(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    int fd = dial(0);
    converse(fd, 1, 300);
    MUST(dup2(fd, 1000) == 1000);
    close(fd);
    send_frame(1000, 2, ANSWER | LAST, 0, 10);
    expect_answer(1000, 301);
    close(1000);
}

/* A server that forks for each connection: what the parent accepted, the child answers. The children's
 * first answers are to be whole, under --eager. */
static void forks_for_each(void) {
    for (int i = 0; i < 20; i++) {
        int fd = dial(0);
        send_frame(fd, 1, ANSWER, 0, 10);
        pid_t child = fork();
        if (child == 0) {
            expect_answer(fd, 1);
            for (int j = 1; j < 6; j++) {
                send_frame(fd, 1, ANSWER | (j == 5 ? LAST : 0), j, 100);
                expect_answer(fd, j + 1);
            }
            _exit(0);
        }
        close(fd);
        reap(child, 0);
    }
}

/* Everything at once, by chance: every way to write, every way to wait. */
static unsigned roll(unsigned *dice, unsigned sides) {
    *dice = *dice * 1664525 + 1013904223;
    return (*dice >> 8) % sides;
}

static void put_somehow(int fd, int spare, const unsigned char *bytes, size_t len, unsigned *dice, int alone) {
    size_t at = 0;
    while (at < len) {
        size_t rest = len - at, part = 1 + roll(dice, rest > 400 ? 400 : rest), half = part / 2;
        struct iovec pieces[2] = {{(void *)(bytes + at), half}, {(void *)(bytes + at + half), part - half}};
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
        ssize_t n = -1;
        int on = 1, off = 0;
        switch (roll(dice, alone ? 9 : 7)) {
        case 0: n = write(fd, bytes + at, part); break;
        case 1: n = writev(spare, pieces, 2); break;
        case 2: n = send(fd, bytes + at, part, MSG_NOSIGNAL); break;
        case 3: n = sendmsg(spare, &message, 0); break;
        case 4: {
            int tube[2];
            MUST(pipe(tube) == 0 && write(tube[1], bytes + at, part) == (ssize_t)part);
            size_t moved = 0;
            while (moved < part) {
                ssize_t one = splice(tube[0], NULL, fd, NULL, part - moved, 0);
                if (one < 0 && errno == EAGAIN) {
                    struct pollfd p = {fd, POLLOUT, 0};
                    MUST(poll(&p, 1, 10000) == 1);
                    continue;
                }
                MUST(one > 0);
                moved += one;
            }
            close(tube[0]), close(tube[1]);
            n = part;
            break;
        }
        case 5: {
            struct mmsghdr all[1] = {{.msg_hdr = message}};
            n = sendmmsg(fd, all, 1, 0) == 1 ? (ssize_t)all[0].msg_len : -1;
            break;
        }
        case 6: n = sendto(spare, bytes + at, part, MSG_DONTWAIT, NULL, 0); break;
        case 7: n = send(fd, bytes + at, part, part == rest ? 0 : MSG_MORE); break;
        case 8:
            setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
            n = write(fd, bytes + at, part);
            setsockopt(fd, IPPROTO_TCP, TCP_CORK, &off, sizeof off);
            break;
        }
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            struct pollfd p = {fd, POLLOUT, 0};
            poll(&p, 1, 10);
            continue;
        }
        MUST(n > 0);
        at += n;
        if (roll(dice, 50) == 0) usleep(1);
    }
}

static void wait_somehow(int fd, int epoll, unsigned *dice) {
    struct pollfd p = {fd, POLLIN, 0};
    struct epoll_event event;
    struct timespec soon = {0, 50000};
    unsigned way = roll(dice, 6 + WAYS_TO_SPIN);
    switch (way) {
    case 0: break; /* in the read itself */
    case 1: while (poll(&p, 1, 1000) < 1) {} break;
    case 2: while (epoll_wait(epoll, &event, 1, 1000) < 1) {} break;
    case 3: {
        fd_set set;
        FD_ZERO(&set); FD_SET(fd, &set);
        select(fd + 1, &set, NULL, NULL, NULL);
        break;
    }
    case 4: nanosleep(&soon, NULL); break;
    case 5: {
        sigset_t none;
        sigemptyset(&none);
        sigaddset(&none, SIGUSR2);
        sigtimedwait(&none, NULL, &soon);
        break;
    }
    default: while (!hears(fd, epoll, way - 6)) {} break;
    }
}

static int stress_rounds = 300;
static void *stressing(void *argument) {
    unsigned dice = (unsigned)(size_t)argument * 7919 + 1;
    for (int connection = 0; connection < 4; connection++) {
        int fd = dial(roll(&dice, 2) ? SOCK_NONBLOCK : 0), spare = dup(fd), epoll = epoll_create1(0), alone = connection == 3;
        struct epoll_event event = {.events = EPOLLIN};
        struct pollfd p = {fd, POLLOUT, 0};
        MUST(poll(&p, 1, 10000) == 1 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
        for (int i = 0; i < stress_rounds; i++) {
            static __thread unsigned char frame[HEADER + 3000];
            int asks = roll(&dice, 3) == 0 || i == stress_rounds - 1;
            size_t len = build(frame, 1, (asks ? ANSWER : 0) | (i == stress_rounds - 1 ? LAST : 0), i, roll(&dice, roll(&dice, 20) ? 300 : 3000));
            put_somehow(fd, spare, frame, len, &dice, alone);
            if (!asks) continue;
            wait_somehow(fd, epoll, &dice);
            expect_answer(fd, i + 1);
        }
        close(epoll), close(spare), close(fd);
    }
    return NULL;
}

static void stress(void) {
    enum { N = 4 };
    pthread_t thread[N];
    pid_t child = fork();
    for (size_t i = 0; i < N; i++) MUST(pthread_create(&thread[i], NULL, stressing, (void *)(i + (child ? 0 : N))) == 0);
    for (size_t i = 0; i < N; i++) pthread_join(thread[i], NULL);
    if (child == 0) exit(0);
    reap(child, 0);
}

static const struct { const char *name; void (*run)(void); } scenarios[] = {
    {"plain", plain}, {"nonblocking", nonblocking}, {"forked", forked}, {"executed", executed},
    {"vforked", vforked}, {"threads", threads}, {"reader-writer", reader_writer}, {"duplicated", duplicated},
    {"handed-on", handed_on}, {"signals", signals}, {"jumps", jumps}, {"cancels", cancels}, {"cancels-sends", cancels_sends}, {"spins-beside", spins_beside},
    {"sandboxed", sandboxed}, {"many", many}, {"closed", closed}, {"spins", spins}, {"orphaned", orphaned}, {"bereft", bereft}, {"killed", killed},
    {"every-call", every_call}, {"streams", streams}, {"floods", floods}, {"options", options},
    {"polls-empty", polls_empty}, {"locked", locked}, {"forks-for-each", forks_for_each}, {"stress", stress},
    {"long-answers", long_answers}, {"close-range", close_range_spares},
};

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    if (count < 3) {
        for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) puts(scenarios[i].name);
        return 0;
    }
    port = atoi(arguments[2]);
    if (strcmp(arguments[1], "executed-after") == 0) return executed_after(atoi(arguments[3])), 0;
    if (count > 3) stress_rounds = only_way = atoi(arguments[3]);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(arguments[1], scenarios[i].name) == 0) return scenarios[i].run(), 0;
    return 98;
}
