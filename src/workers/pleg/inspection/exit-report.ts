/**
 * Decides when the status of an exited container is final. Pure. containerd gets the exit and the report of an out-of-memory kill independently: the status
 * of a killed container may have the reason Error first, and OOMKilled a moment later, without an event. Upstream's relist reads the status up to a second
 * after the exit.
 */

/** Exit code of a process that SIGKILL has ended. */
const killedExitCode = 137;
/**
 * When the status is read again, in ms after the exit was first seen. A loaded host needs tenths of a second for the report. The first of these reads comes
 * before most pods have terminated.
 */
const readsAfterMs = [100, 1000];

export interface ExitedStatus {
  readonly exitCode: number;
  readonly reason: string;
}

/** Returns after how many ms the status must be read again. 0: it is final. `seenForMs` is the time since the exit was seen first. */
export function computeNextReadMs({ exitCode, reason }: ExitedStatus, seenForMs: number): number {
  if (exitCode !== killedExitCode || reason === 'OOMKilled') return 0;
  const next = readsAfterMs.find((afterMs) => afterMs > seenForMs);
  return next === undefined ? 0 : next - seenForMs;
}
