/* Processes that share, hand on or lose their sockets. */
#pragma once
#include "sink.h"

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
    fail("execl", __FILE__, __LINE__);
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
