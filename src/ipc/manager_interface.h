/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The names of hugepland's Varlink interface. Its definition is org.hugeplan.Manager.varlink; the methods are the
 * daemon's. The interface only ever grows: fields, methods and errors are added, never changed or removed.
 *
 * Enumerations where the set of words is closed by design, strings where it may grow: clients made from the definition
 * take a new word in an enumeration for an error. On the wire both are strings. */

#include "model/names.h"

#define MANAGER_INTERFACE NAME_SOCKET /* the socket is named after it */

#define MANAGER_DESCRIBE MANAGER_INTERFACE ".Describe"
#define MANAGER_WAIT     MANAGER_INTERFACE ".Wait"
#define MANAGER_RELOAD   MANAGER_INTERFACE ".Reload"
#define MANAGER_RELEASE  MANAGER_INTERFACE ".Release"
#define MANAGER_LEARN    MANAGER_INTERFACE ".Learn"

#define MANAGER_ERROR_NO_SUCH_INSTANCE MANAGER_INTERFACE ".NoSuchInstance"
#define MANAGER_ERROR_REFUSED          MANAGER_INTERFACE ".Refused"
#define MANAGER_ERROR_TIMED_OUT        MANAGER_INTERFACE ".TimedOut"
#define MANAGER_ERROR_CONFIG_INVALID   MANAGER_INTERFACE ".ConfigInvalid"
#define MANAGER_ERROR_RELOAD_REFUSED   MANAGER_INTERFACE ".ReloadRefused"
