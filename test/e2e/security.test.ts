/** Security contexts as users see them: what a container gets, what is refused with which message, and values that attack the node. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Container, Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { importImageWithUser } from '../support/kubelet/image-with-user.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';

describe('a security context', { concurrency: 4 }, () => {
  let node: TestNode;
  before(async () => {
    node = await TestNode.start(null, { config: { allowedUnsafeSysctls: ['net.core.*', 'kernel.msgmax'] } });
    await node.startKubelet();
  });
  after(() => node.destroy());

  type Options = Partial<Container> & { readonly sh?: string };
  const apply = (name: string, container: Options, spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}) =>
    node.apply(aManifest(name, { restartPolicy: 'Never', containers: [aBusybox(container)], ...spec }, metadata));
  /** The output of a container that exits with 0. */
  async function outputOf(name: string, container: Options, spec: Partial<PodSpec> = {}): Promise<string> {
    apply(name, container, spec);
    const pod = await node.until(name, 'has ended', ({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed');
    const output = node.logsOf(pod, 'app');
    assert.equal(pod.status?.phase, 'Succeeded', `it printed ${output}`);
    return output;
  }
  /** Waits until the container cannot be started, and returns why. */
  async function refusalOf(name: string, container: Options, spec: Partial<PodSpec> = {}): Promise<string> {
    apply(name, container, spec);
    const refusedBy = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting;
    const pod = await node.until(name, 'is refused', (one) => refusedBy(one)?.reason?.endsWith('Error') ?? false);
    node.delete(name);
    return `${refusedBy(pod)?.reason}: ${refusedBy(pod)?.message}`;
  }
  async function rejectionOf(name: string, spec: Partial<PodSpec>, metadata: Partial<Pod['metadata']> = {}): Promise<string> {
    apply(name, {}, spec, metadata);
    const { status } = await node.until(name, 'has failed', (pod) => pod.status?.phase === 'Failed');
    node.delete(name);
    return `${status?.reason}: ${status?.message}`;
  }
  const subject = (name: string) => new RegExp(String.raw` \(pod: "${name}-test-node_default\([0-9a-f]+\)", container: app\)$`);

  test('the user of an image is used, and runAsNonRoot refuses root and names', async () => {
    const numeric = importImageWithUser(node, 'numeric', '1000:2000');
    const named = importImageWithUser(node, 'named', 'nobody');
    const zero = importImageWithUser(node, 'zero', '0:5');
    const sh = 'echo $(id -u) $(id -g)';
    const nonRoot = { securityContext: { runAsNonRoot: true } };
    assert.equal(await outputOf('numeric', { image: numeric, sh, ...nonRoot }), '1000 0', 'the runtime gets no group, as from upstream');
    assert.equal(await outputOf('named', { image: named, sh }), '65534 65534');
    assert.equal(await outputOf('override', { image: named, sh, securityContext: { runAsNonRoot: true, runAsUser: 7 } }), '7 0');

    const byName = await refusalOf('by-name', { image: named, ...nonRoot });
    assert.match(byName, /^CreateContainerConfigError: container has runAsNonRoot and image has non-numeric user \(nobody\), /);
    assert.match(byName, subject('by-name'));
    const byRoot = await refusalOf('by-root', { image: zero }, nonRoot);
    assert.match(byRoot, /^CreateContainerConfigError: container has runAsNonRoot and image will run as root \(/);
    assert.match(byRoot, subject('by-root'));
    const bySpec = await refusalOf('by-spec', { securityContext: { runAsUser: 0 } }, nonRoot);
    assert.match(bySpec, /^CreateContainerConfigError: container's runAsUser breaks non-root policy \(/);
  });

  test('capabilities are added and dropped; unknown ones have no effect', async () => {
    const sh = 'grep CapEff /proc/self/status';
    const effective = async (name: string, add: string[], drop: string[]) =>
      BigInt(`0x${(await outputOf(name, { sh, securityContext: { capabilities: { add, drop } } })).split(/\s+/)[1]}`);
    const netAdmin = 1n << 12n;
    assert.equal(await effective('cap-one', ['NET_ADMIN'], ['ALL']), netAdmin);
    assert.equal((await effective('cap-all', ['ALL'], ['NET_ADMIN'])) & netAdmin, 0n);
    const garbage = ['NO_SUCH_THING', 'NET_ADMIN\n', '../../etc', ''];
    assert.equal(await effective('cap-garbage', garbage, ['ALL']), 0n);
  });

  test('seccomp profiles are read from their folder only, and a missing one is named', async () => {
    mkdirSync(join(node.rootDir, 'seccomp/team'), { recursive: true });
    writeFileSync(join(node.rootDir, 'seccomp/team/allow.json'), JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW' }));
    const profile = (localhostProfile: string) => ({ securityContext: { seccompProfile: { type: 'Localhost', localhostProfile } } });
    assert.equal(await outputOf('seccomp-nested', { sh: 'echo ran' }, profile('team/allow.json')), 'ran');
    const missing = await refusalOf('seccomp-missing', profile('no-such.json'));
    assert.match(
      missing,
      /^CreateContainerError: .*cannot load seccomp profile ".*\/seccomp\/no-such\.json"|^CreateContainerError: .*no-such\.json/,
    );
    // The manifest is not valid: the pod never exists.
    apply('seccomp-outside', {}, profile('../outside.json'));
    apply('after-outside', {});
    await node.untilRunning('after-outside');
    assert.match(node.log(), /spec\.securityContext\.seccompProfile\.localhostProfile: Invalid value: .{0,40}must not contain '\.\.'/);
    assert.ok(!(await node.pods()).some(({ metadata }) => metadata.name.startsWith('seccomp-outside')));
  });

  test('AppArmor profiles are refused on a host without AppArmor', async () => {
    const rejected = 'AppArmor: Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host';
    assert.equal(await rejectionOf('armored', { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }), rejected);
    const annotations = { 'container.apparmor.security.beta.kubernetes.io/app': 'localhost/../../etc/passwd' };
    assert.equal(await rejectionOf('annotated', {}, { annotations }), rejected);
    assert.equal(await outputOf('unconfined', { sh: 'echo ran', securityContext: { appArmorProfile: { type: 'Unconfined' } } }), 'ran');
  });

  test('unsafe sysctls run if the node allows them; values with line breaks are refused', async () => {
    const sysctls = (...pairs: [name: string, value: string][]) => ({
      securityContext: { sysctls: pairs.map(([name, value]) => ({ name, value })) },
    });
    const sh = 'cat /proc/sys/net/core/somaxconn /proc/sys/kernel/msgmax';
    assert.equal(await outputOf('unsafe', { sh }, sysctls(['net/core/somaxconn', '999'], ['kernel.msgmax', '4096'])), '999\n4096');
    const forbidden = (text: string) => `SysctlForbidden: Pod was rejected: forbidden sysctl: ${text}`;
    assert.equal(await rejectionOf('forbidden', sysctls(['net.ipv4.ip_forward', '1'])), forbidden('"net.ipv4.ip_forward" not allowlisted'));
    assert.equal(await rejectionOf('kernel', sysctls(['kernel.msgmnb', '1'])), forbidden('"kernel.msgmnb" not allowlisted'));
    apply('line-break', {}, sysctls(['net.core.somaxconn\nkernel.panic', '1']));
    apply('host-net', {}, { hostNetwork: true, ...sysctls(['net.core.somaxconn', '1']) });
    apply('after-sysctls', {});
    await node.untilRunning('after-sysctls');
    assert.match(
      node.log(),
      /spec\.securityContext\.sysctls\[0\]\.name: Invalid value: .{0,60}must have at most 253 characters and match regex/,
    );
    assert.match(
      node.log(),
      /spec\.securityContext\.sysctls\[0\]\.name: Invalid value: .{0,40}may not be specified when 'hostNetwork' is true/,
    );
  });

  test('ten thousand supplemental groups are groups of the container', async () => {
    const supplementalGroups = Array.from({ length: 10_000 }, (_, index) => 100_000 + index);
    const sh = 'grep Groups: /proc/self/status | wc -w';
    assert.equal(await outputOf('groups', { sh }, { securityContext: { supplementalGroups } }), '10002');
  });

  test('IDs out of range are refused with the field', async () => {
    apply('absurd', { securityContext: { runAsUser: 2 ** 31, runAsGroup: -1 } });
    apply('after-absurd', {});
    await node.untilRunning('after-absurd');
    for (const field of ['runAsUser', 'runAsGroup']) {
      assert.match(
        node.log(),
        new RegExp(`securityContext\\.${field}: Invalid value: -?\\d+: must be between 0 and 2147483647, inclusive`),
      );
    }
  });

  test('/proc is masked and read-only, and devices are hidden, except for privileged containers', async () => {
    const file = '/proc/sys/kernel/shm_rmid_forced';
    const sh = `wc -c < /proc/keys; ls /sys/firmware | wc -l; (cat ${file} > ${file}) 2>/dev/null && echo writable || echo read-only; test -c /dev/kmsg && echo device || echo no device`;
    assert.equal(await outputOf('masked', { sh }), '0\n0\nread-only\nno device');
    assert.match(await outputOf('bare', { sh, securityContext: { privileged: true } }), /\nwritable\ndevice$/);
  });

  test('a set-user-ID program gains nothing without allowPrivilegeEscalation', async () => {
    const sh = 'grep -E "NoNewPrivs" /proc/self/status';
    assert.match(await outputOf('escalates', { sh }), /0$/);
    assert.match(await outputOf('stays', { sh, securityContext: { allowPrivilegeEscalation: false } }), /1$/);
    apply('contradiction', { securityContext: { privileged: true, allowPrivilegeEscalation: false } });
    apply('after-contradiction', {});
    await node.untilRunning('after-contradiction');
    assert.match(node.log(), /cannot set `allowPrivilegeEscalation` to false and `privileged` to true/);
  });

  test('options of systems that this host lacks have no effect', async () => {
    const options = { seLinuxOptions: { level: 's0:c1,c2', type: 'no_such_t' }, windowsOptions: { runAsUserName: 'web' } };
    assert.equal(await outputOf('other-systems', { sh: 'id -u', securityContext: options }, { securityContext: options }), '0');
  });

  test('the kernel ends best-effort containers first', async () => {
    const sh = 'cat /proc/self/oom_score_adj';
    assert.equal(await outputOf('best-effort', { sh }), '1000');
    const score = Number(await outputOf('burstable', { sh, resources: { requests: { memory: '1Gi' } } }));
    assert.ok(score > 2 && score < 1000, String(score));
  });

  test('a container has its pod’s values unless it has its own', async () => {
    const sh = 'echo $(id -u) $(id -g) $(grep Seccomp: /proc/self/status | tr -dc 0-9)';
    const podContext = { runAsUser: 1000, runAsGroup: 2000, runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
    const own = { runAsUser: 0, runAsNonRoot: false, seccompProfile: { type: 'Unconfined' } };
    const containers = [aBusybox({ sh }), aBusybox({ name: 'own', sh, securityContext: own })];
    assert.equal(await outputOf('levels', {}, { securityContext: podContext, containers }), '1000 2000 2');
    const pod = await node.until('levels', 'has ended', ({ status }) => status?.phase === 'Succeeded');
    assert.equal(node.logsOf(pod, 'own'), '0 2000 0');
  });
});
