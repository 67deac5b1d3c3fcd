/** The dry run of evictions: it shows the order of pods, evicts none, and names the pod that is then evicted. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { EvictionPlan, RankedPod } from '../../../src/shared/contracts/eviction.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { runLocalCommand } from '../../support/kubelet/local-command.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const mebibyte = 1024 * 1024;
const usingMemory = 'dd if=/dev/zero of=/dev/shm/file bs=1M count=40; exec sleep 10000';
const usingDisk = 'dd if=/dev/zero of=/scratch/file bs=1M count=30; exec sleep 10000';
const withProcesses = 'for i in $(seq 25); do sleep 10000 & done; wait';
/** Usage is sampled every ten seconds, volumes once a minute. */
const sampledMs = 120_000;

describe('a dry run of evictions', () => {
  const dropIns = mkdtempSync(join(tmpdir(), 'eviction-plan-'));
  let node: TestClusterNode;

  before(async () => {
    configure({ evictionHard: { 'memory.available': '1Mi' } });
    node = await TestClusterNode.start('cluster-eviction-plan', { flags: ['--config-dir', dropIns] });
    const requesting = (memory: string, sh?: string) => ({
      containers: [aBusybox({ resources: { requests: { memory } }, ...(sh && { sh }) })],
    });
    await node.create('modest', requesting('200Mi'));
    await node.create('hog', requesting('10Mi', usingMemory));
    await node.create('important', { ...requesting('10Mi', usingMemory), priorityClassName: 'system-node-critical' });
    await node.create('forks', requesting('100Mi', withProcesses));
    const volumeMounts = [{ name: 'scratch', mountPath: '/scratch' }];
    await node.create('writer', {
      containers: [aBusybox({ resources: { requests: { memory: '150Mi' } }, sh: usingDisk, volumeMounts })],
      volumes: [{ name: 'scratch', emptyDir: {} }],
    });
    for (const name of ['modest', 'hog', 'important', 'forks', 'writer']) await node.untilRunning(name);
  });
  after(async () => {
    await node?.destroy();
    rmSync(dropIns, { recursive: true });
  });

  function configure(fields: object): void {
    const dropIn = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', ...fields };
    writeFileSync(join(dropIns, '10-eviction.conf'), JSON.stringify(dropIn));
  }
  const plan = async (query = '') => JSON.parse(await node.api.text(`${node.nodePath}/proxy/debug/eviction${query}`)) as EvictionPlan;
  const ownPods = ({ ranking }: EvictionPlan) => ranking.pods.filter(({ namespace }) => namespace === node.namespace);
  const namesOf = (pods: readonly RankedPod[]) => pods.map(({ name }) => name);
  const untilPlan = (what: string, condition: (current: EvictionPlan) => boolean, query = '') =>
    waitUntil(
      what,
      async () => {
        // A kubelet that has just started has no manager yet.
        const current = await plan(query).catch(() => undefined);
        return current && condition(current) ? current : undefined;
      },
      sampledMs,
    );
  const isMeasured = (current: EvictionPlan) =>
    ownPods(current).every(({ usage }) => usage !== null) &&
    ownPods(current).some(({ name, usage }) => name === 'hog' && usage! > 40 * mebibyte);

  test('shows on the endpoint and on the command line in which order pods would go, and why', async () => {
    const { action, thresholds, ranking, ...measured } = await untilPlan('the usage of the pods is measured', isMeasured);
    assert.equal(action, null);
    assert.deepEqual(
      thresholds.filter(({ signal }) => signal === 'memory.available').map(({ kind, value, met }) => [kind, value, met]),
      [['hard', '1Mi', false]],
    );
    const order = namesOf(ownPods({ ...measured, action, thresholds, ranking }));
    assert.equal(
      order.find((name) => name !== 'important'),
      'hog',
      order.join(),
    );
    const important = ranking.pods.find(({ name }) => name === 'important');
    assert.equal(important?.notEvictableBecause, 'critical priority');
    const { stdout } = await runLocalCommand('eviction', node.node.rootDir);
    assert.match(stdout, /^memory\.available +\S+ GiB +\S+ GiB +hard 1Mi +not met$/m);
    assert.match(stdout, /^No threshold is met: nothing would be evicted\. This is the order if memory\.available ran out\.$/m);
    assert.match(stdout, /^1 +\S+\/hog +4\d\.\d MiB +\+3\d\.\d MiB +0 +would go first$/m);
    assert.match(stdout, /^- +\S+\/important +4\d\.\d MiB +\+3\d\.\d MiB +2000001000 +stays: critical$/m);
  });

  test('shows the order of other signals', async () => {
    const byProcesses = await untilPlan(
      'the processes are counted',
      (current) => ownPods(current).some(({ usage }) => (usage ?? 0) > 25),
      '?signal=pid.available',
    );
    assert.equal(ownPods(byProcesses)[0]?.name, 'forks', JSON.stringify(byProcesses.ranking));
    const { stdout } = await runLocalCommand('eviction', node.node.rootDir, '--signal', 'pid', '--json');
    assert.equal(ownPods(JSON.parse(stdout) as EvictionPlan)[0]?.name, 'forks', stdout);
    const byDisk = await untilPlan(
      'the volume is measured',
      (current) => ownPods(current).some(({ usage }) => (usage ?? 0) > 30 * mebibyte),
      '?signal=nodefs.available',
    );
    assert.equal(ownPods(byDisk)[0]?.name, 'writer', JSON.stringify(byDisk.ranking));
  });

  test('of a soft threshold in its grace period shows what is left of it, and the pod that is evicted in the end', async () => {
    configure({ evictionSoft: { 'memory.available': '99%' }, evictionSoftGracePeriod: { 'memory.available': '1h' } });
    await node.restartKubelet();
    const waiting = await untilPlan(
      'the soft threshold is met',
      (current) => isMeasured(current) && current.thresholds.some(({ met }) => met),
    );
    const soft = waiting.thresholds.find(({ kind }) => kind === 'soft');
    assert.ok(soft?.graceLeftSeconds != null && soft.graceLeftSeconds > 3000 && soft.gracePeriodSeconds === 3600, JSON.stringify(soft));
    assert.equal(waiting.action, null);
    const { stdout } = await runLocalCommand('eviction', node.node.rootDir);
    assert.match(stdout, /^The node has MemoryPressure/m);
    assert.match(stdout, /^memory\.available .* soft 99% +met, (?:59 m \d+ s|1 h 0 m) of grace left$/m);
    const first = ownPods(waiting).find(({ notEvictableBecause }) => notEvictableBecause === null);
    configure({ evictionHard: { 'memory.available': '99%' } });
    await node.restartKubelet();
    const evicted = await node.until(first!.name, 'is evicted', ({ status }) => status?.reason === 'Evicted');
    assert.equal(evicted.metadata.name, 'hog');
    assert.match(evicted.status?.message ?? '', /^The node was low on resource: memory\. Threshold quantity: .*, available: /);
    assert.equal((await node.get('important')).status?.phase, 'Running');
    assert.equal((await node.events('hog')).filter(({ reason }) => reason === 'Evicted').length, 1);
  });
});
