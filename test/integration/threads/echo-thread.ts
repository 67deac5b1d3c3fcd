/** A thread for the tests of supervision. Its calls reply, hang, throw, end the thread or exhaust its heap. */
import { enterThread, serveThread } from '../../../src/shared/thread/enter-thread.ts';
import type { MessagePort } from 'node:worker_threads';
import type { ThreadWorkerData } from '../../../src/shared/contracts/thread-worker-data.ts';
import { postNotification } from '../../../src/shared/thread/ordered-notification.ts';
import { counter } from '../../../src/shared/metrics/index.ts';

export const echoes = counter('echoes_total', 'Echoes.');

export interface EchoWorkerData extends ThreadWorkerData {
  readonly generation: number;
  readonly events: MessagePort;
}

const { workerData } = enterThread<EchoWorkerData>();
workerData.events.postMessage({ started: workerData.generation });

const api = {
  async echo<T>(value: T): Promise<T> {
    echoes.inc();
    workerData.events.postMessage({ echoed: true });
    return value;
  },
  async notify(count: number): Promise<void> {
    for (let number = 1; number <= count; number += 1) postNotification({ number });
  },
  async notifyAndDie(): Promise<void> {
    postNotification({ last: workerData.generation });
    process.exit(1);
  },
  generation: async () => workerData.generation,
  /** Blocks the thread's event loop. */
  async spin(): Promise<never> {
    for (;;);
  },
  hang: () => new Promise<never>(() => {}),
  async fail(): Promise<never> {
    throw new Error('requested by the test');
  },
  async die(): Promise<void> {
    setImmediate(() => {
      throw new Error('the test requested death');
    });
    await new Promise(() => {});
  },
  async eatHeap(): Promise<number> {
    const eaten: number[][] = [];
    for (;;) eaten.push(Array.from({ length: 10_000 }, (_, i) => i));
  },
  async close(): Promise<void> {},
};
export type EchoApi = typeof api;
serveThread(api);
