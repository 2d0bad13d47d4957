/* Attaches all programs of the BPF object that it is given, says so as `tinygram watch` does, and holds them until it
 * is ended. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **words)
{
	struct bpf_object *object = count > 1 ? bpf_object__open(words[1]) : NULL;
	struct bpf_program *program;

	if (!object || bpf_object__load(object)) {
		fprintf(stderr, "empty_hooks: no object, or it cannot be loaded\n");
		return 1;
	}
	bpf_object__for_each_program(program, object)
		if (!bpf_program__attach(program)) {
			fprintf(stderr, "empty_hooks: cannot be attached\n");
			return 1;
		}
	fprintf(stderr, "asking the kernel\n");
	pause();
}
