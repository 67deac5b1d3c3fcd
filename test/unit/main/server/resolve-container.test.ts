import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerResolver, resolveContainer, type KnownPod } from '../../../../src/main/server/resolve-container.ts';
import type { ContainerQuery } from '../../../../src/shared/contracts/server/calls.ts';
import type { ContainerStatus } from '../../../../src/shared/kubernetes/api.ts';
import type { ContainerID, SandboxID } from '../../../../src/shared/kubernetes/ids.ts';
import { aContainer, anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus, aSandbox } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

const running = aRuntimeContainer({ id: 'now' as ContainerID, logPath: '/logs/1.log' });
const before = anExitedContainer(1, { id: 'before' as ContainerID, logPath: '/logs/0.log' });

function aStatus(fields: Partial<ContainerStatus>): ContainerStatus {
  return { name: 'app', image: 'i', imageID: 'i', ready: true, restartCount: 0, ...fields };
}
function known(status: ContainerStatus | undefined, fields: Partial<KnownPod> = {}): KnownPod {
  return {
    pod: aPod(),
    apiStatus: status ? { containerStatuses: [status] } : {},
    runtimeStatus: aRuntimePodStatus({ containers: [running, before] }),
    ...fields,
  };
}
function query(purpose: ContainerQuery['purpose'], fields: Partial<ContainerQuery> = {}): ContainerQuery {
  return { purpose, namespace: 'default', pod: 'web', container: 'app', ...fields };
}
function summary(request: ContainerQuery, pod: KnownPod): string {
  const answer = resolveContainer(request, pod);
  return answer.found ? answer.containerID || answer.sandboxID : `${answer.status} ${answer.message}`;
}

const ended = (containerID?: string) => ({ terminated: { exitCode: 1, ...(containerID && { containerID }) } });
const logCases: { name: string; status: ContainerStatus | undefined; previous?: boolean; container?: string; want: string }[] = [
  { name: 'the running instance', status: aStatus({ state: { running: {} }, containerID: 'containerd://now' }), want: 'now' },
  { name: 'the exited instance', status: aStatus({ state: ended('containerd://before') }), want: 'before' },
  {
    name: 'the instance before one that never started',
    status: aStatus({ state: ended(), lastState: ended('containerd://before') }),
    want: 'before',
  },
  {
    name: 'the last instance while the next one waits',
    status: aStatus({ state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended('containerd://before') }),
    want: 'before',
  },
  {
    name: 'the previous instance on request',
    status: aStatus({ state: { running: {} }, containerID: 'containerd://now', lastState: ended('containerd://before') }),
    previous: true,
    want: 'before',
  },
  {
    name: 'no previous instance',
    status: aStatus({ state: { running: {} }, containerID: 'containerd://now' }),
    previous: true,
    want: '400 previous terminated container "app" in pod "web" not found',
  },
  {
    name: 'a termination without an instance',
    status: aStatus({ state: ended() }),
    want: '400 container "app" in pod "web" is terminated',
  },
  {
    name: 'a wait after a termination without an instance',
    status: aStatus({ state: { waiting: { reason: 'X' } }, lastState: ended() }),
    want: '400 container "app" in pod "web" is terminated',
  },
  {
    name: 'an image that cannot be pulled',
    status: aStatus({ state: { waiting: { reason: 'ErrImagePull' } } }),
    want: `400 container "app" in pod "web" is waiting to start: image can't be pulled`,
  },
  {
    name: 'an image whose pull backs off',
    status: aStatus({ state: { waiting: { reason: 'ImagePullBackOff' } } }),
    want: '400 container "app" in pod "web" is waiting to start: trying and failing to pull image',
  },
  {
    name: 'another wait',
    status: aStatus({ state: { waiting: { reason: 'ContainerCreating' } } }),
    want: '400 container "app" in pod "web" is waiting to start: ContainerCreating',
  },
  { name: 'no state at all', status: aStatus({}), want: '400 container "app" in pod "web" is waiting to start - no logs yet' },
  { name: 'no status', status: undefined, want: '400 container "app" in pod "web" is not available' },
  { name: 'a container that is not in the pod', status: undefined, container: 'x', want: '404 container "x" not found in pod "web"' },
  {
    name: 'an instance that the runtime no longer has',
    status: aStatus({ state: ended('containerd://gone') }),
    want: '400 unable to retrieve container logs for containerd://gone',
  },
];
table('logs show a container of the pod', (row) => {
  for (const { name, status, want, ...fields } of logCases) {
    row(`logs show: ${name}`, () => assert.equal(summary(query('logs', fields), known(status)), want));
  }
});

test('logs of a pod without a status yet are found by the status that came with the pod', () => {
  const pod = aPod({ status: { containerStatuses: [aStatus({ state: ended('containerd://before') })] } });
  assert.equal(summary(query('logs'), known(undefined, { pod, apiStatus: undefined })), 'before');
});

test('logs of init and ephemeral containers are found too', () => {
  const pod = aPod({ spec: { initContainers: [aContainer({ name: 'init' })] } });
  const apiStatus = { initContainerStatuses: [aStatus({ name: 'init', state: ended('containerd://before') })] };
  assert.equal(summary(query('logs', { container: 'init' }), known(undefined, { pod, apiStatus })), 'before');
});

const dead = known(undefined, {
  runtimeStatus: aRuntimePodStatus({ containers: [before], sandboxes: [aSandbox({ state: 'notReady' })] }),
});
const cases: { name: string; query: ContainerQuery; known?: KnownPod; want: string }[] = [
  { name: 'exec uses the running instance', query: query('exec'), want: 'now' },
  { name: 'exec needs a running instance', query: query('exec'), known: dead, want: '500 container not found ("app")' },
  { name: 'exec compares the UID', query: query('exec', { podUID: 'other' }), want: '500 container not found ("app")' },
  { name: 'run uses the running instance', query: query('run', { podUID: 'uid-web' }), want: 'now' },
  { name: 'attach needs a running instance', query: query('attach'), known: dead, want: '500 container app not found in pod web_default' },
  { name: 'checkpoint uses the running instance', query: query('checkpoint'), want: 'now' },
  { name: 'checkpoint needs a running instance', query: query('checkpoint'), known: dead, want: '500 container app not found' },
  { name: 'checkpoint of an unknown container', query: query('checkpoint', { container: 'x' }), want: '404 container x does not exist' },
  { name: 'a port is forwarded into the sandbox', query: query('portForward'), want: 'sandbox-0' },
  { name: 'a port of another pod', query: query('portForward', { podUID: 'other' }), want: '404 pod not found' },
  { name: 'a port of a pod that ended', query: query('portForward'), known: dead, want: '500 pod not found ("web_default")' },
];
table('resolving a container', (row) => {
  for (const { name, query: request, known: pod = known(undefined), want } of cases) {
    row(`resolving a container: ${name}`, () => assert.equal(summary(request, pod), want));
  }
});

test('a port is forwarded into the newest sandbox', () => {
  const sandboxes = [aSandbox({ id: 'new' as SandboxID }), aSandbox({ id: 'old' as SandboxID, state: 'notReady' })];
  assert.equal(summary(query('portForward'), known(undefined, { runtimeStatus: aRuntimePodStatus({ sandboxes }) })), 'new');
});

test('attach uses a terminal if the spec has one', () => {
  const pod = aPod({ spec: { containers: [aContainer({ tty: true })] } });
  const answer = resolveContainer(query('attach'), known(undefined, { pod }));
  assert.equal(answer.found && answer.tty, true);
});

const untilSourcesReady = async () => {};

test('a pod is inspected again before a request for a container that is not known to run fails', async () => {
  const inspections: string[] = [];
  const resolve = containerResolver({
    pod: (fullName) => (fullName === 'web_default' ? aPod() : undefined),
    apiStatus: () => ({}),
    runtimeStatus: () => (inspections.length > 0 ? aRuntimePodStatus({ containers: [running] }) : null),
    inspectPod: async (uid) => void inspections.push(uid),
    untilSourcesReady,
    translateUID: (uid) => (uid === 'mirror' ? 'uid-web' : uid),
  });
  const answer = await resolve(query('exec', { podUID: 'mirror' }));
  assert.equal(answer.found && answer.containerID, 'now');
  assert.deepEqual(inspections, ['uid-web']);
  assert.deepEqual(await resolve(query('exec', { pod: 'x' })), { found: false, status: 404, message: 'pod does not exist' });
  assert.deepEqual(await resolve(query('logs', { pod: 'x' })), { found: false, status: 404, message: 'pod "x" does not exist' });
  assert.equal(inspections.length, 1);
});

test('the cached status decides when the runtime does not answer', async () => {
  const resolve = containerResolver({
    pod: () => aPod(),
    apiStatus: () => ({}),
    runtimeStatus: () => null,
    inspectPod: () => Promise.reject(new Error('down')),
    untilSourcesReady,
    translateUID: (uid) => uid,
  });
  assert.deepEqual(await resolve(query('exec')), { found: false, status: 500, message: 'container not found ("app")' });
});

test('the pod is inspected when the log path is not known', async () => {
  let container = aRuntimeContainer({ id: 'now' as ContainerID, logPath: '', listedOnly: true });
  const resolve = containerResolver({
    pod: () => aPod(),
    apiStatus: () => ({ containerStatuses: [aStatus({ state: { running: {} }, containerID: 'containerd://now' })] }),
    runtimeStatus: () => aRuntimePodStatus({ containers: [container] }),
    inspectPod: async () => void (container = running),
    untilSourcesReady,
    translateUID: (uid) => uid,
  });
  const answer = await resolve(query('logs'));
  assert.equal(answer.found && answer.logPath, '/logs/1.log');
});

test('a request for a pod waits until the sources are ready, unless the pod is known', async () => {
  const pods = new Map<string, ReturnType<typeof aPod>>();
  const ready = Promise.withResolvers<void>();
  let waits = 0;
  const resolve = containerResolver({
    pod: (fullName) => pods.get(fullName),
    apiStatus: () => ({}),
    runtimeStatus: () => aRuntimePodStatus({ containers: [running] }),
    inspectPod: async () => {},
    untilSourcesReady: () => ((waits += 1), ready.promise),
    translateUID: (uid) => uid,
  });
  const [answer, other] = [resolve(query('exec')), resolve(query('exec', { pod: 'x' }))];
  pods.set('web_default', aPod());
  ready.resolve();
  assert.equal((await answer).found, true);
  assert.deepEqual(await other, { found: false, status: 404, message: 'pod does not exist' });
  assert.equal((await resolve(query('exec'))).found, true);
  assert.equal(waits, 2);
});
