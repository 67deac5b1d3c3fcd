/** A whole kubelet with a failing staticPodURL: the pods of files run, and no pod ends before the URL has answered. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { StandaloneNode } from '../../support/kubelet/standalone-node.ts';

const isRunning = ({ status }: { status?: { phase?: string } }) => status?.phase === 'Running';
const aManifest = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { dnsPolicy: 'Default', terminationGracePeriodSeconds: 1, containers: [{ name: 'app', image: 'sim/run:1' }] },
});

async function aServer(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
}

/** Returns a URL whose port is closed. */
async function closedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/pods`;
}

const runningInRuntime = async (node: StandaloneNode) =>
  (await node.runtime.control.state()).containers.filter(({ state }) => state === 'running').map(({ podName }) => podName);

const urls: Readonly<Record<string, (t: TestContext) => Promise<string>>> = {
  'cannot be reached': () => closedPort(),
  'never answers': (t) => aServer(t, () => {}),
  'answers garbage': (t) => aServer(t, (_, response) => response.end(Buffer.from([0, 1, 2, 3, 255, 254]))),
  'answers without end': (t) =>
    aServer(t, (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
      };
      response.on('drain', more);
      more();
    }),
};
for (const [what, start] of Object.entries(urls)) {
  test(`a URL that ${what} delays no pod of a file, and a pod whose file is removed keeps running, because the URL may have the pod`, async (t) => {
    const node = await StandaloneNode.start(t);
    node.writeManifest('web.json', aManifest('web'));
    await node.startKubelet({ staticPodURL: await start(t), httpCheckFrequency: '100ms' });
    await node.waitForPod('web', 'runs', isRunning);
    if (what !== 'never answers') {
      await waitUntil('the failure is logged', () => node.logs.lines.some(({ msg }) => msg.startsWith('Failed to read pods from URL')));
    }
    node.removeManifest('web.json');
    await waitUntil('the removal is seen', async () => (await node.pods()).length === 0);
    assert.deepEqual(await runningInRuntime(node), ['web-node-1']);
  });
}

test('once the URL has answered, its pods run next to those of files, and pods without a source end', async (t) => {
  const node = await StandaloneNode.start(t);
  node.writeManifest('orphan.json', aManifest('orphan'));
  await node.startKubelet();
  await node.waitForPod('orphan', 'runs', isRunning);
  await node.stopKubelet();
  node.removeManifest('orphan.json');

  let answer: RequestListener = (_, response) => void response.writeHead(503).end();
  const url = await aServer(t, (request, response) => answer(request, response));
  node.writeManifest('web.json', aManifest('web'));
  await node.startKubelet({ staticPodURL: url, httpCheckFrequency: '100ms' });
  await node.waitForPod('web', 'runs', isRunning);
  // Longer than the housekeeping period.
  await sleep(2500);
  assert.ok((await runningInRuntime(node)).includes('orphan-node-1'));

  answer = (_, response) => response.end(JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [aManifest('remote')] }));
  await node.waitForPod('remote', 'runs', isRunning);
  await waitUntil('the orphan has ended', async () => !(await runningInRuntime(node)).includes('orphan-node-1'));
  answer = (_, response) => response.end('{"kind": "PodList", "apiVersion": "v1", "items": [{"spec": 7}]}');
  await waitUntil('the invalid list is logged', () => node.logs.lines.some(({ err }) => String(err).includes('invalid pod')));
  assert.deepEqual((await runningInRuntime(node)).toSorted(), ['remote-node-1', 'web-node-1']);
});
