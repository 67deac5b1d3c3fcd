/** The PLEG on a real containerd, with an event stream (1.7) and without (1.6). */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { ensureContainerd } from '../../lab/containerd/installations/installations.ts';
import { PrivateContainerd } from '../../lab/containerd/private-containerd.ts';
import { RuntimeStatusCache } from '../../src/main/pods/runtime-status-cache.ts';
import type { PlegNotification } from '../../src/shared/contracts/pleg.ts';
import { CriClient } from '../../src/shared/cri/client.ts';
import type { PodUID } from '../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotReader, RuntimeSnapshotWriter } from '../../src/shared/state/runtime-snapshot.ts';
import { systemClock } from '../../src/shared/time/clock.ts';
import { CriPlegRuntime } from '../../src/workers/pleg/pleg-runtime.ts';
import { Pleg } from '../../src/workers/pleg/pleg.ts';
import { readTerminationMessage } from '../../src/workers/pleg/runtime-status/termination-message.ts';
import { aLogger } from '../support/logger.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { busybox } from '../support/kubelet/test-node.ts';

const limits = { deadlineMs: 30_000 };
const uid = 'pleg-e2e' as PodUID;
const labels = { 'io.kubernetes.pod.name': 'web', 'io.kubernetes.pod.namespace': 'default', 'io.kubernetes.pod.uid': uid };

async function aPleg(t: TestContext, version: '1.6' | '1.7') {
  const folder = mkdtempSync('/tmp/kp-');
  const start = () =>
    PrivateContainerd.start({
      folder: join(folder, 'containerd'),
      network: version === '1.6' ? '10.98' : '10.99',
      installation: ensureContainerd(version),
    });
  let containerd = await start();
  const { endpoint } = containerd;
  const cri = new CriClient({ endpoint });
  const { logger, lines } = aLogger();
  const buffer = createRuntimeSnapshot(10);
  const messages: PlegNotification[] = [];
  const cache = new RuntimeStatusCache();
  const pleg = new Pleg({
    runtime: new CriPlegRuntime({ endpoint, requestTimeoutMs: 30_000, logger }),
    snapshot: new RuntimeSnapshotWriter(buffer),
    post: (message) => {
      messages.push(structuredClone(message));
      cache.apply(message);
    },
    relistPeriodMs: 1000,
    useEventStream: true,
    onListing: () => {},
    onListed: () => {},
    onRelisted: () => {},
    readMessage: (source) => readTerminationMessage(source, { rootDir: folder, podLogsDir: logDirectory }),
    clock: systemClock,
    logger,
  });
  t.after(async () => {
    await pleg.close();
    cri.close();
    await containerd.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  const logDirectory = join(folder, 'logs');
  mkdirSync(join(logDirectory, 'app'), { recursive: true });
  return {
    pleg,
    /** Returns the status that was posted before the answer. */
    inspect: async () => {
      await pleg.inspectPod(uid);
      return cache.get(uid);
    },
    lines,
    messages,
    runtime: cri.runtime,
    sandbox: { metadata: { name: 'web', namespace: 'default', uid }, labels, logDirectory, linux: {} },
    snapshot: new RuntimeSnapshotReader(buffer),
    events: () => messages.flatMap(({ events }) => events.map((event) => event.type)),
    kill: () => containerd.stop('SIGKILL'),
    start: async () => (containerd = await start()),
  };
}

describe('the PLEG', { concurrency: true }, () => {
  for (const version of ['1.7', '1.6'] as const) {
    test(`containerd ${version}: reports a start, an exit with its message, a runtime restart and the removal`, async (t) => {
      const node = await aPleg(t, version);
      const { runtime, sandbox, pleg } = node;
      const { podSandboxId } = await runtime.call('runPodSandbox', { config: sandbox }, limits);
      const startContainer = async (name: string, script: string) => {
        const config = {
          metadata: { name, attempt: 2 },
          image: { image: busybox },
          command: ['sh', '-c', script],
          logPath: `app/${name}.log`,
          labels: { ...labels, 'io.kubernetes.container.name': name },
          annotations: {
            'io.kubernetes.container.hash': 'ab12',
            'io.kubernetes.container.restartCount': '2',
            'io.kubernetes.container.terminationMessagePolicy': 'FallbackToLogsOnError',
          },
          linux: {},
        };
        const { containerId } = await runtime.call('createContainer', { podSandboxId, config, sandboxConfig: sandbox }, limits);
        await runtime.call('startContainer', { containerId }, limits);
        return containerId;
      };
      const createLargeContainers = async () => {
        const others = { ...sandbox, metadata: { name: 'others', namespace: 'default', uid: 'others' }, labels: {} };
        const { podSandboxId: id } = await runtime.call('runPodSandbox', { config: others }, limits);
        for (const name of ['a', 'b', 'c']) {
          const config = { metadata: { name }, image: { image: busybox }, annotations: { note: 'x'.repeat(6_000_000) }, linux: {} };
          await runtime.call('createContainer', { podSandboxId: id, config, sandboxConfig: others }, limits);
        }
        await assert.rejects(runtime.call('listContainers', {}, limits), /ResourceExhausted/);
        await pleg.relist();
        assert.ok(node.lines.some(({ msg }) => msg.endsWith('exceeds the message limit, and comes in portions')));
        return id;
      };
      const stays = await startContainer('stays', 'sleep 1000');
      const fails = await startContainer('fails', 'echo one; echo two >&2; sleep 0.5; exit 3');
      const inspected = (await node.inspect())!;
      assert.deepEqual(
        [inspected.name, inspected.namespace, inspected.sandboxes[0]?.state, inspected.failure],
        ['web', 'default', 'ready', undefined],
      );
      assert.match(inspected.podIPs[0]!, /^10\.9[89]\./);
      assert.deepEqual(
        inspected.containers.map(({ name, state }) => `${name} ${state}`),
        ['fails running', 'stays running'],
      );
      assert.ok(Math.abs(inspected.containers[0]!.startedAtMs - Date.now()) < 60_000);

      const exitNotification = await waitUntil('the exit is notified', () =>
        node.messages.find(({ events }) => events.some(({ type }) => type === 'ContainerDied')),
      );
      const ended = exitNotification.statuses[0]!.containers.find(({ id }) => id === fails)!;
      assert.deepEqual([ended.state, ended.exitCode, ended.reason, ended.restartCount, ended.hash], ['exited', 3, 'Error', 2, 'ab12']);
      assert.deepEqual(ended.message.split('\n').sort(), ['', 'one', 'two']);
      assert.ok(ended.finishedAtMs > ended.startedAtMs);
      t.diagnostic(`an exit is notified after at most ${Math.round(Date.now() - ended.finishedAtMs)} ms`);

      const before = node.events();
      await node.kill();
      await assert.rejects(pleg.relist(), /Unavailable/);
      await node.start();
      await waitUntil('the relist succeeds again', () => node.lines.some(({ msg }) => msg === 'relist succeeds again'));
      assert.deepEqual(
        node.events().filter((type) => type !== 'PodSync'),
        before,
      );
      assert.deepEqual([...node.snapshot.all()].map(({ containerName, state }) => `${containerName} ${state}`).sort(), [
        ' running',
        'fails exited',
        'stays running',
      ]);
      assert.equal(node.lines.filter(({ level }) => level >= 50).length, 1);

      // The events of such containers are too long, too.
      const otherSandboxID = version === '1.6' ? await createLargeContainers() : null;

      await runtime.call('stopContainer', { containerId: stays, timeout: 0n }, limits);
      await runtime.call('stopPodSandbox', { podSandboxId }, limits);
      const stopped = (await node.inspect())!;
      assert.deepEqual([stopped.sandboxes[0]?.state, stopped.podIPs], ['notReady', inspected.podIPs]);
      for (const id of [podSandboxId, otherSandboxID])
        if (id !== null) await runtime.call('removePodSandbox', { podSandboxId: id }, limits);
      assert.equal(await node.inspect(), null);
      await waitUntil('the pod is reported as gone', () => node.messages.some(({ removed: gone }) => gone.includes(uid)));
      await pleg.relist();
      assert.equal(node.snapshot.size, 0);
      assert.deepEqual(
        node.lines.filter(({ msg }) => msg.startsWith('The event stream of the runtime broke')).length,
        version === '1.7' ? 1 : 0,
      );
    });
  }
});
