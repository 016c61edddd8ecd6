/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/reader.h"

#include "base/size.h"
#include "base/text.h"
#include "inspect/confine.h"

#include <string.h>
#include <unistd.h>

static const uint64_t read_timeout_usec = 10 * USEC_PER_SEC;
static const size_t answer_bytes_max = (size_t) 1 << 20;

typedef struct Errand {
        const Person *person;
        ReaderMake make;
        void *userdata;
} Errand;

static void run_errand(void *userdata, int output) {
        const Errand *errand = userdata;
        Arena *arena = arena_new();
        Root *root;

        if (root_open("/", &root) < 0)
                _exit(1);
        HostSources sources =
                host_sources_of(root, arena, errand->person->uid, errand->person->gid);
        char *text = json_dumps(errand->make(errand->userdata, arena, &sources), JSON_COMPACT);

        if (!text)
                _exit(1);
        for (size_t left = strlen(text); left > 0;) {
                ssize_t n = write(output, text, left);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        _exit(1);
                text += n;
                left -= (size_t) n;
        }
}

const char *reader_ask(Arena *arena, const Person *person, ReaderMake make, void *userdata,
                       json_t **ret) {
        Errand errand = {person, make, userdata};
        const Confinement reader = {
                .title = arena_printf(arena, "reading its files as %s",
                                      text_excerpt(arena, person->name, 64)),
                .person = person,
                .timeout_usec = read_timeout_usec,
                .output_bytes_max = answer_bytes_max,
                .read = run_errand,
                .userdata = &errand,
        };
        char *text = NULL;
        size_t size = 0;
        const char *wrong = confine(arena, &reader, &text, &size);

        if (wrong)
                return wrong;
        *ret = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
        return *ret ? NULL : READER_NO_ANSWER;
}
