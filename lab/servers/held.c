/* Both ends of lab/kernel-stress: writes of random sizes under a send policy, read and compared octet by octet.
 *
 *     held write ADDRESS SEED WRITES CONNECTIONS SEND_BUFFER       listens, prints its port, and then what it saw
 *     held read ADDRESS PORT SEED WRITES CONNECTIONS RECEIVE_BUFFER
 *
 * The writer writes bursts of up to 64 writes; the reader asks for the next burst when it has all of one. Both draw the
 * same sizes from the seed. The reader stops now and then, so that its window closes. A watcher looks at the writer's
 * sockets every 10 ms: what is unsent, with the window open, must move. */
#include <arpa/inet.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { table_size = 1 << 20, most = 20000, most_connections = 256, look_ms = 10, slack_ms = 250 };
static unsigned char table[table_size];
static uint64_t seed, writes, connections;
static char congestion[16];

/* A connection of the writer, as the watcher sees it. */
static struct seen {
    int fd; /* 0 before and after */
    uint64_t sent, acked, segments, since_ms;
} seen[most_connections];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t stuck, late, longest_idle_ms, longest_hold_ms, holds_seen, written, octets, retransmitted, data_segments;
/* Of the reader. */
static uint64_t wrong, bursts, longest_burst_ms, stops;

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t random = *state += 0x9e3779b97f4a7c15;
    random = (random ^ random >> 30) * 0xbf58476d1ce4e5b9;
    random = (random ^ random >> 27) * 0x94d049bb133111eb;
    return random ^ random >> 31;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* A write: where its octets are in the table, and how many. Most are small. */
static size_t draw(uint64_t *state, const unsigned char **from)
{
    uint64_t random = next(state);
    *from = table + (random >> 20) % (table_size - most);
    switch (random >> 60) {
    case 0: return 1 + random % most;
    case 1: case 2: return 1 + random % 3000;
    default: return 1 + random % 200;
    }
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *write_all(void *argument)
{
    struct seen *own = argument;
    uint64_t state = seed * 1000003 + (own - seen), left = writes / connections, total = 0;
    char asked;
    while (left && recv(own->fd, &asked, 1, 0) == 1) {
        uint64_t burst = 1 + next(&state) % 64;
        for (; burst && left; burst--, left--) {
            const unsigned char *from;
            size_t length = draw(&state, &from);
            total += length;
            for (size_t done = 0; done < length;) {
                ssize_t more = send(own->fd, from + done, length - done, MSG_NOSIGNAL);
                if (more <= 0)
                    fail("writing");
                done += more;
            }
        }
    }
    /* The reader closes when it has all. */
    recv(own->fd, &asked, 1, 0);
    struct tcp_info info;
    socklen_t size = sizeof info;
    pthread_mutex_lock(&lock);
    getsockopt(own->fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    written += writes / connections - left;
    octets += total;
    retransmitted += info.tcpi_total_retrans;
    data_segments += info.tcpi_data_segs_out;
    close(own->fd);
    own->fd = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

/* Returns whether the peer's window takes the next segment, whatever is in flight. */
static int has_room(const struct tcp_info *info)
{
    uint32_t next_segment = info->tcpi_notsent_bytes < info->tcpi_snd_mss ? info->tcpi_notsent_bytes : info->tcpi_snd_mss;
    return info->tcpi_snd_wnd >= next_segment + info->tcpi_unacked * info->tcpi_snd_mss;
}

/* Looks at one socket. With nothing in flight nothing may be unsent for two looks; with something in flight, no longer
 * than the retransmission timer runs. */
static void look(struct seen *one)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    uint64_t now = now_ms(), age;
    if (getsockopt(one->fd, IPPROTO_TCP, TCP_INFO, &info, &size))
        return;
    if (info.tcpi_bytes_sent != one->sent || info.tcpi_bytes_acked != one->acked || info.tcpi_segs_in != one->segments
        || !info.tcpi_notsent_bytes || !has_room(&info)) {
        one->sent = info.tcpi_bytes_sent;
        one->acked = info.tcpi_bytes_acked;
        one->segments = info.tcpi_segs_in;
        one->since_ms = now;
        return;
    }
    age = now - one->since_ms;
    holds_seen++;
    if (!info.tcpi_unacked) {
        if (age > longest_idle_ms)
            longest_idle_ms = age;
        stuck += age >= 2 * look_ms;
    } else {
        /* The kernel doubles tcpi_rto itself with each timeout. */
        uint64_t bound = info.tcpi_rto / 1000 + slack_ms;
        if (age > longest_hold_ms)
            longest_hold_ms = age;
        late += age > bound;
    }
}

static void *watch(void *argument)
{
    (void)argument;
    for (;;) {
        struct timespec pause = {0, look_ms * 1000000};
        nanosleep(&pause, 0);
        pthread_mutex_lock(&lock);
        for (uint64_t at = 0; at < connections; at++)
            if (seen[at].fd)
                look(&seen[at]);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

static struct sockaddr_in address_of(const char *text, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, text, &address.sin_addr);
    return address;
}

static void write_end(const char *address, int buffer)
{
    struct sockaddr_in at = address_of(address, 0);
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), mss = 1460;
    pthread_t threads[most_connections], watcher;
    setsockopt(listener, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss);
    setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    if (bind(listener, (void *)&at, sizeof at) || listen(listener, most_connections))
        fail("listening");
    getsockname(listener, (void *)&at, &length);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    for (uint64_t one = 0; one < connections; one++) {
        struct seen own = {.fd = accept(listener, 0, 0), .since_ms = now_ms()};
        unsigned char number;
        /* Which of the reader's connections this is; the two ends draw the same. */
        if (own.fd < 0 || recv(own.fd, &number, 1, 0) != 1)
            fail("accepting");
        socklen_t size = sizeof congestion;
        getsockopt(own.fd, IPPROTO_TCP, TCP_CONGESTION, congestion, &size);
        pthread_mutex_lock(&lock);
        seen[number] = own;
        pthread_mutex_unlock(&lock);
        pthread_create(&threads[number], 0, write_all, &seen[number]);
    }
    pthread_create(&watcher, 0, watch, 0);
    for (uint64_t one = 0; one < connections; one++)
        pthread_join(threads[one], 0);
    printf("{\"congestion\": \"%.15s\", \"writes\": %llu, \"octets\": %llu, \"segments\": %llu, \"retransmitted\": %llu, "
           "\"seen_waiting\": %llu, \"stuck\": %llu, \"late\": %llu, \"longest_idle_ms\": %llu, \"longest_hold_ms\": %llu}\n",
           congestion, (long long)written, (long long)octets, (long long)data_segments, (long long)retransmitted,
           (long long)holds_seen, (long long)stuck, (long long)late, (long long)longest_idle_ms, (long long)longest_hold_ms);
}

/* What a reader's connection is given. */
static struct sockaddr_in peer;
static int receive_buffer;

static void *read_all(void *argument)
{
    uint64_t own = (uint64_t)(uintptr_t)argument, state = seed * 1000003 + own, left = writes / connections;
    uint64_t dice = state ^ 0x5555555555555555;
    unsigned char number = own, *into = malloc(most);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    if (connect(fd, (void *)&peer, sizeof peer) || send(fd, &number, 1, 0) != 1)
        fail("connecting");
    while (left) {
        uint64_t began = now_ms(), stopped = 0, took;
        if (send(fd, "?", 1, MSG_NOSIGNAL) != 1)
            fail("asking");
        uint64_t burst = 1 + next(&state) % 64;
        for (; burst && left; burst--, left--) {
            const unsigned char *from;
            size_t length = draw(&state, &from), got = 0;
            if (next(&dice) % 512 == 0) {
                struct timespec pause = {0, 1000000 * (1 + next(&dice) % 20)};
                stopped += pause.tv_nsec / 1000000;
                nanosleep(&pause, 0);
            }
            while (got < length) {
                ssize_t more = recv(fd, into + got, length - got, 0);
                if (more <= 0)
                    fail("reading");
                got += more;
            }
            if (memcmp(from, into, length))
                __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
        }
        took = now_ms() - began;
        pthread_mutex_lock(&lock);
        bursts++;
        stops += stopped > 0;
        if (took > stopped && took - stopped > longest_burst_ms)
            longest_burst_ms = took - stopped;
        pthread_mutex_unlock(&lock);
    }
    close(fd);
    free(into);
    return 0;
}

static void read_end(const char *address, int port)
{
    pthread_t threads[most_connections];
    peer = address_of(address, port);
    for (uint64_t one = 0; one < connections; one++)
        pthread_create(&threads[one], 0, read_all, (void *)(uintptr_t)one);
    for (uint64_t one = 0; one < connections; one++)
        pthread_join(threads[one], 0);
    printf("{\"wrong\": %llu, \"bursts\": %llu, \"stops\": %llu, \"longest_burst_ms\": %llu}\n", (long long)wrong,
           (long long)bursts, (long long)stops, (long long)longest_burst_ms);
}

int main(int count, char **words)
{
    uint64_t state = 1;
    int writes_at = count > 1 && words[1][0] == 'w', at = writes_at ? 3 : 4;
    if (count != at + 4) {
        fputs("held: see the head of held.c\n", stderr);
        return 2;
    }
    for (int octet = 0; octet < table_size; octet += 8) {
        uint64_t random = next(&state);
        memcpy(table + octet, &random, sizeof random);
    }
    seed = strtoull(words[at], 0, 10);
    writes = strtoull(words[at + 1], 0, 10);
    connections = strtoull(words[at + 2], 0, 10);
    if (connections < 1 || connections > most_connections) {
        fputs("held: 1 to 256 connections\n", stderr);
        return 2;
    }
    if (writes_at) {
        write_end(words[2], atoi(words[at + 3]));
    } else {
        receive_buffer = atoi(words[at + 3]);
        read_end(words[2], atoi(words[3]));
    }
    return 0;
}
