/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/boot_entry.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

enum { ENTRIES_MAX = 1024, EXPANSIONS_MAX = 16, LINE_MAX_BYTES = 64 * 1024 };

#define GRUB_DROPIN "/etc/default/grub.d/50-hugeplan.cfg"

static const struct {
        const char *name, *title;
} kinds[] = {
        [BOOT_LOADER_UNKNOWN] = {"unknown", "unknown"},
        [BOOT_LOADER_GRUB] = {"grub", "GRUB"},
        [BOOT_LOADER_GRUB_ENTRIES] = {"grub-entries", "GRUB with boot entries"},
        [BOOT_LOADER_SYSTEMD_BOOT] = {"systemd-boot", "systemd-boot"},
        [BOOT_LOADER_UKI] = {"uki", "unified kernel image"},
        [BOOT_LOADER_EXTLINUX] = {"extlinux", "extlinux"},
};

const char *boot_loader_title(BootLoaderKind kind) {
        return kinds[kind].title;
}

const char *boot_loader_name(BootLoaderKind kind) {
        return kinds[kind].name;
}

/* ---- GRUB's script, as far as it matters ---- */

static char *unquote(Arena *arena, const char *word) {
        size_t length = strlen(word);
        char quote = *word;

        if (length >= 2 && (quote == '"' || quote == '\'') && word[length - 1] == quote)
                return arena_strndup(arena, word + 1, length - 2);
        return arena_strdup(arena, word);
}

char *grub_environment_get(Arena *arena, const char *environment, const char *name) {
        char *line, *value = NULL;

        while (environment && (line = text_next_word(arena, &environment, "\n"))) {
                size_t length = strlen(name);

                if (strncmp(line, name, length) == 0 && line[length] == '=')
                        value = line + length + 1;
        }
        return value;
}

/* The last `set NAME=VALUE` of a script, ones that hand on $next_entry left out. */
static char *script_get(Arena *arena, const char *text, const char *name) {
        char *line, *value = NULL;
        size_t length = strlen(name);

        while (text && (line = text_next_word(arena, &text, "\n"))) {
                line += strspn(line, " \t");
                if (!text_starts_with(line, "set "))
                        continue;
                line += strlen("set ") + strspn(line + strlen("set "), " \t");
                if (strncmp(line, name, length) == 0 && line[length] == '=' &&
                    !strstr(line, "next_entry"))
                        value = unquote(arena, text_strip(arena, line + length + 1));
        }
        return value;
}

static size_t name_length(const char *string) {
        return strspn(string, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

/* Replaces $NAME and ${NAME}; what is not known becomes nothing, as in GRUB. */
static char *expand(Arena *arena, const char *line, const char *script, const char *environment) {
        Text text = text_in(arena);
        unsigned n = 0;

        text_add(&text, "");
        while (*line && text.length < LINE_MAX_BYTES) {
                size_t plain = strcspn(line, "$");
                bool has_brace;

                text_add_n(&text, line, plain);
                line += plain;
                if (*line != '$')
                        break;
                has_brace = line[1] == '{';
                line += 1 + has_brace;
                size_t length = name_length(line);
                char *name = arena_strndup(arena, line, length);
                const char *value = ++n > EXPANSIONS_MAX ? NULL : script_get(arena, script, name);

                if (!value && n <= EXPANSIONS_MAX)
                        value = grub_environment_get(arena, environment, name);
                text_add(&text, value && !strchr(value, '$') ? value : "");
                line += length;
                line += has_brace && *line == '}';
        }
        return text.string;
}

typedef struct GrubEntry {
        const char *title, *id;
        const char *line;   /* NULL: none seen */
        unsigned top_index; /* of the menuentry or submenu at the top that it is (in) */
} GrubEntry;

typedef VEC(GrubEntry) GrubEntries;

/* "menuentry 'TITLE' --class x $menuentry_id_option 'ID' {" */
static GrubEntry read_menuentry(Arena *arena, const char *line) {
        GrubEntry entry = {};

        for (const char *at = strpbrk(line, "'\""); at; at = strpbrk(at, "'\"")) {
                const char *end = strchr(at + 1, *at);

                if (!end)
                        break;
                const char *word = arena_strndup(arena, at + 1, (size_t) (end - at - 1));

                if (!entry.title)
                        entry.title = word;
                entry.id = word; /* the last word in quotes */
                at = end + 1;
        }
        return entry;
}

/* What follows the path of the kernel. */
static const char *kernel_arguments_of(const char *line) {
        static const char *const commands[] = {"linux", "linux16", "linuxefi"};
        size_t length = strcspn(line, " \t");

        for (size_t i = 0; i < ARRAY_LEN(commands); i++)
                if (length == strlen(commands[i]) && strncmp(line, commands[i], length) == 0) {
                        line += length + strspn(line + length, " \t");
                        line += strcspn(line, " \t");
                        return line + strspn(line, " \t");
                }
        return NULL;
}

static GrubEntries read_entries(Arena *arena, const char *text) {
        GrubEntries entries = {};
        unsigned depth = 0, n_top = 0;
        const char *arguments;
        char *line;

        while ((line = text_next_word(arena, &text, "\n"))) {
                bool is_entry, is_submenu;

                line = text_strip(arena, line);
                is_entry = text_starts_with(line, "menuentry ");
                is_submenu = text_starts_with(line, "submenu ");
                n_top += (is_entry || is_submenu) && depth == 0;
                if (is_entry && entries.n < ENTRIES_MAX) {
                        GrubEntry *entry = vec_push(arena, &entries);

                        *entry = read_menuentry(arena, line);
                        entry->top_index = n_top - 1;
                }
                if (entries.n > 0 && !entries.items[entries.n - 1].line &&
                    (arguments = kernel_arguments_of(line)))
                        entries.items[entries.n - 1].line = arguments;
                if ((is_entry || is_submenu) && text_ends_with(line, "{"))
                        depth++;
                else if (text_equals(line, "}") && depth > 0)
                        depth--;
        }
        return entries;
}

/* What is to be booted: a number, a title or an id, the last part of "submenu>entry". */
static const char *default_entry(Arena *arena, const char *text, const char *environment) {
        const char *name = grub_environment_get(arena, environment, "next_entry");

        if (!name || !*name)
                name = script_get(arena, text, "default");
        if (name && strstr(name, "saved_entry"))
                name = grub_environment_get(arena, environment, "saved_entry");
        if (!name || !*name)
                return "0";
        const char *last = strrchr(name, '>');

        return last ? last + 1 : name;
}

char *grub_config_command_line(Arena *arena, const char *text, const char *environment) {
        const char *wanted = default_entry(arena, text, environment);
        GrubEntries entries = read_entries(arena, text);
        const GrubEntry *chosen = NULL;
        uint64_t index;
        bool is_index = kernel_number_parse(wanted, &index, NULL) == 0 &&
                        wanted[strspn(wanted, "0123456789")] == '\0';

        VEC_FOREACH(entry, &entries)
                if (!chosen && entry->line &&
                    (is_index
                             ? entry->top_index == index
                             : text_equals(entry->id, wanted) || text_equals(entry->title, wanted)))
                        chosen = entry;
        VEC_FOREACH(entry, &entries)
                if (!chosen && entry->line)
                        chosen = entry;
        return chosen ? expand(arena, chosen->line, text, environment) : NULL;
}

char *boot_entry_command_line(Arena *arena, const char *text, const char *environment) {
        Text options = text_in(arena);
        char *line;

        while ((line = text_next_word(arena, &text, "\r\n"))) {
                line += strspn(line, " \t");
                if (!text_starts_with(line, "options") || !strchr(" \t", line[strlen("options")]))
                        continue;
                text_printf(&options, "%s%s", options.length > 0 ? " " : "",
                            text_strip(arena, line + strlen("options")));
        }
        return options.string ? expand(arena, options.string, "", environment) : NULL;
}

/* ---- extlinux.conf ---- */

typedef struct ExtlinuxLabel {
        const char *name;
        const char *append; /* NULL: that of the whole file */
        bool is_default;    /* "menu default" */
} ExtlinuxLabel;

typedef struct Extlinux {
        VEC(ExtlinuxLabel) labels;
        const char *wanted; /* the label to be booted; NULL: not said */
        const char *append; /* of labels without one of their own */
} Extlinux;

/* The rest of a line that begins with KEYWORD, whatever the case; NULL where it does not. */
static const char *after_keyword(const char *line, const char *keyword) {
        size_t length = strlen(keyword);

        if (strncasecmp(line, keyword, length) != 0 ||
            (line[length] != ' ' && line[length] != '\t'))
                return NULL;
        return line + length + strspn(line + length, " \t");
}

static void read_extlinux_line(Arena *arena, Extlinux *file, const char *line) {
        ExtlinuxLabel *label = file->labels.n > 0 ? &file->labels.items[file->labels.n - 1] : NULL;
        const char *rest;

        if ((rest = after_keyword(line, "label")) && file->labels.n < ENTRIES_MAX)
                *vec_push(arena, &file->labels) = (ExtlinuxLabel){.name = rest};
        else if ((rest = after_keyword(line, "append")))
                *(label ? &label->append : &file->append) = text_equals(rest, "-") ? "" : rest;
        else if ((rest = after_keyword(line, "ontimeout")) ||
                 (!file->wanted && (rest = after_keyword(line, "default"))))
                file->wanted = rest;
        else if (label && (rest = after_keyword(line, "menu")) && strcasecmp(rest, "default") == 0)
                label->is_default = true;
}

/* "default" may name a menu program instead of a label. */
static const ExtlinuxLabel *choose_label(const Extlinux *file) {
        VEC_FOREACH(label, &file->labels)
                if (text_equals(label->name, file->wanted))
                        return label;
        VEC_FOREACH(label, &file->labels)
                if (label->is_default)
                        return label;
        return file->labels.n > 0 ? file->labels.items : NULL;
}

char *extlinux_command_line(Arena *arena, const char *text) {
        Extlinux file = {.append = ""};
        const ExtlinuxLabel *label;
        char *line;

        while ((line = text_next_word(arena, &text, "\r\n")))
                read_extlinux_line(arena, &file, text_strip(arena, line));
        label = choose_label(&file);
        return label ? arena_strdup(arena, label->append ? label->append : file.append) : NULL;
}

void boot_loader_add_sources(Arena *arena, BootLoader *loader, const char *file, const char *text,
                             const char *name) {
        unsigned line = 0;

        while (*text) {
                size_t length = strcspn(text, "\n");
                char *one = text_strip(arena, arena_strndup(arena, text, length));

                line++;
                if (name ? strncasecmp(one, name, strlen(name)) == 0 : *one != '\0' && *one != '#')
                        *vec_push(arena, &loader->sources) =
                                (BootSource){.file = file, .line = line, .text = one};
                text += length + (text[length] == '\n');
        }
}

/* ---- instructions ---- */

typedef struct Instructor {
        Arena *arena;
        const BootLoader *loader;
        const KernelAdvice *advice;
        Instructions list;
} Instructor;

static void say(Instructor *instructor, const char *format, ...) PRINTF_LIKE(2, 3);

static void say(Instructor *instructor, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        *vec_push(instructor->arena, &instructor->list) =
                arena_vprintf(instructor->arena, format, arguments);
        va_end(arguments);
}

/* "replace 'A' with 'B'" */
static char *describe(Arena *arena, const KernelChange *change) {
        if (!change->from)
                return arena_printf(arena, "add '%s'", change->to);
        if (change->is_unclear)
                return arena_printf(arena, "put '%s' right as said above", change->from);
        if (!change->to)
                return arena_printf(arena, "take '%s' out", change->from);
        return arena_printf(arena, "replace '%s' with '%s'", change->from, change->to);
}

/* Whether WORDS stand in LINE as whole words, one after the other. */
static bool has_words(const char *line, const char *words) {
        static const char borders[] = " \t\"'=";
        size_t length = strlen(words);

        for (const char *at = line; (at = strstr(at, words)); at++)
                if ((at == line || strchr(borders, at[-1])) &&
                    (at[length] == '\0' || strchr(borders, at[length])))
                        return true;
        return false;
}

static const BootSource *find_source(const BootLoader *loader, const char *words) {
        VEC_FOREACH(source, &loader->sources)
                if (words && has_words(source->text, words))
                        return source;
        return NULL;
}

/* One change by hand, in the line of the settings where its words are, or in FALLBACK. */
static void say_edit(Instructor *instructor, const KernelChange *change, const char *fallback) {
        const BootSource *source = find_source(instructor->loader, change->from);

        if (source)
                say(instructor, "in %s, line %u: %s", source->file, source->line,
                    describe(instructor->arena, change));
        else
                say(instructor, "in %s: %s", fallback, describe(instructor->arena, change));
}

static bool is_page_words(const char *words) {
        return text_starts_with(words, "hugepages=") || text_starts_with(words, "hugepagesz=");
}

/* "hugepagesz=1G hugepages=4" for this size in a line of settings; NULL: it has none. */
static char *find_pair(Arena *arena, const char *text, uint64_t page_size_bytes) {
        char *words = arena_strdup(arena, text);

        for (char *quote = words; (quote = strpbrk(quote, "\"'"));)
                *quote = ' ';
        KernelArguments arguments = kernel_arguments_parse(arena, words);

        for (size_t i = 0; i < arguments.n; i++) {
                const KernelArgument *size = &arguments.items[i], *pages = size + 1;

                if (kernel_phrase_size_bytes(size->word) != page_size_bytes)
                        continue;
                return i + 1 < arguments.n && text_equals(pages->name, "hugepages")
                               ? arena_printf(arena, "%s %s", size->word, pages->word)
                               : arena_strdup(arena, size->word);
        }
        return NULL;
}

/* What is to be done to the settings: they may ask for pages of that size already, though the boot
 * entry was not made anew since. The kernel would ignore a second pair. */
static KernelChange in_settings(const Instructor *instructor, const KernelChange *change) {
        KernelChange changed = *change;

        if (change->from || !is_page_words(change->to))
                return changed;
        VEC_FOREACH(source, &instructor->loader->sources)
                if (!changed.from)
                        changed.from = find_pair(instructor->arena, source->text,
                                                 kernel_phrase_size_bytes(change->to));
        return changed;
}

/* What is written in the settings already needs no second time. */
static bool is_written(const Instructor *instructor, const KernelChange *change) {
        return change->to && find_source(instructor->loader, change->to) &&
               (!change->from || !find_source(instructor->loader, change->from));
}

/* All changes by hand, but for those that are written already. */
static void say_edits(Instructor *instructor, const char *fallback) {
        VEC_FOREACH(item, &instructor->advice->changes) {
                const KernelChange change = in_settings(instructor, item);

                if (!is_written(instructor, item))
                        say_edit(instructor, &change, fallback);
        }
}

static void say_grub(Instructor *instructor) {
        const BootLoader *loader = instructor->loader;
        Text added = text_in(instructor->arena);

        VEC_FOREACH(item, &instructor->advice->changes) {
                const KernelChange change = in_settings(instructor, item);

                if (is_written(instructor, item))
                        continue;
                if (!change.from && loader->has_update_grub)
                        text_printf(&added, " %s", change.to);
                else
                        say_edit(instructor, &change, "GRUB_CMDLINE_LINUX of /etc/default/grub");
        }
        if (added.length > 0)
                say(instructor,
                    "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX%s\"' > " GRUB_DROPIN,
                    added.string);
        if (loader->has_update_grub)
                say(instructor, "update-grub");
        else
                say(instructor, "grub2-mkconfig -o %s",
                    loader->grub_config ? loader->grub_config : "/boot/grub2/grub.cfg");
}

static const KernelChange *find_change(const KernelAdvice *advice, const char *from) {
        VEC_FOREACH(change, &advice->changes)
                if (text_equals(change->from, from))
                        return change;
        return NULL;
}

static void add_words(Text *text, const char *words) {
        if (words)
                text_printf(text, "%s%s", text->length > 0 ? " " : "", words);
}

/* All pairs of hugepagesz= and hugepages= as they are to be: grubby takes out every argument of a
 * name that it is given, so that the pairs of other sizes have to be given with it. */
static void collect_grubby(Instructor *instructor, Text *add, Text *remove) {
        const KernelAdvice *advice = instructor->advice;
        bool has_pages = false;

        VEC_FOREACH(change, &advice->changes) {
                const char *words = change->from ? change->from : change->to;

                has_pages = has_pages || (is_page_words(words) && !change->is_unclear);
                if (is_page_words(words) && !change->from)
                        continue;
                if (change->is_unclear)
                        say_edit(instructor, change, "the boot entries");
                else if (!is_page_words(words)) {
                        if (change->from)
                                add_words(remove, change->from);
                        add_words(add, change->to);
                }
        }
        VEC_FOREACH(phrase, &advice->next_phrases) {
                const KernelChange *change = find_change(advice, *phrase);

                if (has_pages && is_page_words(*phrase))
                        add_words(add, change && !change->is_unclear ? change->to : *phrase);
        }
        VEC_FOREACH(change, &advice->changes)
                if (!change->from && is_page_words(change->to))
                        add_words(add, change->to);
}

static void say_grubby(Instructor *instructor) {
        Text add = text_in(instructor->arena), remove = text_in(instructor->arena);

        collect_grubby(instructor, &add, &remove);
        if (remove.length > 0)
                say(instructor, "grubby --update-kernel=ALL --remove-args=\"%s\"", remove.string);
        if (add.length > 0)
                say(instructor, "grubby --update-kernel=ALL --args=\"%s\"", add.string);
        /* From there new kernels take theirs. */
        if (instructor->loader->sources.n > 0)
                say_edits(instructor, instructor->loader->sources.items[0].file);
        say(instructor, "hugeplanctl cmdline  # grubby of old releases keeps one page size only");
}

static void say_kernel_install(Instructor *instructor) {
        const BootLoader *loader = instructor->loader;
        const char *release = loader->kernel_release ? loader->kernel_release : "$(uname -r)";

        if (loader->sources.n == 0)
                say(instructor, "write the kernel command line into /etc/kernel/cmdline "
                                "(/proc/cmdline has the present one)");
        say_edits(instructor, "/etc/kernel/cmdline");
        if (loader->has_image_in_modules)
                say(instructor, "kernel-install add %s /lib/modules/%s/vmlinuz", release, release);
        else
                say(instructor, "kernel-install add %s /boot/vmlinuz-%s", release, release);
}

static void say_uki(Instructor *instructor) {
        Text added = text_in(instructor->arena);
        bool is_rebuilt = false;

        VEC_FOREACH(change, &instructor->advice->changes)
                if (change->from)
                        is_rebuilt = true;
                else
                        add_words(&added, change->to);
        if (is_rebuilt) {
                say_kernel_install(instructor);
                return;
        }
        say(instructor, "ukify build --cmdline='%s' --output=%s/loader/addons/hugeplan.addon.efi",
            text_string(&added), instructor->loader->esp ? instructor->loader->esp : "/efi");
        say(instructor, "with Secure Boot, sign it: ukify's --secureboot-private-key= and "
                        "--secureboot-certificate=");
}

static void say_extlinux(Instructor *instructor) {
        const BootLoader *loader = instructor->loader;

        say_edits(instructor, loader->extlinux_place);
        if (loader->extlinux_tool)
                say(instructor, "%s", loader->extlinux_tool);
}

static void say_unknown(Instructor *instructor) {
        VEC_FOREACH(change, &instructor->advice->changes)
                say(instructor,
                    "in the kernel command line, where this machine's boot is set up (boot loader, "
                    "virtual machine, PXE): %s",
                    describe(instructor->arena, change));
}

Instructions boot_loader_instruct(Arena *arena, const BootLoader *loader,
                                  const KernelAdvice *advice) {
        static void (*const how[])(Instructor *) = {
                [BOOT_LOADER_UNKNOWN] = say_unknown,
                [BOOT_LOADER_GRUB] = say_grub,
                [BOOT_LOADER_GRUB_ENTRIES] = say_grubby,
                [BOOT_LOADER_SYSTEMD_BOOT] = say_kernel_install,
                [BOOT_LOADER_UKI] = say_uki,
                [BOOT_LOADER_EXTLINUX] = say_extlinux,
        };
        Instructor instructor = {.arena = arena, .loader = loader, .advice = advice};

        if (advice->changes.n > 0)
                how[loader->kind](&instructor);
        if (advice->changes.n > 0 || advice->verdict == KERNEL_LINE_REBOOT)
                say(&instructor, "reboot");
        return instructor.list;
}
