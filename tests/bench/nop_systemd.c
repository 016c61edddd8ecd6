/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every program costs that is linked with libsystemd. */
int main(void) {
        return 0;
}
