/**
 * Finds the ends of processes by the kernel's OOM killer in the records of /dev/kmsg. Pure. Upstream: cadvisor's utils/oomparser.
 *
 * A tenant chooses parts of the kernel's messages: names of processes, of cgroups, and of files, which the message of a segmentation fault has. The patterns
 * cover whole messages from their beginning, and names have their bounds, so that a name does not pass for a message or for a part of one.
 */
export interface OomKill {
  readonly pid: number;
  /** The kernel cuts the name after 15 bytes. */
  readonly processName: string;
  /** The cgroup of the killed process. `/` when the kernel does not say. */
  readonly cgroup: string;
  /** The node's memory was exhausted, not that of a cgroup. */
  readonly isSystemOOM: boolean;
}

/** At most 15 characters (the kernel's TASK_COMM_LEN without its zero). The kernel writes an unprintable byte as `\x1b`. */
const processName = String.raw`(?:\\x[0-9a-f]{2}|[^\\]){0,15}`;
/**
 * Since Linux 5.0, in one message. The cpuset is a cgroup's own name, without a slash. The killed process is in the limited cgroup or below it: a cgroup named
 * `,task_memcg=` does not pass for the end of a path.
 */
const memcgPaths = String.raw`oom_memcg=(?:/,task_memcg=(?<cgroup>/.*?)|(?<limited>/.+?),task_memcg=(?<below>\k<limited>(?:/.*?)?))`;
const summaryLine = new RegExp(
  String.raw`^oom-kill:constraint=[A-Z_]+,nodemask=(?:\(null\)|[\d,-]*),cpuset=(?:/|[^/]*?),mems_allowed=[\d,-]*,` +
    String.raw`(?:global_oom,task_memcg=(?<global>/.*?)|${memcgPaths}),task=(?<name>${processName}),pid=(?<pid>\d+),uid=\d+$`,
);
const firstLine = new RegExp(String.raw`^${processName} invoked oom-killer: gfp_mask=`);
const summaryBegin = /^oom-kill:constraint=/;
/** Before Linux 5.0. The kernel does not write this line when the node's memory was exhausted. */
const legacyLine = /^Task in (?<cgroup>\/.*?) killed as a result of limit of (?<limited>\/.*)$/;
const lastLine = new RegExp(
  String.raw`^(?:(?<memcg>Memory cgroup out of memory)[^:]*: |Out of memory[^:]*: )?Killed process (?<pid>\d+) \((?<name>${processName})\)`,
);

/** A report has at most some hundred lines between its first and its last, one for each process of the node. */
const maxLines = 100_000;
/** More than a message of the kernel has (CONSOLE_EXT_LOG_MAX). */
const maxSummaryLength = 16_384;

interface Report {
  /** The cgroup of the killed process. */
  cgroup: string;
  /** The cgroup that has reached its limit. `/`: the whole node. */
  limited: string;
  /** Lines since the first one. */
  lines: number;
}

/** Takes each record in order. Keeps the state of the report that has begun. */
export class OomParser {
  #report: Report | undefined;
  /** The part of a summary so far. The kernel writes a summary in parts, which are records of their own if another CPU writes in between. */
  #summary = '';

  /**
   * @param record `6,1234,5678,-;message`: priority, sequence number, time, flags (`c`: the rest of an earlier record). Records that processes write to /dev/kmsg
   * are ignored: their facility, priority >> 3, is not the kernel's 0.
   */
  add(record: string): OomKill | undefined {
    const [, priority, flags, message = ''] = /^(\d+),\d+,\d+,([^,;]*)[^;]*;([^\n]*)/.exec(record) ?? [];
    if (priority === undefined || Number(priority) >> 3 !== 0) return undefined;
    if (firstLine.test(message)) {
      this.reset();
      this.#report = { cgroup: '/', limited: '/', lines: 0 };
      return undefined;
    }
    return this.#addSummary(message, flags === 'c') ?? this.#addLine(message);
  }

  /** Forgets the report that has begun: records were lost, and the next may belong to another report. */
  reset(): void {
    this.#report = undefined;
    this.#summary = '';
  }

  #addSummary(message: string, isContinued: boolean): OomKill | undefined {
    if (summaryBegin.test(message)) this.#summary = message;
    else if (isContinued && this.#summary !== '' && this.#summary.length < maxSummaryLength) this.#summary += message;
    else return undefined;
    const { pid, name = '', global, cgroup, below } = summaryLine.exec(this.#summary)?.groups ?? {};
    // `below` is set only when a cgroup other than the root has reached its limit.
    return pid === undefined ? undefined : this.#end(Number(pid), name, below ?? cgroup ?? global ?? '/', below === undefined);
  }

  #addLine(message: string): OomKill | undefined {
    const report = this.#report;
    if (!report) return undefined;
    const legacy = legacyLine.exec(message)?.groups;
    // The groups of the expression have the names of the report's fields.
    if (legacy) Object.assign(report, legacy);
    const { pid, name = '', memcg } = lastLine.exec(message)?.groups ?? {};
    if (pid !== undefined) return this.#end(Number(pid), name, report.cgroup, report.limited === '/' && memcg === undefined);
    report.lines += 1;
    if (report.lines > maxLines) this.reset();
    return undefined;
  }

  #end(pid: number, processName: string, cgroup: string, isSystemOOM: boolean): OomKill {
    this.reset();
    return { pid, processName, cgroup, isSystemOOM };
  }
}
