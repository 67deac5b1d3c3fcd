/** Pods, and what a runtime has of them, for tests of a sync: each builder gives a whole, of which a test names only what matters. */
import type { RuntimeContainerStatus, RuntimePodStatus, RuntimeSandboxStatus } from '../../src/shared/contracts/runtime-status.ts';
import type { Container, Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { containerHash } from '../../src/shared/kubernetes/container-hash.ts';
import type { ContainerID, PodUID, SandboxID } from '../../src/shared/kubernetes/ids.ts';

export function aContainer(name: string, more: Partial<Container> = {}): Container {
  return { name, image: `registry.example/${name}:1`, imagePullPolicy: 'IfNotPresent', ...more };
}

export function aSidecar(name: string, more: Partial<Container> = {}): Container {
  return aContainer(name, { restartPolicy: 'Always', ...more });
}

/** A pod with the one container `app`, unless the spec says otherwise. */
export function aPod(spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', annotations: {}, ...metadata },
    spec: {
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      containers: [aContainer('app')],
      ...spec,
    },
  };
}

/** Running, of the container as the pod has it, in the sandbox `sandbox-1`. */
export function aContainerStatus(name: string, more: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus {
  const { image } = aContainer(name);
  return {
    id: `${name}-1` as ContainerID,
    sandboxID: 'sandbox-1' as SandboxID,
    name,
    state: 'running',
    createdAtMs: 1000,
    startedAtMs: 1000,
    finishedAtMs: 0,
    exitCode: 0,
    image: image!,
    imageID: `sha256:${name}`,
    imageRef: `sha256:${name}`,
    hash: containerHash(aContainer(name)),
    restartCount: 0,
    reason: '',
    message: '',
    logPath: '',
    mounts: [],
    orphan: {},
    ...more,
  };
}

export function exited(name: string, exitCode: number, more: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus {
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  return aContainerStatus(name, { state: 'exited', exitCode, finishedAtMs: 2000, reason, ...more });
}

export function aSandbox(more: Partial<RuntimeSandboxStatus> = {}): RuntimeSandboxStatus {
  return {
    id: 'sandbox-1' as SandboxID,
    state: 'ready',
    attempt: 0,
    createdAtMs: 500,
    podIPs: ['10.0.0.1'],
    hostNetwork: false,
    runtimeHandler: '',
    ...more,
  };
}

export function aRuntimeStatus(
  containers: readonly RuntimeContainerStatus[],
  sandboxes: readonly RuntimeSandboxStatus[] = [aSandbox()],
): RuntimePodStatus {
  const podIPs = sandboxes.find(({ state }) => state === 'ready')?.podIPs ?? [];
  return { podUID: 'uid-1' as PodUID, name: 'web', namespace: 'default', podIPs, sandboxes, containers, observedAtMs: 0 };
}
