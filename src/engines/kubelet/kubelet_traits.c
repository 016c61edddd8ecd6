/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

/* Read, not measured. The kubelet reads each pool's nr_hugepages as it starts (cadvisor's GetHugePagesInfo(), for
 * the host and for each node) and offers all of it to pods; pages that come later it sees when it is restarted
 * (kubernetes.io, "Manage HugePages"). It takes none itself: pods do, in groups of their own beside its unit's. So
 * there is no default unit, whose pages these would be. */
const Engine engine_kubelet = {
        .name = "kubelet",
        .title = "Kubernetes' kubelet",
        .thp_preference = THP_AUTO,
        .reserves = true,
        .programs = "kubelet k3s rke2",
        .units = "*kubelet*.service k3s*.service rke2*.service",
};
