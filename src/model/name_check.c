/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/name_check.h"

#include "base/text.h"

#include <string.h>

enum { UNIT_BYTES_MAX = 255 }; /* UNIT_NAME_MAX */

static bool is_name_character(char c, const char *others) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               strchr(others, c);
}

static bool is_made_of(const char *name, const char *others) {
        for (; *name; name++)
                if (!is_name_character(*name, others))
                        return false;
        return true;
}

bool name_is_unit(const char *name) {
        return strlen(name) <= UNIT_BYTES_MAX && is_made_of(name, ":_.\\@-") && *name != '.' &&
               *name != '@' && strrchr(name, '.');
}

const char *name_of_alias(Arena *arena, const char *target) {
        const char *name = text_base_name(target);
        const char *directory = arena_strdup_to(arena, target, name);
        bool is_near = !*directory || text_ends_with(directory, "/systemd/system/");

        return is_near && name_is_unit(name) ? name : NULL;
}

const char *name_check_unit(const char *unit) {
        const char *at = strchr(unit, '@');

        if (strlen(unit) > UNIT_BYTES_MAX)
                return "the unit's name is longer than 255 bytes";
        if (!is_made_of(unit, ":_.\\@-"))
                return "the unit's name has characters that unit names cannot have";
        if (!text_ends_with(unit, ".service") || text_equals(unit, ".service"))
                return "this is not the full name of a service";
        if (*unit == '@' || *unit == '.')
                return "the unit's name has no beginning";
        if (at && text_equals(at, "@.service"))
                return "this is a template, not one of its instances";
        return NULL;
}

const char *name_check_instance(const char *name) {
        if (!*name)
                return "the name is empty";
        if (strlen(name) > 64)
                return "the name is longer than 64 bytes";
        if (!is_name_character(*name, "") || !is_made_of(name, "_.:@-"))
                return "the name has characters that names of instances cannot have";
        return NULL;
}

const char *name_check_account(const char *name) {
        size_t length = strlen(name);
        bool is_number = strspn(name, "0123456789") == length;
        bool is_digit = *name >= '0' && *name <= '9';

        if (length == 0 || length > 31)
                return "such a name has 1 to 31 bytes";
        if (!is_number && (is_digit || *name == '.' || *name == '-' || !is_made_of(name, "_.-")))
                return "such a name has letters, digits and _ . -, and begins with a letter or _";
        return NULL;
}
