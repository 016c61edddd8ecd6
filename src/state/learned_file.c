/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/learned_file.h"

#include "base/text.h"

#include <time.h>

char *learned_time(Arena *arena) {
        time_t now = time(NULL);
        char text[32] = "";
        struct tm parts;

        if (gmtime_r(&now, &parts))
                strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
        return arena_strdup(arena, text);
}

LearnedFile learned_file(Arena *arena, const InstanceConfig *instance, const Learned *learned) {
        return (LearnedFile){
                .path = learned_path(arena, instance),
                .old_path = learned_old_path(arena, instance),
                .text = learned_format(arena, instance, learned, learned_time(arena)),
        };
}

int learned_file_store(const Root *root, const LearnedFile *file) {
        int r = root_store_file(root, file->path, file->text, 0644);

        if (r >= 0)
                root_remove(root, file->old_path);
        return r;
}
