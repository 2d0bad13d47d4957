/* Asks over and over on several connections, each as soon as its answer is whole, and prints the answers
 * that came in a second: ask PORT CONNECTIONS SECONDS QUESTION OCTETS [FIRST OCTETS].
 *
 * OCTETS is the length of an answer; FIRST is asked once, before everything. \r and \n stand for
 * themselves. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static size_t unescape(char *text)
{
	char *into = text;

	for (const char *from = text; *from; from++)
		*into++ = *from != '\\' ? *from : *++from == 'r' ? '\r' : '\n';
	return into - text;
}

static int connected(int port)
{
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1, connection = socket(AF_INET, SOCK_STREAM, 0);

	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(connection, (void *)&server, sizeof server)) {
		perror("ask: connect");
		exit(1);
	}
	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return connection;
}

static void ask(int connection, const char *question, size_t length)
{
	if (write(connection, question, length) != (ssize_t)length) {
		perror("ask: write");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static size_t missing[65536];
	char octets[65536], *question = argv[4];
	int port = atoi(argv[1]), connections = atoi(argv[2]), all = epoll_create1(0);
	size_t length = unescape(question), answer = atoi(argv[5]);
	double end = seconds() + atof(argv[3]), begin = seconds();
	long answers = 0;
	struct epoll_event event = { .events = EPOLLIN };

	if (argc == 8) {
		int connection = connected(port);

		ask(connection, argv[6], unescape(argv[6]));
		if (recv(connection, octets, atoi(argv[7]), MSG_WAITALL) != atoi(argv[7]))
			return 1;
	}
	for (int i = 0; i < connections; i++) {
		event.data.fd = connected(port);
		epoll_ctl(all, EPOLL_CTL_ADD, event.data.fd, &event);
		missing[event.data.fd] = answer;
		ask(event.data.fd, question, length);
	}
	while (seconds() < end && epoll_wait(all, &event, 1, 1000) >= 0) {
		int connection = event.data.fd;
		ssize_t got = read(connection, octets, missing[connection]);

		if (got <= 0) {
			fprintf(stderr, "ask: the server closed, or answered otherwise\n");
			return 1;
		}
		missing[connection] -= got;
		if (!missing[connection]) {
			answers++;
			missing[connection] = answer;
			ask(connection, question, length);
		}
	}
	printf("%.0f\n", answers / (seconds() - begin));
	return 0;
}
