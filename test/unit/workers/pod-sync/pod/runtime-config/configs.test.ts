import { podSyncGatesWith } from '../../../../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerConfig, PodSandboxConfig, Signal } from '../../../../../../src/shared/cri/generated/cri-v1.ts';
import { makeContainerConfig, makeSandboxConfig } from '../../../../../../src/workers/pod-sync/pod/runtime-config/index.ts';
import { aContainer, aPod } from '../../../../../support/pods/pods.ts';
import { aContainerConfigInput, aSandboxConfigInput, someSettings } from '../../../../../support/pods/runtime-config-inputs.ts';

test('a sandbox’s config equals upstream’s', () => {
  const pod = aPod({
    metadata: { labels: { app: 'web' } },
    spec: {
      securityContext: { runAsUser: 5, fsGroup: 6, supplementalGroups: [7], sysctls: [{ name: 'net/ipv4/tcp_syncookies', value: '1' }] },
      containers: [
        aContainer({
          securityContext: { privileged: true },
          ports: [
            { containerPort: 80, hostPort: 8080 },
            { containerPort: 53, protocol: 'UDP', hostIP: '::1' },
            { containerPort: 80, hostPort: 8080 },
          ],
        }),
      ],
    },
  });
  const { config, warnings } = makeSandboxConfig(aSandboxConfigInput({ pod, attempt: 2 }));
  assert.deepEqual(warnings, []);
  assert.deepEqual(config.metadata, { name: 'web', namespace: 'default', uid: 'uid-web', attempt: 2 });
  assert.equal(config.hostname, 'web');
  assert.equal(config.logDirectory, '/var/log/pods/default_web_uid-web');
  assert.deepEqual(config.portMappings, [
    { protocol: 0, containerPort: 80, hostPort: 8080, hostIp: '' },
    { protocol: 1, containerPort: 53, hostPort: 0, hostIp: '::1' },
  ]);
  assert.equal(config.linux?.cgroupParent, '/kubepods/besteffort/poduid-web');
  assert.deepEqual(config.linux?.sysctls, { 'net.ipv4.tcp_syncookies': '1' });
  const security = config.linux?.securityContext;
  assert.deepEqual([security?.privileged, security?.runAsUser, security?.supplementalGroups], [true, { value: 5n }, [6n, 7n]]);
  assert.deepEqual(security?.seccomp, { profileType: 0, localhostRef: '' });
  // All fields are set: the encoded message decodes to an equal one.
  assert.deepEqual(PodSandboxConfig.decode(PodSandboxConfig.encode(config).finish()), config);
});

test('a sandbox in the host’s network has the host’s name', () => {
  const { config } = makeSandboxConfig(aSandboxConfigInput({ pod: aPod({ spec: { hostNetwork: true } }) }));
  assert.equal(config.hostname, '');
  assert.equal(config.linux?.securityContext?.namespaceOptions?.network, 2);
});

test('an invalid sandbox config is an error with a reason', () => {
  const pod = aPod({ spec: { subdomain: 'NO' } });
  assert.throws(() => makeSandboxConfig(aSandboxConfigInput({ pod })), { reason: 'CreatePodSandboxError', message: /Subdomain "NO"/ });
});

test('a container’s config equals upstream’s', () => {
  const container = aContainer({
    command: ['sh', '-c', 'echo $(WHO) $$(WHO) $(NOBODY)'],
    args: ['$(WHO)'],
    workingDir: '/work',
    stdin: true,
    tty: true,
  });
  const mount = { ...ContainerConfig.fromPartial({ mounts: [{ containerPath: '/data', hostPath: '/var/data' }] }).mounts[0]! };
  const config = makeContainerConfig(
    aContainerConfigInput({
      container,
      restartCount: 4,
      env: [{ name: 'WHO', value: 'wörld' }],
      mounts: [mount],
      cdiDeviceNames: ['vendor.com/gpu=0'],
    }),
  );
  assert.deepEqual(config.metadata, { name: 'app', attempt: 4 });
  assert.deepEqual([config.image?.image, config.image?.userSpecifiedImage], ['sha256:abc', 'local.example/app:1']);
  assert.deepEqual(config.command, ['sh', '-c', 'echo wörld $(WHO) $(NOBODY)']);
  assert.deepEqual(config.args, ['wörld']);
  assert.deepEqual(
    config.envs.map(({ key, value }) => [key, Buffer.from(value).toString()]),
    [['WHO', 'wörld']],
  );
  assert.deepEqual(
    [config.logPath, config.workingDir, config.stdin, config.stdinOnce, config.tty],
    ['app/4.log', '/work', true, false, true],
  );
  assert.deepEqual(config.CDIDevices, [{ name: 'vendor.com/gpu=0' }]);
  assert.equal(config.linux?.resources?.oomScoreAdj, 1000n);
  assert.equal(config.annotations['io.kubernetes.container.restartCount'], '4');
  assert.deepEqual(ContainerConfig.decode(ContainerConfig.encode(config).finish()), config);
});

test('a container that would violate runAsNonRoot is an error with a reason', () => {
  const input = aContainerConfigInput({ container: aContainer({ securityContext: { runAsNonRoot: true } }) });
  assert.throws(() => makeContainerConfig(input), { reason: 'CreateContainerConfigError', message: /image will run as root/ });
});

test('a container without what it was to hold alone does not start', () => {
  const input = aContainerConfigInput({ container: aContainer(), problem: 'no port is free' });
  assert.throws(() => makeContainerConfig(input), { reason: 'CreateContainerConfigError', message: 'no port is free' });
});

test('a command with too long arguments is rejected', () => {
  const env = [{ name: 'LONG', value: 'x'.repeat(1_000_000) }];
  const container = aContainer({ command: ['echo'], args: Array.from({ length: 20 }, () => '$(LONG)') });
  const message = /^container "app": command and arguments: more than 6291456 bytes/;
  assert.throws(() => makeContainerConfig(aContainerConfigInput({ container, env })), { reason: 'CreateContainerConfigError', message });
});

test('an ephemeral container joins the processes of its target, unless the pod shares them all', () => {
  const targetContainerID = 'target';
  const own = makeContainerConfig(aContainerConfigInput({ targetContainerID })).linux?.securityContext?.namespaceOptions;
  assert.deepEqual([own?.pid, own?.targetId], [3, 'target']);
  const pod = aPod({ spec: { shareProcessNamespace: true } });
  const shared = makeContainerConfig(aContainerConfigInput({ pod, targetContainerID })).linux?.securityContext?.namespaceOptions;
  assert.deepEqual([shared?.pid, shared?.targetId], [0, '']);
});

test('a stop signal is passed to the runtime if its feature gate is enabled', () => {
  const signalOf = (stopSignal: string, gate: boolean) =>
    makeContainerConfig(
      aContainerConfigInput({
        container: aContainer({ lifecycle: { stopSignal } }),
        settings: { ...someSettings, featureGates: podSyncGatesWith({ ContainerStopSignals: gate }) },
      }),
    ).stopSignal;
  assert.equal(signalOf('SIGUSR1', false), 0);
  assert.deepEqual(
    ['SIGUSR1', 'SIGRTMIN+3', 'SIGRTMAX-14', 'SIGNONE', 'constructor'].map((name) => signalOf(name, true)),
    [
      Signal.SIGNAL_SIGUSR1,
      Signal.SIGNAL_SIGRTMINPLUS3,
      Signal.SIGNAL_SIGRTMAXMINUS14,
      Signal.SIGNAL_RUNTIME_DEFAULT,
      Signal.SIGNAL_RUNTIME_DEFAULT,
    ],
  );
});

test('every mount of a pod with a user namespace has the ID mappings', () => {
  const userNamespace = { hostID: 131_072, length: 65536 };
  const mappings = [{ hostId: 131_072, containerId: 0, length: 65536 }];
  const [mount] = ContainerConfig.fromPartial({ mounts: [{ containerPath: '/data' }] }).mounts;
  const config = makeContainerConfig(aContainerConfigInput({ pod: aPod({ spec: { hostUsers: false } }), userNamespace, mounts: [mount!] }));
  assert.deepEqual([config.mounts[0]?.uidMappings, config.mounts[0]?.gidMappings], [mappings, mappings]);
});
