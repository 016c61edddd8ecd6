/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/read_fault.h"

#include "base/vec.h"

#include <errno.h>

/* Every other error is a fault. */
bool error_is_fault(int error) {
        static const int answers[] = {
                ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, EINVAL,     ELOOP,   ENAMETOOLONG,
                EFBIG,  E2BIG,   ENODEV, ENXIO,  ESRCH, EOPNOTSUPP, ENODATA, EBUSY,
        };

        return error < 0 && !ARRAY_FIND(answer, answers, ARRAY_LEN(answers), *answer == -error);
}
