/** Notices a restart of the runtime even if no call failed meanwhile: a restarted runtime creates a new socket file. */
import { stat } from 'node:fs/promises';
import type { Clock } from '../../shared/time/clock.ts';

export interface RuntimeSocketOptions {
  /** An absolute path, with or without `unix://`. */
  readonly endpoint: string;
  readonly onReplaced: () => void;
  readonly clock: Clock;
}

/** As often as the runtime's status is read. */
const periodMs = 5000;

/** Never rejects. Ends when the signal aborts. */
export async function watchRuntimeSocket({ endpoint, onReplaced, clock }: RuntimeSocketOptions, signal: AbortSignal): Promise<void> {
  const path = endpoint.replace(/^unix:(\/\/)?/, '');
  // The new file may reuse the inode number of the old one, so the change time counts too.
  const identity = () =>
    stat(path).then(
      ({ ino, ctimeMs }) => `${ino} ${ctimeMs}`,
      () => null,
    );
  let known = await identity();
  while (!signal.aborted) {
    await clock.sleep(periodMs, signal).catch(() => {});
    const current = signal.aborted ? null : await identity();
    if (current === null) continue;
    if (known !== null && current !== known) onReplaced();
    known = current;
  }
}
