/* Programs that never wait. */
#pragma once
#include "sink.h"

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
