/* Programs that do to their sockets what real programs do, and worse. Each scenario connects to a
 * sink (sink.rs) and sends frames:
 *
 *     stream (1) | flags (1) | length (2) | sequence (4) | payload, each byte (stream*31 + sequence*7 + index)
 *
 * The sink checks that every stream is whole and in order, and answers a frame that asks for it with
 * the number of frames it has seen on the connection. Small writes on purpose: a frame is written in
 * up to three pieces, each of which may be held. */
#include "hostile/processes.h"
#include "hostile/sink.h"
#include "hostile/spins.h"
#include "hostile/stress.h"
#include "hostile/threads.h"

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
