/* Asks forty times (TIMES) in two writes each time, so that the second waits; then executes the program that its
 * arguments begin with, if any. The port to ask is the last of them. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TIMES
#define TIMES 40
#endif

static char request[440];

__attribute__((noinline)) static void ask_in_two_writes(int connection)
{
	if (write(connection, request, 40) < 0 || write(connection, request, 400) < 0) /* here */
		exit(1);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[argc - 1])) };
	int connection = socket(AF_INET, SOCK_STREAM, 0);
	char answer;

	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(connection, (void *)&server, sizeof server))
		return 1;
	for (int i = 0; i < TIMES; i++) {
		ask_in_two_writes(connection);
		if (read(connection, &answer, 1) != 1)
			return 1;
	}
	if (argc > 2)
		close(connection), execv(argv[1], argv + 1);
	return argc > 2;
}
