/** Restarts under hostile conditions in a whole kubelet: many dead instances, crash loops of many containers, and values beyond the API's types. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriClient } from '../../../src/shared/cri/client.ts';
import type { Container, Pod } from '../../../src/shared/kubernetes/api.ts';
import { StandaloneNode } from '../../support/kubelet/standalone-node.ts';
import { waitUntil, type TestHooks } from '../../support/runtime/simulated-runtime.ts';

const limits = { deadlineMs: 10_000 };
const instanceCount = 300;

function aManifest(name: string, containers: readonly Container[], initContainers: readonly Container[] = []): object {
  const spec = { dnsPolicy: 'Default', terminationGracePeriodSeconds: 2, initContainers, containers };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
}

const isReady = ({ status }: Pod) => status?.containerStatuses?.every(({ ready }) => ready) === true;

async function aNode(t: TestHooks, configuration: object = {}) {
  const node = await StandaloneNode.start(t);
  await node.startKubelet(configuration);
  const cri = new CriClient({ endpoint: node.runtime.endpoint });
  t.after(async () => cri.close());
  const named = async (name: string) => (await node.runtime.control.state()).containers.filter((container) => container.name === name);
  return { node, cri, named, control: node.runtime.control };
}

/** Returns a function that creates and starts instances of a container, as another client of the runtime could. */
async function instancesOf(cri: CriClient, id: string) {
  const { containers } = await cri.runtime.call('listContainers', { filter: { id } }, limits);
  const { metadata, labels, image, annotations: own, podSandboxId } = containers[0]!;
  const { status } = await cri.runtime.call('podSandboxStatus', { podSandboxId }, limits);
  const sandboxConfig = { metadata: status!.metadata, labels: status!.labels, logDirectory: '' };
  return async (attempt: number, annotations: Readonly<Record<string, string>>) => {
    const { name } = metadata!;
    const config = {
      metadata: { name, attempt },
      image,
      labels,
      annotations: { ...own, ...annotations },
      logPath: `${name}/${attempt}.log`,
    };
    const { containerId } = await cri.runtime.call('createContainer', { podSandboxId, config, sandboxConfig }, limits);
    await cri.runtime.call('startContainer', { containerId }, limits);
    return containerId;
  };
}

test('a pod with many dead instances of an init container runs again in a new sandbox, and leaves few of them', async (t) => {
  const { node, cri, named, control } = await aNode(t);
  node.writeManifest('many.json', aManifest('many', [{ name: 'app', image: 'sim/run:1' }], [{ name: 'prepare', image: 'sim/exit:0' }]));
  const { metadata } = await node.waitForPod('many', 'is ready', isReady);
  const create = await instancesOf(cri, (await named('prepare'))[0]!.id);
  await node.stopKubelet();
  const attempts = Array.from({ length: instanceCount }, (_, index) => index + 1);
  await Promise.all(attempts.map((attempt) => create(attempt, { 'io.kubernetes.container.restartCount': String(attempt) })));
  assert.equal((await named('prepare')).length, instanceCount + 1);
  const { sandboxes } = await control.state();
  await control.exitSandbox(sandboxes.find(({ podUID }) => podUID === metadata.uid)!.id);
  node.writeManifest('other.json', aManifest('other', [{ name: 'app', image: 'sim/run:1' }]));
  await node.startKubelet();
  await node.waitForPod('other', 'is ready', isReady);
  const isReadyAgain = (pod: Pod) => isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1;
  const pod = await node.waitForPod('many', 'is ready again', isReadyAgain);
  assert.equal(pod.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode, 0);
  assert.equal(pod.status?.initContainerStatuses?.[0]?.restartCount, instanceCount + 1);
  await waitUntil('few instances are left', async () => (await named('prepare')).length <= 2);
});

test('a crash loop of many containers starts each of them seldom, and delays no other pod', async (t) => {
  const { node, control } = await aNode(t, { crashLoopBackOff: { maxContainerRestartPeriod: '300s' } });
  const names = ['constructor', 'tostring', 'hasownproperty', ...Array.from({ length: 57 }, (_, index) => `crash-${index}`)];
  node.writeManifest(
    'loop.json',
    aManifest(
      'loop',
      names.map((name) => ({ name, image: 'sim/exit:1' })),
    ),
  );
  const isLooping = ({ status }: Pod) =>
    status?.containerStatuses?.every(({ state }) => state?.waiting?.reason === 'CrashLoopBackOff') === true;
  await node.waitForPod('loop', 'backs off all containers', isLooping);
  node.writeManifest('calm.json', aManifest('calm', [{ name: 'app', image: 'sim/run:1' }]));
  await node.waitForPod('calm', 'is ready', isReady, 5000);
  const pod = await node.waitForPod('loop', 'is there', () => true);
  assert.ok(pod.status?.containerStatuses?.every(({ restartCount }) => restartCount <= 2));
  assert.ok((await control.counters())['StartContainer']!.count <= names.length * 3 + 1);
});

test('values beyond the types of the API are bounded', async (t) => {
  const { node, cri, named, control } = await aNode(t, { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } });
  node.writeManifest('odd.json', aManifest('odd', [{ name: 'constructor', image: 'sim/run:1' }]));
  await node.waitForPod('odd', 'is ready', isReady);
  const [first] = await named('constructor');
  await control.exitContainer(first!.id, -(2 ** 31)); // What 2 ** 31 becomes in an int32.
  const only = ({ status }: Pod) => status?.containerStatuses?.[0];
  const restarted = await node.waitForPod('odd', 'was restarted', (pod) => only(pod)?.restartCount === 1 && isReady(pod));
  const { exitCode = NaN } = only(restarted)?.lastState?.terminated ?? {};
  assert.ok(Number.isInteger(exitCode) && exitCode === (exitCode | 0), String(exitCode));
  // An instance that another client made, with hostile annotations, counts as the oldest.
  const running = (await named('constructor')).find(({ state }) => state === 'running')!;
  const create = await instancesOf(cri, running.id);
  const hostile = await create(7, {
    'io.kubernetes.container.restartCount': '99999999999999',
    'io.kubernetes.container.restartBackOff': '999999999 constructor/0',
  });
  await control.exitContainer(hostile, 1);
  await control.exitContainer(running.id, 5);
  const again = await node.waitForPod('odd', 'was restarted again', (pod) => only(pod)?.restartCount === 2 && isReady(pod));
  assert.equal(only(again)?.lastState?.terminated?.exitCode, 5);
});
