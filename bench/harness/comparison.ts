/** Rows of the table that compare this kubelet with the Go kubelet. */
import type { Measurement } from './benchmark.ts';
import { percentile } from './statistics.ts';

export type Comparison = Measurement & { readonly peer: number };

/** What both kubelets were measured as. */
export interface Both<T> {
  readonly own: T;
  readonly peer: T;
}

/** Compares a percentile of a value of each sample. Samples without the value do not count. */
export function compare<T>(
  what: string,
  unit: string,
  { own, peer }: Both<readonly T[]>,
  value: (sample: T) => number | undefined,
  percent = 50,
): Comparison {
  const of = (samples: readonly T[]) =>
    percentile(
      samples.map(value).filter((one) => one !== undefined),
      percent,
    );
  return { what: `${what}, p${percent}`, unit, value: of(own), peer: of(peer) };
}

/** Adds a goal that is a number of the row's unit. */
export function within(row: Comparison, goal: number): Comparison {
  return { ...row, goal: { text: `${goal} ${row.unit}`.trim(), met: row.value <= goal } };
}

/** Adds a goal that is a share of the Go kubelet's value. */
export function withinShare(row: Comparison, text: string, share: number): Comparison {
  return { ...row, goal: { text: `${text} of the Go kubelet's`, met: row.value <= row.peer * share } };
}
