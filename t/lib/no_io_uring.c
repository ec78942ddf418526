/*-------------------------------------------------------------------------
 *
 * no_io_uring.c
 *	  For t/io_faults.pl, which builds it: runs a program without io_uring.
 *
 *	  no_io_uring PROGRAM ARGUMENT...
 *
 * A seccomp filter refuses io_uring_setup() with EPERM to it and to all that it starts, as the
 * default filters of container systems do.  Exit status 77: there is no seccomp.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/no_io_uring.c
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (argc < 2)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		return 77;
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
