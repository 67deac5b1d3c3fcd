/** The probes of a modelled kubelet: each second, every probe that may run has the result that the test wants for its pod. */
import { Listeners } from '../../../src/shared/concurrency/listeners.ts';
import type { ProbedPod, ProbeOutcome, ProbeResult, ProbeType } from '../../../src/shared/contracts/probes.ts';
import type { Clock } from '../../../src/shared/time/clock.ts';

export interface ModelProbesOptions {
  readonly clock: Clock;
  readonly outcome: (podUID: string, container: string, probe: ProbeType) => ProbeOutcome;
  readonly onResults: (results: readonly ProbeResult[]) => void;
}

const periodMs = 1000;

export class ModelProbes {
  readonly starts = new Listeners();
  readonly #options: ModelProbesOptions;
  readonly #pods = new Map<string, ProbedPod>();
  readonly #last = new Map<string, ProbeOutcome>();

  constructor(options: ModelProbesOptions) {
    this.#options = options;
    const tick = () => {
      this.#probe();
      options.clock.after(periodMs, tick);
    };
    options.clock.after(periodMs, tick);
  }

  async setPods(pods: readonly ProbedPod[]): Promise<void> {
    for (const pod of structuredClone(pods)) this.#pods.set(pod.uid, pod);
  }

  async removePods(uids: readonly string[]): Promise<void> {
    for (const uid of uids) this.#pods.delete(uid);
  }

  #probe(): void {
    const results: ProbeResult[] = [];
    for (const { uid, terminating, containers } of this.#pods.values()) {
      for (const { id, name, started, probes } of containers) {
        const hasStarted = started || this.#last.get(`${id}/startup`) === 'success';
        for (const { probe, lastResult } of probes) {
          if ((probe !== 'startup' && !hasStarted) || (probe === 'startup' && hasStarted) || (terminating && probe !== 'readiness'))
            continue;
          const key = `${id}/${probe}`;
          const result = this.#options.outcome(uid, name, probe);
          if ((this.#last.get(key) ?? lastResult) === result) continue;
          this.#last.set(key, result);
          results.push({ podUID: uid, containerID: id, probe, result });
        }
      }
    }
    if (results.length > 0) this.#options.onResults(results);
  }
}
