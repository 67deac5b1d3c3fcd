/** A probe on a thread that does not run for a while: what has arrived counts, and a timeout does not. */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import type { ProbeNotification } from '../../../src/shared/contracts/probes.ts';
import { monotonicMs, systemClock } from '../../../src/shared/time/clock.ts';
import { attemptStarter } from '../../../src/workers/probes/actions/start-attempt.ts';
import { ProbeWorkers } from '../../../src/workers/probes/probe-manager.ts';
import { aLogger } from '../../support/logger.ts';
import { httpAction, probedContainer, probedPod, probeSpec } from '../../support/probes/probed-pod.ts';

/** A server that runs while this thread is blocked. It counts its requests, and answers each after `delayMs`. */
const source = `
const { createServer } = require('node:http');
const { parentPort, workerData } = require('node:worker_threads');
const server = createServer((_, response) => {
  parentPort.postMessage('request');
  setTimeout(() => response.end('ok'), workerData.delayMs);
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

const workers: Worker[] = [];
after(() => Promise.all(workers.map((worker) => worker.terminate())));

async function listen(delayMs: number): Promise<{ readonly worker: Worker; readonly port: number }> {
  const worker = new Worker(source, { eval: true, workerData: { delayMs } });
  workers.push(worker);
  const [port] = (await once(worker, 'message')) as [number];
  return { worker, port };
}

let notifications: ProbeNotification[] = [];
beforeEach(() => (notifications = []));
const events = () => notifications.flatMap((one) => one.events.map(({ message }) => message));
const results = () => notifications.flatMap((one) => one.results.map(({ result }) => result));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

function block(ms: number): void {
  const endMs = monotonicMs() + ms;
  while (monotonicMs() < endMs);
}

function aManager(): ProbeWorkers {
  const startAttempt = attemptStarter(() => Promise.reject(new Error('no runtime here')));
  const { logger } = aLogger();
  const manager = new ProbeWorkers({ clock: systemClock, logger, startAttempt, post: (one) => notifications.push(one), random: () => 0 });
  after(() => manager.close());
  return manager;
}

test('an answer that arrived while the thread was blocked is read before the timeout counts', { timeout: 20_000 }, async () => {
  const { worker, port } = await listen(300);
  let requests = 0;
  worker.on('message', () => (requests += 1));
  aManager().setPods([probedPod('p', [probedContainer('c', [probeSpec(httpAction(port), { periodSeconds: 60 })])])]);
  await until(() => requests === 1);
  block(1500);
  await until(() => results().length > 0);
  assert.deepEqual([results(), events(), requests], [['success'], [], 1]);
});

test('a timeout on a blocked thread does not count: the probe is repeated', { timeout: 20_000 }, async () => {
  const { port } = await listen(0);
  aManager().setPods([probedPod('p', [probedContainer('c', [probeSpec(httpAction(port), { periodSeconds: 60 })])])]);
  // The connection is opened in the next iterations; its request can't be sent in time.
  await new Promise((resolve) => setTimeout(resolve, 1));
  block(1500);
  await until(() => results().length > 0);
  assert.deepEqual([results(), events()], [['success'], []]);
});

test('a timeout on a thread that runs counts', { timeout: 20_000 }, async () => {
  const { port } = await listen(60_000);
  aManager().setPods([probedPod('p', [probedContainer('c', [probeSpec(httpAction(port), { periodSeconds: 60 })])])]);
  await until(() => events().length > 0);
  assert.deepEqual(events(), [
    `Readiness probe failed: Get "http://127.0.0.1:${port}/healthz": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  ]);
});
