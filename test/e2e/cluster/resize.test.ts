/** In-place resize: the resources of running pods change, without a restart unless their policy asks for one. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { TimelineJson } from '../../../src/shared/contracts/timeline.ts';
import type { ContainerStatus, Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { runLocalCommand } from '../../support/kubelet/local-command.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const mebibyte = 1024 * 1024;
const small = { requests: { cpu: '20m', memory: '32Mi' }, limits: { memory: '64Mi' } };
const podLevelResized = { limits: { cpu: '200m', memory: '128Mi' }, requests: { cpu: '50m', memory: '64Mi' } };
const guaranteed = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
const withResources = (resources: object, more: Parameters<typeof aBusybox>[0] = {}): Partial<PodSpec> => ({
  containers: [
    aBusybox({
      resources,
      env: [{ name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } } }],
      ...more,
    }),
  ],
});
const condition = ({ status }: Pod, type: string) => status?.conditions?.find((one) => one.type === type);
const hasNoResize = (pod: Pod) => !condition(pod, 'PodResizePending') && !condition(pod, 'PodResizeInProgress');
const appOf = ({ status }: Pod): ContainerStatus | undefined => status?.containerStatuses?.find(({ name }) => name === 'app');
/** Shares, quota and memory limit, as the container sees them; with v2 the weight. */
const values =
  'cat /sys/fs/cgroup/cpu.weight /sys/fs/cgroup/cpu.max /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/cpu/cpu.shares /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/memory/memory.limit_in_bytes';

describe('in-place resize', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start('cluster-resize');
  });
  after(() => node?.destroy());

  const resize = (name: string, resources: object) =>
    node.kubectl(
      'patch',
      'pod',
      name,
      '--subresource',
      'resize',
      '-p',
      JSON.stringify({ spec: { containers: [{ name: 'app', resources }] } }),
    );
  const eventsOf = async (name: string) =>
    (await node.events(name))
      .flatMap(({ reason, count = 1 }) => (reason?.startsWith('Resize') ? Array<string>(count).fill(reason) : []))
      .toSorted();
  /** Events are written after the status. */
  const untilEvents = (name: string, ...reasons: string[]) =>
    waitUntil(`${name} has the events ${reasons.join()}`, async () => (await eventsOf(name)).join() === reasons.toSorted().join());
  const untilResized = (name: string, isResized: (app: ContainerStatus) => boolean) =>
    node.until(name, 'is resized', (pod) => hasNoResize(pod) && isResized(appOf(pod)!) && appOf(pod)!.state?.running !== undefined);
  const memoryFileOf = ({ metadata, status }: Pod) => {
    const isV1 = existsSync('/sys/fs/cgroup/memory');
    const level = status?.qosClass === 'Guaranteed' ? '' : (status?.qosClass?.toLowerCase() ?? '');
    const cgroup = join('/sys/fs/cgroup', isV1 ? 'memory' : '', node.node.cgroupRoot, 'kubepods', level, `pod${metadata.uid}`);
    return join(cgroup, isV1 ? 'memory.limit_in_bytes' : 'memory.max');
  };
  const valuesIn = async (name: string) =>
    (await node.exec(name, values))
      .trim()
      .split('\n')
      .map((line) => line.trim());
  /** With v2 the weight is coarser. */
  const expected = (shares: number, quota: number, memory: number) => [String(shares), String(quota), String(memory)];

  test('a pod reports the resources of its containers and its own', async () => {
    await node.create('shown', withResources(small));
    const { status } = await node.untilRunning('shown');
    const [app] = status?.containerStatuses ?? [];
    assert.deepEqual([app?.resources, app?.allocatedResources], [small, small.requests]);
    assert.deepEqual([status?.resources, status?.allocatedResources], [small, small.requests]);
    await node.create('none', withResources({}));
    const none = await node.untilRunning('none');
    assert.deepEqual([appOf(none)?.resources, appOf(none)?.allocatedResources, none.status?.resources], [{}, undefined, {}]);
  });

  test('CPU and memory grow and shrink in the running container', async () => {
    await node.create('resized', withResources(guaranteed('100m', '64Mi')));
    const before = appOf(await node.untilRunning('resized'))!;
    assert.deepEqual(await valuesIn('resized'), expected(102, 10_000, 64 * mebibyte));
    await resize('resized', guaranteed('200m', '64Mi'));
    const faster = await untilResized('resized', ({ resources }) => resources?.limits?.['cpu'] === '200m');
    await resize('resized', guaranteed('200m', '128Mi'));
    const grown = await untilResized('resized', ({ resources }) => resources?.limits?.['memory'] === '128Mi');
    assert.deepEqual(await valuesIn('resized'), expected(204, 20_000, 128 * mebibyte));
    await resize('resized', guaranteed('50m', '32Mi'));
    const shrunk = await untilResized('resized', ({ resources }) => resources?.limits?.['memory'] === '32Mi');
    assert.deepEqual(await valuesIn('resized'), expected(51, 5000, 32 * mebibyte));
    for (const [pod, cpu, memory] of [
      [faster, '200m', '64Mi'],
      [grown, '200m', '128Mi'],
      [shrunk, '50m', '32Mi'],
    ] as const) {
      const app = appOf(pod)!;
      assert.deepEqual([app.resources, app.allocatedResources], [guaranteed(cpu, memory), { cpu, memory }]);
      assert.deepEqual([pod.status?.resources, pod.status?.allocatedResources], [guaranteed(cpu, memory), { cpu, memory }]);
      assert.deepEqual([app.containerID, app.restartCount], [before.containerID, 0]);
    }
    await untilEvents('resized', ...['ResizeStarted', 'ResizeCompleted'].flatMap((reason) => [reason, reason, reason]));
  });

  test('a container restarts once if its policy says so, with the new values', async () => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    await node.create('restarts', withResources(guaranteed('100m', '64Mi'), { resizePolicy }));
    await node.untilRunning('restarts');
    await resize('restarts', guaranteed('200m', '128Mi'));
    const resized = await untilResized('restarts', ({ restartCount, ready }) => restartCount === 1 && ready);
    assert.deepEqual(appOf(resized)?.resources, guaranteed('200m', '128Mi'));
    assert.deepEqual(await valuesIn('restarts'), expected(204, 20_000, 128 * mebibyte));
    assert.equal(await node.exec('restarts', 'echo $CPU'), '200\n');
    await resize('restarts', guaranteed('100m', '128Mi'));
    const again = await untilResized('restarts', ({ resources }) => resources?.limits?.['cpu'] === '100m');
    assert.equal(appOf(again)?.restartCount, 1);
  });

  test('a memory limit below the usage is refused without harm, and set when the memory is free', async () => {
    const { containers = [] } = withResources(guaranteed('50m', '128Mi'), { volumeMounts: [{ name: 'memory', mountPath: '/m' }] });
    // The usage is below the sum of both limits.
    const other = { ...aBusybox({ resources: guaranteed('50m', '128Mi') }), name: 'other' };
    await node.create('full', { containers: [...containers, other], volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }] });
    await node.untilRunning('full');
    await node.exec('full', 'dd if=/dev/zero of=/m/file bs=1M count=80 2>/dev/null');
    await resize('full', guaranteed('50m', '50Mi'));
    const failing = await node.until('full', 'says why', (pod) => condition(pod, 'PodResizeInProgress')?.reason === 'Error');
    assert.match(
      condition(failing, 'PodResizeInProgress')?.message ?? '',
      /^cannot decrease memory limits: .*container "app" memory limit \(52428800\) below current usage \(\d+\)/,
    );
    assert.deepEqual(appOf(failing)?.resources, guaranteed('50m', '128Mi'));
    assert.equal((await valuesIn('full'))[2], String(128 * mebibyte));
    await node.exec('full', 'rm /m/file');
    const resized = await untilResized('full', ({ resources }) => resources?.limits?.['memory'] === '50Mi');
    assert.equal(appOf(resized)?.restartCount, 0);
  });

  test('a resize that does not fit is deferred, and allocated when room is free; other pods count what is allocated', async () => {
    const { status: nodeStatus } = await node.api.get<{ status: { allocatable: { cpu: string } } }>(node.nodePath);
    const allocatable = Number(nodeStatus.allocatable.cpu) * 1000;
    await node.create('greedy', withResources(small));
    await node.untilRunning('greedy');
    const fills = { restartPolicy: 'Never', ...withResources({ requests: { cpu: `${allocatable - 1200}m` } }) } as const;
    await node.create('filler', fills);
    await node.untilRunning('filler');
    await resize('greedy', { requests: { cpu: `${allocatable - 900}m` } });
    const deferred = await node.until('greedy', 'is deferred', (pod) => condition(pod, 'PodResizePending') !== undefined);
    const { reason, message, observedGeneration } = condition(deferred, 'PodResizePending')!;
    assert.deepEqual([reason, observedGeneration], ['Deferred', 2]);
    assert.match(message ?? '', /^Node didn't have enough resource: cpu, requested: \d+, used: \d+, capacity: \d+$/);
    assert.deepEqual(appOf(deferred)?.allocatedResources, small.requests);
    await node.create('neighbour', withResources({ requests: { cpu: '100m' } }));
    await node.untilRunning('neighbour');
    // The shell may exit with the container before it has printed the result. The next instance has what is allocated.
    await node.exec('greedy', 'kill 1').catch(() => {});
    const isRestarted = (pod: Pod) => appOf(pod)?.restartCount === 1 && appOf(pod)?.ready === true;
    const restarted = await node.until('greedy', 'runs again', isRestarted);
    assert.deepEqual([(await valuesIn('greedy'))[0], appOf(restarted)?.resources], ['20', small]);
    assert.equal(condition(restarted, 'PodResizePending')?.reason, 'Deferred');

    await untilEvents('greedy', 'ResizeDeferred');
    await node.restartKubelet('SIGKILL');
    await node.untilReady();
    const kept = await node.get('greedy');
    assert.deepEqual(condition(kept, 'PodResizePending'), condition(deferred, 'PodResizePending'));
    await waitUntil('filler has ended', async () => {
      await node.exec('filler', 'kill 1').catch(() => {});
      return (await node.get('filler')).status?.phase !== 'Running';
    });
    const resized = await untilResized('greedy', ({ allocatedResources }) => allocatedResources?.['cpu'] !== '20m');
    assert.equal(appOf(resized)?.restartCount, 1);
    const timeline = JSON.parse(
      (await runLocalCommand('timeline', node.node.rootDir, `${node.namespace}/greedy`, '--json')).stdout,
    ) as TimelineJson;
    const shown = timeline.phases.find(({ phase }) => phase === 'Resize');
    assert.deepEqual([shown?.outcome, shown?.wait?.for], ['ok', 'Room']);
    await untilEvents('greedy', 'ResizeCompleted', 'ResizeDeferred', 'ResizeStarted');
  });

  test('more memory ends the loop of a container that runs out of it', async () => {
    const sh =
      '[ $(cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes) -gt 100000000 ] && exec sleep 1000; head -c 104857600 /dev/zero | tail -n1 >/dev/null || exit 137';
    await node.create('oom', withResources(guaranteed('100m', '64Mi'), { sh }));
    await node.until('oom', 'is in a crash loop', (pod) => appOf(pod)?.state?.waiting?.reason === 'CrashLoopBackOff');
    await resize('oom', guaranteed('100m', '256Mi'));
    const resized = await untilResized('oom', ({ resources }) => resources?.limits?.['memory'] === '256Mi');
    assert.equal((await valuesIn('oom'))[2], String(256 * mebibyte));
    assert.equal(readFileSync(memoryFileOf(resized), 'utf8').trim(), String(256 * mebibyte));
  });

  test('only a memory request changes; and values below the kernel’s minimum are reported as they were asked for', async () => {
    await node.create('request', withResources({ requests: { cpu: '20m', memory: '32Mi' }, limits: { cpu: '40m', memory: '64Mi' } }));
    const policy = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
    await node.create('request-restarts', withResources(small, policy));
    await Promise.all(['request', 'request-restarts'].map((name) => node.untilRunning(name)));
    await resize('request-restarts', { requests: { memory: '48Mi' } });
    await resize('request', { requests: { memory: '48Mi' } });
    const requested = await untilResized('request', ({ resources }) => resources?.requests?.['memory'] === '48Mi');
    assert.equal(appOf(requested)?.restartCount, 0);
    await untilResized('request-restarts', ({ restartCount }) => restartCount === 1);
    const { status: nodeStatus } = await node.api.get<{ status: { capacity: { memory: string } } }>(node.nodePath);
    const score = 1000 - Math.floor((1000 * 48 * mebibyte) / (Number.parseInt(nodeStatus.capacity.memory, 10) * 1024));
    assert.equal(await node.exec('request-restarts', 'cat /proc/1/oom_score_adj'), `${Math.min(999, Math.max(3, score))}\n`);
    await resize('request', { requests: { cpu: '1m' }, limits: { cpu: '5m' } });
    const tiny = await untilResized('request', ({ resources }) => resources?.limits?.['cpu'] === '5m');
    assert.deepEqual([appOf(tiny)?.resources?.requests?.['cpu'], (await valuesIn('request')).slice(0, 2)], ['1m', ['2', '1000']]);
    await untilEvents('request', 'ResizeCompleted', 'ResizeCompleted', 'ResizeStarted', 'ResizeStarted');
    await node.restartKubelet('SIGKILL');
    await node.untilReady();
    const restarted = await node.get('request');
    assert.ok(hasNoResize(restarted));
    await untilEvents('request', 'ResizeCompleted', 'ResizeCompleted', 'ResizeStarted', 'ResizeStarted');
  });

  test('a resize that is taken back is forgotten', async () => {
    const { status: nodeStatus } = await node.api.get<{ status: { allocatable: { cpu: string } } }>(node.nodePath);
    await node.create('undecided', withResources(small));
    await node.untilRunning('undecided');
    await resize('undecided', { requests: { cpu: nodeStatus.allocatable.cpu } });
    await node.until('undecided', 'is deferred', (pod) => condition(pod, 'PodResizePending') !== undefined);
    await resize('undecided', { requests: { cpu: '20m' } });
    await node.until('undecided', 'has nothing pending', hasNoResize);
    await untilEvents('undecided', 'ResizeDeferred');
    // The API server refuses what no node of this size has.
    await assert.rejects(resize('undecided', { requests: { cpu: '1000' } }), /cpu, requested: 1000000, allocatable: \d+/);
  });

  test('a deferred resize is allocated when another pod becomes smaller', async () => {
    await resize('undecided', { requests: { cpu: '850m' } });
    await node.until('undecided', 'is deferred', (pod) => condition(pod, 'PodResizePending')?.reason === 'Deferred');
    // It has all but 900m of the node.
    await resize('greedy', { requests: { cpu: '20m' } });
    const resized = await untilResized('undecided', ({ allocatedResources }) => allocatedResources?.['cpu'] === '850m');
    assert.equal(appOf(resized)?.restartCount, 0);
    await untilEvents('undecided', 'ResizeDeferred', 'ResizeDeferred', 'ResizeStarted', 'ResizeCompleted');
  });

  test('the pod’s own resources are resized', async () => {
    const podLevel = { requests: { cpu: '50m', memory: '64Mi' }, limits: { cpu: '100m', memory: '128Mi' } };
    await node.create('pod-level', { ...withResources({}), resources: podLevel });
    await node.untilRunning('pod-level');
    assert.deepEqual(await eventsOf('pod-level'), []);
    const patch = JSON.stringify({ spec: { resources: { limits: { cpu: '200m' } } } });
    await node.kubectl('patch', 'pod', 'pod-level', '--subresource', 'resize', '-p', patch);
    const resized = await node.until(
      'pod-level',
      'is resized',
      (pod) => hasNoResize(pod) && pod.status?.resources?.limits?.['cpu'] === '200m',
    );
    assert.equal(appOf(resized)?.restartCount, 0);
    assert.equal((await valuesIn('pod-level'))[1], '20000');
    // Somebody else lowers it: the next sync notices.
    const file = memoryFileOf(resized);
    for (const mebibytes of [96, 128]) {
      writeFileSync(file, String(mebibytes * mebibyte));
      await node.kubectl('label', 'pod', 'pod-level', `memory=${mebibytes}`, '--overwrite');
      const limits = { cpu: '200m', memory: `${mebibytes}Mi` };
      const isShown = ({ status }: Pod) => isDeepStrictEqual(status?.resources, { ...podLevelResized, limits });
      await node.until('pod-level', `shows the ${mebibytes} MiB of its cgroup`, isShown);
    }
    const completed = await node.untilEvent('pod-level', 'ResizeCompleted', /^Pod resize completed: /);
    const { resources } = JSON.parse(completed.message.slice('Pod resize completed: '.length)) as { resources: unknown };
    assert.deepEqual(resources, podLevelResized);
  });

  test('records of resources survive restarts unchanged, and broken ones are rebuilt without a restart of a container', async () => {
    const policy = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
    const specs: Readonly<Record<string, Partial<PodSpec>>> = {
      'cpu-only': withResources({ requests: { cpu: '20m' } }),
      'memory-only': withResources({ requests: { memory: '32Mi' } }, policy),
      nothing: withResources({}),
      sidecar: {
        ...withResources(small, policy),
        initContainers: [{ ...aBusybox({ resources: small }), name: 'sidecar', restartPolicy: 'Always' }],
      },
    };
    const names = Object.keys(specs);
    await Promise.all(names.map((name) => node.create(name, specs[name])));
    const pods = await Promise.all(names.map((name) => node.untilRunning(name)));
    const uids = pods.map(({ metadata }) => metadata.uid);
    const files = ['allocated_pods_state', 'actuated_pods_state'].map((name) => join(node.node.rootDir, name));
    const records = () =>
      files.map((path) => {
        if (!existsSync(path)) return [undefined];
        const { data } = JSON.parse(readFileSync(path, 'utf8')) as { data: string };
        const { entries } = JSON.parse(data) as { entries: Readonly<Record<string, unknown>> };
        return uids.map((uid) => entries[uid]);
      });
    const identities = async () =>
      Promise.all(
        names.map(async (name) => {
          const pod = await node.get(name);
          assert.ok(hasNoResize(pod), name);
          assert.deepEqual(await eventsOf(name), []);
          const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
          return statuses.map(({ containerID, restartCount }) => [containerID, restartCount]);
        }),
      );
    const restart = async () => {
      await node.restartKubelet('SIGKILL');
      await node.untilReady();
    };
    const summaryOf = async (name: string) => (await node.get(name)).status?.resources;
    const summaries = { resized: guaranteed('50m', '32Mi'), 'pod-level': podLevelResized };
    await waitUntil('the records are written', () =>
      records()
        .flat()
        .every((record) => record !== undefined),
    );
    const [before, containers] = [records(), await identities()];
    assert.ok(!JSON.stringify(before).includes('"0"'));
    for (let round = 0; round < 3; round += 1) {
      await restart();
      assert.deepEqual([records(), await identities()], [before, containers]);
    }
    for (const [name, summary] of Object.entries(summaries)) assert.deepEqual(await summaryOf(name), summary, name);
    await untilEvents('pod-level', 'ResizeStarted', 'ResizeCompleted');
    await node.node.stopKubelet('SIGKILL');
    for (const path of files) writeFileSync(path, '{"data":"{}","checksum":1}');
    await node.node.startKubelet();
    await node.untilReady();
    await waitUntil('the records are written again', () => {
      const isSetAside = files.every((path) => existsSync(`${path}.broken`));
      return isSetAside && isDeepStrictEqual(records(), before);
    });
    assert.deepEqual(await identities(), containers);
  });
});
