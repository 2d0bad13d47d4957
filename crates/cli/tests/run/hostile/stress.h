/* Everything at once. */
#pragma once
#include "sink.h"

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
