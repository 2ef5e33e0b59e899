/* documents.h - what other commands print with -o json, as records: comparisons and series of a history.
 *
 *   slotmark compare, gate, variants   a record of kind "compare" for each kernel: "comparison" holds what the document
 *                                      says of it, and of the sides and options all have; samples are side B's launches
 *   slotmark trend                     a record of kind "trend" for each series, which "trend" holds
 *
 * A document is not trusted: what is no object with a name in it is left out. */
#ifndef SM_PLOT_DOCUMENTS_H
#define SM_PLOT_DOCUMENTS_H

#include <jansson.h>

/* Takes over the record. 0, or -1: no memory. */
typedef int sm_document_sink(void *state, json_t *record);

/* 0: its records were handed over; 1: the document is none of these; -1: no memory. */
int sm_document_records(const json_t *document, sm_document_sink *take, void *state);

#endif
