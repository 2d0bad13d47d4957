/* Writes numbered pieces of 1,000 octets to whoever connects first, with little room, and ends with 0. Each is written by
 * write(2), which has three arguments; in the register of a fourth is what would be MSG_OOB. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listening.h"

/* The fourth argument of a function becomes the fourth of a system call. glibc's write leaves that register alone. */
__asm__("write_with: mov %rcx, %r10\n jmp write\n");
ssize_t write_with(int fd, const void *from, size_t length, long fourth);

int main(void)
{
    int listener = listening();
    int fd = accept(listener, 0, 0), little = 8192;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
    for (int i = 0; i < 2000; i++) {
        char piece[1001];
        snprintf(piece, sizeof piece, "%999d\n", i);
        if (write_with(fd, piece, 1000, MSG_OOB) != 1000)
            return 3;
    }
    return 0;
}
