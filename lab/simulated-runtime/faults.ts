/** The table of injected faults: which calls fail, for which objects, how and how often. Has no effects itself; call.ts applies the faults. */
import type { GrpcCode } from '../../src/shared/cri/cri-error.ts';

export interface FaultRule {
  /** For example `ContainerStatus`; `*` matches every call. */
  readonly call: string;
  /** Restricts the fault to a container or sandbox ID, a container, pod or image name, or a pod UID. */
  readonly id?: string;
  /**
   * hang: does not reply until the fault is cleared or the call is cancelled.
   * late: as hang, but does not notice that the call is cancelled: executes it when the fault is cleared.
   * fail: returns an error and does nothing. failAfter: executes the call and returns an error.
   * delay: replies later. oversize: returns a list larger than the 16 MiB limit of CRI messages,
   * if the request has no filter.
   */
  readonly kind: 'hang' | 'late' | 'fail' | 'failAfter' | 'delay' | 'oversize';
  /** gRPC code of `fail` and `failAfter`. Default: UNAVAILABLE (14). */
  readonly code?: GrpcCode;
  readonly message?: string;
  readonly delayMs?: number;
  /** Number of calls that the fault applies to. Default: all until it is cleared. */
  readonly times?: number;
}

export interface Fault extends FaultRule {
  readonly faultID: number;
  /** Aborts when the fault is cleared, so that hanging calls continue. */
  readonly cleared: AbortSignal;
}

interface Entry {
  readonly fault: Fault;
  readonly abort: AbortController;
  timesLeft: number;
}

const kinds: readonly string[] = ['hang', 'late', 'fail', 'failAfter', 'delay', 'oversize'] satisfies FaultRule['kind'][];

export class FaultTable {
  readonly #entries = new Map<number, Entry>();
  #lastID = 0;

  add(rule: FaultRule): number {
    if (!kinds.includes(rule.kind)) throw new Error(`unknown kind of fault ${JSON.stringify(rule.kind)}; known: ${kinds.join(', ')}`);
    if (typeof rule.call !== 'string' || rule.call === '') throw new Error('a fault needs a call: a name such as ContainerStatus, or *');
    const faultID = (this.#lastID += 1);
    const abort = new AbortController();
    this.#entries.set(faultID, { fault: { ...rule, faultID, cleared: abort.signal }, abort, timesLeft: rule.times ?? Infinity });
    return faultID;
  }

  /** Clears one fault or all. Calls that hang continue. */
  clear(faultID?: number): void {
    for (const [id, entry] of this.#entries) {
      if (faultID !== undefined && id !== faultID) continue;
      this.#entries.delete(id);
      entry.abort.abort();
    }
  }

  /** Returns the faults that apply to a call and counts the use. A used-up fault stays in the table, so that clearing it releases hanging calls. */
  match(call: string, subjects: () => readonly string[]): readonly Fault[] {
    if (this.#entries.size === 0) return [];
    const matched: Fault[] = [];
    for (const entry of this.#entries.values()) {
      const { fault } = entry;
      if (entry.timesLeft <= 0 || (fault.call !== '*' && fault.call !== call)) continue;
      if (fault.id !== undefined && !subjects().includes(fault.id)) continue;
      entry.timesLeft -= 1;
      matched.push(fault);
    }
    return matched;
  }
}
