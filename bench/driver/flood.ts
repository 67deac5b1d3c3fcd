/** A separate process with unauthenticated clients that flood a kubelet's secure port. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface FloodOptions {
  readonly port: number;
  /** Number of connections that stay open after a 401. */
  readonly idle: number;
  /** Number of connections that pipeline large requests. */
  readonly pipelining: number;
}

/** Totals since the start, except for `open`. */
export interface FloodCounts {
  opened: number;
  closed: number;
  responses: number;
  open: number;
}

export class Flood {
  readonly #child: ChildProcess;

  constructor(options: FloodOptions) {
    this.#child = fork(join(import.meta.dirname, 'flood-process.ts'), [JSON.stringify(options)]);
  }

  async counts(): Promise<FloodCounts> {
    const answered = once(this.#child, 'message') as Promise<[FloodCounts]>;
    this.#child.send('counts');
    const [counts] = await answered;
    return counts;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill();
    await ended;
  }
}
