/** kubectl debug: ephemeral containers with each profile, copies of pods, and pods on the node. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import type { ContainerStatus, Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { aBusybox, busybox } from '../../support/kubelet/test-node.ts';

const nodeName = 'cluster-debug';
const image = `--image=${busybox}`;
const sleeps = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';
/** The numbers of Linux capabilities. */
const capabilities = { CHOWN: 0, NET_ADMIN: 12, NET_RAW: 13, SYS_PTRACE: 19, SYS_ADMIN: 21 };

describe('kubectl debug', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start(nodeName);
  });
  after(() => node?.destroy());

  const debug = (...args: string[]) => node.kubectl('debug', ...args);
  const ephemeral = ({ status }: Pod, name: string): ContainerStatus | undefined =>
    status?.ephemeralContainerStatuses?.find((container) => container.name === name);
  const untilRuns = (pod: string, name: string) =>
    node.until(pod, `runs ${name}`, (current) => ephemeral(current, name)?.state?.running !== undefined);
  const untilExited = (pod: string, name: string) =>
    node.until(pod, `has run ${name}`, (current) => ephemeral(current, name)?.state?.terminated !== undefined);
  const createRunning = async (name: string, spec: Partial<PodSpec> = {}) => {
    await node.create(name, spec);
    return node.untilRunning(name);
  };

  test('adds a container with the security of each profile, in the process namespace of its target or in its own', async () => {
    const before = await createRunning('target');
    await createRunning('unprivileged', { securityContext: { runAsUser: 1000 } });
    const report = 'grep -E "^(CapEff|Seccomp|NoNewPrivs):" /proc/self/status; tr "\\0" " " < /proc/1/cmdline';
    const run = async (pod: string, profile: string, ...options: string[]) => {
      const name = `${profile}${options.length > 0 ? '-targeting' : ''}`;
      await debug(pod, '-c', name, image, `--profile=${profile}`, ...options, '--', 'sh', '-c', report);
      const { state } = ephemeral(await untilExited(pod, name), name)!;
      assert.equal(state?.terminated?.exitCode, 0, JSON.stringify(state));
      const output = await node.kubectl('logs', pod, '-c', name);
      const field = (key: string) => new RegExp(`^${key}:\\s+(\\S+)$`, 'm').exec(output)?.[1] ?? '';
      const effective = BigInt(`0x${field('CapEff')}`);
      return {
        added: Object.entries(capabilities).flatMap(([capability, bit]) => ((effective >> BigInt(bit)) & 1n ? [capability] : [])),
        // The runtime's own default profile is no filter at all for a privileged container.
        seccomp: field('Seccomp'),
        seesTarget: output.includes('sh -c trap "exit 0" TERM'),
      };
    };
    const usual = ['CHOWN', 'NET_RAW'];
    assert.deepEqual(await run('target', 'legacy'), { added: usual, seccomp: '0', seesTarget: false });
    assert.deepEqual(await run('target', 'legacy', '--target=app'), { added: usual, seccomp: '0', seesTarget: true });
    assert.deepEqual(await run('target', 'general', '--target=app'), { added: [...usual, 'SYS_PTRACE'], seccomp: '0', seesTarget: true });
    assert.deepEqual(await run('target', 'baseline', '--target=app'), { added: usual, seccomp: '0', seesTarget: true });
    assert.deepEqual(await run('unprivileged', 'restricted', '--target=app'), { added: [], seccomp: '2', seesTarget: true });
    const netadmin = await run('target', 'netadmin', '--target=app');
    assert.deepEqual(netadmin.added, ['CHOWN', 'NET_ADMIN', 'NET_RAW']);
    const sysadmin = await run('target', 'sysadmin', '--target=app');
    assert.deepEqual(sysadmin, { added: Object.keys(capabilities), seccomp: '0', seesTarget: true });
    const { status } = await node.get('target');
    assert.equal(status?.phase, 'Running');
    assert.equal(status.containerStatuses?.[0]?.containerID, before.status?.containerStatuses?.[0]?.containerID);
  });

  test('reports a container that fails, and one that cannot be started, without effect on the pod', async () => {
    await createRunning('undisturbed');
    await debug('undisturbed', '-c', 'fails', image, '--', 'sh', '-c', 'exit 9');
    await debug('undisturbed', '-c', 'unpullable', '--image=local.example/none-such:1', '--', 'true');
    await debug('undisturbed', '-c', 'rooted', image, '--profile=restricted', '--', 'true');
    await debug('undisturbed', '-c', 'lost', image, '--target=none-such', '--', 'true').catch((err: unknown) => {
      // The API server refuses it.
      assert.match(String(err), /none-such/);
    });
    const pod = await node.until('undisturbed', 'shows all reasons', (current) => {
      const [unpullable, rooted] = ['unpullable', 'rooted'].map((name) => ephemeral(current, name)?.state?.waiting?.reason);
      return /^(ErrImagePull|ImagePullBackOff)$/.test(unpullable ?? '') && rooted === 'CreateContainerConfigError';
    });
    assert.match(ephemeral(pod, 'rooted')?.state?.waiting?.message ?? '', /container has runAsNonRoot and image will run as root/);
    const failed = ephemeral(await untilExited('undisturbed', 'fails'), 'fails');
    assert.deepEqual([failed?.state?.terminated?.exitCode, failed?.state?.terminated?.reason, failed?.restartCount], [9, 'Error', 0]);
    assert.deepEqual([pod.status?.phase, pod.status?.containerStatuses?.[0]?.ready], ['Running', true]);
    await node.untilEvent('undisturbed', 'Failed', /none-such/);
  });

  test('adds a container to a pod that still initializes', async () => {
    const volumeMounts = [{ name: 'state', mountPath: '/state' }];
    const sh = 'until test -e /state/go; do sleep 0.1; done';
    await node.create('initializing', {
      initContainers: [aBusybox({ name: 'first', sh, volumeMounts })],
      volumes: [{ name: 'state', emptyDir: {} }],
    });
    await node.until('initializing', 'initializes', ({ status }) => status?.initContainerStatuses?.[0]?.state?.running !== undefined);
    await debug('initializing', '-c', 'early', image, '--target=first', '--', 'sh', '-c', 'touch /proc/1/root/state/go');
    const { status } = await untilExited('initializing', 'early');
    assert.equal(status?.ephemeralContainerStatuses?.[0]?.state?.terminated?.exitCode, 0);
    await node.untilRunning('initializing');
  });

  test('attaches to the container', async () => {
    await createRunning('attached');
    const [command, args, env] = node.cluster.kubectlCommand([
      '-n',
      node.namespace,
      'debug',
      'attached',
      '-c',
      'shell',
      image,
      '-i',
      '--',
      'sh',
    ]);
    const kubectl = spawn(command, args, { env, timeout: 30_000 });
    const ended = once(kubectl, 'close');
    // The end of the input would end the connection: kubectl debug sets no stdinOnce.
    kubectl.stdin.write('echo answer $((6 * 7))\n');
    for await (const output of kubectl.stdout.setEncoding('utf8')) {
      if (String(output).includes('answer 42')) kubectl.stdin.end('exit 5\n');
    }
    await ended;
    const shell = ephemeral(await untilExited('attached', 'shell'), 'shell');
    assert.equal(shell?.state?.terminated?.exitCode, 5);
  });

  test('leaves a container that a restarted kubelet keeps, and does not run again', async () => {
    await createRunning('surviving');
    await debug('surviving', '-c', 'runs', image, '--', 'sh', '-c', sleeps);
    await debug('surviving', '-c', 'ended', image, '--', 'sh', '-c', 'exit 2');
    await untilRuns('surviving', 'runs');
    const before = await untilExited('surviving', 'ended');
    await node.restartKubelet('SIGKILL');
    // A later container shows that the restarted kubelet has synced the pod.
    await debug('surviving', '-c', 'later', image, '--', 'true');
    const restarted = await untilExited('surviving', 'later');
    for (const name of ['runs', 'ended']) {
      assert.equal(ephemeral(restarted, name)?.containerID, ephemeral(before, name)?.containerID, name);
      assert.equal(ephemeral(restarted, name)?.restartCount, 0);
    }
    assert.ok(ephemeral(restarted, 'runs')?.state?.running);
  });

  test('runs a changed copy of a pod', async () => {
    await createRunning('original');
    await debug('original', '--copy-to=copied', '--container=app', '--same-node', image, '--', 'sh', '-c', 'echo changed; sleep 1000');
    const copied = await node.untilRunning('copied');
    assert.equal(copied.spec.containers.length, 1);
    assert.equal(await node.kubectl('logs', 'copied'), 'changed\n');
    const look = 'until pgrep -f "TERM; while" > /dev/null; do sleep 0.1; done; sleep 1000';
    await debug('original', '--copy-to=shared', '-c', 'looks', '--same-node', '--share-processes', image, '--', 'sh', '-c', look);
    const shared = await node.untilRunning('shared');
    assert.deepEqual(
      shared.status?.containerStatuses?.map(({ name, restartCount }) => `${name} ${restartCount}`),
      ['app 0', 'looks 0'],
    );
    assert.equal(shared.spec.shareProcessNamespace, true);
  });

  test('runs a pod on the node, in its namespaces and with its files', async () => {
    for (const profile of ['legacy', 'general', 'sysadmin']) {
      const created = await debug(`node/${nodeName}`, image, `--profile=${profile}`, '--', 'sh', '-c', 'test -d /host/proc/1 && echo host');
      const name = /node-debugger-\S+/.exec(created)?.[0] ?? '';
      const { status } = await node.untilEnded(name);
      assert.equal(status?.phase, 'Succeeded', JSON.stringify(status));
      assert.equal(await node.kubectl('logs', name), 'host\n');
    }
  });
});
