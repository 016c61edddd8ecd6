/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ledger as stored on disk: a line for each record, words separated by spaces, "-" for a word that is empty.
 *
 *     hugeplan-ledger VERSION READABLE-BY BOOT-ID GUARD
 *     pool NODE PAGE-SIZE FOUND SET OTHERS
 *     instance NAME PAGE-SIZE WANTED PLACEMENT NODE:PAGES,... FLAGS LIKELY
 *     hold UNIT RUN POLICY POLICY-NODES COUNTED NAME and from PAGE-SIZE on as above; "-" if the instance has the same
 *     left PAGE-SIZE PAGES
 *     refusal INSTANCE REASON, to the end of the line
 *     end
 *
 * A package is upgraded and downgraded while databases run, so each hugeplan reads what others wrote. Words after the
 * known ones are ignored, and so are unknown records of a later version. READABLE-BY is the lowest version that can read
 * the file. Of a file that this version cannot read only the pools are taken, whose words never change their meaning. */
#include "plan/ledger.h"

#include "base/index.h"
#include "base/size.h"
#include "base/text.h"
#include "model/name_check.h"

#include <string.h>

enum { LEDGER_VERSION = 1 };

static const char head_word[] = "hugeplan-ledger";

static const char *const guard_names[] = {
        [LEDGER_GUARD_UNDECIDED] = "undecided",
        [LEDGER_GUARD_CLOSED] = "closed",
        [LEDGER_GUARD_OPEN] = "open",
};

static const char *const policy_names[] = {
        [MEMORY_POLICY_UNKNOWN] = "unknown",
        [MEMORY_POLICY_ANY] = "any",
        [MEMORY_POLICY_BIND] = "bind",
        [MEMORY_POLICY_INTERLEAVE] = "interleave",
};

/* ---- writing ---- */

static const char *or_dash(const char *word) {
        return *word ? word : "-";
}

/* Adds a count that can be read again: no host has more pages. */
static void add_count(Text *text, uint64_t n) {
        text_printf(text, " %" PRIu64, MIN(n, (uint64_t) INT64_MAX));
}

static void add_flag(Text *flags, bool is_set, const char *name) {
        if (is_set)
                text_printf(flags, "%s%s", flags->length > 0 ? "," : "", name);
}

static const char *format_nodes(Arena *arena, const PagesByNode *pages) {
        Text nodes = text_in(arena);

        VEC_FOREACH(each, pages)
                if (each->pages > 0)
                        text_printf(&nodes, "%s%u:%" PRIu64, nodes.length > 0 ? "," : "",
                                    each->node, MIN(each->pages, (uint64_t) INT64_MAX));
        return or_dash(text_string(&nodes));
}

/* Other versions take any word but "counted" for "-". */
static const char *format_counted(Arena *arena, const LedgerHold *hold) {
        const UnitCharge *earlier = hold->earlier;

        return hold->is_counted ? "counted"
               : !earlier       ? "-"
                          : arena_printf(arena, "beside:%" PRIu64 ":%s", earlier->reserved_pages,
                                         format_nodes(arena, &earlier->used));
}

static void add_granted(Text *text, const LedgerInstance *instance) {
        Text flags = text_in(text->arena);

        /* Other versions of hugeplan read these words, whatever the fields are called now. */
        add_flag(&flags, instance->is_released, "released");
        add_flag(&flags, instance->is_unitless, "loose");
        add_flag(&flags, instance->was_complete, "stood");
        add_flag(&flags, instance->was_ready, "ready");
        add_count(text, instance->page_size_bytes);
        add_count(text, instance->pages_wanted);
        text_printf(text, " %s %s %s\n", placement_names[instance->placement],
                    format_nodes(text->arena, &instance->grants), or_dash(text_string(&flags)));
}

char *ledger_format(Arena *arena, const Ledger *ledger) {
        Text text = text_in(arena);

        text_printf(&text, "%s %d %d %s %s\n", head_word, LEDGER_VERSION, LEDGER_VERSION,
                    or_dash(ledger->boot_id), guard_names[ledger->guard]);
        VEC_FOREACH(pool, &ledger->pools) {
                text_printf(&text, "pool %u", pool->node);
                add_count(&text, pool->page_size_bytes);
                add_count(&text, pool->found_pages);
                add_count(&text, pool->set_pages);
                add_count(&text, pool->others_pages);
                add_count(&text, pool->added_pages);
                text_add(&text, "\n");
        }
        VEC_FOREACH(instance, &ledger->instances) {
                text_printf(&text, "instance %s", instance->name);
                add_granted(&text, instance);
        }
        VEC_FOREACH(hold, &ledger->holds) {
                const LedgerInstance *instance = ledger_instance(ledger, hold->granted.name);

                if (hold->is_tentative)
                        continue;
                text_printf(&text, "hold %s %s %s %s %s %s", hold->unit, or_dash(hold->run),
                            policy_names[hold->policy.kind],
                            or_dash(id_set_format(arena, &hold->policy.nodes)),
                            format_counted(arena, hold), hold->granted.name);
                if (instance && ledger_is_same_grant(&hold->granted, instance))
                        text_add(&text, " -\n");
                else
                        add_granted(&text, &hold->granted);
        }
        VEC_FOREACH(left, &ledger->left) {
                text_add(&text, "left");
                add_count(&text, left->page_size_bytes);
                add_count(&text, left->pages);
                text_add(&text, "\n");
        }
        VEC_FOREACH(refusal, &ledger->refusals)
                text_printf(&text, "refusal %s %s\n", refusal->instance,
                            text_printable(arena, refusal->text));
        text_add(&text, "end\n");
        return text.string;
}

/* ---- reading ---- */

typedef struct Reader {
        Arena *arena;
        Ledger *ledger;
} Reader;

/* Takes the next word off LINE; returns NULL if there is none. */
static char *next_word(char **line) {
        char *word = strsep(line, " ");

        return word && text_equals(word, "-") ? word + 1 : word;
}

static bool next_count(char **line, uint64_t *ret) {
        const char *word = next_word(line);

        return word && parse_u64(word, ret) == 0 && *ret <= INT64_MAX;
}

static bool next_node(char **line, const char *separator, unsigned *ret) {
        const char *word = strsep(line, separator);
        uint64_t node;

        if (!word || parse_u64(word, &node) < 0 || node >= ID_SET_MAX)
                return false;
        *ret = (unsigned) node;
        return true;
}

static bool next_name(char **line, const char *const *names, size_t n, int *ret) {
        const char *word = next_word(line);

        *ret = word ? text_index(names, n, word) : -1;
        return *ret >= 0;
}

static bool read_nodes(Reader *reader, char *list, PagesByNode *ret) {
        char *item;

        if (*list == '\0')
                return true;
        while ((item = strsep(&list, ","))) {
                NodePages here;

                if (!next_node(&item, ":", &here.node) || !next_count(&item, &here.pages) || item ||
                    here.pages == 0 || pages_find_on(ret, here.node))
                        return false;
                *vec_push(reader->arena, ret) = here;
        }
        return true;
}

static bool read_granted(Reader *reader, char *line, LedgerInstance *ret) {
        int placement;

        if (!next_count(&line, &ret->page_size_bytes) || !next_count(&line, &ret->pages_wanted) ||
            !next_name(&line, placement_names, PLACEMENTS, &placement))
                return false;
        char *nodes = next_word(&line), *flags = next_word(&line), *flag;

        if (!nodes || !flags || !read_nodes(reader, nodes, &ret->grants))
                return false;
        ret->placement = (Placement) placement;
        while ((flag = strsep(&flags, ","))) {
                ret->is_released |= text_equals(flag, "released");
                ret->is_unitless |= text_equals(flag, "loose");
                ret->was_complete |= text_equals(flag, "stood");
                ret->was_ready |= text_equals(flag, "ready");
        }
        ret->was_ready = ret->was_ready && ret->was_complete;
        return ret->page_size_bytes > 0 || ret->grants.n == 0;
}

static bool read_pool(Reader *reader, char *line) {
        LedgerPool pool = {};

        if (!next_node(&line, " ", &pool.node) || !next_count(&line, &pool.page_size_bytes) ||
            !next_count(&line, &pool.found_pages) || !next_count(&line, &pool.set_pages) ||
            !next_count(&line, &pool.others_pages) ||
            (line && !next_count(&line, &pool.added_pages)) || pool.page_size_bytes == 0 ||
            pool.set_pages < pool.found_pages ||
            ledger_pool(reader->ledger, pool.node, pool.page_size_bytes))
                return false;
        *vec_push(reader->arena, &reader->ledger->pools) = pool;
        return true;
}

static bool read_instance(Reader *reader, char *line) {
        LedgerInstance instance = {.name = next_word(&line)};

        if (!instance.name || name_check_instance(instance.name) ||
            !read_granted(reader, line, &instance))
                return false;
        *vec_push(reader->arena, &reader->ledger->instances) = instance;
        return true;
}

/* "counted", "-", or "beside:PAGES:NODE:PAGES,...": earlier runs' pages, and on which nodes they are in use. */
static bool read_counted(Reader *reader, char *word, LedgerHold *hold) {
        UnitCharge earlier = {};
        const char *pages;

        hold->is_counted = text_equals(word, "counted");
        if (!text_equals(strsep(&word, ":"), "beside") || !(pages = strsep(&word, ":")) || !word)
                return true;
        if (parse_u64(pages, &earlier.reserved_pages) < 0 ||
            !read_nodes(reader, *word == '-' ? word + 1 : word, &earlier.used))
                return false;
        earlier.pages = VEC_SUM(here, &earlier.used, here->pages);
        hold->earlier = arena_memdup(reader->arena, &earlier, sizeof(earlier));
        return true;
}

static bool read_hold(Reader *reader, char *line) {
        LedgerHold hold = {.unit = next_word(&line)};
        int policy;

        hold.run = next_word(&line);
        if (!hold.run || name_check_unit(hold.unit) ||
            !next_name(&line, policy_names, ARRAY_LEN(policy_names), &policy))
                return false;
        const char *nodes = next_word(&line);
        char *counted = next_word(&line);
        const char *name = next_word(&line);

        if (!name || id_set_parse(nodes, &hold.policy.nodes) < 0 || name_check_instance(name) ||
            !read_counted(reader, counted, &hold))
                return false;
        bool is_same = line && *line == '-';
        const LedgerInstance *same = is_same ? ledger_instance(reader->ledger, name) : NULL;

        hold.policy.kind = (MemoryPolicyKind) policy;
        hold.granted.name = name;
        if (same)
                hold.granted = ledger_copy_instance(reader->arena, same);
        else if (is_same || !read_granted(reader, line, &hold.granted))
                return false;
        *vec_push(reader->arena, &reader->ledger->holds) = hold;
        return true;
}

static bool read_left(Reader *reader, char *line) {
        PageCount left;

        if (!next_count(&line, &left.page_size_bytes) || !next_count(&line, &left.pages) ||
            left.page_size_bytes == 0)
                return false;
        *vec_push(reader->arena, &reader->ledger->left) = left;
        return true;
}

static bool read_refusal(Reader *reader, char *line) {
        const char *instance = next_word(&line);

        if (!instance || name_check_instance(instance) || !line)
                return false;
        ledger_note_refusal(reader->arena, reader->ledger, instance, "", line);
        return true;
}

/* Reads the lines after the head, which end with "end". Returns false if any detail is wrong. */
static bool read_records(Reader *reader, char *text, bool is_known, bool is_later) {
        static const struct {
                const char *kind;
                bool (*read)(Reader *, char *);
        } records[] = {
                {"pool", read_pool}, {"instance", read_instance}, {"hold", read_hold},
                {"left", read_left}, {"refusal", read_refusal},
        };
        char *line;

        while ((line = strsep(&text, "\n"))) {
                const char *kind = strsep(&line, " ");
                size_t n = is_known ? ARRAY_LEN(records) : 1, i = 0;

                if (text_equals(kind, "end"))
                        return text && *text == '\0';
                while (i < n && !text_equals(kind, records[i].kind))
                        i++;
                if (i < n ? !records[i].read(reader, line) : !is_later)
                        return false;
        }
        return false;
}

/* Returns whether the ledger has an instance twice, or two holds of a unit for one instance. */
static bool is_any_twice(const Ledger *ledger) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Index *names = INDEX_OF(arena, instance, ledger->instances.items, ledger->instances.n,
                                instance->name);
        Index *units = INDEX_OF(arena, hold, ledger->holds.items, ledger->holds.n, hold->unit);

        VEC_FOREACH(hold, &ledger->holds)
                INDEX_FOREACH(entry, units, hold->unit) {
                        const LedgerHold *other = entry->value;

                        if (other != hold && text_equals(other->granted.name, hold->granted.name))
                                return true;
                }
        return VEC_ANY(instance, &ledger->instances, index_entry(names, instance->name)->next);
}

Ledger *ledger_parse(Arena *arena, char *text, const char *boot_id, const char **ret_lost) {
        static const char lost_pools[] =
                "the pages that the pools hold now count as existing: none is given back before "
                "the next boot, or before nr_hugepages is lowered by hand";
        Reader reader = {arena, ledger_new(arena, boot_id)};
        char *line = strsep(&text, "\n");
        uint64_t version = 0, readable_by = 0;
        bool is_ledger = text_equals(next_word(&line), head_word) && next_count(&line, &version) &&
                         version > 0 && next_count(&line, &readable_by);
        const char *of_boot = is_ledger ? next_word(&line) : NULL;
        int guard;

        *ret_lost = NULL;
        if (of_boot && !text_equals(of_boot, boot_id)) {
                *ret_lost = "is from another boot; a new one is started";
                return NULL;
        }
        bool is_known = is_ledger && version >= LEDGER_VERSION && readable_by <= LEDGER_VERSION;

        if (!of_boot ||
            (!next_name(&line, guard_names, ARRAY_LEN(guard_names), &guard) && is_known) ||
            !read_records(&reader, text, is_known, version > LEDGER_VERSION) ||
            is_any_twice(reader.ledger)) {
                *ret_lost = arena_printf(arena, "is broken; %s", lost_pools);
                return NULL;
        }
        if (is_known)
                reader.ledger->guard = (LedgerGuard) guard;
        else
                *ret_lost = arena_printf(
                        arena,
                        "is of version %" PRIu64 ", and this hugeplan reads version %d; only the "
                        "pages that existed before are taken from it: the pages that units "
                        "were started with are estimated from the kernel's counts",
                        version, LEDGER_VERSION);
        return reader.ledger;
}
