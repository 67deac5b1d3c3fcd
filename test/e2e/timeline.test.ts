/** `kubelet timeline` on a running kubelet: pods that start, hang while they start, and hang while they terminate. */
import assert from 'node:assert/strict';
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { TimelineJson, TimelineListJson } from '../../src/shared/contracts/timeline.ts';
import { mount, MountFlag } from '../../src/shared/linux/native.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { runLocalCommand, untilTimeline } from '../support/kubelet/local-command.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

let node: TestNode;
before(async () => {
  node = await TestNode.start(null);
  await node.startKubelet();
});
after(() => node.destroy());

const run = (...args: readonly string[]) => runLocalCommand('timeline', node.rootDir, ...args);
const nameOf = (pod: string) => `default/${pod}-${node.nodeName}`;
const until = (pod: string, what: string, condition: (json: TimelineJson) => boolean) =>
  untilTimeline(node.rootDir, nameOf(pod), what, condition);

/** Mounts a host folder over the pod's volume `data` and opens a file there, so that it can't be unmounted until its release. */
async function holdMount(uid: string): Promise<{ release(): void }> {
  const data = join(node.rootDir, 'pods', uid, 'volumes/kubernetes.io~empty-dir/data');
  const host = join(node.folder, uid);
  mkdirSync(host);
  await mount(host, data, '', MountFlag.bind, '');
  const file = openSync(join(data, 'open-file'), 'w');
  return { release: () => closeSync(file) };
}

test('a start has one bar per phase, in the order in which they began', async () => {
  node.apply(
    aManifest('web', {
      initContainers: [aBusybox({ name: 'first', sh: 'true' })],
      containers: [aBusybox({ lifecycle: { postStart: { exec: { command: ['true'] } } } })],
    }),
  );
  await node.untilRunning('web');
  const json = await until('web', 'is ready', ({ phases }) => phases.some(({ phase, outcome }) => phase === 'Ready' && outcome === 'ok'));
  const ended = json.phases.filter(({ outcome }) => outcome === 'ok').map(({ phase, container }) => `${phase} ${container ?? ''}`.trim());
  for (const phase of ['Admission', 'Queue', 'Volumes', 'Sandbox', 'Running', 'Ready', 'Image first', 'Create first', 'Start first'])
    assert.ok(ended.includes(phase), `${phase} is not in ${ended.join(', ')}`);
  for (const phase of ['Image app', 'Create app', 'Start app', 'PostStart app']) assert.ok(ended.includes(phase), phase);
  assert.deepEqual([json.state, json.source, json.restored, json.ledger], ['Running', 'file', false, []]);
  const beginOf = (name: string) =>
    json.phases.find(({ phase, container }) => `${phase} ${container ?? ''}`.trim() === name)?.startMs ?? NaN;
  const order = ['Admission', 'Sandbox', 'Create first', 'Start first', 'Create app', 'Start app', 'PostStart app'].map(beginOf);
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
  const { stdout } = await run(nameOf('web'));
  assert.match(stdout, /^default\/web-test-node {2}Running\n/);
  assert.match(stdout, /^ready after /m);
  assert.match(stdout, /^ {2}Sandbox +\|.*[#-].*\| +\d/m);
  assert.match(stdout, /^ {2}PostStart \(app\) +\|/m);
});

test('a pull that stalls is the open phase of its container, and of the list', async () => {
  const registry = createServer(() => {}).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  try {
    const images = `127.0.0.1:${(registry.address() as AddressInfo).port}/team`;
    node.apply(aManifest('pulling', { containers: [aBusybox({ image: `${images}/slow:1` })] }));
    const json = await until('pulling', 'shows the pull', ({ phases }) =>
      phases.some(({ phase, container, outcome }) => phase === 'Image' && container === 'app' && outcome === 'open'),
    );
    assert.equal(json.state, 'Starting');
    assert.match((await run(nameOf('pulling'))).stdout, /^ {2}Image \(app\) +\|.*#>\|/m);
    const list = JSON.parse((await run('--json')).stdout) as TimelineListJson;
    assert.equal(list.pods.find(({ name }) => name === 'pulling-test-node')?.phase, 'Image (app)');
    assert.match((await run()).stdout, /default\/pulling-test-node +Starting +.*Image \(app\)/);
    // By default one image is pulled at a time.
    node.apply(aManifest('queued', { containers: [aBusybox({ image: `${images}/other:1` })] }));
    await until('queued', 'waits for the other pull', ({ phases }) =>
      phases.some(({ phase, wait }) => phase === 'Image' && wait?.for === 'PullQueue' && wait.open),
    );
  } finally {
    for (const name of ['pulling', 'queued']) node.delete(name);
    registry.closeAllConnections();
    registry.close();
  }
  for (const name of ['pulling', 'queued']) await node.untilGone(name);
});

test('a pod that terminates says what it waits for, and what happens next', async () => {
  const preStop = { exec: { command: ['sleep', '1000'] } };
  const sh = 'trap "" TERM; while :; do sleep 1000 & wait $!; done';
  node.apply(aManifest('stuck', { containers: [aBusybox({ sh, lifecycle: { preStop } })], terminationGracePeriodSeconds: 6 }));
  await node.untilRunning('stuck');
  node.delete('stuck');
  const inHook = await until('stuck', 'is in its hook', ({ ledger }) => ledger.some(({ waitsFor }) => waitsFor.includes('preStop')));
  assert.equal(inHook.state, 'Terminating');
  assert.deepEqual(
    inHook.ledger.map(({ kind, waitsFor }) => [kind, waitsFor]),
    [['container', 'container app: its preStop hook']],
  );
  assert.match(inHook.ledger[0]?.next ?? '', /^the hook is given up in \d/);
  const inStop = await until('stuck', 'is killed', ({ ledger }) => ledger.some(({ waitsFor }) => waitsFor.includes('SIGTERM')));
  assert.equal(inStop.ledger[0]?.kind, 'container');
  const gone = await until('stuck', 'has finished', ({ state }) => state === 'Finished');
  assert.deepEqual(gone.ledger, []);
  const steps = gone.phases.map(({ phase }) => phase);
  for (const phase of ['Termination', 'PreStop', 'Stop', 'SandboxStop', 'VolumeUnmount', 'CgroupRemoval'] as const)
    assert.ok(steps.includes(phase), phase);
  const { stdout } = await run(nameOf('stuck'));
  assert.match(stdout, /^Termination \(/m);
});

test('a termination that takes too long has one event that names what it waits for', async () => {
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  const volumes = [{ name: 'data', emptyDir: {} }];
  node.apply(aManifest('slow', { containers: [aBusybox({ volumeMounts })], volumes, terminationGracePeriodSeconds: 1 }));
  const pod = await node.untilRunning('slow');
  const data = await holdMount(pod.metadata.uid);
  const events = () => node.log().match(/PodPhaseSlow.*/g) ?? [];
  try {
    node.delete('slow');
    await waitUntil('the event is recorded', () => events().length > 0, 30_000);
    assert.match(events()[0]!, /Termination takes longer than 11 s: .* so far; waits for .*still mounted/);
  } finally {
    data.release();
  }
  await node.untilGone('slow');
  assert.equal(events().length, 1);
});

test('a held mount is named, with the time of the next attempt', async () => {
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  node.apply(aManifest('held', { containers: [aBusybox({ volumeMounts })], volumes: [{ name: 'data', emptyDir: {} }] }));
  const pod = await node.untilRunning('held');
  const data = await holdMount(pod.metadata.uid);
  try {
    node.delete('held');
    const json = await until('held', 'names the mount', ({ ledger }) => ledger.some(({ waitsFor }) => waitsFor.includes('still mounted')));
    assert.equal(json.ledger[0]?.kind, 'volume');
    assert.match(json.ledger[0]?.next ?? '', /^the unmount is retried in /);
    assert.match(json.problem ?? '', /^FailedCleanUp: /);
  } finally {
    data.release();
  }
  await node.untilGone('held');
});

test('the socket is open to root only, and errors are one clear line', async () => {
  assert.equal(statSync(join(node.rootDir, 'timeline')).mode & 0o777, 0o700);
  assert.equal(statSync(join(node.rootDir, 'timeline/kubelet.sock')).mode & 0o777, 0o600);
  const unknown = await run('default/wep-test-node');
  assert.deepEqual([unknown.code, unknown.stdout], [1, '']);
  assert.match(
    unknown.stderr,
    /^Error: this kubelet has no timeline of pod default\/wep-test-node; similar names: .*default\/web-test-node/,
  );
  const malformed = await run('web');
  assert.equal(malformed.stderr, 'Error: web is not <namespace>/<pod>\n');
});

test('a restarted kubelet records its pods anew and marks them; without a kubelet the command says so', async () => {
  await node.stopKubelet();
  const stopped = await run(nameOf('web'));
  assert.equal(stopped.code, 1);
  assert.match(stopped.stderr, /^Error: no kubelet runs with this root directory \(/);
  await node.startKubelet();
  await node.untilRunning('web');
  const json = await until('web', 'is there', () => true);
  assert.deepEqual([json.restored, json.state], [true, 'Running']);
  assert.match((await run(nameOf('web'))).stdout, /^it ran before this kubelet started/m);
});
