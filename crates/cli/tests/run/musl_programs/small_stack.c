/* `small_stack OCTETS`: a thread on a stack of this size, which the C library accepts or not, answers 200 questions in four
 * writes each. Prints the octets of it that were used, those below it that were touched, and the segments that came; or
 * "refused". */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { QUESTIONS = 200, ROOM = 1 << 16, BELOW = 4096, PAINT = 0xAA };
static int connection;

static void *answer(void *nothing)
{
    char question;
    while (read(connection, &question, 1) == 1)
        for (int piece = 0; piece < 4; piece++)
            if (write(connection, "piece", 5) != 5)
                return nothing;
    return nothing;
}

int main(int count, char **arguments)
{
    size_t size = count > 1 ? atoi(arguments[1]) : 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    bind(listener, (void *)&address, length);
    listen(listener, 8);
    getsockname(listener, (void *)&address, &length);
    connect(client, (void *)&address, length);
    connection = accept(listener, 0, 0);
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    unsigned char *room = mmap(0, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(room, PAINT, ROOM);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (size > ROOM - BELOW || pthread_attr_setstack(&attributes, room + BELOW, size)) {
        puts("refused");
        return 0;
    }
    if (pthread_create(&thread, &attributes, answer, 0))
        return 1;
    for (int question = 0; question < QUESTIONS; question++) {
        char seen[20];
        write(client, "q", 1);
        if (recv(client, seen, sizeof seen, MSG_WAITALL) != sizeof seen)
            return 1;
    }
    unsigned info[48] = {0};
    length = sizeof info;
    getsockopt(client, IPPROTO_TCP, TCP_INFO, info, &length);
    shutdown(client, SHUT_WR);
    pthread_join(thread, 0);
    size_t touched = 0, left = 0;
    for (int at = 0; at < BELOW; at++)
        touched += room[at] != PAINT;
    while (left < size && room[BELOW + left] == PAINT)
        left++;
    /* tcpi_data_segs_in */
    printf("%zu %zu %u\n", size - left, touched, info[38]);
    return 0;
}
