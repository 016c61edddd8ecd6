/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every dynamic program costs. */
int main(void) {
        return 0;
}
