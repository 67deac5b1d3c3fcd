/** What the sources that read manifests have in common. */
import type { DecodeManifestResult, DecodeManifestTask } from '../../shared/contracts/pod-sync/decode-manifest.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { withDeadline } from './deadline.ts';

/** Parses, defaults and validates one manifest: the sync pool's second job. Rejects only when it could not be asked. */
export type DecodeManifest = (task: DecodeManifestTask) => Promise<DecodeManifestResult>;

/** What is wrong with a source now; gone from the list when it is right again. */
export interface SourceError {
  readonly source: 'file' | 'http';
  /** The path or the URL. */
  readonly origin: string;
  readonly message: string;
}

/** Upstream's maxConfigLength: a manifest of this size or more is refused. */
export const maxManifestBytes = 10 * 1024 * 1024;

/** How long the pool may take for a manifest before the source goes on without it. */
const decodeDeadlineMs = 30_000;

/** The pool's answer, or a rejection when there is none in time. */
export function decodeInTime(
  decode: DecodeManifest,
  task: DecodeManifestTask,
  clock: Clock,
  signal: AbortSignal,
): Promise<DecodeManifestResult> {
  const late = new Error(`not decoded within ${decodeDeadlineMs / 1000} s`);
  return withDeadline(decode(task), decodeDeadlineMs, late, clock, signal);
}
