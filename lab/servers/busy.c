/* Spins on epoll_wait with timeout 0, and answers each request in three writes. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

int main(int count, char **arguments) {
    static const char head[] = "HTTP/1.1 200 OK\r\n", length[] = "Content-Length: 400\r\n\r\n";
    static char body[400], request[4096];
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(count > 1 ? atoi(arguments[1]) : 0)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), epoll = epoll_create1(0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    memset(body, 'x', sizeof body);
    if (bind(listener, (struct sockaddr *)&any, sizeof any) || listen(listener, 64)) return 1;
    struct epoll_event one = {.events = EPOLLIN, .data.fd = listener}, ready[64];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &one);
    for (;;) {
        int found = epoll_wait(epoll, ready, 64, 0);
        for (int i = 0; i < found; i++) {
            int fd = ready[i].data.fd;
            if (fd == listener) {
                one.data.fd = accept(listener, NULL, NULL);
                if (one.data.fd >= 0) epoll_ctl(epoll, EPOLL_CTL_ADD, one.data.fd, &one);
            } else if (read(fd, request, sizeof request) <= 0) {
                close(fd);
            } else if (write(fd, head, sizeof head - 1) < 0 || write(fd, length, sizeof length - 1) < 0 ||
                       write(fd, body, sizeof body) < 0) {
                close(fd);
            }
        }
    }
}
