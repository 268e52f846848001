/* Log lines of the ZooKeeper client. It logs through one function without a context, so its target is one a process;
 * lines are cut to a few in ten seconds (an unreachable ensemble makes thirty a second) and told on the loop. */
#ifndef CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_LOG_H
#define CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_LOG_H

struct loop;
struct sink;

void zookeeper_log_target(struct loop *loop, struct sink *sink); /* sink NULL: lines are dropped */
void zookeeper_log_forget(struct loop *loop);                    /* if it is the target */
void zookeeper_log_line(const char *message);                    /* any thread; for zookeeper_init2 */

#endif
