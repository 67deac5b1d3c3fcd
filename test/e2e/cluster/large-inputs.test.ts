/** What one pod makes large costs that pod only: another pod starts meanwhile, the same process goes on, and everything can be deleted. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { missedBounds } from '../../support/amplification/bounds.ts';
import { toPods } from '../../support/amplification/largest-values.ts';
import { measureBatch } from '../../support/amplification/measure-batch.ts';
import { sampleFields } from '../../support/amplification/sample.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { protobufPod } from '../../support/cluster/protobuf-pod.ts';
import { aBusybox, aManifest } from '../../support/kubelet/test-node.ts';

/** The API server's JSON writes six bytes for each, and takes 1.5 MB of them. */
const escaped = (length: number) => '<'.repeat(length);

describe('large inputs', () => {
  let node: TestClusterNode;
  let pid: number;
  before(async () => {
    node = await TestClusterNode.start('large-inputs');
    pid = node.node.kubeletPid;
  });
  after(() => node?.destroy());

  /** Checks that a new pod runs, and that neither the process nor one of its threads has ended. */
  async function assertUnharmed(name: string): Promise<void> {
    await node.create(name, { terminationGracePeriodSeconds: 0 });
    await node.untilRunning(name);
    assert.equal(node.node.kubeletPid, pid);
    assert.equal((await node.node.healthz()).status, 200);
    const metrics = await node.api.text(`${node.nodePath}/proxy/metrics`);
    assert.deepEqual(
      metrics.split('\n').filter((line) => /^kubelet_(thread_deaths|uncaught_faults)_total\S* [1-9]/.test(line)),
      [],
    );
    await node.delete(name);
  }

  async function deleteAll(names: readonly string[]): Promise<void> {
    for (const name of names) await node.delete(name, { gracePeriodSeconds: 1 });
    for (const name of names) await node.untilGone(name);
  }

  test('hooks that write 15 MB of control characters and fail', async () => {
    const sh = "head -c 15000000 /dev/zero | tr '\\0' '\\1'; exit 7";
    const lifecycle = { postStart: { exec: { command: ['sh', '-c', sh] } } };
    await node.create('loud', { containers: ['a', 'b', 'c', 'd'].map((name) => aBusybox({ name, lifecycle })) });
    const haveFailed = ({ status }: Pod) => (status?.containerStatuses ?? []).filter(({ restartCount }) => restartCount > 0).length === 4;
    await node.until('loud', 'has failed hooks in each container', haveFailed);
    await assertUnharmed('beside-hooks');
    await deleteAll(['loud']);
  });

  test('five pods with one large field each: a sample of the amplification test', async () => {
    // Hooks have a test of their own below.
    const fields = sampleFields(0.2).filter(({ field }) => !field.path.includes('lifecycle'));
    const five = fields.filter((_, index) => index % 2 === 0);
    const sample = await measureBatch(node, toPods(node.nodeName, five), { stayMs: 500, settleMs: 0 });
    const { rssBeforeBytes } = sample;
    // Other tests share the cores, the kubelet has run few pods yet, and its memory returns after a quiet minute.
    const allowed = {
      before: { healthzMs: [1000], smallPodStartMs: 20_000 },
      rssBeforeBytes: rssBeforeBytes + 32 * 1024 * 1024,
      rssAfterBytes: rssBeforeBytes,
    };
    assert.deepEqual(missedBounds({ ...sample, ...allowed }), []);
  });

  test('pods of eight megabytes in JSON that change each second', async () => {
    const names = ['long-0', 'long-1'];
    for (const name of names) await node.create(name, { containers: [aBusybox({ args: [escaped(1_400_000)] })] });
    const stop = new AbortController();
    const changing = (async () => {
      for (let change = 0; !stop.signal.aborted; change += 1) {
        await node.api.patch(`${node.podsPath}/long-0`, { metadata: { annotations: { change: String(change) } } });
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    })();
    await assertUnharmed('beside-long');
    stop.abort();
    await changing;
    await deleteAll(names);
  });

  test('a list of pods of 120 megabytes, with clients that read slowly', async () => {
    const names = Array.from({ length: 16 }, (_, index) => `control-${index}`);
    // Rejected, so that no container of them starts.
    const spec = { nodeName: node.nodeName, nodeSelector: { no: 'such' }, containers: [aBusybox({ args: ['\u0001'.repeat(1_300_000)] })] };
    for (const name of names) await node.api.createProtobuf(node.podsPath, protobufPod(aManifest(name, spec)));
    for (const name of names) await node.untilEnded(name);
    const stop = new AbortController();
    const open = () => node.api.stream(`${node.nodePath}/proxy/pods`, stop.signal);
    const slow = await Promise.all([open(), open()]);
    for (const reader of slow) await reader.next();
    let length = 0;
    let end = '';
    const reader = await open();
    for (let piece = await reader.next(); !piece.done; piece = await reader.next()) {
      length += piece.value.length;
      end = Buffer.from(piece.value).toString();
    }
    assert.ok(length > 16 * 6 * 1_300_000, String(length));
    assert.match(end, /\]\}$/);
    stop.abort();
    await assertUnharmed('beside-list');
    await deleteAll(names);
  });

  test('a config map of a megabyte in two hundred volumes with an fsGroup, beside environments that expand to five', async () => {
    await node.api.create(`/api/v1/namespaces/${node.namespace}/configmaps`, {
      metadata: { name: 'big' },
      data: { big: 'x'.repeat(1_000_000) },
    });
    const volumes = Array.from({ length: 200 }, (_, index) => ({ name: `v${index}`, configMap: { name: 'big' } }));
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    await node.create('volumes', { volumes, securityContext: { fsGroup: 77 }, containers: [aBusybox({ volumeMounts })] });
    // The kernel refuses them: no argument of a process has more than 128 KiB.
    const doubled = Array.from({ length: 14 }, (_, index) => ({ name: `V${index + 1}`, value: `$(V${index})$(V${index})` }));
    const env = [{ name: 'V0', value: 'x'.repeat(150) }, ...doubled];
    const expanding = Array.from({ length: 8 }, (_, index) => `env-${index}`);
    for (const name of expanding) await node.create(name, { containers: [aBusybox({ env })] });
    await assertUnharmed('beside-volumes');
    await node.until('volumes', 'runs', ({ status }) => status?.phase === 'Running');
    await deleteAll(['volumes', ...expanding]);
  });

  test('hooks that would make the list of containers too long for the runtime', async () => {
    const lifecycle = { preStop: { exec: { command: ['true', escaped(1_300_000)] } } };
    const names = ['hooked-0', 'hooked-1', 'hooked-2'];
    for (const name of names) await node.create(name, { containers: [aBusybox({ lifecycle })] });
    for (const name of names) await node.untilRunning(name);
    await assertUnharmed('beside-hooked');
    await deleteAll(names);
  });

  test('more volumes in memory than a pod may have', async () => {
    const volumes = Array.from({ length: 10_000 }, (_, index) => ({ name: `v${index}`, emptyDir: { medium: 'Memory' } }));
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    await node.create('mounts', { volumes, containers: [aBusybox({ volumeMounts })] });
    await node.untilEvent('mounts', 'FailedMount', /the pod has 10001 volumes in memory and subPaths, more than the 900 mounts/);
    await assertUnharmed('beside-mounts');
    await deleteAll(['mounts']);
  });

  test('a pod that names five thousand config maps', async () => {
    const sources = Array.from({ length: 5000 }, (_, index) => ({ configMap: { name: `c${index}`, optional: true } }));
    const volumeMounts = [{ name: 'all', mountPath: '/all' }];
    await node.create('names', { volumes: [{ name: 'all', projected: { sources } }], containers: [aBusybox({ volumeMounts })] });
    await node.untilEvent(
      'names',
      'FailedMount',
      /the pod refers to 5002 secrets, config maps, tokens and certificates, more than the 500/,
    );
    await assertUnharmed('beside-names');
    await deleteAll(['names']);
  });

  test('environment files of twenty megabytes', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `f${index}`);
    const sh = `for name in ${names.join(' ')}; do head -c 1000000 /dev/zero | tr '\\0' '#' > /env/$name; printf "\nA='x'\n" >> /env/$name; done`;
    const env = names.map((path) => ({ name: path, valueFrom: { fileKeyRef: { volumeName: 'env', path, key: 'A' } } }));
    const volumes = [{ name: 'env', emptyDir: {} }];
    const writer = aBusybox({ name: 'writes', sh, volumeMounts: [{ name: 'env', mountPath: '/env' }] });
    await node.create('env-files', { initContainers: [writer], containers: [aBusybox({ env })], volumes });
    await node.untilEvent(
      'env-files',
      'Failed',
      /couldn't parse env file: the files of the environment have more than 10485760 bytes in total/,
    );
    await node.create('fewer-files', { initContainers: [writer], containers: [aBusybox({ env: env.slice(0, 9) })], volumes });
    await node.untilRunning('fewer-files');
    await assertUnharmed('beside-env-files');
    await deleteAll(['env-files', 'fewer-files']);
  });
});
