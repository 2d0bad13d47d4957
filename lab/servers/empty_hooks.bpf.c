/* Programs that do nothing, at the tracepoints that `tinygram watch` uses for each write, segment and read. */
#define SEC(name) __attribute__((section(name), used))

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tp_btf/sock_send_length")
int write_ends(void *context)
{
	return 0;
}

SEC("tp_btf/net_dev_queue")
int segment_leaves(void *context)
{
	return 0;
}

SEC("tp_btf/sock_recv_length")
int read_ends(void *context)
{
	return 0;
}
