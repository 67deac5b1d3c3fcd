/** The probes of one pod: creates, updates and ends them as main's list of its containers changes, and starts the others when a startup probe has succeeded. */
import type { ProbedContainer, ProbedPod, ProbeEvent, ProbeResult, ProbeType } from '../../shared/contracts/probes.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { ContainerProbe, type ContainerProbeDependencies } from './container-probe.ts';
import type { RunResult } from './run-probe.ts';
import { computeFirstRun, computeNextRun } from './schedule/next-run.ts';
import { initialProbeState } from './schedule/probe-state.ts';
import type { ProbeSeries } from './series/probe-series.ts';

export interface PodProbesDependencies extends ContainerProbeDependencies {
  readonly clock: Clock;
  readonly random: () => number;
  /** The start of this thread, monotonic. */
  readonly threadStartedAtMs: number;
  readonly series: ProbeSeries;
  readonly onResult: (result: ProbeResult) => void;
  readonly onEvent: (event: ProbeEvent) => void;
}

interface ContainerProbes {
  readonly container: ProbedContainer;
  /** The container's start on the monotonic clock. */
  readonly startedAtMs: number;
  started: boolean;
  readonly probes: Map<ProbeType, ContainerProbe>;
}

export class PodProbes {
  readonly #deps: PodProbesDependencies;
  readonly #containers = new Map<string, ContainerProbes>();
  #pod: ProbedPod;

  constructor(deps: PodProbesDependencies, pod: ProbedPod) {
    this.#deps = deps;
    this.#pod = pod;
    this.set(pod);
  }

  set(pod: ProbedPod): void {
    this.#pod = pod;
    const listed = new Map(pod.containers.map((container) => [container.name, container]));
    for (const [name, known] of this.#containers) {
      if (listed.get(name)?.id === known.container.id) continue;
      for (const probe of known.probes.values()) probe.stop();
      this.#containers.delete(name);
    }
    for (const container of listed.values()) this.#setContainer(container);
    if (pod.terminating) this.#deps.series.removeStopped(pod);
  }

  stop(): void {
    for (const { probes } of this.#containers.values()) for (const probe of probes.values()) probe.stop();
    this.#containers.clear();
    this.#deps.series.removePod(this.#pod);
  }

  #setContainer(container: ProbedContainer): void {
    let known = this.#containers.get(container.name);
    if (!known) {
      const { clock } = this.#deps;
      const ageMs = Math.max(0, clock.now() - container.startedAtMs);
      known = { container, startedAtMs: clock.monotonic() - ageMs, started: container.started, probes: new Map() };
      this.#containers.set(container.name, known);
    }
    known.started ||= container.started;
    for (const spec of container.probes) {
      const probe = known.probes.get(spec.probe);
      if (probe) {
        probe.update(spec);
        // Main lacks the result: the message is under way, or main did not know the container when the message arrived.
        if (initialProbeState(spec.probe, spec.lastResult).result !== probe.state.result)
          this.#deps.onResult({ podUID: this.#pod.uid, containerID: container.id, probe: spec.probe, result: probe.state.result });
      } else known.probes.set(spec.probe, this.#create(container, spec));
    }
    this.#schedule(known);
  }

  #create({ id, name }: ProbedContainer, spec: ContainerProbe['spec']): ContainerProbe {
    return new ContainerProbe(this.#deps, {
      podUID: this.#pod.uid,
      containerID: id,
      spec,
      onRun: (probe, result, { durationMs, changed }) => this.#onRun({ id, name }, probe, result, { durationMs, changed }),
    });
  }

  /**
   * Schedules the probes that may run and stops the others. Until a container has started, only its startup probe runs. In a terminating pod, only readiness
   * probes run (upstream: StopLivenessAndStartup); a startup probe that was stopped no longer holds them back.
   */
  #schedule({ startedAtMs, started, probes }: ContainerProbes, afterStartup = false): void {
    const { terminating } = this.#pod;
    for (const [type, probe] of probes) {
      // The startup probe runs until the container has started, the liveness probe from then on.
      const mayRun = type === 'readiness' ? started || terminating : !terminating && started === (type === 'liveness');
      if (!mayRun) probe.stop();
      else if (!probe.isScheduled) probe.schedule(this.#firstRun(startedAtMs, probe.spec, afterStartup));
    }
  }

  /** After the startup probe, readiness runs at once and liveness in its own rhythm (upstream: manualTriggerCh, and the worker's ticker). */
  #firstRun(
    startedAtMs: number,
    { probe, initialDelaySeconds, periodSeconds, lastResult }: ContainerProbe['spec'],
    afterStartup: boolean,
  ): number {
    const { clock, random, threadStartedAtMs } = this.#deps;
    const nowMs = clock.monotonic();
    const initialDelayMs = initialDelaySeconds * 1000;
    const periodMs = periodSeconds * 1000;
    const firstMs = computeFirstRun({
      nowMs,
      containerAgeMs: nowMs - startedAtMs,
      // No spread after a startup probe, whose own runs are spread already.
      threadAgeMs: afterStartup ? Infinity : nowMs - threadStartedAtMs,
      initialDelayMs,
      periodMs,
      isAwaited: probe !== 'liveness' && lastResult === undefined,
      random: random(),
    });
    return afterStartup && probe === 'liveness' && firstMs === nowMs
      ? computeNextRun(startedAtMs + initialDelayMs, periodMs, nowMs)
      : firstMs;
  }

  #onRun(
    { id, name }: Pick<ProbedContainer, 'id' | 'name'>,
    { spec: { probe }, state }: ContainerProbe,
    { outcome, event }: RunResult,
    { durationMs, changed }: { readonly durationMs: number; readonly changed: boolean },
  ): void {
    const { series, onResult, onEvent } = this.#deps;
    const podUID = this.#pod.uid;
    if (outcome !== null) series.observe(this.#pod, name, probe, outcome, durationMs / 1000);
    if (event) onEvent({ podUID, container: name, ...event });
    if (!changed) return;
    onResult({ podUID, containerID: id, probe, result: state.result });
    const known = this.#containers.get(name);
    if (probe !== 'startup' || state.result !== 'success' || known?.container.id !== id) return;
    known.started = true;
    this.#schedule(known, true);
  }
}
