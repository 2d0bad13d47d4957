/* Answers every read with what it read: echo PORT. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[argc - 1])) };
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), all = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN, .data.fd = listener };
	char octets[65536];

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(listener, (void *)&here, sizeof here) || listen(listener, 1024))
		return 1;
	epoll_ctl(all, EPOLL_CTL_ADD, listener, &event);
	while (epoll_wait(all, &event, 1, -1) == 1) {
		int socket = event.data.fd;

		if (socket == listener) {
			event.data.fd = socket = accept(listener, 0, 0);
			setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
			epoll_ctl(all, EPOLL_CTL_ADD, socket, &event);
			continue;
		}
		ssize_t length = read(socket, octets, sizeof octets);
		if (length <= 0 || write(socket, octets, length) != length)
			close(socket);
	}
	return 1;
}
