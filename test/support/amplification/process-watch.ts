/** Watches the kubelet's process from a thread of its own: the event loop that handles the large pods would make each measurement late. */
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

export interface ProcessSample {
  /** One for each request; Infinity when it failed. */
  readonly healthzMs: readonly number[];
  /** Of the first request that failed. */
  readonly unhealthy: string | null;
  readonly rssPeakBytes: number;
}

interface Watched {
  readonly pid: number;
  readonly healthzURL: string;
}

const periodMs = 100;
const deadlineMs = 5000;

export class ProcessWatch {
  readonly #worker: Worker;
  constructor(watched: Watched) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: watched });
  }

  /** Ends the watch, and returns what it has measured. */
  async close(): Promise<ProcessSample> {
    const sample = new Promise<ProcessSample>((resolve, reject) => this.#worker.once('message', resolve).once('error', reject));
    this.#worker.postMessage('close');
    const result = await sample;
    await this.#worker.terminate();
    return result;
  }
}

/** Returns 0 when the process has ended. */
export function rssBytes(pid: number): number {
  try {
    return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Returns the CPU time of a process in seconds, or 0 when it has ended. */
export function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

async function watch({ pid, healthzURL }: Watched): Promise<void> {
  const healthzMs: number[] = [];
  let unhealthy: string | null = null;
  let rssPeakBytes = 0;
  const stop = new AbortController();
  parentPort?.once('message', () => stop.abort());
  const agent = new Agent({ keepAlive: true });
  while (!stop.signal.aborted) {
    const startedAtMs = performance.now();
    const health = await request(healthzURL, agent);
    if (health.isOK) healthzMs.push(performance.now() - startedAtMs);
    else {
      healthzMs.push(Infinity);
      unhealthy ??= health.body;
    }
    rssPeakBytes = Math.max(rssPeakBytes, rssBytes(pid));
    await sleep(periodMs);
  }
  agent.destroy();
  parentPort?.postMessage({ healthzMs, unhealthy, rssPeakBytes } satisfies ProcessSample);
}

interface Answer {
  readonly isOK: boolean;
  /** Or the error. */
  readonly body: string;
}

function request(url: string, agent: Agent): Promise<Answer> {
  return new Promise((resolve) => {
    const fail = (err: Error) => resolve({ isOK: false, body: err.message });
    const sent = get(url, { agent, timeout: deadlineMs }, (response) => {
      text(response).then((body) => resolve({ isOK: response.statusCode === 200, body }), fail);
    });
    sent.once('timeout', () => sent.destroy(new Error(`no answer within ${deadlineMs} ms`))).once('error', fail);
  });
}

if (!isMainThread) await watch(workerData as Watched);
