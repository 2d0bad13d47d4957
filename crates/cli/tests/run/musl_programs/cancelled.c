/* As server.c with a thread for each connection, which is cancelled (pthread_cancel) after up to 20 ms, wherever it is,
 * and waited for. After CONNECTIONS of them the program ends, with 0 if all ended by it. With FULL, pieces have 1,000
 * octets, there is little room, and a thread is cancelled after 300 ms. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listening.h"

static int pieces;

/* Returns the width of a number that makes the piece as long as is asked for. */
static int padding(const char *line)
{
    return getenv("FULL") ? 998 - (int)strlen(line) : 0;
}

static void *serve(void *argument)
{
    int fd = (int)(long)argument;
    char line[4096], piece[4200];
    int held = 0;
    for (;;) {
        ssize_t got = read(fd, line + held, 1);
        if (got != 1)
            continue; /* until it is cancelled */
        if (line[held++] != '\n')
            continue;
        line[held - 1] = 0;
        held = 0;
        for (int i = 0; i < pieces; i++) {
            int length = snprintf(piece, sizeof piece, "%s %*d\n", line, padding(line), i);
            /* A signal may end a write that waits for room with a part of it. */
            for (int sent = 0, more; sent < length; sent += more)
                if ((more = write(fd, piece + sent, length - sent)) < 0)
                    return 0;
        }
    }
}

int main(int count, char **words)
{
    (void)count;
    pieces = atoi(words[1]);
    int left = getenv("CONNECTIONS") ? atoi(getenv("CONNECTIONS")) : 1 << 30;
    int listener = listening();
    for (; left; left--) {
        int fd = accept(listener, 0, 0);
        int little = 8192;
        if (getenv("FULL"))
            setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
        pthread_t one;
        pthread_create(&one, 0, serve, (void *)(long)fd);
        /* Without a limit a thread is cancelled once its connection is left alone for long. */
        int most = getenv("FULL") ? 300000 : rand() % 20000;
        usleep(getenv("CONNECTIONS") ? most : 100000000);
        pthread_cancel(one);
        void *result;
        pthread_join(one, &result);
        if (result != PTHREAD_CANCELED)
            return 3;
        close(fd);
    }
    return 0;
}
