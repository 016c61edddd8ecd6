/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/messages.h"

#include "base/text.h"

static const Message messages[] = {
        {"ready", "6e1dd7930b824b9bad02702223c88d5e"},
        {"pending", "a16877c6e8e2470db96277c2163560cf"},
        {"config", "df47e2aebed141b68ddcc7c34ba99ceb"},
        {"no-hugetlb", "5aed36772e8c4b9baad7786500adf605"},
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
        {"drift", "3fb0576c9d044a098f7196d8eaacbd51"},
        {"thp-conflict", "626a01e3ca084601ae0bcd5858e9c597"},
        {"thp-write", "aff5b4e65c4d48e7819b4a540d31d85a"},
        {"held-back", "0e1ab1d687f1403db2899fbdfd7e7664"},
};

const char *message_id(const char *kind) {
        if (kind && text_starts_with(kind, "config-"))
                kind = "config";
        for (size_t i = 0; i < ARRAY_LEN(messages); i++)
                if (text_equals(kind, messages[i].kind))
                        return messages[i].id;
        return NULL;
}
