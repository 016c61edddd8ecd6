/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/record/recording_json.h"

#include "base/json.h"
#include "base/size.h"
#include "base/text.h"
#include "model/names.h"

#include <string.h>

/* JSON strings are UTF-8: any byte but printable ASCII, and '%', becomes "%" and two hexadecimal digits. */
static char *escaped(Arena *arena, const char *bytes, size_t size) {
        Text text = text_in(arena);

        text_add(&text, "");
        for (size_t i = 0; i < size; i++)
                if ((unsigned char) bytes[i] < ' ' || bytes[i] == '%' ||
                    (unsigned char) bytes[i] >= 0x7F)
                        text_printf(&text, "%%%02x", (unsigned char) bytes[i]);
                else
                        text_add_n(&text, &bytes[i], 1);
        return text.string;
}

static char *unescaped(Arena *arena, const char *string, size_t *ret_size) {
        char *bytes = arena_alloc(arena, strlen(string) + 1);
        size_t n = 0;

        for (const char *at = string; *at; at++) {
                uint64_t byte = (unsigned char) *at;

                if (*at == '%' && at[1] && at[2] &&
                    parse_hex_u64((char[]){at[1], at[2], '\0'}, &byte) == 0)
                        at += 2;
                bytes[n++] = (char) byte;
        }
        *ret_size = n;
        return bytes;
}

json_t *recording_to_json(Arena *arena, const Recording *recording) {
        return VEC_TO_JSON(each, &recording->list,
                           json_pack("[iss]", (int) (*each)->kind,
                                     escaped(arena, (*each)->path, strlen((*each)->path)),
                                     escaped(arena, (*each)->bytes, (*each)->size)));
}

void recorded_from_json(Recorder *recorder, Arena *arena, const json_t *list) {
        json_t *row;
        size_t i;

        json_array_foreach(list, i, row) {
                const char *path, *bytes;
                int kind;
                size_t size, length;

                if (json_unpack(row, "[iss!]", &kind, &path, &bytes) < 0 || kind < 0 ||
                    kind > RECORDED_FILE)
                        continue;
                path = unescaped(arena, path, &length);
                bytes = unescaped(arena, bytes, &size);
                /* Root reads the kernel's files itself; an untrusted process cannot supply them. */
                if (*path == '/' && strlen(path) == length &&
                    !text_starts_with(path, PATH_PROC "/") && !text_starts_with(path, PATH_SYS "/"))
                        recorder->add(recorder, (RecordedKind) kind, path, bytes, size);
        }
}
