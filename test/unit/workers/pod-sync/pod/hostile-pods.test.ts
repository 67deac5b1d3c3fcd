/** Fuzzes the pure parts of a sync with hostile pods. They may reject a pod with an Error that has a reason, but never with a TypeError or the like. */
import { podSyncGatesWith } from '../../../../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContainerConfig, PodSandboxConfig } from '../../../../../src/shared/cri/generated/cri-v1.ts';
import { computePodCgroupResources } from '../../../../../src/shared/cgroups/cgroup-values.ts';
import { isRestartableInitContainer } from '../../../../../src/shared/kubernetes/restart-policy.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import { podUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { computePodActions } from '../../../../../src/workers/pod-sync/pod/compute-pod-actions/index.ts';
import { decodeManifest } from '../../../../../src/workers/pod-sync/manifest/decode-manifest.ts';
import { makeContainerConfig } from '../../../../../src/workers/pod-sync/pod/runtime-config/container-config.ts';
import { computePodDNS } from '../../../../../src/workers/pod-sync/pod/runtime-config/pod-dns.ts';
import { makeEnvironment } from '../../../../../src/workers/pod-sync/pod/runtime-config/make-environment.ts';
import { computePodHostname } from '../../../../../src/workers/pod-sync/pod/runtime-config/hostname.ts';
import { makeSandboxConfig } from '../../../../../src/workers/pod-sync/pod/runtime-config/sandbox-config.ts';
import { managedHostsContent } from '../../../../../src/workers/pod-sync/pod/volumes/etc-hosts.ts';
import { computeMemorySizeBytes } from '../../../../../src/workers/pod-sync/pod/volumes/empty-dir-size.ts';
import { acceptedPods, fuzzSeeds, hostilePods } from '../../../../support/fuzz/hostile-pods.ts';
import { anExitedContainer, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';
import {
  aContainerConfigInput,
  aNode,
  aSandboxConfigInput,
  someHostInfo,
  someSettings,
} from '../../../../support/pods/runtime-config-inputs.ts';
import { defaultRestartGates } from '../../../../support/pods/status-features.ts';

const podsPerSeed = 3000;
const noObjects = { secrets: new Map(), configMaps: new Map(), services: { outcome: 'value', value: { kind: 'Services', services: [] } } };

/** The errors of a programming mistake; a rejection is a plain Error with a reason. */
const mistakes = [TypeError, RangeError, ReferenceError, SyntaxError, URIError];

function mayReject(what: string, pod: unknown, work: () => unknown): void {
  try {
    work();
  } catch (err) {
    const isMistake = mistakes.some((mistake) => err instanceof mistake);
    assert.ok(!isMistake, `${what}: ${(err as Error).stack}\n${JSON.stringify(pod)}`);
  }
}

function computeActions(pod: Pod, index: number) {
  const container = index % 2 === 0 ? aRuntimeContainer() : anExitedContainer(index % 3);
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const status =
    index % 5 === 0 ? null : aRuntimePodStatus({ podUID: podUID(pod), containers: all.map(({ name }) => ({ ...container, name })) });
  computePodActions({ pod, status, ...defaultRestartGates, restartAllContainers: index % 7 === 0 });
}

function makeConfigs(pod: Pod): void {
  mayReject('the sandbox', pod, () => PodSandboxConfig.encode(makeSandboxConfig(aSandboxConfigInput({ pod })).config).finish());
  mayReject('the cgroup', pod, () =>
    computePodCgroupResources(pod, { enforceCPULimits: true, cpuPeriodUs: 100_000, podPidsLimit: 10, podLevelResources: true }),
  );
  mayReject('DNS', pod, () => computePodDNS({ pod, settings: someSettings, resolvConf: someHostInfo.resolvConf, nodeIPs: aNode.hostIPs }));
  mayReject('the hosts file', pod, () => managedHostsContent(['10.0.0.1'], computePodHostname(pod, someSettings), pod.spec.hostAliases));
  for (const { emptyDir } of pod.spec.volumes ?? [])
    mayReject('an emptyDir', pod, () => computeMemorySizeBytes(pod, 1e9, emptyDir?.sizeLimit, true));
  for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? []), ...(pod.spec.ephemeralContainers ?? [])]) {
    isRestartableInitContainer(container);
    mayReject('a container', pod, () => {
      const env = makeEnvironment({
        pod,
        container,
        node: aNode,
        settings: someSettings,
        podIPs: ['10.0.0.1'],
        objects: noObjects as never,
      });
      ContainerConfig.encode(makeContainerConfig(aContainerConfigInput({ pod, container, env }))).finish();
    });
  }
}

for (const seed of fuzzSeeds()) {
  test(`a sync never fails by mistake: FUZZ_SEED=${seed}`, () => {
    for (const [index, pod] of acceptedPods(seed, podsPerSeed).entries()) {
      mayReject('the actions', pod, () => computeActions(pod, index));
      makeConfigs(pod);
    }
  });

  test(`the decoding of a manifest never fails by mistake: FUZZ_SEED=${seed}`, () => {
    const mistake =
      /is not a function|is not iterable|Cannot (read|mix|convert|set|destructure)|undefined|Maximum call|out of range|Invalid array|Invalid time/;
    for (const [index, pod] of hostilePods(seed, podsPerSeed).entries()) {
      const named = { ...pod, metadata: { ...(pod['metadata'] as object), name: `pod-${index}` }, apiVersion: 'v1', kind: 'Pod' };
      const task = {
        content: Buffer.from(JSON.stringify(named)),
        source: 'file',
        origin: '/manifests/pod.json',
        nodeName: 'node-1',
      } as const;
      const { errors, readable } = decodeManifest(task, podSyncGatesWith());
      assert.ok(readable || !errors.some((error) => mistake.test(error)), `${errors.join('\n')}\n${JSON.stringify(pod)}`);
    }
  });
}
