/** Pods and runtime statuses with defaults: a test names only the fields that matter. */
import { asAllocated, type AllocatedPod } from '../../../src/main/allocation/index.ts';
import type { RuntimeContainerStatus, RuntimePodStatus, RuntimeSandboxStatus } from '../../../src/shared/contracts/runtime-status.ts';
import type { Container, Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';

export function aContainer(fields: Partial<Container> = {}): Container {
  return { name: 'app', image: 'local.example/app:1', imagePullPolicy: 'IfNotPresent', resources: {}, ...fields };
}

type PodFields = Omit<Partial<Pod>, 'spec' | 'metadata'> & {
  readonly spec?: Partial<PodSpec>;
  readonly metadata?: Partial<Pod['metadata']>;
};

/** A static pod `web` with one container, `app`, to which the resources of its spec were allocated. */
export function aPod({ metadata, spec, ...rest }: PodFields = {}): AllocatedPod {
  return asAllocated({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'uid-web', annotations: { 'kubernetes.io/config.source': 'file' }, ...metadata },
    spec: { containers: [aContainer()], restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', terminationGracePeriodSeconds: 30, ...spec },
    ...rest,
  });
}

export function aSandbox(fields: Partial<RuntimeSandboxStatus> = {}): RuntimeSandboxStatus {
  return {
    id: 'sandbox-0' as SandboxID,
    state: 'ready',
    attempt: 0,
    createdAtMs: 1_000,
    podIPs: ['10.0.0.7'],
    hostNetwork: false,
    runtimeHandler: '',
    ...fields,
  };
}

export function aRuntimeContainer(fields: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus {
  return {
    id: 'container-0' as ContainerID,
    sandboxID: 'sandbox-0' as SandboxID,
    name: 'app',
    state: 'running',
    createdAtMs: 2_000,
    startedAtMs: 3_000,
    finishedAtMs: 0,
    exitCode: 0,
    image: 'local.example/app:1',
    imageID: 'sha256:abc',
    imageRef: 'sha256:abc',
    hash: '0',
    restartCount: 0,
    reason: '',
    message: '',
    logPath: '',
    mounts: [],
    orphan: {},
    ...fields,
  };
}

/** A container instance that has exited, with the times and the reason that a runtime reports. */
export function anExitedContainer(exitCode: number, fields: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus {
  return aRuntimeContainer({ state: 'exited', exitCode, finishedAtMs: 9_000, reason: exitCode === 0 ? 'Completed' : 'Error', ...fields });
}

export function aRuntimePodStatus(fields: Partial<RuntimePodStatus> = {}): RuntimePodStatus {
  return {
    podUID: 'uid-web' as PodUID,
    name: 'web',
    namespace: 'default',
    podIPs: ['10.0.0.7'],
    sandboxes: [aSandbox()],
    containers: [],
    observedAtMs: 1,
    ...fields,
  };
}
