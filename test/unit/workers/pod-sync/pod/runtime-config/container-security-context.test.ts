import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec, SecurityContext } from '../../../../../../src/shared/kubernetes/api.ts';
import {
  containerSecurityContext,
  effectiveSecurityContext,
  verifyRunAsNonRoot,
} from '../../../../../../src/workers/pod-sync/pod/runtime-config/container-security-context.ts';
import type { ContainerConfigInput, ImageUser } from '../../../../../../src/workers/pod-sync/pod/runtime-config/index.ts';
import { aContainer, aPod } from '../../../../../support/pods/pods.ts';
import { aContainerConfigInput, someHostInfo, someSettings } from '../../../../../support/pods/runtime-config-inputs.ts';
import { table } from '../../../../../support/table.ts';

interface Fields {
  readonly pod?: PodSpec['securityContext'];
  readonly container?: SecurityContext;
  readonly annotations?: Record<string, string>;
  readonly spec?: Partial<PodSpec>;
  readonly input?: Partial<ContainerConfigInput>;
}

function contextOf({ pod: podContext, container: own, annotations, spec, input }: Fields) {
  const container: Container = aContainer(own ? { securityContext: own } : {});
  const pod = aPod({
    spec: { containers: [container], ...(podContext ? { securityContext: podContext } : {}), ...spec },
    ...(annotations ? { metadata: { annotations } } : {}),
  });
  return containerSecurityContext(aContainerConfigInput({ pod, container, ...input }));
}

test('a container without a security context has the image’s user and the default restrictions', () => {
  const context = contextOf({});
  assert.deepEqual(context.namespaceOptions, { network: 0, pid: 1, ipc: 0, targetId: '', usernsOptions: { mode: 2, uids: [], gids: [] } });
  assert.deepEqual(context.runAsUser, { value: 0n });
  assert.deepEqual(context.seccomp, { profileType: 1, localhostRef: '' });
  assert.equal(context.capabilities, undefined);
  assert.equal(context.noNewPrivs, false);
  assert.equal(context.maskedPaths.length, 12);
  assert.ok(context.maskedPaths.includes('/proc/kcore'));
  assert.deepEqual(context.readonlyPaths, ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']);
});

test('each field of a container’s security context overrides the pod’s', () => {
  const pod = aPod({ spec: { securityContext: { runAsUser: 1, runAsGroup: 2, runAsNonRoot: true, fsGroup: 9 } } });
  const container = aContainer({ securityContext: { runAsUser: 7, capabilities: { drop: ['ALL'] } } });
  assert.deepEqual(effectiveSecurityContext(pod, container), {
    runAsUser: 7,
    runAsGroup: 2,
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
  });
});

test('the fields of the spec are passed to the runtime', () => {
  const context = contextOf({
    pod: { fsGroup: 5, supplementalGroups: [6, 7], supplementalGroupsPolicy: 'Strict', seLinuxOptions: { level: 's0:c1,c2' } },
    container: {
      privileged: true,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      procMount: 'Unmasked',
      runAsUser: 0,
      runAsGroup: 3,
      capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
    },
    spec: { hostNetwork: true, hostPID: true, hostIPC: true },
  });
  assert.deepEqual(context.namespaceOptions, { network: 2, pid: 2, ipc: 2, targetId: '', usernsOptions: { mode: 2, uids: [], gids: [] } });
  assert.deepEqual([context.runAsUser, context.runAsGroup], [{ value: 0n }, { value: 3n }]);
  assert.deepEqual([context.privileged, context.readonlyRootfs, context.noNewPrivs], [true, true, true]);
  assert.deepEqual([context.maskedPaths, context.readonlyPaths], [[], []]);
  assert.deepEqual([context.supplementalGroups, context.supplementalGroupsPolicy], [[5n, 6n, 7n], 1]);
  assert.deepEqual(context.capabilities, { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'], addAmbientCapabilities: [] });
  assert.deepEqual(context.selinuxOptions, { user: '', role: '', type: '', level: 's0:c1,c2' });
});

test('containers of one pod see each other’s processes when the pod shares them', () => {
  assert.equal(contextOf({ spec: { shareProcessNamespace: true } }).namespaceOptions?.pid, 0);
});

test('a pod that requires a user namespace never runs with the host’s users', () => {
  assert.throws(() => contextOf({ spec: { hostUsers: false } }), /asks for a user namespace/);
  assert.throws(() => contextOf({ spec: { hostUsers: false }, input: { userNamespace: { problem: 'no IDs' } } }), { message: 'no IDs' });
  const context = contextOf({ spec: { hostUsers: false }, input: { userNamespace: { hostID: 65536, length: 65536 } } });
  const mappings = [{ hostId: 65536, containerId: 0, length: 65536 }];
  assert.deepEqual(context.namespaceOptions?.usernsOptions, { mode: 0, uids: mappings, gids: mappings });
});

test('a pod with the host’s users says so, as upstream', () => {
  const host = { mode: 2, uids: [], gids: [] };
  assert.deepEqual(contextOf({}).namespaceOptions?.usernsOptions, host);
  const given = contextOf({ spec: { hostUsers: true }, input: { userNamespace: { hostID: 65536, length: 65536 } } });
  assert.deepEqual(given.namespaceOptions?.usernsOptions, host);
});

test('the thermal throttle paths of the host are masked', () => {
  const path = '/sys/devices/system/cpu/cpu0/thermal_throttle';
  assert.equal(contextOf({ input: { hostInfo: { ...someHostInfo, thermalThrottlePaths: [path] } } }).maskedPaths.at(-1), path);
});

const seccomp: readonly [name: string, fields: Fields, want: [type: number, ref: string]][] = [
  ['none is unconfined', {}, [1, '']],
  ['none, on a node with seccompDefault', { input: { settings: { ...someSettings, seccompDefault: true } } }, [0, '']],
  ['the profile of the pod', { pod: { seccompProfile: { type: 'RuntimeDefault' } } }, [0, '']],
  [
    'the container’s profile overrides the pod’s',
    { pod: { seccompProfile: { type: 'RuntimeDefault' } }, container: { seccompProfile: { type: 'Unconfined' } } },
    [1, ''],
  ],
  [
    'a localhost profile',
    { container: { seccompProfile: { type: 'Localhost', localhostProfile: 'my/p.json' } } },
    [2, '/var/lib/kubelet/seccomp/my/p.json'],
  ],
];
table('seccomp', (row) => {
  for (const [name, fields, [profileType, localhostRef]] of seccomp) {
    row(`seccomp: ${name}`, () => assert.deepEqual(contextOf(fields).seccomp, { profileType, localhostRef }));
  }
});
const localhost = (localhostProfile?: string): Fields => ({ container: { seccompProfile: { type: 'Localhost', localhostProfile } } });
const invalidSeccomp: readonly [localhostProfile: string | undefined, message: string][] = [
  [undefined, 'localhostProfile must be set if seccompProfile type is Localhost.'],
  ['', 'localhostProfile must be set if seccompProfile type is Localhost.'],
  ['../../../etc/passwd', `invalid localhostProfile "../../../etc/passwd": must not contain '..'`],
  ['a/../../b', `invalid localhostProfile "a/../../b": must not contain '..'`],
];
table('seccomp: a localhost profile without a name in the folder of profiles is rejected', (row) => {
  for (const [localhostProfile, message] of invalidSeccomp)
    row(String(localhostProfile), () => assert.throws(() => contextOf(localhost(localhostProfile)), { message }));
});
test('seccomp: an absolute path is below the folder of profiles', () => {
  assert.equal(contextOf(localhost('/etc/..passwd')).seccomp?.localhostRef, '/var/lib/kubelet/seccomp/etc/..passwd');
});

const annotation = (value: string) => ({ 'container.apparmor.security.beta.kubernetes.io/app': value });
const armor: readonly [name: string, fields: Fields, want: [type: number | undefined, old: string]][] = [
  ['none', {}, [undefined, '']],
  ['the profile of the pod', { pod: { appArmorProfile: { type: 'RuntimeDefault' } } }, [0, 'runtime/default']],
  ['the profile of the container', { container: { appArmorProfile: { type: 'Unconfined' } } }, [1, 'unconfined']],
  ['a localhost profile', { container: { appArmorProfile: { type: 'Localhost', localhostProfile: 'p' } } }, [2, 'localhost/p']],
  [
    'an annotation overrides the pod’s',
    { annotations: annotation('localhost/q'), pod: { appArmorProfile: { type: 'Unconfined' } } },
    [2, 'localhost/q'],
  ],
  ['an invalid annotation', { annotations: annotation('what') }, [undefined, '']],
];
table('AppArmor', (row) => {
  for (const [name, fields, want] of armor) {
    row(`AppArmor: ${name}`, () => {
      const { apparmor, apparmorProfile } = contextOf(fields);
      assert.deepEqual([apparmor?.profileType, apparmorProfile], want);
    });
  }
});

test('values of a spec that only a runtime can judge are passed unchanged', () => {
  const names = ['CAP_NET_ADMIN', 'NET_ADMIN\n', 'ALL', '../x', '\0'];
  const groups = Array.from({ length: 10_000 }, (_, index) => index);
  const context = contextOf({
    pod: { supplementalGroups: groups },
    container: {
      capabilities: { add: names },
      appArmorProfile: { type: 'Localhost', localhostProfile: 'a/../b\nc' },
      runAsUser: Number.MAX_SAFE_INTEGER,
      runAsGroup: -1,
    },
  });
  assert.deepEqual(context.capabilities?.addCapabilities, names);
  assert.equal(context.supplementalGroups.length, groups.length);
  assert.deepEqual([context.apparmor?.localhostRef, context.apparmorProfile], ['a/../b\nc', 'localhost/a/../b\nc']);
  assert.deepEqual([context.runAsUser, context.runAsGroup], [{ value: 9_007_199_254_740_991n }, { value: -1n }]);
});

test('a number that is no ID is an error of this container', () => {
  assert.throws(() => contextOf({ container: { runAsUser: 0.5 } }), RangeError);
});

const users: readonly [name: string, own: SecurityContext, image: ImageUser, want: RegExp | null][] = [
  ['root without runAsNonRoot', {}, {}, null],
  ['a user of the spec', { runAsNonRoot: true, runAsUser: 5 }, {}, null],
  [
    'root in the spec',
    { runAsNonRoot: true, runAsUser: 0 },
    {},
    /^container's runAsUser breaks non-root policy \(pod: "web_default\(uid-web\)", container: app\)$/,
  ],
  ['a user of the image', { runAsNonRoot: true }, { uid: 5 }, null],
  ['root in the image', { runAsNonRoot: true }, { uid: 0n }, /^container has runAsNonRoot and image will run as root /],
  ['an image without a user', { runAsNonRoot: true }, {}, /image will run as root/],
  [
    'a name in the image',
    { runAsNonRoot: true },
    { username: 'nginx' },
    /image has non-numeric user \(nginx\), cannot verify user is non-root/,
  ],
  ['a name of megabytes in the image', { runAsNonRoot: true }, { username: 'n'.repeat(5_000_000) }, /non-numeric user \(n{256}\), cannot/],
  ['an invalid UID', { runAsNonRoot: true }, { uid: 3_000_000_000 }, /invalid user id \(3000000000\)\. \(Must be 1-\(2147483647\)\)/],
  ['runAsNonRoot: false', { runAsNonRoot: false, runAsUser: 0 }, {}, null],
];
table('non-root', (row) => {
  for (const [name, own, image, want] of users) {
    row(`non-root: ${name} is ${want ? 'rejected' : 'accepted'}`, () => {
      const verify = () => verifyRunAsNonRoot(aPod(), aContainer({ securityContext: own }), image);
      if (want) assert.throws(verify, { message: want });
      else verify();
    });
  }
});

test('the UID of an image wins over its user name', () => {
  const by = (imageUser: ImageUser) => contextOf({ input: { imageUser } });
  assert.deepEqual([by({ uid: 33 }).runAsUser, by({ uid: 33 }).runAsUsername], [{ value: 33n }, '']);
  assert.deepEqual([by({ username: 'www' }).runAsUser, by({ username: 'www' }).runAsUsername], [undefined, 'www']);
});
