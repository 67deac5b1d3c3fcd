/**
 * Sample pods and their runtime statuses for tests of a sync. Based on pods.ts: containers are given by name, are in the sandbox `sandbox-1`,
 * and have the hash of their spec.
 */
import type { AllocatedPod } from '../../../src/main/allocation/index.ts';
import type { RuntimeContainerStatus, RuntimePodStatus, RuntimeSandboxStatus } from '../../../src/shared/contracts/runtime-status.ts';
import type { Container, Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { containerHash } from '../../../src/shared/kubernetes/container-hash.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';
import * as samples from './pods.ts';

export function aContainer(name: string, more: Partial<Container> = {}): Container {
  return samples.aContainer({ name, image: `registry.example/${name}:1`, ...more });
}

export function aSidecar(name: string, more: Partial<Container> = {}): Container {
  return aContainer(name, { restartPolicy: 'Always', ...more });
}

/** Returns a pod with the single container `app`, unless `spec` has others. */
export function aPod(spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): AllocatedPod {
  return samples.aPod({
    metadata: { uid: 'uid-1', annotations: {}, ...metadata },
    spec: { securityContext: {}, containers: [aContainer('app')], ...spec },
  });
}

/** Returns the status of a running container. */
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
