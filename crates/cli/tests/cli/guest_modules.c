/* What the first processes of guests in tests have in common; it stands before each of them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void fail(const char *what);

/* Loads the modules of the initramfs, in the order of their names. */
static void modules(void) {
    struct dirent **all;
    char path[300];
    int count = scandir("/modules", &all, NULL, alphasort);
    for (int at = 0; at < count; at++) {
        if (all[at]->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/modules/%s", all[at]->d_name);
        int file = open(path, O_RDONLY);
        if (file < 0 || syscall(SYS_finit_module, file, "", 0)) fail(path);
        close(file);
    }
}
