/**
 * Moves processes of the host into the cgroups that the configuration names for them, and sets the kubelet's OOM score (upstream: ensureSystemCgroups and
 * ensureProcessInContainerWithOOMScore in pkg/kubelet/cm/container_manager_linux.go). A process that is in its cgroup already is not moved.
 */
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { MoveProcessesResult, MoveProcessesTask } from '../../../shared/contracts/pod-sync/host-processes.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { cgroupOfProcess } from '../../../shared/cgroups/process-cgroup.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';

export interface ProcessMoverOptions {
  readonly tree: Pick<CgroupTree, 'create' | 'join' | 'processesOfRoot'>;
  /** Default: `/proc`. Tests use another folder. */
  readonly proc?: string;
  /** The PID of the kubelet. Default: this process. */
  readonly pid?: number;
}

/** Processes in the root cgroup start others while they are moved, so the list is read again. The number is upstream's (`i <= 10`). */
const maxPasses = 11;
/** The thread's other tasks run after this number of moves. */
const movesPerIteration = 50;
/** PROC_PID_INIT_INO of linux/proc_ns.h. */
const initialPidNamespace = 'pid:[4026531836]';

export class ProcessMover {
  readonly #tree: ProcessMoverOptions['tree'];
  readonly #proc: string;
  readonly #pid: number;

  constructor({ tree, proc = '/proc', pid = process.pid }: ProcessMoverOptions) {
    this.#tree = tree;
    this.#proc = proc;
    this.#pid = pid;
  }

  /** Never throws. */
  async move({ systemCgroup, kubeletCgroup, oomScoreAdj }: MoveProcessesTask): Promise<MoveProcessesResult> {
    const failures: string[] = [];
    const attempt = async (work: () => Promise<void> | void) => {
      try {
        await work();
      } catch (err) {
        failures.push(messageOf(err));
      }
    };
    // A kubelet that runs in a container stays in the container's cgroup.
    if (this.#isInHost()) {
      if (kubeletCgroup !== '') await attempt(() => this.#moveKubelet(join('/', kubeletCgroup)));
      await attempt(() => this.#setOOMScore(oomScoreAdj));
    }
    if (systemCgroup !== '') await attempt(() => this.#moveSystem(join('/', systemCgroup)));
    return { failures };
  }

  async #moveKubelet(cgroup: string): Promise<void> {
    for (const pid of [this.#pid, ...this.#childrenOf(this.#pid)]) {
      const current = cgroupOfProcess(this.#read(`${pid}/cgroup`));
      if (current !== cgroup) await this.#moveTo(cgroup, pid);
    }
  }

  async #moveSystem(cgroup: string): Promise<void> {
    let failure: unknown;
    for (let pass = 0; pass < maxPasses; pass += 1) {
      const pids = (await this.#tree.processesOfRoot()).filter((pid) => pid !== 1 && !this.#isKernelThread(pid));
      if (pids.length === 0) return;
      for (const [index, pid] of pids.entries()) {
        await this.#moveTo(cgroup, pid).catch((err: unknown) => (failure = err));
        if (index % movesPerIteration === movesPerIteration - 1) await nextIteration();
      }
    }
    if (failure !== undefined) throw failure;
  }

  async #moveTo(cgroup: string, pid: number): Promise<void> {
    try {
      await this.#tree.create(cgroup);
      await this.#tree.join(cgroup, pid);
    } catch (err) {
      throw new Error(`failed to move PID ${pid} to ${JSON.stringify(cgroup)}: ${messageOf(err)}`, { cause: err });
    }
  }

  #setOOMScore(score: number): void {
    const file = join(this.#proc, `${this.#pid}/oom_score_adj`);
    if (this.#read(`${this.#pid}/oom_score_adj`).trim() === String(score)) return;
    try {
      writeFileSync(file, String(score));
    } catch (err) {
      throw new Error(`failed to apply oom score ${score} to PID ${this.#pid}: ${messageOf(err)}`, { cause: err });
    }
  }

  /** Returns whether the kubelet is in the host's PID namespace, and not in a container. */
  #isInHost(): boolean {
    const own = this.#readLink(`${this.#pid}/ns/pid`);
    // A kubelet with fewer capabilities than PID 1 cannot read the link of PID 1.
    return own !== undefined && own === (this.#readLink('1/ns/pid') || initialPidNamespace);
  }

  /** A kernel thread has no executable. A process that has exited has none either, and is skipped like a kernel thread. */
  #isKernelThread(pid: number): boolean {
    return this.#readLink(`${pid}/exe`) === undefined;
  }

  /** Any thread may have started a child. */
  #childrenOf(pid: number): number[] {
    const threads = readdirSync(join(this.#proc, `${pid}/task`));
    return threads.flatMap((thread) => this.#read(`${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number));
  }

  #read(file: string): string {
    try {
      return readFileSync(join(this.#proc, file), 'utf8');
    } catch {
      return '';
    }
  }

  #readLink(file: string): string | undefined {
    try {
      return readlinkSync(join(this.#proc, file));
    } catch (err) {
      // An error such as EACCES means that the link exists.
      return (err as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : '';
    }
  }
}
