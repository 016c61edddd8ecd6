/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/reader.h"

#include "base/text.h"
#include "host/record/recording_json.h"
#include "inspect/confine.h"

#include <string.h>
#include <unistd.h>

static const size_t answer_bytes_max = (size_t) 1 << 20;
static const size_t recorded_bytes_max = (size_t) 64 << 20;

typedef struct Errand {
        const Person *person;
        ReaderMake make;
        void *userdata;
        bool is_recorded;
} Errand;

/* ---- in the reader ---- */

static void run_errand(void *userdata, int output) {
        const Errand *errand = userdata;
        Arena *arena = arena_new();
        Root *root;

        if (root_open("/", &root) < 0)
                _exit(1);
        HostSources sources =
                host_sources_of(root, arena, errand->person->uid, errand->person->gid);
        Recording recording = recording_in(arena);

        if (errand->is_recorded)
                root_record(root, &recording.recorder);
        json_t *answer = errand->make(errand->userdata, arena, &sources);

        if (errand->is_recorded)
                answer = json_pack("[oo]", answer, recording_to_json(arena, &recording));
        char *text = json_dumps(answer, JSON_COMPACT);

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

/* ---- in the caller ---- */

const char *reader_ask(const Root *root, Arena *arena, const Person *person, uint64_t timeout_usec,
                       ReaderMake make, void *userdata, json_t **ret) {
        Recorder *recorder = root_recorder(root);
        Errand errand = {person, make, userdata, recorder};
        const Confinement reader = {
                .title = arena_printf(arena, "reading its files as %s",
                                      text_excerpt(arena, person->name, 64)),
                .person = person,
                .timeout_usec = timeout_usec,
                .output_bytes_max = recorder ? recorded_bytes_max : answer_bytes_max,
                .read = run_errand,
                .userdata = &errand,
        };
        char *text = NULL;
        size_t size = 0;
        const char *wrong = confine(arena, &reader, &text, &size);

        if (wrong)
                return wrong;
        *ret = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
        if (*ret && recorder) {
                /* A recording reader answers with both. */
                json_t *both = *ret;
                const json_t *recorded;

                *ret = NULL;
                if (json_unpack(both, "[Oo!]", ret, &recorded) >= 0)
                        recorded_from_json(recorder, arena, recorded);
                json_decref(both);
        }
        return *ret ? NULL : READER_NO_ANSWER;
}
