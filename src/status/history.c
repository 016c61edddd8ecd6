/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/history.h"

#include "base/text.h"

#include <stddef.h>
#include <string.h>

const HistoryEventRow history_events[] = {
        [HISTORY_PROBLEM] = {"problem"},
        [HISTORY_RESERVED] = {"reserved", "pool"},
        [HISTORY_REPAIRED] = {"repaired", "pool"},
        [HISTORY_SHORT] = {"short", "pool"},
        [HISTORY_GIVEN_BACK] = {"given-back", "pool"},
        [HISTORY_DRIFT] = {"drift"},
        [HISTORY_SET] = {"set", "host-set"},
        [HISTORY_LEARNED] = {"learned", "learned"},
        [HISTORY_GATE_PASSED] = {"gate-passed", "start"},
        [HISTORY_GATE_REFUSED] = {"gate-refused", "start"},
};

/* ---- fields ---- */

#define TEXT_FIELD(field, member) \
        { field, offsetof(HistoryEntry, member), false }
#define NUMBER_FIELD(field, member) \
        { field, offsetof(HistoryEntry, member), true }
const HistoryField history_fields[] = {
        TEXT_FIELD("MESSAGE", text),
        NUMBER_FIELD("PRIORITY", level),
        TEXT_FIELD("HUGEPLAN_EVENT", event),
        TEXT_FIELD("HUGEPLAN_KIND", kind),
        NUMBER_FIELD("HUGEPLAN_NODE", figures.node),
        NUMBER_FIELD("HUGEPLAN_PAGE_SIZE", figures.page_size_bytes),
        NUMBER_FIELD("HUGEPLAN_PAGES_BEFORE", figures.pages_before),
        NUMBER_FIELD("HUGEPLAN_PAGES", figures.pages),
        NUMBER_FIELD("HUGEPLAN_PAGES_WANTED", figures.pages_wanted),
        TEXT_FIELD("UNIT", unit),
        TEXT_FIELD("CONFIG_FILE", file),
        NUMBER_FIELD("CONFIG_LINE", line),
};
const size_t n_history_fields = ARRAY_LEN(history_fields);

SourceNames history_to_fields(Arena *arena, const HistoryEntry *entry) {
        SourceNames list = {};

        ARRAY_FOREACH(field, history_fields, n_history_fields) {
                const void *at = (const char *) entry + field->at;
                const HistoryNumber *number = at;
                const char *value = !field->is_number ? *(const char *const *) at
                                    : number->is_known
                                            ? arena_printf(arena, "%" PRIu64, number->value)
                                            : NULL;

                if (value)
                        *vec_push(arena, &list) = arena_printf(arena, "%s=%s", field->name,
                                                               text_printable(arena, value));
        }
        VEC_FOREACH(instance, &entry->instances)
                *vec_push(arena, &list) =
                        arena_printf(arena, HISTORY_INSTANCE_FIELD "=%s", *instance);
        return list;
}

/* ---- message identifiers ---- */

const Message messages[] = {
        {"ready", "6e1dd7930b824b9bad02702223c88d5e"},
        {"pending", "a16877c6e8e2470db96277c2163560cf"},
        {"config", "df47e2aebed141b68ddcc7c34ba99ceb"},
        {"stands-aside", "0f5a5b7ef5e342329c0f2f8482560cbf"},
        {"no-page-size", "0f04d605fe754ff99b39469147e63650"},
        {"node-absent", "f460405e0cda4b29b2bcc1e26158acc8"},
        {"outside-cpuset", "82c0548980c447f8bd88589f4789642d"},
        {"engine-size", "b86b48ed65e442c2b813b822fd271d50"},
        {"not-enough-memory", "0262e3313bf44793811dc8789b446119"},
        {"fragmented", "568e68a11d6d4bcebe525174a585225a"},
        {"write-failed", "b494377bb053437f9cefc7b1bf188585"},
        {"taken", "2e41de1631244993b0bb109e0e9476cc"},
        {"pool-shrank", "6a9a00737d70409eb97df0a76a0975e9"},
        {"boot-guard", "851c64de7f974d6591137e1f1c7f7cb4"},
        {"released", "76d644a71b7046a89765a89e6f3bad1e"},
        {"size-unknown", "9175146029e345b3a08062974458033e"},
        {"beyond-bound", "071532418bad40c793afece3fe118792"},
        {"no-hugetlb-limit", "4ce6a0409b2b4c2194f94e6035d49038"},
        {"memory-limit", "4707a20a692141e4a2b7dab88cd382e5"},
        {"mount-missing", "17dafd2fad8746f0acd9fb3949257dbb"},
        {"drift", "3fb0576c9d044a098f7196d8eaacbd51"},
        {"held-back", "0e1ab1d687f1403db2899fbdfd7e7664"},
        {"dropin-missing", "58aa7cb835f8498b8a2302372b837535"},
        {"gate", "7e358aa3b26c433098bef3bd49427b24"},
        {"unit", "10b44694ddc844eabe7b9023eb303214"},
        {"surplus-pages", "ef7befa533d34c78ac31bad8d20afbb9"},
        {"pages-exposed", "c1d4cdd323f249e3a9c78213fda6514e"},
        {"pages-kept", "ea81f477db72483f9d0884158e522490"},
        {"gate-refused", "4da08dcdfe474248a2740c1005626445"},
        {"thp-conflict", "626a01e3ca084601ae0bcd5858e9c597"},
        {"thp-write", "aff5b4e65c4d48e7819b4a540d31d85a"},
        {"shm-group-missing", "d4febc9ff26e4814982bb0d2eb0bd38c"},
        {"shm-group-replaced", "a994478af8fe47928805b4c7fbd1995d"},
        {"limit-write", "99ba85b403924857a9854a037557b979"},
        {"state-write", "283d9d21423e4392a544b76d4b230523"},
        {"mount-taken", "096f0de55c124872a77a08c2ca42974b"},
        {"mount-outdated", "3dbefde68b92432bae2dbae1cb51c2d8"},
        {"host-unreadable", "a41c6d0e7b5948f2930cb8e1d27f5a64"},
        {"no-daemon", "8b1958a231304197a5571a22ba49f988"},
        {"reload-pending", "e3e5f63961794fada9b5a17970ee233f"},
        {"reload-refused", "30d25ffcc90840ba8647cc59e487128e"},
        {"no-unit", "4470ff756b1f4a59b2691849e921d4b4"},
        {"conflict", "02a208130ea04c1c85db5311cdcfa651"},
        {"cmdline", "d7f970ef6e3b443db43a8f8a7112803a"},
        {"existing-pages-kept", "bb64d1a7bb59452ebf57a29c86359b02"},
        {"database-files", "e9bf3949d51a47059813716e929e77d1"},
        {"pool", "3b12d258c4414ac8af21ab98391d39b4"},
        {"start", "368557a7103a427b929f615200a9ba12"},
        {"learned", "feaae98d92f24d7c89c15cf4b9cd4a4b"},
        {"host-set", "a0820c78ed3d4dd6995182b592d8482a"},
};
const size_t n_messages = ARRAY_LEN(messages);

static const Message *find_message(const char *kind, size_t length) {
        return ARRAY_FIND(message, messages, n_messages,
                          strlen(message->kind) == length &&
                                  strncmp(message->kind, kind, length) == 0);
}

const Message *message_find(const char *kind) {
        const Message *message = kind ? find_message(kind, strlen(kind)) : NULL;

        return message || !kind ? message : find_message(kind, strcspn(kind, "-"));
}

const char *message_kind(const StatusInstance *instance) {
        switch (instance->verdict) {
        case VERDICT_READY:
        case VERDICT_PENDING:
                return verdict_name(instance->verdict);
        case VERDICT_INVALID:
                return reason_id(REASON_CONFIG);
        default:
                return reason_id(instance->reason.kind);
        }
}
