// Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

int main(int count, char **words) {
    int end = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    if (connect(end, (struct sockaddr *)&to, sizeof to)) return 1;
    if (count > 2) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    char head[40] = {0}, body[400] = {0}, answer[2];
    for (int i = 0; i < 20; i++) {
        double began = now_ms();
        if (write(end, head, sizeof head) < 0 || write(end, body, sizeof body) < 0) return 1;
        if (recv(end, answer, sizeof answer, MSG_WAITALL) != sizeof answer) return 1;
        printf("%.3f\n", now_ms() - began);
    }
    return 0;
}
