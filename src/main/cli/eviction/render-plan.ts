/** Renders what the eviction manager would do: the conditions, the signals and their thresholds, what would happen now, and a line per pod. Pure. */
import type { EvictionPlan, PlannedThreshold } from '../../../shared/contracts/eviction.ts';
import { formatMs } from '../../../shared/timeline/format-duration.ts';
import { alignColumns } from '../align-columns.ts';
import { printable } from '../printable.ts';
import { formatAmount } from './format-amount.ts';
import { renderAction } from './render-action.ts';
import { renderRanking, renderViolations } from './render-pods.ts';
import { wrapText } from './wrap-text.ts';

export function renderEvictionPlan(plan: EvictionPlan, nowMs: number): string {
  const sections = [renderState(plan, nowMs), renderSignals(plan), renderAction(plan), renderViolations(plan), renderRanking(plan)];
  const shown = sections.filter((lines) => lines.length > 0);
  return `${shown.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function renderState({ conditions, lastPassAt, problem, pressureTransitionPeriodSeconds }: EvictionPlan, nowMs: number): string[] {
  const ago = (time: string) => formatMs(nowMs - Date.parse(time));
  const active = conditions.filter(({ status }) => status);
  const lines = active.map(({ type, lastObservedAt }) => {
    const last = lastObservedAt === null ? '' : `: a threshold was last met ${ago(lastObservedAt)} ago`;
    return `The node has ${type}${last}. It stays for ${formatMs(pressureTransitionPeriodSeconds * 1000)} after that.`;
  });
  if (active.length === 0) lines.push('The node is under no pressure.');
  if (lastPassAt === null) lines.push('The eviction manager has not looked at the node yet.');
  if (problem !== null) lines.push(...wrapText(`The last pass could not decide: ${printable(problem)}`));
  return lines;
}

function renderSignals({ signals, thresholds }: EvictionPlan): string[] {
  const header = ['SIGNAL', 'AVAILABLE', 'CAPACITY', 'THRESHOLD', 'STATE'];
  const observed = new Map(signals.map((signal) => [signal.signal, signal]));
  const withThreshold = thresholds.map((threshold) => {
    const { signal, resource, kind, value, available } = threshold;
    const capacity = observed.get(signal)?.capacity ?? null;
    const limit = `${kind} ${printable(value)}`;
    return [signal, formatAmount(resource, available), formatAmount(resource, capacity), limit, stateOf(threshold)];
  });
  const others = signals
    .filter(({ signal }) => !thresholds.some((threshold) => threshold.signal === signal))
    .map(({ signal, resource, available, capacity }) => [
      signal,
      formatAmount(resource, available),
      formatAmount(resource, capacity),
      'none',
      '',
    ]);
  return alignColumns([header, ...withThreshold, ...others]);
}

function stateOf({ available, met, gracePeriodSeconds, graceLeftSeconds }: PlannedThreshold): string {
  if (available === null) return 'not known';
  if (!met) return 'not met';
  if (gracePeriodSeconds === 0) return 'met';
  return graceLeftSeconds ? `met, ${formatMs(graceLeftSeconds * 1000)} of grace left` : 'met, the grace period is over';
}
