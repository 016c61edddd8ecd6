/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How a document looks in a browser, light and dark, and on paper. */
extern const char document_style[];
