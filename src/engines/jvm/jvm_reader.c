/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the options of the virtual machine that a unit starts: on the command line, in variables, in argument files,
 * and in the products' own files. */

#include "base/text.h"
#include "engines/jvm/jvm.h"
#include "model/problem.h"

#include <string.h>

enum { LINKS_MAX = 8, FILE_BYTES_MAX = 128 * 1024 };

typedef struct Search {
        Arena *arena;
        const EngineTarget *target;
        const Sources *sources;
        const UnitFile *unit;      /* NULL: not known */
        const JvmProduct *product; /* NULL: no known product */
        const char *program;       /* the product's script; NULL: not known */
        const char *place;         /* it, or its directory; NULL: not known */
        const char *directory;     /* of the product's configuration; NULL: not known */
        uint64_t java_major;       /* 0: not known */
        JvmScript script;
        JvmOptions options; /* in the virtual machine's order */
        Gathered *ret;
} Search;

/* Resolves "@/conf" relative to the directory of the product's script; returns NULL if that is not known. */
static const char *below_script(const Search *search, const char *path) {
        if (*path != '@')
                return path;
        if (!search->place)
                return NULL;
        const char *script = search->place;

        for (path += strlen("@/"); text_starts_with(path, "../") || text_equals(path, "..");
             path += strlen("..") + (path[2] == '/'))
                script = arena_strdup_to(search->arena, script, strrchr(script, '/'));
        return *path ? source_relative(search->arena, script, path)
                     : arena_strdup_to(search->arena, script, strrchr(script, '/'));
}

/* ---- the version ---- */

static bool is_java(const char *path) {
        return text_equals(path, "java") || text_ends_with(path, "/java");
}

/* "/usr/bin/java" -> "/usr/lib/jvm/java-17-openjdk-amd64", through the links of /etc/alternatives. */
static const char *home_of_program(const Search *search, const char *path) {
        const char *target;

        for (int i = 0;
             i < LINKS_MAX && (target = source_link(search->sources, search->arena, path)); i++)
                path = source_relative(search->arena, path, target);
        return text_ends_with(path, "/bin/java")
                       ? arena_strndup(search->arena, path, strlen(path) - strlen("/bin/java"))
                       : NULL;
}

/* Returns the home of the Java that is started; NULL: not known. The last resort is /usr/bin/java: *RET_IS_SURE is
 * false then, because a script may start another. */
static const char *find_java_home(const Search *search, bool *ret_is_sure) {
        const SourceNames *running = search->target->arguments;
        const SourceNames words = unit_file_start(search->unit);
        const JvmProduct *product = search->product;
        const char *home = NULL;

        *ret_is_sure = true;
        if (running && running->n > 0 && is_java(running->items[0]) && *running->items[0] == '/')
                return home_of_program(search, running->items[0]);
        if (product) {
                /* The one that its scripts are given or set, if that is certain; else its own. */
                const char *name = product->java_variable;

                home = jvm_script_find(&search->script, name)->value;
                if (!*home || strstr(home, SHELL_UNKNOWN) ||
                    VEC_ANY(other, &search->script.conditional, text_equals(other->name, name)))
                        home = product->java ? below_script(search, product->java) : NULL;
        }
        if (home)
                return home;
        if (words.n > 0 && *words.items[0] == '/' && is_java(words.items[0]))
                return home_of_program(search, words.items[0]);
        home = unit_file_environment(search->unit, "JAVA_HOME", NULL);
        *ret_is_sure = home != NULL;
        return home ? home : home_of_program(search, "/usr/bin/java");
}

/* Reads JAVA_VERSION="17.0.9" in HOME/release; if IS_SURE, it becomes a setting of the formula. */
static void read_version(Search *search, const char *home, bool is_sure) {
        static const char key[] = "JAVA_VERSION=\"";
        Arena *arena = search->arena;
        Gathered *ret = search->ret;

        if (!home || *home != '/')
                return;
        const char *path = arena_printf(arena, "%s/release", home), *line;
        SourceText text = source_read(search->sources, arena, path);
        SourceLines lines = source_lines(&text);

        while (!search->java_major && (line = source_line(arena, &lines))) {
                const char *rest = text_starts_with(line, key) ? line + strlen(key) : "";
                const char *version = arena_strndup(arena, rest, strspn(rest, "0123456789._+-"));

                search->java_major = jvm_major_version(version);
                if (search->java_major == 0)
                        continue;
                ret->version = version;
                /* The first release of a version has a single number: "17". */
                if (!strchr(ret->version, '.'))
                        ret->version = arena_printf(arena, "%s.0.0", ret->version);
                if (is_sure)
                        settings_add(arena, &ret->settings, "server_version", ret->version,
                                     source_origin(arena, path, lines.number));
        }
}

/* ---- files ---- */

/* Adds the options in the file PATH, which ORIGIN names (NULL: the configuration does): one in each line, or words. */
static const char *add_file(Search *search, const char *path, const char *origin, bool is_by_line) {
        Arena *arena = search->arena;
        SourceText text = source_read(search->sources, arena, path);
        const char *wrong = text.error < 0               ? strerror(-text.error)
                            : text.size > FILE_BYTES_MAX ? "it is too large for a file of options"
                            : memchr(text.text, '\0', text.size) ? "it is not a text file"
                                                                 : NULL;

        if (wrong)
                return arena_printf(arena, "%s%s%s cannot be read: %s", origin ? origin : "",
                                    origin ? ": " : "", path, wrong);
        if (is_by_line)
                jvm_options_read_lines(arena, &text, path, search->java_major, &search->options,
                                       &search->ret->problems);
        else
                jvm_options_read_arguments(arena, &text, path, &search->options);
        return NULL;
}

/* Adds a file of options, then the files in the directory named after it: jvm.options.d. */
static const char *add_options_files(Search *search, const char *path) {
        Arena *arena = search->arena;
        const char *directory = arena_printf(arena, "%s.d", path);
        SourceNames names = source_list(search->sources, arena, directory);
        const char *wrong = add_file(search, path, NULL, true);

        for (size_t i = 0; i < names.n && !wrong; i++)
                if (text_ends_with(names.items[i], ".options"))
                        wrong = add_file(search,
                                         arena_printf(arena, "%s/%s", directory, names.items[i]),
                                         NULL, true);
        return wrong;
}

static bool is_there(const Search *search, const char *path) {
        return source_exists(search->sources, search->arena, path);
}

/* ---- a product's files ---- */

static const char *find_options_file(const Search *search, const char *directory) {
        const char *first = NULL;

        TEXT_FOREACH(name, search->arena, search->product->options_files, " ") {
                const char *path = arena_printf(search->arena, "%s/%s", directory, name);

                if (is_there(search, path))
                        return path;
                first = first ? first : path;
        }
        return first;
}

static const char *find_directory(Search *search) {
        const char *only = NULL;

        if (search->product->directory_variable &&
            (only = unit_file_environment(search->unit, search->product->directory_variable, NULL)))
                return only;
        TEXT_FOREACH(path, search->arena, search->product->directories, " ") {
                const char *directory = below_script(search, path);
                const char *file = directory ? find_options_file(search, directory) : NULL;

                if (directory && (!file || is_there(search, file)))
                        return directory;
                only = directory ? directory : only;
        }
        return only;
}

/* ---- a product's scripts ---- */

static void read_script(Search *search, const char *path) {
        int r = jvm_script_read(&search->script, path);

        if (r < 0)
                diags_report(&search->ret->problems, problem_of(PROBLEM_DATABASE_FILES, path, NULL),
                             "what this script sets is not known: %s", strerror(-r));
}

/* Java gets the options of `before` ahead of those of files, so the variable is empty for the scripts. */
static void read_scripts(Search *search) {
        const JvmProduct *product = search->product;
        SourceNames names = {};

        search->directory = find_directory(search);
        if (product->directory_variable && search->directory)
                jvm_script_set(&search->script,
                               &(Variable){product->directory_variable, search->directory, NULL});
        if (product->before)
                jvm_script_set(&search->script, &(Variable){product->before, "", NULL});
        if (search->program)
                read_script(search, search->program);
        TEXT_FOREACH(word, search->arena, product->scripts, " ") {
                const char *path = below_script(search, word);

                path = path ? shell_take_word(search->arena, &path, " ", &search->script.variables)
                            : "";
                if (source_names_have(&names, text_base_name(path)) || *path != '/' ||
                    !is_there(search, path))
                        continue;
                *vec_push(search->arena, &names) = text_base_name(path);
                read_script(search, path);
        }
}

/* Whether VALUE has options that affect the virtual machine's size. */
static bool has_settings(const Search *search, const char *value) {
        JvmOptions options = {};
        Settings settings = {};

        jvm_options_read_variable(search->arena, value, "", &options);
        jvm_options_settings(search->arena, &options, &settings);
        return VEC_ANY(setting, &settings, !text_equals(setting->name, "Xms"));
}

static const char *refuse_computed(const Search *search, const Variable *variable,
                                   const char *how) {
        return arena_printf(search->arena,
                            "%s: %s is %s, which only a running %s shows; write its options "
                            "without variables, or Pages=",
                            variable->origin ? variable->origin : search->target->unit,
                            variable->name, how, search->product->title);
}

static const char *add_script_variable(Search *search, const char *name) {
        const Variable *variable = jvm_script_find(&search->script, name);
        const char *heap = search->product->heap_variable;

        TEXT_FOREACH(word, search->arena, variable->value, " \t\r\n\f\v\"'")
                if (strstr(word, SHELL_UNKNOWN) && has_settings(search, word))
                        return refuse_computed(search, variable, "computed by a script");
        VEC_FOREACH(other, &search->script.conditional)
                if (text_equals(other->name, name) && has_settings(search, other->value) &&
                    !(heap && strstr(other->value, "-Xmx")))
                        return refuse_computed(search, other, "set under a condition");
        jvm_options_read_variable(search->arena, variable->value, variable->origin,
                                  &search->options);
        return NULL;
}

/* ---- command lines and variables ---- */

static void add_variable(Search *search, const char *variable) {
        const char *origin = NULL, *value = unit_file_environment(search->unit, variable, &origin);

        if (value)
                jvm_options_read_variable(search->arena, value, origin, &search->options);
}

/* Options of the launcher whose value is the next word. */
static const char takes_next[] =
        "-cp -classpath --class-path -p --module-path --upgrade-module-path --add-modules --limit-modules "
        "--add-reads --add-exports --add-opens --patch-module --enable-native-access --source";
static const char ends[] = "-jar -m --module";

/* Adds java's own options, up to the class or archive, whose arguments follow. "@FILE" is relative to the unit's
 * working directory, and "@@" does not name a file. */
static const char *add_java_words(Search *search, const SourceNames *words, const char *origin) {
        const char *below = unit_file_value(search->unit, "Service", "WorkingDirectory");
        const char *wrong = NULL;

        below = below ? below + (*below == '-') : "";
        for (size_t i = 1; i < words->n && !wrong; i++) {
                const char *word = words->items[i], *path = word + 1;

                if (*word == '@' && *path != '@') {
                        if (*path != '/')
                                path = arena_printf(search->arena, "%s/%s",
                                                    *below == '/' ? below : "", path);
                        wrong = add_file(search, path, origin, false);
                } else if (text_has_word(takes_next, word)) {
                        i++;
                } else if (*word == '-' && !text_has_word(ends, word)) {
                        *vec_push(search->arena, &search->options) = (JvmOption){word, origin};
                } else if (*word != '@') {
                        break;
                }
        }
        return wrong;
}

static const char *add_unit(Search *search) {
        const SourceNames words = unit_file_start(search->unit);
        JvmOptions found = {};

        if (words.n == 0)
                return NULL;
        const UnitAssignment *start = unit_file_find(search->unit, "Service", "ExecStart");
        const char *origin = source_origin(search->arena, start->file, start->line);

        if (is_java(words.items[0]))
                return add_java_words(search, &words, origin);
        /* A script gets options for Java among its own words, or within a shell's command line. */
        for (size_t i = 1; i < words.n; i++)
                jvm_options_read_variable(search->arena, words.items[i], origin, &found);
        VEC_KEEP(option, &found, text_starts_with(option->text, "-X"));
        vec_push_all(search->arena, &search->options, &found);
        add_variable(search, "JAVA_OPTS");
        add_variable(search, "CATALINA_OPTS");
        add_variable(search, "JVM_OPTS");
        return NULL;
}

/* Adds the file of the newest version up to Java's own; if that is not known, of the newest version that has one. */
static const char *add_versions_file(Search *search) {
        static const unsigned versions[] = {25, 21, 17, 11, 8};
        uint64_t major = search->java_major > 0 ? search->java_major : UINT64_MAX;

        ARRAY_FOREACH(each, versions, ARRAY_LEN(versions)) {
                const char *path = arena_printf(search->arena, "%s/jvm%u-server.options",
                                                search->directory, *each);

                if (*each <= major && is_there(search, path))
                        return add_file(search, path, NULL, true);
        }
        return NULL;
}

static const char *add_product(Search *search) {
        const JvmProduct *product = search->product;
        const char *path = search->target->config_file, *names = product->variables, *name;
        const char *wrong = NULL;

        if (product->before)
                add_variable(search, product->before);
        if (!path && product->options_files && search->directory)
                path = find_options_file(search, search->directory);
        search->ret->config_file = path;
        if (path)
                wrong = add_options_files(search, path);
        if (!wrong && product->has_options_by_version && search->directory)
                wrong = add_versions_file(search);
        if (!wrong && search->script.is_cut)
                wrong = arena_printf(
                        search->arena,
                        "%s: its scripts set more options than hugeplan reads; write Pages=",
                        search->target->unit);
        while (!wrong && (name = text_next_word(search->arena, &names, " ")))
                wrong = add_script_variable(search, name);
        const char *heap_name = product->heap_variable;
        const Variable *heap = heap_name ? jvm_script_find(&search->script, heap_name) : NULL;

        /* Not if the script computes it from the host's memory (see check_settings()). */
        if (!wrong && heap && *heap->value && !strstr(heap->value, SHELL_UNKNOWN) &&
            !VEC_ANY(option, &search->options, text_starts_with(option->text, "-Xmx")))
                *vec_push(search->arena, &search->options) = (JvmOption){
                        arena_printf(search->arena, "-Xmx%s", heap->value), heap->origin};
        return wrong;
}

/* Adds options in the virtual machine's order, in which the last one counts: JAVA_TOOL_OPTIONS, the launcher's
 * JDK_JAVA_OPTIONS, the command line, _JAVA_OPTIONS (arguments.cpp, java(1)). */
static const char *add_options(Search *search) {
        bool is_shielded = search->product && search->product->is_shielded;
        const char *path = search->target->config_file, *wrong = NULL;

        if (!is_shielded) {
                add_variable(search, "JAVA_TOOL_OPTIONS");
                add_variable(search, "JDK_JAVA_OPTIONS");
        }
        if (search->target->arguments) { /* of the running process */
                wrong = add_java_words(search, search->target->arguments, "its command line");
        } else if (search->product) {
                wrong = add_product(search);
        } else {
                search->ret->config_file = path;
                if (path)
                        wrong = text_ends_with(path, ".options")
                                        ? add_options_files(search, path)
                                        : add_file(search, path, NULL, false);
                if (!wrong)
                        wrong = add_unit(search);
        }
        if (!is_shielded)
                add_variable(search, "_JAVA_OPTIONS");
        return wrong;
}

/* ---- what is missing ---- */

static const char *check_settings(const Search *search) {
        const Settings *settings = &search->ret->settings;
        const char *unit = search->target->unit, *file = search->ret->config_file;
        const char *place = file ? file : unit;

        if (!place)
                return "it is not known where Java's options are; write Unit=, or "
                       "ConfigFile= (jvm.options, or an argument file)";
        if (!settings_find(settings, "UseLargePages") &&
            !settings_find(settings, "UseTransparentHugePages"))
                return arena_printf(
                        search->arena,
                        "%s: there is no -XX:+UseLargePages, without which Java takes no "
                        "reserved huge pages%s",
                        place,
                        search->target->is_alone   ? "; add it"
                        : search->target->instance ? "; add it, or remove this instance"
                                                   : "");
        if (!settings_find(settings, "Xmx"))
                return arena_printf(
                        search->arena,
                        "%s: there is no -Xmx, so the heap depends on the host's memory; "
                        "write one such as -Xmx31g",
                        place);
        return NULL;
}

static const char *gather_jvm(Arena *arena, const Engine *engine UNUSED, const EngineTarget *target,
                              const Sources *sources, Gathered *ret) {
        Search search = {
                .arena = arena,
                .target = target,
                .sources = sources,
                .unit = target->unit ? unit_file_read(arena, sources, target->unit) : NULL,
                .script = {.arena = arena, .sources = sources},
                .ret = ret,
        };
        bool is_sure = false;

        ret->user = target->user ? target->user : unit_file_value(search.unit, "Service", "User");
        if (search.unit) {
                search.script.variables = unit_file_variables(search.unit);
                search.product = jvm_product_of_unit(search.unit, &search.program, &search.place);
        }
        if (search.product && !target->arguments)
                read_scripts(&search);
        const char *home = target->is_alone ? NULL : find_java_home(&search, &is_sure);

        read_version(&search, home, is_sure);
        const char *wrong = add_options(&search);

        if (wrong)
                return wrong;
        jvm_options_settings(arena, &search.options, &ret->settings);
        return check_settings(&search);
}

static const EngineFallback fallback = {
        "UseLargePages", NULL,
        "if the heap's pages are not available at its start, Java continues with small pages; its log has the warning 'Failed to reserve and commit memory'"};

static Reads reads(const Engine *engine UNUSED, const char *word) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *option = arena_printf(arena, "--%s", word);
        Reads reads = jvm_variable_reads(word);

        for (size_t i = 0; i < 2; i++) /* with two dashes, and with one */
                if (text_has_word(takes_next, option + i) || text_has_word(ends, option + i))
                        return READS_WORD;
        if (text_equals(word, "XX"))
                return READS_WORD;
        if (text_equals(word, "JAVA_VERSION"))
                return READS_VALUE;
        return reads != READS_NOT ? reads : jvm_option_reads(word);
}

const EngineReader reader_jvm = {.gather = gather_jvm,
                                 .reads = reads,
                                 .is_fixed = jvm_is_fixed,
                                 .fallbacks = &fallback,
                                 .n_fallbacks = 1};
