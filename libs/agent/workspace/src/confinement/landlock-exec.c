/*
 * landlock-exec [--user NUMBER] [--mark GROUP] [--seccomp FILE] [--read PATH]... [--write PATH]... -- COMMAND [ARGUMENT]...
 *
 * Runs a command that can open only what lies below these paths: read and execute below --read, everything below
 * --write. Without any path, Landlock is not used. From ABI 6 on it can signal no process outside of its own tree, and connect to no abstract socket that it
 * did not make. TCP stays open. Paths that do not exist, or that the user cannot reach, grant nothing. --user first
 * becomes the user and group of this number, without capabilities and with umask 0007; --mark becomes its only other
 * group. setpriv does the same, but looks each number up as a name first, which takes long among many users.
 *
 * Exits with 125 when any of this fails, so that no command runs unrestricted. `landlock-exec --abi` prints the ABI, 0
 * for none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same numbers on every architecture; headers older than the kernel lack some of the names. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, ABI_QUERY = 1, PATH_BENEATH = 1 };
enum { EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3 };
enum { TRUNCATE = 1 << 14, IOCTL_DEV = 1 << 15 };
enum { SCOPE_ABSTRACT_SOCKETS = 1 << 0, SCOPE_SIGNALS = 1 << 1 };
/* ABI 1 forbids every rename between directories, which git needs. */
enum { MIN_ABI = 2, CANNOT = 125 };

static struct sock_filter filter[BPF_MAXINSNS];
static struct sock_fprog program = { .filter = filter };

struct ruleset { uint64_t fs, net, scoped; };
struct __attribute__((packed)) path_rule { uint64_t allowed; int32_t parent; };

static int fail(const char *what) {
	fprintf(stderr, "landlock-exec: %s: %s\n", what, strerror(errno));
	return CANNOT;
}

static int grant(int ruleset, const char *path, uint64_t rights) {
	struct path_rule rule = { .allowed = rights, .parent = open(path, O_PATH | O_CLOEXEC) };
	if (rule.parent < 0) return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -1;
	struct stat found;
	if (fstat(rule.parent, &found) != 0) return -1;
	if (!S_ISDIR(found.st_mode)) rule.allowed &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
	int failed = syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0) != 0;
	close(rule.parent);
	return failed ? -1 : 0;
}

static int number(const char *text, unsigned *found) {
	char *end;
	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno != 0 || *end != '\0' || value == 0 || value >= UINT32_MAX) { errno = EINVAL; return -1; }
	*found = value;
	return 0;
}

/* Reads a filter whole; one that is empty, longer than the kernel takes or no number of instructions is an error. */
static int read_filter(const char *path) {
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0) return -1;
	ssize_t size = read(file, filter, sizeof filter);
	char more;
	int whole = size > 0 && size % (ssize_t)sizeof *filter == 0 && read(file, &more, 1) == 0;
	close(file);
	if (!whole) { errno = EINVAL; return -1; }
	program.len = size / sizeof *filter;
	return 0;
}

static int become(unsigned id, unsigned mark) {
	gid_t groups[] = { mark };
	if (setgroups(mark != 0, groups) != 0 || setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0) return -1;
	/* The effective capabilities survive the change from one user to another, unless that was root. */
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 || syscall(SYS_capset, &header, none) != 0) return -1;
	umask(0007);
	return 0;
}

int main(int argc, char **argv) {
	long abi = syscall(CREATE_RULESET, NULL, 0, ABI_QUERY);
	if (argc == 2 && strcmp(argv[1], "--abi") == 0) return printf("%ld\n", abi < 0 ? 0 : abi) < 0;
	int i = 1;
	unsigned user = 0, mark = 0;
	for (; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--seccomp") == 0) {
			if (read_filter(argv[i + 1]) != 0) return fail(argv[i + 1]);
			continue;
		}
		unsigned *given = strcmp(argv[i], "--user") == 0 ? &user : strcmp(argv[i], "--mark") == 0 ? &mark : NULL;
		if (given == NULL) break;
		if (number(argv[i + 1], given) != 0) return fail(argv[i + 1]);
	}
	if (user != 0 && become(user, mark) != 0) return fail("cannot become the user");
	int ruleset = -1;
	if (i < argc && strcmp(argv[i], "--") != 0) {
		if (abi < 0) return fail("the kernel has no Landlock");
		if (abi < MIN_ABI) { errno = ENOTSUP; return fail("this Landlock is too old"); }
		uint64_t all = abi >= 5 ? (1 << 16) - 1 : abi >= 3 ? (1 << 15) - 1 : (1 << 14) - 1;
		struct ruleset attributes = { .fs = all, .scoped = abi >= 6 ? SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS : 0 };
		ruleset = syscall(CREATE_RULESET, &attributes, sizeof attributes, 0);
		if (ruleset < 0) return fail("no ruleset");
		for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
			int reads = strcmp(argv[i], "--read") == 0;
			if (!reads && strcmp(argv[i], "--write") != 0) break;
			if (grant(ruleset, argv[i + 1], reads ? EXECUTE | READ_FILE | READ_DIR : all) != 0) return fail(argv[i + 1]);
		}
	}
	if (i + 1 >= argc || strcmp(argv[i], "--") != 0) { errno = EINVAL; return fail("usage"); }
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail("no_new_privs");
	if (ruleset >= 0 && syscall(RESTRICT_SELF, ruleset, 0) != 0) return fail("not restricted");
	if (ruleset >= 0) close(ruleset);
	if (program.len > 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) return fail("not filtered");
	execvp(argv[i + 1], argv + i + 1);
	int missing = errno == ENOENT;
	fail(argv[i + 1]);
	return missing ? 127 : 126;
}
