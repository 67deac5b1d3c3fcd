/** The state of one probe of one container instance: its result, and how often in a row the last outcome came (upstream worker.go doProbe). */
import type { ProbeOutcome, ProbeSpec, ProbeType } from '../../../shared/contracts/probes.ts';

export interface ProbeState {
  /** The result that main has, or gets next. */
  readonly result: ProbeOutcome;
  readonly lastOutcome: 'success' | 'failure' | undefined;
  /** How many times in a row the outcome was the same. */
  readonly resultRun: number;
  /**
   * The probe does not run any more for this container instance: its startup is decided, or it failed its liveness probe. A command that runs while its
   * container is being stopped may damage the container's state (upstream issue 21751).
   */
  readonly onHold: boolean;
}

/** Before the first run (upstream: initialValue). */
const initialResults: Readonly<Record<ProbeType, ProbeOutcome>> = { readiness: 'failure', liveness: 'success', startup: 'unknown' };

/** `lastResult` is main's, from before a restart of this thread or of the kubelet. */
export function initialProbeState(probe: ProbeType, lastResult: ProbeOutcome | undefined): ProbeState {
  const result = lastResult ?? initialResults[probe];
  return { result, lastOutcome: undefined, resultRun: 0, onHold: isFinal(probe, lastResult) };
}

function isFinal(probe: ProbeType, result: ProbeOutcome | undefined): boolean {
  if (probe === 'startup') return result === 'success' || result === 'failure';
  return probe === 'liveness' && result === 'failure';
}

/** Counts an outcome. The result changes when its threshold is reached. */
export function computeProbeState(
  state: ProbeState,
  outcome: 'success' | 'failure',
  { probe, successThreshold, failureThreshold }: Pick<ProbeSpec, 'probe' | 'successThreshold' | 'failureThreshold'>,
): ProbeState {
  const resultRun = outcome === state.lastOutcome ? state.resultRun + 1 : 1;
  const threshold = outcome === 'success' ? successThreshold : failureThreshold;
  if (resultRun < threshold) return { ...state, lastOutcome: outcome, resultRun };
  return { result: outcome, lastOutcome: outcome, resultRun, onHold: isFinal(probe, outcome) };
}
