"""Imported first by the fork server, which must not end before its workers.

A stop that reaches the whole group would: the default of SIGTERM is to end a process.
"""

from service.processes import leave_signals_to_parent

leave_signals_to_parent()
