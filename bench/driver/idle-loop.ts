/**
 * Measures the event-loop delay of an idle process with the scheduling priority of the kubelet's main thread. This is the floor for main's
 * delay while the runtime works on the same cores.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoopDelays } from '../harness/loop-delay.ts';

export class IdleLoop {
  // Advanced serialization, because JSON has no Infinity.
  readonly #child: ChildProcess = fork(join(import.meta.dirname, 'idle-loop-process.ts'), { serialization: 'advanced' });

  /** Returns the delays since the start of the process. */
  async read(): Promise<LoopDelays> {
    const answered = once(this.#child, 'message') as Promise<[LoopDelays]>;
    this.#child.send('read');
    const [delays] = await answered;
    return delays;
  }

  close(): void {
    this.#child.kill();
  }
}
