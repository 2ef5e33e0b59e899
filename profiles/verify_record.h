/* verify_record.h - what a verification found, as the "quality" object of a record. */
#ifndef SM_VERIFY_RECORD_H
#define SM_VERIFY_RECORD_H

#include <jansson.h>

#include "perplexity.h"
#include "verify_layers.h"
#include "verify_limits.h"
#include "verify_paths.h"
#include "verify_run.h"

struct verify_findings {
    const char *against;  /* "float", or the name of the reference */
    const char *fed;      /* whose greedy tokens: "tested", "reference", "golden" */
    const char *scale_in; /* where the attention scale is applied: "scores", "q", "k" */
    struct verify_result result;
    struct verify_layers layers;  /* count 0: not looked at */
    struct verify_paths paths;    /* tokens 0: not walked */
    struct sm_perplexity text[2]; /* of the reference, of the tested side; scored 0: none */
    const char *text_name;
    struct verify_summary summary;
    struct verify_limits limits;
    char verdict[256]; /* "": within the limits */
    char departs[256]; /* where the first layer departs; "": not asked */
};

/* A new reference; NULL: no memory. Numbers that are not finite become null. */
json_t *verify_findings_json(const struct verify_findings *f);

#endif
