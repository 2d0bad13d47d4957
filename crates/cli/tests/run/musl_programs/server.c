/* A server that answers each line with pieces of its own: `server PIECES`. KIND says how:
 * thread: a thread for each connection; child: a child; poll: one loop of non-blocking sockets; vector: as thread, but
 * the pieces are written by writev;
 * file: as thread, but a descriptor that was a socket is a file at last, behind the C library's back. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "listening.h"

static int pieces;
static const char *kind;

static void answer(int fd, const char *line)
{
    char piece[300];
    for (int i = 0; i < pieces; i++) {
        int length = snprintf(piece, sizeof piece, "%s %d\n", line, i);
        struct iovec one = {piece, length};
        if ((strcmp(kind, "vector") ? write(fd, piece, length) : writev(fd, &one, 1)) != length)
            _exit(3);
    }
}

/* Reads lines and answers them; returns when the other end has closed. */
static void serve(int fd)
{
    char buffer[4096];
    int held = 0;
    for (;;) {
        ssize_t got = read(fd, buffer + held, sizeof buffer - held - 1);
        if (got < 0 && errno == EAGAIN) {
            struct pollfd one = {fd, POLLIN, 0};
            poll(&one, 1, -1);
            continue;
        }
        if (got <= 0)
            return;
        held += got;
        buffer[held] = 0;
        char *from = buffer, *end;
        while ((end = strchr(from, '\n'))) {
            *end = 0;
            answer(fd, from);
            from = end + 1;
        }
        held -= from - buffer;
        memmove(buffer, from, held);
    }
}

static void *thread(void *argument)
{
    int fd = (int)(long)argument;
    serve(fd);
    if (!strcmp(kind, "file")) {
        int file = open(getenv("FILE"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(file, fd);
        close(file);
        answer(fd, "written");
    }
    close(fd);
    return 0;
}

int main(int count, char **words)
{
    (void)count;
    pieces = atoi(words[1]);
    kind = getenv("KIND") ? getenv("KIND") : "thread";
    signal(SIGCHLD, SIG_IGN);
    int listener = listening();
    for (;;) {
        int fd = accept(listener, 0, 0);
        if (!strcmp(kind, "poll"))
            fcntl(fd, F_SETFL, O_NONBLOCK);
        if (!strcmp(kind, "child")) {
            if (fork() == 0) {
                serve(fd);
                _exit(0);
            }
            close(fd);
            continue;
        }
        pthread_t one;
        pthread_create(&one, 0, thread, (void *)(long)fd);
        pthread_detach(one);
    }
}
