/* Command line of the examples: the address to listen on, then --NAME VALUE for options of the library. */
#ifndef CARILLON_EXAMPLES_OPTIONS_H
#define CARILLON_EXAMPLES_OPTIONS_H

#include <carillon/executor.h>
#include <stdio.h>
#include <string.h>

static inline int example_options(int argc, char **argv, struct carillon_options *options)
{
    const struct {
        const char *name, **value;
    } names[] = {{"--idempotency-dir", &options->idempotency_dir},
                 {"--key", &options->application_key},
                 {"--callers", &options->callers},
                 {"--servers", &options->servers},
                 {"--zookeeper", &options->zookeeper},
                 {"--project", &options->project},
                 {"--application", &options->application},
                 {"--advertise", &options->advertise}};
    if (argc > 1 && argv[1][0] != '-') {
        options->listen = argv[1];
        argc--;
        argv++;
    }
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        while (k < sizeof names / sizeof *names && strcmp(argv[i], names[k].name) != 0)
            k++;
        if (k == sizeof names / sizeof *names || i + 1 == argc) {
            (void)fprintf(stderr, "%s: unknown option, or its value is missing\n", argv[i]);
            return -1;
        }
        *names[k].value = argv[i + 1];
    }
    return 0;
}

#endif
