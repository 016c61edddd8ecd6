/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cost of any dynamic program. */
int main(void) {
        return 0;
}
