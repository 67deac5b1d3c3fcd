/** The pods API of a whole kubelet on the simulated runtime: its readiness, a restart of its thread's clients, many pods, and its gate. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { PodsApiClient, type ReceivedEvent } from '../../support/grpc/pods-api-client.ts';
import { StandaloneNode } from '../../support/kubelet/standalone-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const aManifest = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: { containers: [{ name: 'app', image: 'app:1' }], terminationGracePeriodSeconds: 1 },
});

function aClient(t: TestContext, node: StandaloneNode): PodsApiClient {
  const client = new PodsApiClient(join(node.folder, 'kubelet/pods-api/pods-api.sock'));
  t.after(() => client.close());
  return client;
}

/** Before all sources have reported, calls fail. */
async function untilReady(client: PodsApiClient): Promise<void> {
  await waitUntil('the pods API is ready', () =>
    client.list().then(
      () => true,
      () => false,
    ),
  );
}

test('a watch sees each of many pods once, from its start to its end', async (t) => {
  const node = await StandaloneNode.start(t);
  await node.startKubelet();
  const client = aClient(t, node);
  await untilReady(client);
  const { events, cancel } = client.watch();
  await waitUntil('the first list', () => events().length === 1);
  const names = Array.from({ length: 60 }, (_, index) => `web-${index}`);
  for (const name of names) node.writeManifest(`${name}.json`, aManifest(name));
  const isRunning = ({ pod }: ReceivedEvent) => pod?.status?.phase === 'Running';
  await waitUntil(
    'all pods run',
    () =>
      new Set(
        events()
          .filter(isRunning)
          .map(({ pod }) => pod?.metadata.name),
      ).size === names.length,
  );
  const listed = await client.list();
  assert.deepEqual(new Set(listed.map(({ metadata }) => metadata.name)), new Set(names.map((name) => `${name}-node-1`)));
  for (const name of names) node.removeManifest(`${name}.json`);
  await waitUntil('all pods ended', () => events().filter(({ type }) => type === 'DELETED').length === names.length);
  await waitUntil('no pod is listed', async () => (await client.list()).length === 0);
  for (const name of names) {
    const types = events().flatMap(({ type, pod }) => (pod?.metadata.name === `${name}-node-1` ? [type] : []));
    assert.match(types.join(' '), /^ADDED( MODIFIED)+ DELETED$/, name);
  }
  cancel();
});

test('a restarted kubelet takes the socket over, and without the gate there is none', async (t) => {
  const node = await StandaloneNode.start(t);
  node.writeManifest('web.json', aManifest('web'));
  await node.startKubelet();
  await node.waitForPod('web', 'runs', ({ status }) => status?.phase === 'Running');
  const client = aClient(t, node);
  await untilReady(client);
  assert.equal((await client.list())[0]?.status?.phase, 'Running');
  const { failure } = client.watch();
  await node.stopKubelet();
  assert.notEqual((await failure).code, 'OK');
  await node.startKubelet();
  await waitUntil('the pod is listed again', async () => (await client.list().catch(() => []))[0]?.status?.phase === 'Running');
  await node.stopKubelet();
  await node.startKubelet({ featureGates: { PodsAPI: false } });
  assert.equal(existsSync(join(node.folder, 'kubelet/pods-api/pods-api.sock')), true, 'the name is left by the kubelet before');
  await assert.rejects(client.list(), /UNAVAILABLE/);
});
