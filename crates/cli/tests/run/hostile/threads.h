/* Threads that share a socket, are cancelled, or outlive the first. */
#pragma once
#include "spins.h"

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
