/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config.h"

#include "base/size.h"
#include "base/text.h"
#include "base/vec.h"
#include "model/name_check.h"

#include <string.h>

enum {
        UNIT_NAME_BYTES_MAX = 255, /* systemd.unit(5) */
        MODE_DEFAULT = 0770,
        MODE_MAX = 01777, /* the maximum of hugetlbfs: fs/hugetlbfs/inode.c */
};

/* ---- places ---- */

typedef struct Place {
        const char *path;
        bool is_whole; /* paths below it are refused too */
        const char *why;
} Place;

static const char is_systems[] = "belongs to the system";
static const char is_private[] =
        "is private to services with a sandbox, which would not see the mount";

static const Place places[] = {
        {"/", false, is_systems},        {"/bin", true, is_systems},
        {"/boot", true, is_systems},     {"/dev", true, is_private},
        {"/efi", true, is_systems},      {"/etc", true, is_systems},
        {"/home", false, is_systems},    {"/lib", true, is_systems},
        {"/lib32", true, is_systems},    {"/lib64", true, is_systems},
        {"/proc", true, is_systems},     {"/root", false, is_systems},
        {"/run", false, is_systems},     {"/run/hugeplan", true, is_systems},
        {"/run/lock", true, is_systems}, {"/run/systemd", true, is_systems},
        {"/run/user", true, is_systems}, {"/sbin", true, is_systems},
        {"/sys", true, is_systems},      {"/tmp", true, is_private},
        {"/usr", true, is_systems},      {"/var", false, is_systems},
        {"/var/lib", false, is_systems}, {"/var/log", false, is_systems},
        {"/var/tmp", true, is_private},
};

bool mount_paths_overlap(const char *a, const char *b) {
        return text_is_within(a, b) || text_is_within(b, a);
}

/* ---- paths ---- */

char *mount_unit_name(Arena *arena, const char *path) {
        static const char plain[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:_.";
        Text text = text_in(arena);

        TEXT_FOREACH(name, arena, path, "/") {
                if (text.length > 0)
                        text_add(&text, "-");
                for (const char *c = name; *c; c++)
                        if (strchr(plain, *c) && (*c != '.' || text.length > 0))
                                text_add_n(&text, c, 1);
                        else
                                text_printf(&text, "\\x%02x", (unsigned) (unsigned char) *c);
        }
        return arena_printf(arena, "%s.mount", text.length > 0 ? text.string : "-");
}

static const char *parse_path(Arena *arena, const char *word, MountConfig *mount) {
        if (*word != '/')
                return arena_printf(arena, "'%s' is not an absolute path", word);
        if (strpbrk(word, "%\\\"'") || !text_equals(text_printable(arena, word), word))
                return arena_printf(arena,
                                    "'%s' has characters with a special meaning in unit files",
                                    text_printable(arena, word));
        Text normal = text_in(arena); /* without doubled or trailing slashes */

        TEXT_FOREACH(name, arena, word, "/") {
                if (TEXT_IS_ANY(name, ".", ".."))
                        return arena_printf(arena, "'%s' contains '.' or '..'", word);
                text_printf(&normal, "/%s", name);
        }
        const char *path = normal.string ? normal.string : "/";
        const Place *place = ARRAY_FIND(each, places, ARRAY_LEN(places),
                                        each->is_whole ? text_is_within(path, each->path)
                                                       : text_equals(path, each->path));

        if (place)
                return arena_printf(arena, "'%s' cannot be a mount, because %s %s", word,
                                    place->path, place->why);
        if (strlen(mount_unit_name(arena, path)) > UNIT_NAME_BYTES_MAX)
                return "the path is too long for the name of a unit";
        mount->path = path;
        return NULL;
}

/* ---- options ---- */

/* In the order of the options. */
static const char *const options[] = {"mode=", "owner=", "size=", "min_size="};
enum { OPTION_MODE, OPTION_OWNER, OPTION_SIZE };

static const char *parse_option(Arena *arena, const char *word, MountConfig *mount,
                                bool *has_option) {
        size_t i = 0, length;

        while (i < ARRAY_LEN(options) && !text_starts_with(word, options[i]))
                i++;
        if (i == ARRAY_LEN(options))
                return arena_printf(arena, "'%s' is not an option of a mount",
                                    text_printable(arena, word));
        if (has_option[i])
                return arena_printf(arena, "%s is given twice", options[i]);
        has_option[i] = true;
        const char *value = word + strlen(options[i]);

        if (i == OPTION_MODE) {
                length = strlen(value);
                if (length > 0 && (length < 3 || length > 4 || strspn(value, "01234567") != length))
                        return arena_printf(
                                arena, "'%s' is not a mode of three or four octal digits", value);
                mount->mode = 0;
                for (const char *digit = value; *digit; digit++)
                        mount->mode = mount->mode * 8 + (unsigned) (*digit - '0');
                return length == 0 || mount->mode > MODE_MAX
                               ? arena_printf(arena, "'%s' is not a mode that a mount can have",
                                              value)
                               : NULL;
        }
        if (i == OPTION_OWNER) {
                const char *colon = strchr(value, ':');

                mount->user = arena_strdup_to(arena, value, colon);
                mount->group = colon ? colon + 1 : NULL;
                const char *wrong = name_check_account(mount->user);

                if (!wrong && mount->group)
                        wrong = name_check_account(mount->group);
                return wrong ? arena_printf(arena, "'%s': %s", value, wrong) : NULL;
        }
        uint64_t *bytes = i == OPTION_SIZE ? &mount->size_bytes : &mount->min_size_bytes;
        int r = parse_size_bytes(value, bytes);

        /* The kernel stores a signed size, rounded up to whole pages. */
        if (r == -ERANGE || (r == 0 && *bytes > INT64_MAX - 16 * GIB))
                return arena_printf(arena, "'%s' is too large", value);
        return r < 0 || *bytes == 0 ? arena_printf(arena, "'%s' is not a size", value) : NULL;
}

const char *mount_config_parse(Arena *arena, const char *value, MountConfig *ret) {
        static const char whitespace[] = " \t";
        MountConfig mount = {.mode = MODE_DEFAULT};
        bool has_option[ARRAY_LEN(options)] = {};
        char *word = text_next_word(arena, &value, whitespace);
        const char *wrong = parse_path(arena, word ? word : "", &mount);

        while (!wrong && (word = text_next_word(arena, &value, whitespace)))
                wrong = parse_option(arena, word, &mount, has_option);
        if (!wrong && mount.size_bytes > 0 && mount.min_size_bytes > mount.size_bytes)
                wrong = "min_size= is larger than size=";
        if (!wrong)
                *ret = mount;
        return wrong;
}
