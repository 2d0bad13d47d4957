/* The server of main.go as a static program in C, for lab/run-go-attach: a thread for each connection, a write for
 * each message, and a profiling timer at 1,000 Hz. Of the manners it knows the plain one; the asking end does not
 * see a difference. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { table_size = 1 << 20, most = 40000, header = 16 };
static unsigned char table[table_size];
static volatile sig_atomic_t ticks;

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t state)
{
    state += 0x9e3779b97f4a7c15;
    state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    state = (state ^ state >> 27) * 0x94d049bb133111eb;
    return state ^ state >> 31;
}

/* Returns whether all was written. */
static int put(int fd, const unsigned char *from, size_t length)
{
    while (length) {
        ssize_t done = write(fd, from, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return 0;
        from += done;
        length -= done;
    }
    return 1;
}

/* Returns whether a whole request was read. */
static int get(int fd, unsigned char *to)
{
    for (size_t got = 0; got < header;) {
        ssize_t more = read(fd, to + got, header - got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return 0;
        got += more;
    }
    return 1;
}

static void *serve(void *argument)
{
    int fd = (int)(long)argument;
    unsigned char request[header], *message = malloc(8 + most);
    while (get(fd, request)) {
        uint32_t number;
        uint64_t seed;
        memcpy(&number, request + 4, sizeof number);
        memcpy(&seed, request + 8, sizeof seed);
        int well = 1;
        for (uint32_t at = 0; well && at < number; at++) {
            uint64_t random = mix(seed + at * 0xd1342543de82ef95u);
            size_t length = (random >> 56 & 63) ? random % 200 : random % most;
            struct timespec now;
            clock_gettime(CLOCK_MONOTONIC, &now);
            uint64_t stamp = now.tv_sec * 1000000000ull + now.tv_nsec;
            memcpy(message, &stamp, sizeof stamp);
            memcpy(message + 8, table + (random >> 20) % (table_size - most), length);
            well = put(fd, message, 8 + length);
        }
        if (!well)
            break;
    }
    free(message);
    close(fd);
    return 0;
}

static void tick(int signal)
{
    (void)signal;
    ticks++;
}

int main(void)
{
    uint64_t state = 1;
    for (int at = 0; at < table_size; at += 8) {
        state = mix(state);
        memcpy(table + at, &state, sizeof state);
    }
    signal(SIGPIPE, SIG_IGN);
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, 0);
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &timer, 0);
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    bind(listener, (void *)&address, sizeof address);
    listen(listener, 100);
    getsockname(listener, (void *)&address, &length);
    printf("127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int fd = accept(listener, 0, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof on);
        pthread_t one;
        if (pthread_create(&one, 0, serve, (void *)(long)fd) == 0)
            pthread_detach(one);
        else
            close(fd);
    }
}
