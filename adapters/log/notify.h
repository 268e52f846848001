/* Tells the service manager (systemd, NOTIFY_SOCKET) how the process is. Does nothing without one. */
#ifndef CARILLON_ADAPTERS_LOG_NOTIFY_H
#define CARILLON_ADAPTERS_LOG_NOTIFY_H

/* "READY=1", "STOPPING=1", "STATUS=…". */
void notify_manager(const char *state);

#endif
