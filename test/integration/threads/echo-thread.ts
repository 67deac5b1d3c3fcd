/** A thread for the tests of supervision: it answers, waits, throws, dies and fills its heap as it is told. */
import { enterThread, serveThread } from '../../../src/shared/thread/enter-thread.ts';
import type { MessagePort } from 'node:worker_threads';
import type { ThreadWorkerData } from '../../../src/shared/contracts/thread.ts';
import { counter } from '../../../src/shared/metrics/index.ts';

export const echoes = counter('echoes_total', 'Echoes.');

export interface EchoWorkerData extends ThreadWorkerData {
  readonly generation: number;
  readonly events: MessagePort;
}

const { workerData: birth } = enterThread<EchoWorkerData>();
birth.events.postMessage({ born: birth.generation });

const api = {
  async echo<T>(value: T): Promise<T> {
    echoes.inc();
    birth.events.postMessage({ echoed: true });
    return value;
  },
  generation: async () => birth.generation,
  /** Never lets go of its thread. */
  async spin(): Promise<never> {
    for (;;);
  },
  hang: () => new Promise<never>(() => {}),
  async fail(): Promise<never> {
    throw new Error('as it was told');
  },
  async die(): Promise<void> {
    setImmediate(() => {
      throw new Error('it died as it was told');
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
