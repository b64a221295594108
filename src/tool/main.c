/* SPDX-License-Identifier: MIT */
#include "tool/tool.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/kiln.h"

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *summary;
    const char *help;
} commands[] = {
    {"run", run_main, "compile, load and launch one kernel", run_help},
    {"inspect", inspect_main, "list the device code in files", inspect_help},
    {"explain", explain_main, "say what a device takes of a file, and why",
     explain_help},
    {"pack", pack_main, "write a fat binary", pack_help},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

int usage(const char *command, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int bad;

    va_start(args, format);
    bad = vasprintf(&text, format, args) < 0;
    va_end(args);
    print_plain(stderr, "kiln %s: %s (kiln help %s)\n", command,
                bad ? "wrong use" : text, command);
    if (!bad)
        free(text);
    return EXIT_USAGE;
}

static void overview(FILE *to)
{
    fputs("usage: kiln COMMAND ...\n\n", to);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("  help       this, or the help of a command\n"
          "  --version  the version of libkiln\n\n"
          "Exit status: 0 done or yes, 1 a stage failed or no, 2 wrong use.\n",
          to);
}

const char *option_value(int argc, char **argv, int *i, const char *name)
{
    size_t n = strlen(name);

    if (strncmp(argv[*i], name, n))
        return NULL;
    if (argv[*i][n] == '=')
        return argv[*i] + n + 1;
    return !argv[*i][n] && *i + 1 < argc ? argv[++*i] : NULL;
}

static int is_help(const char *text)
{
    return !strcmp(text, "--help") || !strcmp(text, "-h");
}

static int help_main(int argc, char **argv)
{
    if (argc < 2) {
        overview(stdout);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name)) {
            fputs(commands[i].help, stdout);
            return EXIT_DONE;
        }
    print_plain(stderr, "kiln help: no command \"%s\"\n", argv[1]);
    return EXIT_USAGE;
}

/* Output that did not reach its file is a failure. */
static int finish(int status)
{
    if (fflush(stdout) || ferror(stdout)) {
        perror("kiln: standard output");
        return status == EXIT_DONE ? EXIT_FAILED : status;
    }
    return status;
}

/* kiln COMMAND ... --help: no option has a use for that as its value. */
static int wants_help(int argc, char **argv)
{
    if (argc == 3 && is_help(argv[2]))
        return 1;
    for (int i = 2; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--help"))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        overview(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("kiln %s\n", kiln_version());
        return finish(EXIT_DONE);
    }
    if (!strcmp(argv[1], "help") || is_help(argv[1]))
        return finish(help_main(argc - 1, argv + 1));
    if (wants_help(argc, argv))
        return finish(help_main(2, argv));
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name))
            return finish(commands[i].main(argc - 1, argv + 1));
    print_plain(stderr, "kiln: no command \"%s\" (kiln help)\n", argv[1]);
    return EXIT_USAGE;
}
