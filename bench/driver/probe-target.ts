/** A process that the HTTP probes of a benchmark reach. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A request's path, and its time on the monotonic clock. */
export type ProbeRequest = readonly [path: string, atMs: number];

export class ProbeTarget {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(): Promise<ProbeTarget> {
    const child = fork(join(import.meta.dirname, 'probe-target-process.ts'));
    const [port] = (await once(child, 'message')) as [number];
    return new ProbeTarget(child, port);
  }

  /** Returns the requests since the last call. */
  async requests(): Promise<readonly ProbeRequest[]> {
    const answered = once(this.#child, 'message') as Promise<[readonly ProbeRequest[]]>;
    this.#child.send('requests');
    const [requests] = await answered;
    return requests;
  }

  close(): void {
    this.#child.kill();
  }
}
