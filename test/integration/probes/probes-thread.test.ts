/** The probes thread with real sockets: from a list of pods to results and events. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { httpAction, probedContainer, probedPod, probeSpec } from '../../support/probes/probed-pod.ts';
import { startProbesThread } from '../../support/probes/probes-thread.ts';

const harness = startProbesThread();
after(() => harness.close());

async function listen(answer: () => number): Promise<number> {
  const server = createServer((_, response) => response.writeHead(answer()).end());
  server.listen(0, '127.0.0.1');
  after(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test('readiness follows the server', { timeout: 20_000 }, async () => {
  let status = 200;
  const port = await listen(() => status);
  const pod = probedPod('ready', [probedContainer('c', [probeSpec(httpAction(port))])]);
  const results = () => harness.results.filter(({ podUID }) => podUID === pod.uid).map(({ result }) => result);
  await harness.probes.setPods([pod]);
  await harness.until(() => results().length === 1);
  status = 503;
  await harness.until(() => results().length === 2);
  assert.deepEqual(results(), ['success', 'failure']);
  assert.deepEqual(
    harness.events.find(({ podUID }) => podUID === pod.uid),
    { podUID: pod.uid, container: 'c', reason: 'Unhealthy', message: 'Readiness probe failed: HTTP probe failed with statuscode: 503' },
  );
  await harness.probes.removePods([pod.uid]);
});
