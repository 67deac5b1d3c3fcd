/**
 * Pods, and what a runtime has of them, for tests of a sync: the samples of pods.ts, with containers by name, in the sandbox `sandbox-1`
 * and with the hash that their spec gives them.
 */
import type { RuntimeContainerStatus, RuntimePodStatus, RuntimeSandboxStatus } from '../../src/shared/contracts/runtime-status.ts';
import type { Container, Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { containerHash } from '../../src/shared/kubernetes/container-hash.ts';
import type { ContainerID, PodUID, SandboxID } from '../../src/shared/kubernetes/ids.ts';
import * as samples from './pods.ts';

export function aContainer(name: string, more: Partial<Container> = {}): Container {
  return samples.aContainer({ name, image: `registry.example/${name}:1`, ...more });
}

export function aSidecar(name: string, more: Partial<Container> = {}): Container {
  return aContainer(name, { restartPolicy: 'Always', ...more });
}

/** A pod with the one container `app`, unless the spec says otherwise. */
export function aPod(spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return samples.aPod({
    metadata: { uid: 'uid-1', annotations: {}, ...metadata },
    spec: { securityContext: {}, containers: [aContainer('app')], ...spec },
  });
}

/** Running. */
export function aContainerStatus(name: string, more: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus {
  const spec = aContainer(name);
  const own = { id: `${name}-1` as ContainerID, name, sandboxID: 'sandbox-1' as SandboxID, image: spec.image!, hash: containerHash(spec) };
  return samples.aRuntimeContainer({ ...own, ...more });
}

export function exited(name: string, exitCode: number, more: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus {
  const { id, sandboxID, image, hash } = aContainerStatus(name);
  return samples.anExitedContainer(exitCode, { id, name, sandboxID, image, hash, ...more });
}

export function aSandbox(more: Partial<RuntimeSandboxStatus> = {}): RuntimeSandboxStatus {
  return samples.aSandbox({ id: 'sandbox-1' as SandboxID, ...more });
}

export function aRuntimeStatus(
  containers: readonly RuntimeContainerStatus[],
  sandboxes: readonly RuntimeSandboxStatus[] = [aSandbox()],
): RuntimePodStatus {
  const podIPs = sandboxes.find(({ state }) => state === 'ready')?.podIPs ?? [];
  return samples.aRuntimePodStatus({ podUID: 'uid-1' as PodUID, podIPs, sandboxes, containers });
}
