/** Pod spec fields as a container sees them: security, terminals, termination messages, restart rules, host ports and mounts. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Container, Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

describe('a container', { concurrency: 4 }, () => {
  let node: TestNode;
  before(async () => {
    node = await TestNode.start(null, {
      hostPorts: true,
      config: { podPidsLimit: 200, crashLoopBackOff: { maxContainerRestartPeriod: '1s' } },
    });
    await node.startKubelet();
  });
  after(() => node.destroy());

  type Options = Partial<Container> & { readonly sh?: string };
  const apply = (name: string, container: Options, spec: Partial<PodSpec> = {}) =>
    node.apply(aManifest(name, { containers: [aBusybox(container)], ...spec }));
  const statusOf = ({ status }: Pod, index = 0) => status?.containerStatuses?.[index];
  /** The output of a container that exits with 0. */
  async function outputOf(name: string, container: Options, spec: Partial<PodSpec> = {}): Promise<string> {
    apply(name, container, { restartPolicy: 'Never', ...spec });
    const pod = await node.until(name, 'has ended', ({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed');
    const output = node.logsOf(pod, 'app');
    assert.equal(pod.status?.phase, 'Succeeded', `it printed ${output}`);
    return output;
  }

  test('has its pod’s sysctls', async () => {
    const sysctls = [
      { name: 'kernel.shm_rmid_forced', value: '1' },
      { name: 'net.ipv4.ip_local_port_range', value: '32000 33000' },
    ];
    const sh = 'cat /proc/sys/kernel/shm_rmid_forced /proc/sys/net/ipv4/ip_local_port_range';
    assert.equal(await outputOf('sysctls', { sh }, { securityContext: { sysctls } }), '1\n32000\t33000');
  });

  test('has its seccomp profile: Unconfined, RuntimeDefault or Localhost', async () => {
    const profiles = join(node.rootDir, 'seccomp');
    mkdirSync(profiles, { recursive: true });
    const rules = { defaultAction: 'SCMP_ACT_ALLOW', syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }] };
    writeFileSync(join(profiles, 'no-folders.json'), JSON.stringify(rules));
    const sh = 'grep Seccomp: /proc/self/status; mkdir /tmp/created 2>/dev/null && echo created || echo refused';
    const outputWith = (type: string, localhostProfile?: string) =>
      outputOf(`seccomp-${type.toLowerCase()}`, { sh, securityContext: { seccompProfile: { type, localhostProfile } } });
    assert.match(await outputWith('Unconfined'), /^Seccomp:\s+0\ncreated$/);
    assert.match(await outputWith('RuntimeDefault'), /^Seccomp:\s+2\ncreated$/);
    assert.match(await outputWith('Localhost', 'no-folders.json'), /^Seccomp:\s+2\nrefused$/);
  });

  test('can be privileged, and in the host’s IPC namespace', async () => {
    const file = '/proc/sys/kernel/shm_rmid_forced';
    const sh = `(cat ${file} > ${file}) && echo writable; readlink /proc/self/ns/ipc`;
    const output = await outputOf('privileged', { sh, securityContext: { privileged: true } }, { hostIPC: true });
    assert.equal(output, `writable\n${readlinkSync('/proc/self/ns/ipc')}`);
  });

  test('runs in its working directory with its arguments', async () => {
    assert.equal(await outputOf('folder', { sh: 'pwd', workingDir: '/tmp' }), '/tmp');
    assert.equal(await outputOf('arguments', { command: ['sh', '-c', 'echo $0 $1'], args: ['one', 'two'] }), 'one two');
  });

  test('has a terminal with tty: true', async () => {
    assert.match(await outputOf('terminal', { sh: 'test -t 1 && tty', tty: true, stdin: true }), /^\/dev\/pts\/\d+\s*$/);
  });

  test('is subject to its pod’s podPidsLimit', async () => {
    apply('pids', {});
    const { metadata } = await node.untilRunning('pids');
    const [limit] = globSync(`/sys/fs/cgroup/{pids${node.cgroupRoot},${node.cgroupRoot.slice(1)}}/**/pod${metadata.uid}/pids.max`);
    assert.equal(readFileSync(limit ?? '', 'utf8').trim(), '200');
    node.delete('pids');
  });

  test('has its termination message from the file, or from the end of its log', async () => {
    apply('from-file', { sh: 'echo bye > /tmp/message; exit 3', terminationMessagePath: '/tmp/message' }, { restartPolicy: 'Never' });
    const sh = 'echo first line; echo last line; exit 4';
    apply('logged', { sh, terminationMessagePolicy: 'FallbackToLogsOnError' }, { restartPolicy: 'Never' });
    for (const [name, message] of Object.entries({ 'from-file': 'bye\n', logged: 'first line\nlast line\n' })) {
      const pod = await node.until(name, 'has failed', ({ status }) => status?.phase === 'Failed');
      assert.equal(statusOf(pod)?.state?.terminated?.message, message);
    }
  });

  test('is restarted by its own restart rules, with all other containers under RestartAllContainers', async () => {
    const restartPolicyRules = (action: string) => [{ action, exitCodes: { operator: 'In', values: [42] } }];
    const volumeMounts = [{ name: 'state', mountPath: '/state' }];
    const once = (code: number) => `test -e /state/tried || { touch /state/tried; exit ${code}; }; sleep 1000`;
    const volumes = [{ name: 'state', emptyDir: {} }];
    const rule = { volumeMounts, restartPolicy: 'Never', restartPolicyRules: restartPolicyRules('Restart') };
    apply('rule', { sh: once(42), ...rule }, { restartPolicy: 'Never', volumes });
    apply('no-rule', { sh: once(41), ...rule }, { restartPolicy: 'Never', volumes });
    const all = { sh: once(42), volumeMounts, restartPolicy: 'Never', restartPolicyRules: restartPolicyRules('RestartAllContainers') };
    apply('all', {}, { restartPolicy: 'Never', volumes, containers: [aBusybox(all), aBusybox({ name: 'other' })] });
    await node.until('rule', 'was restarted', (pod) => statusOf(pod)?.restartCount === 1 && statusOf(pod)?.ready === true);
    const ended = await node.until('no-rule', 'has failed', ({ status }) => status?.phase === 'Failed');
    assert.deepEqual([statusOf(ended)?.restartCount, statusOf(ended)?.state?.terminated?.exitCode], [0, 41]);
    await node.until('all', 'was restarted with the other container', (pod) =>
      [0, 1].every((index) => statusOf(pod, index)?.restartCount === 1 && statusOf(pod, index)?.ready),
    );
  });

  test('is reachable on its host port', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port: hostPort } = probe.address() as AddressInfo;
    probe.close();
    const sh = 'mkdir /www; echo page > /www/index.html; httpd -p 8080 -h /www; trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done';
    apply('host-port', { sh, ports: [{ containerPort: 8080, hostPort, hostIP: '127.0.0.1' }] });
    await node.untilRunning('host-port');
    const page = () => fetch(`http://127.0.0.1:${hostPort}/`, { signal: AbortSignal.timeout(1000) }).then((response) => response.text());
    await waitUntil('the page is served', async () => (await page().catch(() => '')) === 'page\n');
    node.delete('host-port');
    await node.untilGone('host-port');
    await assert.rejects(page());
  });

  test('sees later host mounts with HostToContainer propagation only', async (t) => {
    const shared = join(node.folder, 'shared');
    mkdirSync(join(shared, 'later'), { recursive: true });
    execFileSync('mount', ['--bind', shared, shared]);
    t.after(() => execFileSync('umount', ['--recursive', shared]));
    execFileSync('mount', ['--make-shared', shared]);
    const containers = ['HostToContainer', 'None'].map((mountPropagation) =>
      aBusybox({
        name: mountPropagation.toLowerCase(),
        sh: 'until test -e /go/now; do sleep 0.1; done; ls /shared/later',
        volumeMounts: [
          { name: 'shared', mountPath: '/shared', mountPropagation },
          { name: 'go', mountPath: '/go' },
        ],
      }),
    );
    const go = join(node.folder, 'go');
    const volumes = Object.entries({ shared, go }).map(([name, path]) => ({ name, hostPath: { path, type: 'DirectoryOrCreate' } }));
    node.apply(aManifest('propagation', { restartPolicy: 'Never', containers, volumes }));
    await node.untilRunning('propagation');
    execFileSync('mount', ['-t', 'tmpfs', 'later', join(shared, 'later')]);
    writeFileSync(join(shared, 'later/file'), '');
    writeFileSync(join(go, 'now'), '');
    const pod = await node.until('propagation', 'has ended', ({ status }) => status?.phase === 'Succeeded');
    assert.deepEqual([node.logsOf(pod, 'hosttocontainer'), node.logsOf(pod, 'none')], ['file', '']);
  });

  test('can use hostPath volumes of every type', async () => {
    const path = (name: string) => join(node.folder, name);
    writeFileSync(path('file'), 'old');
    const socket = createServer().listen(path('socket'));
    await once(socket, 'listening');
    const types = { file: 'File', created: 'FileOrCreate', socket: 'Socket', folder: 'DirectoryOrCreate' };
    const volumes = [
      ...Object.entries(types).map(([name, type]) => ({ name, hostPath: { path: path(name), type } })),
      { name: 'device', hostPath: { path: '/dev/null', type: 'CharDevice' } },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/v/${name}` }));
    const sh = 'test -f /v/file && test -f /v/created && test -S /v/socket && test -d /v/folder && test -c /v/device && cat /v/file';
    assert.equal(await outputOf('types', { sh, volumeMounts }, { volumes }), 'old');
    socket.close();
  });

  test('leaves at most one dead instance when it restarts', async () => {
    apply('crashing', { sh: 'exit 1' });
    const { metadata } = await node.until('crashing', 'was restarted', (pod) => (statusOf(pod)?.restartCount ?? 0) >= 4);
    await waitUntil(
      'at most three containers of the pod are left',
      async () => {
        const { containers } = await node.cri.runtime.call('listContainers', {}, { deadlineMs: 5000 });
        const own = containers.filter(({ labels }) => labels['io.kubernetes.pod.uid'] === metadata.uid);
        // One dead instance is kept; the others are the running one and one that has just exited.
        return own.length <= 3;
      },
      40_000,
    );
  });
});
