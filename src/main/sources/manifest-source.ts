/** The types and limits that the file source and the HTTP source share. */
import type { DecodeManifestResult, DecodeManifestTask } from '../../shared/contracts/pod-sync/decode-manifest.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { withDeadline } from './deadline.ts';

/** Parses, defaults and validates one manifest in a thread of the sync pool. Rejects only when no thread answers. */
export type DecodeManifest = (task: DecodeManifestTask) => Promise<DecodeManifestResult>;

/** A current problem of a source. */
export interface SourceError {
  readonly source: 'file' | 'http';
  /** The path or the URL. */
  readonly origin: string;
  readonly message: string;
}

/** Upstream's maxConfigLength: a manifest of this size or more is refused. */
export const maxManifestBytes = 10 * 1024 * 1024;

/** The source continues without a manifest that takes the pool longer. */
const decodeDeadlineMs = 30_000;

/** Rejects when the pool does not answer in time. */
export function decodeInTime(
  decode: DecodeManifest,
  task: DecodeManifestTask,
  clock: Clock,
  signal: AbortSignal,
): Promise<DecodeManifestResult> {
  const deadlineError = new Error(`not decoded within ${decodeDeadlineMs / 1000} s`);
  return withDeadline(decode(task), decodeDeadlineMs, deadlineError, clock, signal);
}
