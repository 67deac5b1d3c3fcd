/** Rules for eviction thresholds and for containerLogMaxSize (upstream: pkg/kubelet/eviction/helpers.go, which rejects them at start). */
import { evictionSignals } from '../../../shared/contracts/eviction.ts';
import { parseQuantity } from '../../../shared/kubernetes/quantity.ts';
import { parseDuration } from '../../../shared/kubernetes/duration.ts';
import type { StringMap } from '../kubelet-configuration.ts';
import { isNoThreshold } from '../no-threshold.ts';
import { thrownMessage, invalidConfiguration, type ValidationRule } from './rules.ts';

const signals: ReadonlySet<string> = new Set(evictionSignals);

/** Throws if the threshold is invalid. 0% and 100% are valid and mean no threshold. */
function checkThreshold(signal: string, text: string): void {
  if (text.endsWith('%')) {
    const percent = toPercent(text);
    if (percent < 0) throw new Error(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (percent > 100) throw new Error(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
    return;
  }
  if (parseQuantity(text).nanos <= 0n) throw new Error(`eviction threshold ${signal} must be positive: ${text}`);
}

function checkReclaim(signal: string, text: string): void {
  if (text.endsWith('%')) {
    if (toPercent(text) <= 0) throw new Error(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
  } else if (parseQuantity(text).nanos < 0n) throw new Error(`negative eviction minimum reclaim specified for ${signal}: ${text}`);
}

function checkGracePeriod(_signal: string, text: string): void {
  if (parseDuration(text) < 0) throw new Error(`invalid eviction grace period specified: ${text}, must be a positive value`);
}

function toPercent(text: string): number {
  const digits = text.replace(/%+$/, '');
  if (!/^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/.test(digits)) throw new Error(`"${text}" is no percentage`);
  return Number(digits);
}

function checkEach(name: string, entries: StringMap, check: (signal: string, text: string) => void): string[] {
  return Object.entries(entries).flatMap(([signal, text]) => {
    if (!signals.has(signal)) return [invalidConfiguration(`${name}: unsupported eviction signal ${signal}`)];
    const failure = thrownMessage(() => check(signal, text));
    return failure === undefined ? [] : [invalidConfiguration(`${name}: ${signal} "${text}": ${failure}`)];
  });
}

export const checkEviction: ValidationRule = ({ config }) => [
  ...checkEach('evictionHard (--eviction-hard)', config.evictionHard, checkThreshold),
  ...checkEach('evictionSoft (--eviction-soft)', config.evictionSoft, checkThreshold),
  ...checkEach('evictionSoftGracePeriod (--eviction-soft-grace-period)', config.evictionSoftGracePeriod, checkGracePeriod),
  ...checkEach('evictionMinimumReclaim (--eviction-minimum-reclaim)', config.evictionMinimumReclaim, checkReclaim),
  ...Object.entries(config.evictionSoft)
    // Upstream drops a threshold of 0% or 100% before it checks the grace period.
    .filter(([signal, text]) => !Object.hasOwn(config.evictionSoftGracePeriod, signal) && !isNoThreshold(text))
    .map(([signal]) => invalidConfiguration(`grace period must be specified for the soft eviction threshold ${signal}`)),
  ...checkLogSize(config.containerLogMaxSize),
];

function checkLogSize(size: string): string[] {
  const failure = thrownMessage(() => {
    // A fraction of a byte, in nanos.
    if (parseQuantity(size).nanos % 1_000_000_000n !== 0n) throw new Error('invalid max log size');
  });
  return failure === undefined
    ? []
    : [invalidConfiguration(`failed to parse container log max size "${size}" (containerLogMaxSize): ${failure}`)];
}
