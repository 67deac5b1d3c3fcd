/** Faults of a real node: the runtime or the kubelet killed at work, a full disk, hostile manifests. Nothing is lost. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { containersOf, observeNodeState, runningOf, untilOnlyThese } from '../support/kubelet/observed-node-state.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

const names = (count: number) => Array.from({ length: count }, (_, i) => `p${i}`);

async function untilAllRun(node: TestNode, count: number): Promise<void> {
  await waitUntil(
    `${count} pods run`,
    async () =>
      (await node.pods().catch(() => [])).filter(
        ({ status }) => status?.phase === 'Running' && status.containerStatuses?.every(({ ready }) => ready),
      ).length === count,
    120_000,
  );
}

/** Asserts one container and one sandbox per pod, each in its first attempt: nothing was created twice or restarted. */
async function assertEachOnce(node: TestNode, count: number): Promise<void> {
  const { inRuntime, runningContainers, readySandboxes } = await observeNodeState(node);
  assert.equal(inRuntime.length, count);
  assert.deepEqual(runningContainers, inRuntime);
  assert.deepEqual(readySandboxes, inRuntime);
  const restarted = (await containersOf(node)).filter(({ metadata }) => metadata?.attempt !== 0);
  assert.deepEqual(
    restarted.map(({ id }) => id),
    [],
  );
}

describe('a node under faults', { concurrency: 2 }, () => {
  test('containerd is killed under 50 pods and restarts: no healthy container is restarted', async (t) => {
    const node = await TestNode.start(t);
    await node.startKubelet();
    for (const name of names(50)) node.apply(aManifest(name));
    await untilAllRun(node, 50);
    const before = new Set((await containersOf(node)).map(({ id }) => id));

    await node.containerd.stop('SIGKILL');
    await waitUntil(
      'the kubelet logs that the runtime is down',
      () => /container runtime is down|runtime.*not (ready|answer)|Container runtime/i.test(node.log()),
      20_000,
    );
    assert.equal((await node.pods()).length, 50);
    await node.startContainerd();
    // A new pod shows that the kubelet works again.
    node.apply(aManifest('after-restart'));
    await untilAllRun(node, 51);
    await assertEachOnce(node, 51);
    const after = new Set((await containersOf(node)).map(({ id }) => id));
    assert.deepEqual(
      [...before].filter((id) => !after.has(id)),
      [],
    );
  });

  test('the kubelet is killed during a burst: no duplicates, no leaks, no restarts of healthy containers', async (t) => {
    const node = await TestNode.start(t);
    await node.startKubelet();
    for (const name of names(20)) node.apply(aManifest(name));
    const observedRunning = new Set<string>();
    for (const atLeast of [2, 9]) {
      await waitUntil(`${atLeast} containers run`, async () => (await runningOf(node)).length >= atLeast, 30_000);
      await node.stopKubelet('SIGKILL');
      for (const id of await runningOf(node)) observedRunning.add(id);
      await node.startKubelet();
    }
    await untilAllRun(node, 20);
    // Incomplete objects of the killed kubelet are removed or used: in the end there is one of each.
    await waitUntil('no sandbox is left over', async () => (await observeNodeState(node)).readySandboxes.length === 20, 90_000);
    const { runningContainers } = await observeNodeState(node);
    assert.equal(runningContainers.length, 20);
    assert.equal(new Set(runningContainers).size, 20);
    const stillRunning = new Set(await runningOf(node));
    assert.deepEqual(
      [...observedRunning].filter((id) => !stillRunning.has(id)),
      [],
    );
    for (const name of names(20)) node.delete(name);
    await untilOnlyThese(node, []);
  });

  test('a pod deleted while the kubelet was down is terminated after its start', async (t) => {
    const node = await TestNode.start(t);
    await node.startKubelet();
    node.apply(aManifest('kept'));
    node.apply(aManifest('deleted'));
    const pod = await node.untilRunning('deleted');
    await node.untilRunning('kept');
    await node.stopKubelet('SIGKILL');
    node.delete('deleted');
    await node.startKubelet();
    await node.untilGone('deleted', 90_000);
    await waitUntil('the pod’s folder is gone', () => !readdirSync(join(node.rootDir, 'pods')).includes(pod.metadata.uid), 30_000);
    assert.equal((await node.untilRunning('kept')).status?.containerStatuses?.[0]?.restartCount, 0);
  });

  test('hostile manifests are reported and affect no other pod', async (t) => {
    const node = await TestNode.start(t);
    await node.startKubelet();
    const writeManifest = (name: string, content: string | Buffer) => writeFileSync(join(node.manifests, name), content);
    writeManifest('binary.yaml', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 31) % 256)));
    writeManifest('huge.yaml', Buffer.alloc(50 * 1024 * 1024, 'a: b\n'));
    writeManifest(
      'bomb.yaml',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghij'
        .split('')
        .map((key, i) => `${key}: &${key} [${Array(9).fill(`*${'abcdefghij'[i]}`).join(',')}]`)
        .join('\n')}\n`,
    );
    writeManifest('cycle.yaml', 'apiVersion: v1\nkind: Pod\nmetadata: &m\n  name: cycle\n  labels: *m\n');
    writeManifest('kind.yaml', 'apiVersion: v1\nkind: Service\nmetadata: { name: service }\n');
    writeManifest('invalid.yaml', 'apiVersion: v1\nkind: Pod\nmetadata: { name: Invalid_Name }\nspec: { containers: [] }\n');
    node.apply(aManifest('good'));
    await node.untilRunning('good');
    for (const file of ['binary.yaml', 'huge.yaml', 'bomb.yaml', 'cycle.yaml', 'kind.yaml', 'invalid.yaml']) {
      await waitUntil(`${file} is named in the log`, () => node.log().includes(file), 30_000);
    }
    assert.match(node.log(), /spec\.containers: Required value/);
    // A pod whose manifest becomes invalid keeps running.
    writeFileSync(join(node.manifests, 'good.yaml'), 'apiVersion: v1\nkind: Pod\nmetadata: [');
    await waitUntil('the invalid version is named in the log', () => node.log().includes('good.yaml'), 30_000);
    assert.equal((await node.untilRunning('good')).status?.containerStatuses?.[0]?.restartCount, 0);
  });

  test('the kubelet survives a full log disk', async (t) => {
    const node = await TestNode.start(t);
    mkdirSync(node.podLogs, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', node.podLogs]);
    await node.startKubelet();
    node.apply(aManifest('writer', { containers: [aBusybox({ sh: 'while :; do echo 0123456789012345678901234567890123456789; done' })] }));
    await node.untilRunning('writer');
    await waitUntil(
      'the disk is full',
      () => Number(execFileSync('df', ['--output=avail', node.podLogs], { encoding: 'utf8' }).split('\n')[1]) === 0,
      30_000,
    );
    node.apply(aManifest('other', { containers: [aBusybox({ sh: 'exit 0' })], restartPolicy: 'Never' }));
    await waitUntil('the kubelet still serves its pods', async () => (await node.pods()).length === 2);
    node.delete('writer');
    await node.untilGone('writer');
    await node.until('other', 'has succeeded once there is room', ({ status }) => status?.phase === 'Succeeded', 60_000);
  });
});
