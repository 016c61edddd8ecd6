/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Time spans and counts as text. */
#include "base/size.h"

char *format_duration(Arena *arena, uint64_t usec) {
        if (usec == UINT64_MAX)
                return arena_strdup(arena, "infinity");
        if (usec < USEC_PER_MSEC)
                return arena_printf(arena, "%" PRIu64 "us", usec);
        if (usec < 10 * USEC_PER_MSEC && usec % USEC_PER_MSEC >= 100)
                return arena_printf(arena, "%" PRIu64 ".%" PRIu64 "ms", usec / USEC_PER_MSEC,
                                    usec % USEC_PER_MSEC / 100);
        if (usec < USEC_PER_SEC)
                return arena_printf(arena, "%" PRIu64 "ms", usec / USEC_PER_MSEC);

        uint64_t seconds = usec / USEC_PER_SEC, tenths = usec % USEC_PER_SEC / 100000;

        if (seconds < 60)
                return tenths == 0
                               ? arena_printf(arena, "%" PRIu64 "s", seconds)
                               : arena_printf(arena, "%" PRIu64 ".%" PRIu64 "s", seconds, tenths);
        uint64_t minutes = seconds / 60;

        seconds %= 60;
        if (minutes >= 60)
                return arena_printf(arena, "%" PRIu64 "h %" PRIu64 "min", minutes / 60,
                                    minutes % 60);
        return seconds == 0 ? arena_printf(arena, "%" PRIu64 "min", minutes)
                            : arena_printf(arena, "%" PRIu64 "min %" PRIu64 "s", minutes, seconds);
}

char *format_count(Arena *arena, uint64_t n) {
        char digits[32], *at = digits + sizeof(digits);

        *--at = '\0';
        for (unsigned i = 0; i == 0 || n > 0; i++, n /= 10) {
                if (i > 0 && i % 3 == 0)
                        *--at = ',';
                *--at = (char) ('0' + n % 10);
        }
        return arena_strdup(arena, at);
}

char *format_page_count(Arena *arena, uint64_t pages, uint64_t page_size_bytes) {
        return arena_printf(arena, "%s page%s%s%s", format_count(arena, pages),
                            pages == 1 ? "" : "s", page_size_bytes > 0 ? " of " : "",
                            page_size_bytes > 0 ? format_page_size(arena, page_size_bytes) : "");
}

char *format_page_count_and_size(Arena *arena, uint64_t pages, uint64_t page_size_bytes) {
        return arena_printf(arena, "%s (%s)", format_page_count(arena, pages, page_size_bytes),
                            format_size(arena, mul_saturated(pages, page_size_bytes)));
}
