/**
 * How late the event loop of a process is that has nothing to do, favoured by the scheduler as the kubelet's main thread is: the floor of
 * main's delay while the runtime is at work on the same cores.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoopDelays } from '../harness/loop-delay.ts';

export class IdleLoop {
  // There is no Infinity in JSON.
  readonly #child: ChildProcess = fork(join(import.meta.dirname, 'idle-loop-process.ts'), { serialization: 'advanced' });

  /** From its start until now. The first answer comes when it has loaded. */
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
