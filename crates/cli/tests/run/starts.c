/* Starts a program by each of the C library's ways, with eight arguments: starts WAY PROGRAM.
 * Without arguments: the ways. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What is executed in PATH is found there by its last part. */
static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#define LIST "first", "second", "third", "fourth", "fifth", "sixth", "seventh"

static void execute(const char *way, const char *path)
{
	char *list[] = { (char *)path, LIST, NULL };
	int fd;

	if (!strcmp(way, "execl"))
		execl(path, path, LIST, (char *)NULL);
	else if (!strcmp(way, "execle"))
		execle(path, path, LIST, (char *)NULL, environ);
	else if (!strcmp(way, "execlp"))
		execlp(base(path), path, LIST, (char *)NULL);
	else if (!strcmp(way, "execv"))
		execv(path, list);
	else if (!strcmp(way, "execve"))
		execve(path, list, environ);
	else if (!strcmp(way, "execvp"))
		execvp(base(path), list);
	else if (!strcmp(way, "execvpe"))
		execvpe(base(path), list, environ);
	else if (!strcmp(way, "fexecve"))
		fexecve(open(path, O_RDONLY), list, environ);
	else if (!strcmp(way, "execveat")) {
		fd = open("/", O_PATH | O_DIRECTORY);
		execveat(fd, path + 1, list, environ, 0);
	}
	perror(way);
	_exit(98);
}

/* Few arguments, many, and none: each call fails, returns, and leaves everything as it was. */
static int refused(void)
{
	volatile long before = 0x1234567;
	int wrong = 0;

	wrong |= execl("/nonexistent", "a", (char *)NULL) != -1 || errno != ENOENT;
	wrong |= execl("/nonexistent", "a", LIST, LIST, LIST, (char *)NULL) != -1 || errno != ENOENT;
	wrong |= execl("/nonexistent", (char *)NULL) != -1 || errno != ENOENT;
	wrong |= execle("/nonexistent", "a", LIST, (char *)NULL, environ) != -1 || errno != ENOENT;
	wrong |= execle("/nonexistent", "a", (char *)NULL, environ) != -1 || errno != ENOENT;
	wrong |= execlp("nonexistent-program", "a", "b", "c", "d", "e", (char *)NULL) != -1 || errno != ENOENT;
	return wrong || before != 0x1234567;
}

int main(int argc, char **argv)
{
	const char *way = argv[1], *path = argv[2];
	int status = 0;
	pid_t child;

	if (argc != 3) {
		puts("execl execle execlp execv execve execvp execvpe fexecve execveat "
		     "vfork posix_spawn posix_spawnp system popen");
		return 0;
	}
	if (refused())
		return 97;
	if (!strcmp(way, "system")) {
		char command[4096];

		snprintf(command, sizeof command, "%s first second third fourth fifth sixth seventh", path);
		status = system(command);
	} else if (!strcmp(way, "popen")) {
		char command[4096], line[4096];
		FILE *out;

		snprintf(command, sizeof command, "%s first second third fourth fifth sixth seventh", path);
		out = popen(command, "r");
		while (fgets(line, sizeof line, out))
			fputs(line, stdout);
		status = pclose(out);
	} else if (!strncmp(way, "posix_spawn", 11)) {
		char *list[] = { (char *)path, LIST, NULL };
		int failed = way[11] ? posix_spawnp(&child, base(path), NULL, NULL, list, environ)
				     : posix_spawn(&child, path, NULL, NULL, list, environ);

		if (failed)
			return 96;
		waitpid(child, &status, 0);
	} else {
		/* Not every way may be taken in a child of vfork, but all are taken so. */
		child = !strcmp(way, "vfork") ? vfork() : fork();
		if (!child)
			execute(!strcmp(way, "vfork") ? "execl" : way, path);
		waitpid(child, &status, 0);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 95;
}
