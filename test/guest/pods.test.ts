/** Pods under systemd with cgroup v2: their lives, their ends, and restarts of the kubelet as a unit. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ContainerState, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { GuestNode, statusOf } from '../support/guest/guest-node.ts';
import { aBusybox, aManifest } from '../support/kubelet/test-node.ts';

describe('with systemd and cgroup v2', () => {
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start({ config: { containerLogMaxSize: '8Ki', containerLogMaxFiles: 3, containerLogMonitorInterval: '3s' } });
  });
  after(() => node?.destroy());

  const apply = (name: string, spec: Partial<PodSpec>) => node.apply(aManifest(name, spec));
  const endOf = (state: ContainerState | undefined) => [state?.terminated?.reason, state?.terminated?.exitCode];
  const hasFailed = (name: string) => node.until(name, 'has failed', ({ status }) => status?.phase === 'Failed');

  test('a pod starts, restarts a container, stops and leaves nothing', async () => {
    await node.untilPrints('ctr -n k8s.io containers list -q | wc -l', '0');
    const mounts = await node.guest.check('wc -l < /proc/mounts');
    await apply('life', { initContainers: [aBusybox({ name: 'init', sh: 'true' })], containers: [aBusybox({ sh: 'sleep 3; exit 3' })] });
    const restarted = await node.until('life', 'has restarted', (pod) => (statusOf(pod)?.restartCount ?? 0) > 0);
    assert.deepEqual(endOf(statusOf(restarted)?.lastState), ['Error', 3]);
    assert.deepEqual(endOf(statusOf(restarted, 'init')?.state), ['Completed', 0]);
    await node.delete('life');
    await node.untilGone('life');
    await node.untilPrints('ctr -n k8s.io containers list -q | wc -l', '0');
    await node.untilPrints('ls /var/lib/kubelet/pods /var/log/pods /var/log/containers | grep -c life', '0');
    await node.untilPrints('find /sys/fs/cgroup -name "cri-containerd-*" | wc -l', '0');
    await node.untilPrints('wc -l < /proc/mounts', mounts);
    await node.untilPrints('ip -o link show type veth | wc -l', '0');
  });

  test('ends by signals and exit codes have the reason Error and the code', async () => {
    await apply('ends', {
      restartPolicy: 'Never',
      containers: [
        aBusybox({ name: 'killed', sh: 'sh -c "kill -9 \\$\\$"; exit $?' }),
        aBusybox({ name: 'termed', sh: 'sh -c "kill -15 \\$\\$"; exit $?' }),
        aBusybox({ name: 'high', sh: 'exit 255' }),
        aBusybox({ name: 'zero', sh: 'exit 0' }),
      ],
    });
    const pod = await hasFailed('ends');
    const ends = ['killed', 'termed', 'high', 'zero'].map((name) => [name, ...endOf(statusOf(pod, name)?.state)]);
    assert.deepEqual(ends, [
      ['killed', 'Error', 137],
      ['termed', 'Error', 143],
      ['high', 'Error', 255],
      ['zero', 'Completed', 0],
    ]);
    await node.delete('ends');
  });

  test('probes of each kind succeed, and a failed liveness probe restarts the container', async () => {
    const often = { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10 };
    await apply('probed', {
      containers: [
        aBusybox({ name: 'http', sh: 'exec httpd -f -p 8080 -h /www', readinessProbe: { httpGet: { port: 8080, path: '/' }, ...often } }),
        aBusybox({ name: 'tcp', sh: 'exec httpd -f -p 8081 -h /www', readinessProbe: { tcpSocket: { port: 8081 }, ...often } }),
        aBusybox({
          name: 'exec',
          sh: 'touch /tmp/live; sleep 1000',
          readinessProbe: { exec: { command: ['cat', '/tmp/live'] }, ...often },
        }),
        aBusybox({
          name: 'live',
          sh: 'trap "exit 0" TERM; touch /tmp/live; sleep 8; rm /tmp/live; while :; do sleep 1; done',
          livenessProbe: { exec: { command: ['cat', '/tmp/live'] }, initialDelaySeconds: 3, ...often },
        }),
      ],
    });
    const isReady = (name: string) => node.until('probed', `has ${name} ready`, (pod) => statusOf(pod, name)?.ready === true);
    // busybox answers 404, which is a failure.
    await node.until('probed', 'has an unready http container', (pod) => statusOf(pod, 'http')?.state?.running !== undefined);
    await isReady('tcp');
    const ready = await isReady('exec');
    assert.equal(statusOf(ready, 'http')?.ready, false);
    await node.until('probed', 'restarts the unhealthy container', (pod) => (statusOf(pod, 'live')?.restartCount ?? 0) > 0);
    await node.delete('probed');
  });

  test('logs are rotated', async () => {
    await apply('talker', {
      containers: [aBusybox({ sh: 'while :; do echo "a line of some length, again and again"; sleep 0.02; done' })],
    });
    await node.untilRunning('talker');
    const files = 'cd /var/log/pods/default_talker-guest_*/app && ls';
    await node.untilPrints(`${files} | grep -c '^0.log\\.2'`, '2', 60_000);
    await node.delete('talker');
  });

  test('AppArmor profiles of the host, none, the runtime’s default, and one that is not loaded', async () => {
    await node.guest.write(
      '/root/deny-write',
      'profile deny-write flags=(attach_disconnected,mediate_deleted) { file, network, capability, signal, deny /tmp/** w, }\n',
    );
    await node.guest.check('apparmor_parser --replace /root/deny-write');
    const appArmor = (type: 'Localhost' | 'RuntimeDefault' | 'Unconfined', localhostProfile?: string) => ({
      securityContext: { appArmorProfile: { type, ...(localhostProfile !== undefined && { localhostProfile }) } },
    });
    const sh = 'cat /proc/self/attr/current; touch /tmp/file 2>/dev/null && echo written; exec sleep 1000';
    await apply('confined', {
      containers: [
        aBusybox({ name: 'localhost', sh, ...appArmor('Localhost', 'deny-write') }),
        aBusybox({ name: 'default', sh, ...appArmor('RuntimeDefault') }),
        aBusybox({ name: 'unconfined', sh, ...appArmor('Unconfined') }),
        aBusybox({ name: 'missing', sh, ...appArmor('Localhost', 'not-loaded') }),
      ],
    });
    const logOf = (name: string) => `cut -d ' ' -f 4- /var/log/pods/default_confined-guest_*/${name}/0.log`;
    await node.untilPrints(logOf('localhost'), 'deny-write (enforce)');
    await node.untilPrints(logOf('default'), 'cri-containerd.apparmor.d (enforce)\nwritten');
    await node.untilPrints(logOf('unconfined'), 'unconfined\nwritten');
    const pod = await node.until(
      'confined',
      'names the profile',
      (each) => statusOf(each, 'missing')?.state?.waiting?.message?.includes('not-loaded') ?? false,
    );
    assert.match(statusOf(pod, 'missing')?.state?.waiting?.reason ?? '', /^(RunContainerError|CreateContainerError|CrashLoopBackOff)$/);
    await node.delete('confined');
  });

  test('a restart of the kubelet’s unit touches no container, after SIGTERM and after SIGKILL', async () => {
    await apply('kept', { containers: [aBusybox()], initContainers: [aBusybox({ name: 'side', restartPolicy: 'Always' })] });
    const before = await node.untilRunning('kept');
    const processes = 'cat $(find /sys/fs/cgroup/kubepods.slice -path "*cri-containerd-*" -name cgroup.procs) | sort -n';
    const pids = await node.guest.check(processes);
    for (const restart of ['systemctl restart kubelet', 'systemctl kill -s KILL --kill-who=main kubelet']) {
      const oldPid = await node.guest.check('systemctl show -p MainPID --value kubelet');
      await node.guest.check(restart);
      await node.untilPrints(`p=$(systemctl show -p MainPID --value kubelet); test $p != 0 && test $p != ${oldPid} && echo yes`, 'yes');
      await node.untilHealthy();
      const pod = await node.untilRunning('kept');
      for (const name of ['app', 'side']) {
        assert.equal(statusOf(pod, name)?.containerID, statusOf(before, name)?.containerID, restart);
        assert.equal(statusOf(pod, name)?.restartCount, 0, restart);
      }
      assert.equal(await node.guest.check(processes), pids, restart);
    }
    assert.equal(
      await node.guest.check('journalctl -q -u kubelet -o cat | grep -c "Main process exited, code=exited, status=[1-9]"; true'),
      '0',
    );
    await node.delete('kept');
  });
});
