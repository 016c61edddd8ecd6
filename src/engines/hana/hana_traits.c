/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

/* Read, not measured. SAP Note 2131662, as it stands since HANA 2.0 SPS 08: `enabled` and `defrag` madvise (cited at
 * www.x-l-c.de/performance-issues-with-thp-on-multi-numa-node-systems, with SUSE's KB 22286). Earlier notes wanted
 * never (1824819 for SLES 11: "may lead to hanging situations"); a HANA that does not call madvise(2) gets none under
 * madvise either, so one preference suits all versions. HANA takes no reserved pages. */
const Engine engine_hana = {
        .name = "hana",
        .title = "SAP HANA",
        .thp_preference = THP_MADVISE,
        .programs = "sapstartsrv sapinit hdbdaemon HDB",
        .servers = "hdbdaemon hdbnameserver hdbindexserver",
        .units = "SAP*.service sap*.service",
};
