/* Measures write-write-read exchanges on loopback, and prints what the kernel tells of them: for contrib/kernel. */
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

enum { exchanges = 200, warm = 5, info_size = 512 };
static const char *congestion;
static int nodelay;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void need(int fd, char *to, int octets)
{
    while (octets > 0) {
        int got = recv(fd, to, octets, 0);
        if (got <= 0) {
            perror("reading");
            exit(1);
        }
        octets -= got;
    }
}

static void *serve(void *argument)
{
    int fd = *(int *)argument;
    char request[300], answer[400] = {0};
    for (int at = 0; at < exchanges + warm; at++) {
        need(fd, request, sizeof request);
        send(fd, answer, sizeof answer, 0);
    }
    return 0;
}

static int compare(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

static uint32_t at(const unsigned char *info, socklen_t length, size_t offset)
{
    uint32_t value;
    if (offset + 4 > length)
        return -1;
    memcpy(&value, info + offset, 4);
    return value;
}

int main(int count, char **words)
{
    congestion = count > 1 ? words[1] : "reno";
    nodelay = count > 2 && atoi(words[2]);
    int cork = count > 3 && atoi(words[3]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (void *)&address, sizeof address);
    listen(listener, 1);
    getsockname(listener, (void *)&address, &length);
    if (connect(client, (void *)&address, sizeof address)) {
        perror("connecting");
        return 1;
    }
    int server = accept(listener, 0, 0), one = 1;
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof nodelay);
    if (setsockopt(client, IPPROTO_TCP, TCP_CONGESTION, congestion, strlen(congestion))) {
        perror(congestion);
        return 1;
    }
    pthread_t thread;
    pthread_create(&thread, 0, serve, &server);
    double took[exchanges + warm];
    char octets[400] = {0};
    struct tcp_info before;
    length = sizeof before;
    for (int exchange = 0; exchange < exchanges + warm; exchange++) {
        if (exchange == warm)
            getsockopt(client, IPPROTO_TCP, TCP_INFO, &before, &length);
        double began = now_ms();
        send(client, octets, 100, cork ? MSG_MORE : 0);
        send(client, octets, 200, 0);
        need(client, octets, 400);
        took[exchange] = now_ms() - began;
    }
    unsigned char info[info_size] = {0};
    length = sizeof info;
    getsockopt(client, IPPROTO_TCP, TCP_INFO, info, &length);
    qsort(took + warm, exchanges, sizeof *took, compare);
    struct tcp_info *known = (void *)info;
    printf("%s nodelay=%d more=%d: median %.3f ms, p99 %.3f ms, %.2f data segments an exchange; tcp_info has %u octets", congestion, nodelay,
           cork, took[warm + exchanges / 2], took[warm + exchanges * 99 / 100],
           (known->tcpi_data_segs_out - before.tcpi_data_segs_out) / (double)exchanges, length);
    /* The patches add 16 octets behind the 248 of Linux 6.12 and the 280 of 7.3. */
    if (length == 248 + 16 || length == 280 + 16) {
        socklen_t added = length - 16;
        printf(", nonagle %u, delack_max %u us, nagle holds %u, cork holds %u", at(info, length, added),
               at(info, length, added + 4), at(info, length, added + 8), at(info, length, added + 12));
    }
    printf("\n");
    return 0;
}
