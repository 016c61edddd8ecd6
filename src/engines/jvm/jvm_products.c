/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/jvm/jvm.h"

#include "base/text.h"
#include "engines/finder.h"

#include <string.h>

/* Sources: bin/elasticsearch-env and opensearch-env; kafka-server-start.sh and kafka-run-class.sh; catalina.sh, and
 * Debian's tomcat-start.sh; cassandra.in.sh, cassandra-env.sh and the init scripts of Cassandra's packages. */
static const JvmProduct products[] = {
        {
                .title = "Elasticsearch",
                .unit = "elasticsearch",
                .programs = "elasticsearch",
                .home_variable = "ES_HOME",
                .home = "/usr/share/elasticsearch",
                .directory_variable = "ES_PATH_CONF",
                .directories = "@/../config /etc/elasticsearch",
                .options_files = "jvm.options",
                .variables = "ES_JAVA_OPTS",
                .is_shielded = true,
                .java_variable = "ES_JAVA_HOME",
                .java = "@/../jdk",
        },
        {
                .title = "OpenSearch",
                .unit = "opensearch",
                .programs = "opensearch",
                .home_variable = "OPENSEARCH_HOME",
                .home = "/usr/share/opensearch",
                .directory_variable = "OPENSEARCH_PATH_CONF",
                .directories = "@/../config /etc/opensearch",
                .options_files = "jvm.options",
                .variables = "OPENSEARCH_JAVA_OPTS",
                .is_shielded = true,
                .java_variable = "OPENSEARCH_JAVA_HOME",
                .java = "@/../jdk",
        },
        {
                .title = "Kafka",
                .programs = "kafka-server-start.sh kafka-server-start",
                .scripts = "@/kafka-run-class.sh @/kafka-run-class",
                .variables = "KAFKA_HEAP_OPTS KAFKA_JVM_PERFORMANCE_OPTS KAFKA_GC_LOG_OPTS "
                             "KAFKA_JMX_OPTS KAFKA_LOG4J_OPTS KAFKA_LOG4J_CMD_OPTS KAFKA_OPTS",
                .java_variable = "JAVA_HOME",
        },
        {
                .title = "Tomcat",
                .programs = "catalina.sh tomcat-start.sh startup.sh",
                .directory_variable = "CATALINA_HOME",
                .directories = "@/..",
                .scripts = "${CATALINA_BASE}/bin/setenv.sh ${CATALINA_HOME}/bin/setenv.sh",
                .variables = "JAVA_OPTS CATALINA_OPTS",
                .java_variable = "JAVA_HOME",
        },
        {
                .title = "Cassandra",
                .programs = "cassandra",
                .directory_variable = "CASSANDRA_CONF",
                .directories = "@/../conf /etc/cassandra/conf /etc/cassandra",
                .options_files = "jvm-server.options jvm.options",
                .has_options_by_version = true,
                .scripts = "${CASSANDRA_CONF}/cassandra-env.sh /etc/default/cassandra",
                .before = "JVM_OPTS",
                .variables = "JVM_OPTS",
                .heap_variable = "MAX_HEAP_SIZE",
                .java_variable = "JAVA_HOME",
        },
};

/* Returns the absolute path of the first of NAMES in the unit's command line, or NULL. Also finds a program in a
 * shell's command line, which is a single word here. */
static const char *find_program(const UnitFile *unit, const SourceNames *words, const char *names) {
        const char *below = unit_file_value(unit, "Service", "WorkingDirectory");

        below = below ? below + (*below == '-') : "";
        VEC_FOREACH(each, words)
                TEXT_FOREACH(word, unit->arena, *each, " \t;&") {
                        if (!text_has_word(names, text_base_name(word)))
                                continue;
                        if (*word == '/')
                                return word;
                        return *below == '/' && strchr(word, '/')
                                       ? arena_printf(unit->arena, "%s/%s", below, word)
                                       : NULL;
                }
        return NULL;
}

const JvmProduct *jvm_product_of_unit(const UnitFile *unit, const char **ret_program,
                                      const char **ret_place) {
        SourceNames words = unit_file_start(unit);

        /* After java itself such a name is an argument. */
        if (words.n > 0 && text_equals(text_base_name(words.items[0]), "java"))
                words.n = 0;
        ARRAY_FOREACH(product, products, ARRAY_LEN(products)) {
                const char *home = NULL, *directory = NULL;

                *ret_program = find_program(unit, &words, product->programs);
                if (product->unit) {
                        home = unit_file_environment(unit, product->home_variable, NULL);
                        directory = unit_file_environment(unit, product->directory_variable, NULL);
                }
                if (!*ret_program && !home && !directory &&
                    !(product->unit && text_starts_with(unit->name, product->unit)))
                        continue;
                *ret_place = *ret_program ? *ret_program
                                          : arena_printf(unit->arena, "%s/bin/",
                                                         home ? home : product->home);
                return product;
        }
        return NULL;
}

Reads jvm_variable_reads(const char *name) {
        ARRAY_FOREACH(product, products, ARRAY_LEN(products)) {
                if ((product->variables && text_has_word(product->variables, name)) ||
                    text_equals(product->before, name))
                        return READS_WORD;
                if (text_equals(product->java_variable, name) ||
                    text_equals(product->directory_variable, name) ||
                    text_equals(product->home_variable, name) ||
                    text_equals(product->heap_variable, name))
                        return READS_VALUE;
        }
        return text_has_word("JAVA_OPTS CATALINA_OPTS JVM_OPTS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS "
                             "_JAVA_OPTIONS",
                             name)
                       ? READS_WORD
                       : READS_NOT;
}

/* ---- databases that no instance describes ---- */

/* The files of its unit may have further options. */
static bool is_process(Finder *finder UNUSED, const Process *process) {
        return source_names_have(&process->arguments, "-XX:+UseLargePages");
}

/* Any program may be written in Java: one of no known product is named only if it takes huge pages. */
static void describe(Finder *finder UNUSED, Candidate *candidate, const UnitFile *unit,
                     const char *program) {
        const char *script, *place;
        const JvmProduct *product = unit ? jvm_product_of_unit(unit, &script, &place) : NULL;

        if (!unit)
                candidate->title = "Java with large pages";
        else if (product)
                candidate->title = product->title;
        candidate->is_guess = unit && (!product || text_equals(program, "startup.sh"));
}

const EngineFinder finder_jvm = {.is_process = is_process, .describe = describe};
