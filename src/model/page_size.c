/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/topology.h"

int page_size_parse(const char *string, uint64_t *ret_bytes) {
        uint64_t bytes;

        if (parse_size_bytes(string, &bytes) < 0 || bytes < HUGE_PAGE_BYTES_MIN ||
            !is_power_of_two(bytes))
                return -EINVAL;
        *ret_bytes = bytes;
        return 0;
}

int topology_page_size_index(const Topology *topology, uint64_t page_size_bytes) {
        for (size_t i = 0; i < topology->n_page_sizes; i++)
                if (topology->page_sizes[i].bytes == page_size_bytes)
                        return (int) i;
        return -1;
}
