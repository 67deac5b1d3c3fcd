/** What a sync decides and makes of pods that no user would write: it may refuse them with a reason, and never by an accident of the language. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerConfig, PodSandboxConfig } from '../../../../src/shared/cri/generated/cri-v1.ts';
import { podCgroupResources } from '../../../../src/shared/linux/cgroup-values.ts';
import { isRestartableInitContainer } from '../../../../src/shared/kubernetes/restart-policy.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { podUID } from '../../../../src/shared/kubernetes/ids.ts';
import { computePodActions } from '../../../../src/workers/pod-sync/compute-pod-actions/index.ts';
import { decodeManifest } from '../../../../src/shared/manifest/decode-manifest.ts';
import { makeContainerConfig } from '../../../../src/workers/pod-sync/runtime-config/container-config.ts';
import { podDNS } from '../../../../src/workers/pod-sync/runtime-config/dns.ts';
import { makeEnvironment } from '../../../../src/workers/pod-sync/runtime-config/environment.ts';
import { podHostname } from '../../../../src/workers/pod-sync/runtime-config/hostname.ts';
import { makeSandboxConfig } from '../../../../src/workers/pod-sync/runtime-config/sandbox-config.ts';
import { managedHostsContent } from '../../../../src/workers/pod-sync/volumes/etc-hosts.ts';
import { memorySizeBytes } from '../../../../src/workers/pod-sync/volumes/empty-dir-size.ts';
import { acceptedPods, fuzzSeeds, hostilePods } from '../../../support/fuzz/hostile-pods.ts';
import { anExitedContainer, aRuntimeContainer, aRuntimePodStatus } from '../../../support/pods.ts';
import { aContainerConfigInput, aNode, aSandboxConfigInput, someHostInfo, someSettings } from '../../../support/runtime-config-inputs.ts';

const podsOfASeed = 3000;
const noValues = { secrets: new Map(), configMaps: new Map(), services: { outcome: 'value', value: { kind: 'Services', services: [] } } };

/** What a defect throws, where a refusal would be an Error that says why. */
const accidents = [TypeError, RangeError, ReferenceError, SyntaxError, URIError];

function mayRefuse(what: string, pod: unknown, work: () => unknown): void {
  try {
    work();
  } catch (err) {
    const isAccident = accidents.some((accident) => err instanceof accident);
    assert.ok(!isAccident, `${what}: ${(err as Error).stack}\n${JSON.stringify(pod)}`);
  }
}

function actionsOf(pod: Pod, index: number) {
  const container = index % 2 === 0 ? aRuntimeContainer() : anExitedContainer(index % 3);
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const status =
    index % 5 === 0 ? null : aRuntimePodStatus({ podUID: podUID(pod), containers: all.map(({ name }) => ({ ...container, name })) });
  computePodActions({ pod, status, containerRestartRules: true, restartAllContainers: index % 7 === 0 });
}

function configsOf(pod: Pod): void {
  mayRefuse('the sandbox', pod, () => PodSandboxConfig.encode(makeSandboxConfig(aSandboxConfigInput({ pod })).config).finish());
  mayRefuse('the cgroup', pod, () =>
    podCgroupResources(pod, { enforceCPULimits: true, cpuPeriodUs: 100_000, podPidsLimit: 10, podLevelResources: true }),
  );
  mayRefuse('DNS', pod, () => podDNS({ pod, settings: someSettings, resolvConf: someHostInfo.resolvConf, nodeIPs: aNode.hostIPs }));
  mayRefuse('the hosts file', pod, () => managedHostsContent(['10.0.0.1'], podHostname(pod, someSettings), pod.spec.hostAliases));
  for (const { emptyDir } of pod.spec.volumes ?? [])
    mayRefuse('an emptyDir', pod, () => memorySizeBytes(pod, 1e9, emptyDir?.sizeLimit, true));
  for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? []), ...(pod.spec.ephemeralContainers ?? [])]) {
    isRestartableInitContainer(container);
    mayRefuse('a container', pod, () => {
      const env = makeEnvironment({
        pod,
        container,
        node: aNode,
        settings: someSettings,
        podIPs: ['10.0.0.1'],
        objects: noValues as never,
      });
      ContainerConfig.encode(makeContainerConfig(aContainerConfigInput({ pod, container, env }))).finish();
    });
  }
}

for (const seed of fuzzSeeds()) {
  test(`a sync throws no accident: FUZZ_SEED=${seed}`, () => {
    for (const [index, pod] of acceptedPods(seed, podsOfASeed).entries()) {
      mayRefuse('what is to be done', pod, () => actionsOf(pod, index));
      configsOf(pod);
    }
  });

  test(`a manifest is decoded or refused, and never by an accident: FUZZ_SEED=${seed}`, () => {
    const accident =
      /is not a function|is not iterable|Cannot (read|mix|convert|set|destructure)|undefined|Maximum call|out of range|Invalid array|Invalid time/;
    for (const [index, pod] of hostilePods(seed, podsOfASeed).entries()) {
      const named = { ...pod, metadata: { ...(pod['metadata'] as object), name: `pod-${index}` }, apiVersion: 'v1', kind: 'Pod' };
      const task = {
        content: Buffer.from(JSON.stringify(named)),
        source: 'file',
        origin: '/manifests/pod.json',
        nodeName: 'node-1',
      } as const;
      const { errors, readable } = decodeManifest(task, {});
      assert.ok(readable || !errors.some((one) => accident.test(one)), `${errors.join('\n')}\n${JSON.stringify(pod)}`);
    }
  });
}
