/**
 * Finds the ends of processes by the kernel's OOM killer in the records of /dev/kmsg. Pure. Upstream: cadvisor's utils/oomparser, whose patterns these are.
 */
export interface OomKill {
  readonly pid: number;
  /** The kernel cuts it after 15 bytes. */
  readonly processName: string;
  /** The cgroup of the killed process. `/` when the kernel does not say. */
  readonly cgroup: string;
  /** The node's memory was exhausted, not that of a cgroup. */
  readonly isSystemOOM: boolean;
}

const firstLine = /invoked oom-killer:/;
/** Since Linux 5.0: the limit of the cgroup oom_memcg was reached. */
const cgroupLine =
  /oom-kill:constraint=[^,]*,nodemask=.*,cpuset=.*,mems_allowed=.*,oom_memcg=(.*),task_memcg=(.*),task=(.*),pid=(\d+),uid=\d+/;
/** Since Linux 5.0: the memory of the node, or of the allowed NUMA nodes, was exhausted. */
const globalLine = /oom-kill:constraint=[^,]*,nodemask=.*,cpuset=.*,mems_allowed=.*,task_memcg=(.*),task=.*,pid=\d+,uid=\d+/;
/** Before Linux 5.0. */
const legacyLine = /Task in (.*) killed as a result of limit of (.*)/;
const lastLine = /Killed process (\d+) \((.+)\)/;

/** A report has at most some hundred lines between its first and its last, one for each process of the node. */
const maxLines = 100_000;

/** Feed it each record in order. It keeps what it knows of a report that has begun. */
export class OomParser {
  #report: { cgroup: string; limited: string; lines: number } | undefined;

  /** @param record `6,1234,5678,-;message`. Records that processes write to /dev/kmsg are ignored: their facility is not the kernel's. */
  add(record: string): OomKill | undefined {
    const [, priority, message = ''] = /^(\d+),[^;]*;([^\n]*)/.exec(record) ?? [];
    if (priority === undefined || Number(priority) >> 3 !== 0) return undefined;
    if (firstLine.test(message)) {
      this.#report = { cgroup: '/', limited: '/', lines: 0 };
      return undefined;
    }
    const report = this.#report;
    if (!report) return undefined;
    report.lines += 1;
    const [, oomCgroup, cgroup = '/', task = '', pid] = cgroupLine.exec(message) ?? [];
    if (oomCgroup !== undefined) return this.#end(Number(pid), task, cgroup, oomCgroup === '/');
    const [, globalCgroup] = globalLine.exec(message) ?? [];
    if (globalCgroup !== undefined) report.cgroup = globalCgroup;
    const [, legacyCgroup, legacyLimited = '/'] = legacyLine.exec(message) ?? [];
    if (legacyCgroup !== undefined) [report.cgroup, report.limited] = [legacyCgroup, legacyLimited];
    const [, killedPid, name = ''] = lastLine.exec(message) ?? [];
    if (killedPid !== undefined) return this.#end(Number(killedPid), name, report.cgroup, report.limited === '/');
    if (report.lines > maxLines) this.#report = undefined;
    return undefined;
  }

  #end(pid: number, processName: string, cgroup: string, isSystemOOM: boolean): OomKill {
    this.#report = undefined;
    return { pid, processName, cgroup, isSystemOOM };
  }
}
