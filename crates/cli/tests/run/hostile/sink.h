/* Connections to the sink, the frames on them, and what every scenario demands. */
#pragma once
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

#define MUST(condition) ((condition) ? (void)0 : fail(#condition, __FILE__, __LINE__))
static void fail(const char *what, const char *file, int line) {
    fprintf(stderr, "%s:%d: %s (%s)\n", file, line, what, strerror(errno));
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
