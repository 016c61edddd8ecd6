/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

/* Read, not measured. The kubelet reads each pool's nr_hugepages at its start (cadvisor's GetHugePagesInfo(), for the
 * host and for each node) and offers all of it to pods; it sees later pages only after a restart (kubernetes.io,
 * "Manage HugePages"). The kubelet itself takes no pages: pods take them, in control groups outside its unit's.
 * Therefore there is no default unit to which these pages would belong. */
const Engine engine_kubelet = {
        .name = "kubelet",
        .title = "Kubernetes' kubelet",
        .thp_preference = THP_AUTO,
        .reserves = true,
        .programs = "kubelet k3s rke2",
        .units = "*kubelet*.service k3s*.service rke2*.service",
};
