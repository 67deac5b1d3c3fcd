/**
 * Contains exceptions in main's handling of one pod: an exception becomes a Warning event, a log line with the stack and a count, and the pod is
 * handled again after a back-off. Upstream has no equivalent: a panic ends the Go kubelet.
 */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { contain, faultText, reportFault } from '../../../shared/faults/contain.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { podReference, type EventSink } from '../../events/index.ts';

export interface PodFaultsDependencies {
  readonly events: EventSink;
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Logger;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

/** From upstream's backOffPeriod to upstream's MaxContainerBackOff. */
const backoff = { initialMs: 10_000, maxMs: 300_000 };
/** A back-off is longer by up to half. */
const jitterFactor = 0.5;

interface Entry {
  readonly handler: string;
  readonly delayMs: number;
  readonly cancel: () => void;
  isWaiting: boolean;
}

export class PodFaults {
  readonly #deps: PodFaultsDependencies;
  /** Pods whose last handling threw. */
  readonly #entries = new Map<PodUID, Entry>();

  constructor(dependencies: PodFaultsDependencies) {
    this.#deps = dependencies;
  }

  /** Calls `work`. When `work` throws, calls `retry` after the pod's back-off, unless the same handler succeeds before. */
  contain(handler: string, pod: Pod, work: () => void, retry: () => void): void {
    const uid = podUID(pod);
    try {
      work();
      if (this.#entries.get(uid)?.handler === handler) this.forget(uid);
    } catch (err) {
      this.report(handler, pod, err);
      this.#retryLater(uid, handler, retry);
    }
  }

  /** Whether the pod waits for its back-off. */
  isBackedOff(uid: PodUID): boolean {
    return this.#entries.get(uid)?.isWaiting ?? false;
  }

  /** Logs, counts and records the exception, without a retry. Never throws. */
  report(handler: string, pod: Pod, err: unknown): void {
    const context = {
      handler,
      logger: this.#deps.logger,
      fields: { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, podUID: podUID(pod) },
    };
    reportFault(context, err);
    contain({ ...context, handler: 'events' }, () =>
      this.#deps.events.record({ object: podReference(pod), type: 'Warning', reason: 'FailedSync', message: faultMessage(handler, err) }),
    );
  }

  forget(uid: PodUID): void {
    this.#entries.get(uid)?.cancel();
    this.#entries.delete(uid);
  }

  close(): void {
    for (const { cancel } of this.#entries.values()) cancel();
    this.#entries.clear();
  }

  #retryLater(uid: PodUID, handler: string, retry: () => void): void {
    const { clock, logger, random } = this.#deps;
    const previous = this.#entries.get(uid);
    previous?.cancel();
    const delayMs = nextBackoffMs(previous?.delayMs, backoff);
    const cancel = clock.after(withJitter(delayMs, jitterFactor, random), () => {
      entry.isWaiting = false;
      contain({ handler, logger, fields: { podUID: uid } }, retry);
    });
    const entry = { handler, delayMs, cancel, isWaiting: true };
    this.#entries.set(uid, entry);
  }
}

/** Returns the message of the pod's event and status. */
export function faultMessage(handler: string, err: unknown): string {
  return `internal error in ${handler}: ${faultText(err)}`;
}
