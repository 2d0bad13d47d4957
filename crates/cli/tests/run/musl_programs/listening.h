/* A listener on a port of the kernel's choice, whose address is printed. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

static int listening(void)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    bind(listener, (void *)&address, sizeof address);
    listen(listener, 100);
    getsockname(listener, (void *)&address, &length);
    printf("127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}
