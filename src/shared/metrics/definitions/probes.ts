/** Metrics of the probes thread. The series of single pods are on a page of their own (workers/probes/series/). */
import { counter, histogram } from '../define.ts';

export const probeLateness = histogram(
  'kubelet_probe_lateness_seconds',
  'How late probes ran: from the time at which a probe was due to its start. Not part of its timeout.',
  ['probe_type'],
  [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
);
export const probeRepeats = counter(
  'kubelet_probe_repeats_total',
  'Attempts of probes whose failure did not count, because this node was too busy or had no resources.',
  ['probe_type'],
);
export const probesSkipped = counter(
  'kubelet_probe_skipped_runs_total',
  'Runs of probes that were skipped, because the previous run still waited or ran.',
  ['probe_type'],
);
