/* Where a program at a function's return finds what it was called with and what it returned, on kernels from 5.19 to 6.2:
 * tcp_sendmsg(sk, msg, size), tcp_sendpage(sk, page, offset, size, flags), tcp_recvmsg(sk, msg, len, flags, addr_len).
 * Newer kernels have tracepoints where writes and reads end. */
enum { SENDMSG_RESULT = 3, SENDPAGE_RESULT = 5, RECVMSG_FLAGS = 3, RECVMSG_RESULT = 5 };
