/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A question to a process that has become somebody else (inspect/confine.h) and answers in JSON. */

#include "base/size.h"
#include "host/host_sources.h"
#include "inspect/owner.h"

#include <jansson.h>

#define READER_NO_ANSWER "the process that reads its files gave no proper answer"

/* Called in that process. SOURCES read what PERSON may. */
typedef json_t *(*ReaderMake)(void *userdata, Arena *arena, HostSources *sources);

/* NULL, with what MAKE has made (to be checked member by member, and released by the caller); or a
 * sentence. Who records what is read through ROOT hears of what was read there, too; of secrets in it that process
 * tells nobody (host/record/recording.h). */
const char *reader_ask(const Root *root, Arena *arena, const Person *person, uint64_t timeout_usec,
                       ReaderMake make, void *userdata, json_t **ret);

/* Ample. */
#define READER_USEC (10 * USEC_PER_SEC)
