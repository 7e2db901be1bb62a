/* A machine for the tests of reboots, in one static program: the first process, which is the part
 * of systemd that matters here (it runs the unit that continues a plan, and boots the machine again
 * when that was asked for), and the commands `kexec` and `systemctl`. Words of the kernel's command
 * line, which are in the environment, say the rest: `system` is the disk of the system, `loader` the
 * boot loader, and with `install` the machine runs /install.sh only. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNITS "/etc/systemd/system/"
#define LINK UNITS "multi-user.target.wants/treering-reboot.service"
#define ASKED "/run/boot-asked"
enum { WORDS_MAX = 40, LINE_MAX_BYTES = 8192, WAIT_STEPS = 6000 };

static void fail(const char *what) {
    perror(what);
    sync();
    reboot(RB_POWER_OFF);
    exit(1);
}

static void mounted(const char *source, const char *type, const char *point) {
    for (int step = 0; mount(source, point, type, 0, NULL); step++) {
        /* A disk may take a while until it is there. */
        if (step == WAIT_STEPS || strncmp(source, "/dev/", 5)) fail(point);
        usleep(10000);
    }
}

/* The next word in quotation marks of a line of a unit; NULL where there is none. */
static char *word(char **rest) {
    char *from = strchr(*rest, '"');
    if (!from) return NULL;
    char *begin = ++from, *to = begin;
    for (; *from && *from != '"'; from++) {
        if (*from == '\\' && from[1]) from++;
        *to++ = *from;
    }
    *rest = *from ? from + 1 : from;
    *to = 0;
    return begin;
}

static void continues(void) {
    static char lines[WORDS_MAX][LINE_MAX_BYTES];
    char *words[WORDS_MAX + 1] = {0};
    FILE *unit = fopen(LINK, "r");
    if (!unit) fail(LINK);
    for (int at = 0; at < WORDS_MAX && fgets(lines[at], LINE_MAX_BYTES, unit); at++) {
        char *line = lines[at];
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "Environment=", 12)) putenv(word(&line));
        if (!strncmp(line, "WorkingDirectory=", 17) && chdir(line + 17)) fail(line);
        if (strncmp(line, "ExecStart=", 10)) continue;
        for (int number = 0; number < WORDS_MAX && (words[number] = word(&line)); number++);
    }
    execv(words[0], words);
    fail("the unit");
}

static const char *said(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value ? value : otherwise;
}

static void begins(void) {
    setenv("HOME", "/root", 1);
    setenv("PATH", "/usr/sbin:/usr/bin:/bin", 1);
    if (getenv("install")) execl("/bin/sh", "sh", "/install.sh", NULL);
    execl("/treering", "treering", "compare", "/plan.toml", "--yes", "--boot-loader",
          said("loader", "kexec"), "--store", "/root/results.db", NULL);
    fail("/treering");
}

static int first_process(void) {
    mounted("devtmpfs", "devtmpfs", "/dev");
    int console = open("/dev/console", O_RDWR);
    for (int number = 0; number < 3; number++) dup2(console, number);
    modules();
    mounted(said("system", "/dev/vda"), "ext4", "/mnt");
    if (chroot("/mnt") || chdir("/")) fail("/mnt");
    mounted("devtmpfs", "devtmpfs", "/dev");
    mounted("proc", "proc", "/proc");
    mounted("sysfs", "sysfs", "/sys");
    mounted("tmpfs", "tmpfs", "/run");
    mounted("tmpfs", "tmpfs", "/tmp");
    mounted("/dev/vdb", "ext4", "/work");
    int is_first = access("/begun", F_OK), goes_on = !access(LINK, F_OK);
    if (!getenv("install")) close(open("/begun", O_CREAT | O_WRONLY, 0600));
    if (is_first || goes_on) {
        pid_t child = fork();
        if (!child && is_first) begins();
        if (!child) continues();
        int status = 0;
        while (wait(&status) != child);
        printf("%s ended with %d\n", getenv("install") ? "install.sh" : "treering",
               WEXITSTATUS(status));
        fflush(stdout);
    }
    sync();
    int is_asked = !access(ASKED, F_OK);
    if (umount("/work") || mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL)) fail("umount");
    if (is_asked) reboot(strcmp(said("loader", "kexec"), "kexec") ? RB_AUTOBOOT : RB_KEXEC);
    reboot(RB_POWER_OFF);
    return 1;
}

static int kexec(int count, char **words) {
    int kernel = -1, initrd = -1;
    const char *line = "";
    for (int at = 1; at < count; at++) {
        if (!strcmp(words[at], "-u"))
            return syscall(SYS_kexec_file_load, -1, -1, 0UL, NULL, 1UL) != 0;
        if (!strncmp(words[at], "--initrd=", 9)) initrd = open(words[at] + 9, O_RDONLY);
        else if (!strncmp(words[at], "--command-line=", 15)) line = words[at] + 15;
        else if (strcmp(words[at], "-l")) kernel = open(words[at], O_RDONLY);
    }
    if (!syscall(SYS_kexec_file_load, kernel, initrd, strlen(line) + 1, line, 0UL)) return 0;
    perror("kexec_file_load");
    return 1;
}

int main(int count, char **words) {
    const char *slash = strrchr(words[0], '/');
    const char *name = slash ? slash + 1 : words[0];
    if (!strcmp(name, "init")) return first_process();
    if (!strcmp(name, "kexec")) return kexec(count, words);
    if (strcmp(name, "systemctl") || count != 2) return 2;
    if (strcmp(words[1], "kexec") && strcmp(words[1], "reboot")) return 2;
    /* The real one returns at once, too. */
    return close(open(ASKED, O_CREAT | O_WRONLY, 0600)) != 0;
}
