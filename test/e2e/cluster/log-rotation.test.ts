/** Rotation of container logs, and kubectl logs meanwhile, on a real containerd. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { aBusybox, aManifest, TestNode } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

/** The shortest interval. A log that grows fast is checked once a second. */
const config = { containerLogMaxSize: '10Ki', containerLogMaxFiles: 10, containerLogMonitorInterval: '3s' };
const linesPerBatch = 1000;
const batches = 100;
/** Writes 1 MB a second, in lines with a number and padding. */
const counting = `
pad=$(printf %090d 0)
until [ -f /tmp/go ]; do sleep 0.1; done
for batch in $(seq 0 ${batches - 1}); do
  seq $((batch * ${linesPerBatch} + 1)) $((batch * ${linesPerBatch} + ${linesPerBatch})) | sed "s/$/ $pad/"; sleep 0.1
done
echo end; trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done`;

function logFolder({ podLogs }: TestNode, { metadata: { namespace, name, uid } }: Pod): string {
  return join(podLogs, `${namespace}_${name}_${uid}`, 'app');
}
const rotations = (folder: string) => readdirSync(folder).filter((name) => /^0\.log\.\d{8}-\d{6}(\.gz)?$/.test(name));
/** Of all files. One may be renamed or removed meanwhile. */
const bytesIn = (folder: string) =>
  readdirSync(folder).reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);
const isCounted = (text: string) => {
  const numbers = [...text.matchAll(/^(\d+) 0{90}$/gm)].map(([, number]) => Number(number));
  return numbers.length === batches * linesPerBatch && numbers.every((number, i) => number === i + 1);
};

describe('log rotation', { concurrency: 2 }, () => {
  describe('log rotation in a cluster', () => {
    let node: TestClusterNode;
    before(async () => {
      node = await TestClusterNode.start('log-rotation', { config });
    });
    after(() => node?.destroy());

    /** `kubectl logs -f` as a child process, and what it has printed. */
    function startFollower(...options: string[]) {
      const [command, args, env] = node.cluster.kubectlCommand(['-n', node.namespace, 'logs', '-f', 'counter', ...options]);
      const child = spawn(command, args, { env });
      const follower = { child, text: '', stderr: '' };
      child.stdout.on('data', (data: Buffer) => (follower.text += data.toString()));
      child.stderr.on('data', (data: Buffer) => (follower.stderr += data.toString()));
      return follower;
    }

    test('kubectl logs -f gets every line exactly once across rotations, also when it stops reading for some seconds', async () => {
      await node.create('counter', { containers: [aBusybox({ sh: counting })] });
      const folder = logFolder(node.node, await node.untilRunning('counter'));
      const follower = startFollower();
      const stalled = startFollower('--timestamps');
      const limited = startFollower('--limit-bytes=5000000');
      await node.exec('counter', 'touch /tmp/go');
      await waitUntil('the first lines arrive', () => stalled.text.includes('Z 2 '), 30_000);
      stalled.child.kill('SIGSTOP');
      const seen = new Set<string>();
      await waitUntil(
        'the log is rotated five times',
        () => {
          for (const name of rotations(folder)) seen.add(name.replace('.gz', ''));
          return seen.size >= 5;
        },
        60_000,
      );
      stalled.child.kill('SIGCONT');
      await waitUntil('both have the last line', () => [follower, stalled].every(({ text }) => text.endsWith('end\n')), 60_000);
      assert.ok(isCounted(follower.text));
      assert.ok(isCounted(stalled.text.replaceAll(/^\S+Z /gm, '')));
      await waitUntil('the limited one has ended', () => limited.child.exitCode !== null);
      assert.equal(limited.text, follower.text.slice(0, 5_000_000));
      for (const { child } of [follower, stalled]) {
        child.kill();
        await once(child, 'close');
      }
      await waitUntil(
        'only the newest rotation is not compressed',
        () => rotations(folder).filter((name) => !name.endsWith('.gz')).length === 1,
      );
      assert.ok(rotations(folder).length <= 9);
      for (const name of rotations(folder).filter((each) => each.endsWith('.gz'))) {
        // containerd divides the line that it writes while it reopens the log.
        const lines = gunzipSync(readFileSync(join(folder, name)))
          .toString()
          .split('\n');
        const wrong = lines.slice(0, -1).filter((line) => !/^\S+Z stdout [PF] [\d end]*$/.test(line));
        assert.deepEqual([name, wrong.slice(0, 3), lines.at(-1)], [name, [], '']);
      }
      // Without -f only the current file is read, as upstream does.
      assert.ok(follower.text.endsWith(await node.kubectl('logs', 'counter')));
    });

    test('the logs of a container are removed with it, and its previous instance keeps its own', async () => {
      const sh = 'seq 1 1000; until [ -f /tmp/exit ]; do sleep 0.1; done; echo exits; exit 1';
      await node.create('restarts', { containers: [aBusybox({ sh })] });
      const folder = logFolder(node.node, await node.untilRunning('restarts'));
      await waitUntil('the log is rotated', () => rotations(folder).length === 1 && readdirSync(folder).includes('0.log'), 20_000);
      await node.exec('restarts', 'touch /tmp/exit');
      await node.until('restarts', 'has restarted', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
      assert.equal(await node.kubectl('logs', 'restarts', '--previous'), 'exits\n');
      await node.delete('restarts', { gracePeriodSeconds: 0 });
      await node.untilGone('restarts');
      await waitUntil('the folder is gone', () => !readdirSync(node.node.podLogs).some((name) => name.includes('restarts')), 30_000);
    });
  });

  describe('log rotation on a full disk', () => {
    let node: TestNode;
    before(async () => {
      node = await TestNode.start(null, { config, podLogsBytes: 2 * 1024 * 1024 });
      await node.startKubelet();
    });
    after(() => node?.destroy());

    test('a full disk costs no line that was written, and rotation continues when there is space', async () => {
      const sh = `seq 1 500; until [ -f /etc/again/go ]; do sleep 0.1; done; seq 501 1000; sleep 1000 & wait $!`;
      const again = join(node.folder, 'again');
      node.apply(
        aManifest('writer', {
          containers: [aBusybox({ sh, volumeMounts: [{ name: 'again', mountPath: '/etc/again' }] })],
          volumes: [{ name: 'again', hostPath: { path: again, type: 'DirectoryOrCreate' } }],
        }),
      );
      const folder = logFolder(node, await node.untilRunning('writer'));
      const { bavail, bsize } = statfsSync(node.podLogs);
      const filler = join(node.podLogs, 'filler');
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
      await waitUntil('the log is rotated', () => rotations(folder).length === 1 && readdirSync(folder).includes('0.log'), 20_000);
      assert.equal(numbers(folder).length, 500);
      rmSync(filler);
      writeFileSync(join(again, 'go'), '');
      await waitUntil('the next one is, too', () => rotations(folder).length === 2, 20_000);
      await waitUntil('the first is compressed', () => rotations(folder).some((name) => name.endsWith('.gz')));
      assert.deepEqual(
        numbers(folder),
        Array.from({ length: 1000 }, (_, i) => i + 1),
      );
      assert.equal((await node.healthz()).status, 200);
      const metrics = await (await node.get('/metrics')).text();
      assert.match(metrics, /^workqueue_adds_total\{name="kubelet_log_rotate_manager"\} [1-9]/m);
      assert.match(metrics, /^workqueue_retries_total\{name="kubelet_log_rotate_manager"\} 0$/m);
    });

    function numbers(folder: string): number[] {
      return [...rotations(folder).toSorted(), '0.log'].flatMap((name) => {
        const bytes = readFileSync(join(folder, name));
        const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
        return [...text.matchAll(/^\S+Z stdout F (\d+)$/gm)].map(([, number]) => Number(number));
      });
    }
  });
});

describe('log rotation of a flood', () => {
  const megabyte = 1_000_000;
  /** Protects the disk of the host. */
  const floodBytes = 16_000 * megabyte;
  /** Three logs and an archive, each with some seconds of writing. Two checks later, or without one of them, the folder is larger. */
  const maxFolderBytes = 4000 * megabyte;
  let node: TestNode;
  before(async () => {
    node = await TestNode.start(null, {
      config: { containerLogMaxSize: '10Mi', containerLogMaxFiles: 3, containerLogMonitorInterval: '3s' },
    });
    await node.startKubelet();
  });
  after(() => node?.destroy());

  test('a container that writes as fast as it can keeps few files, and delays neither the kubelet nor the rotation and compression of other logs', async () => {
    const sleeping = 'touch /state/written; trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';
    const write = (bytes: number) => `yes $(printf %0500d 0) | head -c ${bytes}`;
    const state = (name: string) => join(node.folder, `${name}-state`);
    const apply = (name: string, writing: string) =>
      node.apply(
        aManifest(name, {
          containers: [
            aBusybox({
              sh: `${writing}; ${sleeping}`,
              volumeMounts: [{ name: 'state', mountPath: '/state' }],
            }),
          ],
          volumes: [{ name: 'state', hostPath: { path: state(name), type: 'DirectoryOrCreate' } }],
        }),
      );
    const hasWritten = (name: string) => existsSync(join(state(name), 'written'));
    apply('flood', `${write(floodBytes)} & writer=$!; until [ -f /state/stop ]; do sleep 0.1; done; kill $writer`);
    const flood = logFolder(node, await node.untilRunning('flood'));
    apply('other', `${write(12 * megabyte)}; until [ -f /state/more ]; do sleep 0.1; done; ${write(12 * megabyte)}`);
    const other = logFolder(node, await node.untilRunning('other'));
    const seen = new Set<string>();
    const checkFlood = async () => {
      const names = rotations(flood);
      for (const name of names) seen.add(name.replace(/\.gz$/, ''));
      assert.ok(names.length <= 4, names.join());
      assert.ok(bytesIn(flood) <= maxFolderBytes, `${bytesIn(flood)} bytes`);
      assert.equal((await node.healthz()).status, 200);
    };
    const during = (what: string, condition: () => boolean) => waitUntil(what, async () => (await checkFlood(), condition()), 120_000);
    await during('the log of the other pod is rotated', () => rotations(other).length === 1);
    writeFileSync(join(state('other'), 'more'), '');
    await during('it is compressed', () => rotations(other).some((name) => name.endsWith('.gz')));
    await during('the log is rotated several times', () => seen.size >= 4);
    assert.equal(hasWritten('flood'), false);
    writeFileSync(join(state('flood'), 'stop'), '');
    await waitUntil('the flood has ended', () => hasWritten('flood'));
    await waitUntil(
      'few files are left',
      () => rotations(flood).length <= 2 && rotations(flood).filter((name) => !name.endsWith('.gz')).length <= 1,
      30_000,
    );
    for (const name of ['flood', 'other']) {
      node.delete(name);
      await node.untilGone(name);
    }
  });
});
