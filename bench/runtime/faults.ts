/** Faults on demand: which call goes wrong, for whom, how, and how often. Pure bookkeeping; the server acts on it. */
import type { GrpcCode } from '../../src/shared/cri/cri-error.ts';

export interface FaultRule {
  /** `ContainerStatus`; `*` is every call. */
  readonly call: string;
  /** Only calls about this: a container or sandbox ID, a container, pod or image name, a pod UID. Absent: all. */
  readonly id?: string;
  /**
   * hang: never answers, until the fault is cleared or the caller gives up.
   * fail: answers an error, and does nothing. failAfter: does it, and answers an error all the same.
   * delay: answers later. oversize: answers a list over the 16 MiB that CRI messages may have.
   */
  readonly kind: 'hang' | 'fail' | 'failAfter' | 'delay' | 'oversize';
  /** gRPC code of `fail` and `failAfter`; UNAVAILABLE (14) when absent. */
  readonly code?: GrpcCode;
  readonly message?: string;
  readonly delayMs?: number;
  /** How many calls it meets; absent: all, until cleared. */
  readonly times?: number;
}

export interface Fault extends FaultRule {
  readonly faultID: number;
  /** Aborts when the fault is cleared: who hangs on it goes on. */
  readonly cleared: AbortSignal;
}

interface Entry {
  readonly fault: Fault;
  readonly abort: AbortController;
  left: number;
}

const kinds: readonly string[] = ['hang', 'fail', 'failAfter', 'delay', 'oversize'] satisfies FaultRule['kind'][];

export class FaultTable {
  readonly #entries = new Map<number, Entry>();
  #lastID = 0;

  add(rule: FaultRule): number {
    if (!kinds.includes(rule.kind)) throw new Error(`unknown kind of fault ${JSON.stringify(rule.kind)}; known: ${kinds.join(', ')}`);
    if (typeof rule.call !== 'string' || rule.call === '') throw new Error('a fault needs a call: a name such as ContainerStatus, or *');
    const faultID = (this.#lastID += 1);
    const abort = new AbortController();
    this.#entries.set(faultID, { fault: { ...rule, faultID, cleared: abort.signal }, abort, left: rule.times ?? Infinity });
    return faultID;
  }

  /** One fault, or all. Calls that hang on it go on. */
  clear(faultID?: number): void {
    for (const [id, entry] of this.#entries) {
      if (faultID !== undefined && id !== faultID) continue;
      this.#entries.delete(id);
      entry.abort.abort();
    }
  }

  /** The faults that this call meets, each counted as met. A used-up one stays known, so that who hangs on it can still be freed. */
  meet(call: string, subjects: () => readonly string[]): readonly Fault[] {
    if (this.#entries.size === 0) return [];
    const met: Fault[] = [];
    for (const entry of this.#entries.values()) {
      const { fault } = entry;
      if (entry.left <= 0 || (fault.call !== '*' && fault.call !== call)) continue;
      if (fault.id !== undefined && !subjects().includes(fault.id)) continue;
      entry.left -= 1;
      met.push(fault);
    }
    return met;
  }
}
