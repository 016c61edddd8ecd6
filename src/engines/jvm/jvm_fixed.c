/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which virtual machines take all of their huge pages when they start, and as many each time: of these what was seen is
 * what they take. Measured (docs/sizes.md): 11, 17, 21, 25 and 26, started again and again, with more CPUs, and with a
 * heap that was filled. */

#include "engines/jvm/jvm_options.h"
#include "engines/parameters.h"

#include <strings.h>

enum { OLDEST = 11, NEWEST = 26 };

static bool is_given(const Settings *settings, const char *name, const char *value) {
        const Setting *setting = settings_find(settings, name);

        return setting && strcasecmp(setting->value, value) == 0;
}

static uint64_t size_given(const Settings *settings, const char *name) {
        const Setting *setting = settings_find(settings, name);
        uint64_t bytes = 0;

        return setting && parse_suffixed_bytes(setting->value, "KkMmGgTt", &bytes) == 0 ? bytes : 0;
}

/* ZGC takes the heap's pages as the heap grows. Where a table is mapped FIT_WITHIN (jvm_formula.c) chance decides over a page. */
static bool is_fixed_collector(const Settings *settings, uint64_t major) {
        if (is_given(settings, "gc", "zgc"))
                return size_given(settings, "Xmx") > 0 &&
                       size_given(settings, "Xms") >= size_given(settings, "Xmx");
        return is_given(settings, "gc", "g1") || is_given(settings, "gc", "shenandoah") ||
               (major >= 26 && is_given(settings, "gc", "parallel"));
}

/* From 25 on its heaps go by the CPUs, also of a control group, unless its size is set. */
static bool is_fixed_code_cache(const Settings *settings, uint64_t major) {
        uint64_t segmented_bytes = 2 * MIB * 128; /* from here on its segment map takes a page */

        return !settings_find(settings, "NonNMethodCodeHeapSize") &&
               !settings_find(settings, "ProfiledCodeHeapSize") &&
               !settings_find(settings, "NonProfiledCodeHeapSize") &&
               size_given(settings, "ReservedCodeCacheSize") < segmented_bytes &&
               (major < 25 || settings_find(settings, "ReservedCodeCacheSize"));
}

/* Java reserves heap, code cache and tables each as a whole, and huge pages with them. But up to 10 mark stacks grow,
 * and of a version that was not measured nobody knows; nor of a collector that Java chooses itself, by CPUs and memory. */
bool jvm_is_fixed(const Settings *settings) {
        const Setting *version = settings_find(settings, "server_version");
        uint64_t major = 0;

        return version && parse_major_version(version->value, &major) == 0 && major >= OLDEST &&
               major <= NEWEST && is_fixed_collector(settings, major) &&
               is_fixed_code_cache(settings, major);
}
