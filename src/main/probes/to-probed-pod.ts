/**
 * Computes what the probes thread probes of a pod: the newest running instance of each regular container and sidecar, with its probes. Pure.
 * Upstream: AddPod in pkg/kubelet/prober/prober_manager.go and doProbe in worker.go.
 */
import type { ProbedContainer, ProbedPod, ProbeSpec, ProbeType } from '../../shared/contracts/probes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Container, Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type ContainerID } from '../../shared/kubernetes/ids.ts';
import { isRestartableInitContainer } from '../../shared/kubernetes/restart-policy.ts';
import { resolveAction, type Probe } from './resolve-action.ts';

export interface ProbedPodInput {
  readonly pod: Pod;
  /** Null when the runtime has nothing of the pod. */
  readonly status: RuntimePodStatus | null;
  /** The pod's first IP, the node's for a pod in the host's network. Undefined until it is known. */
  readonly podIP: string | undefined;
  readonly terminating: boolean;
  /** Whether the startup probe of this instance has succeeded. */
  readonly hasStartedUp: (id: ContainerID) => boolean;
}

/** The result has no `lastResult`. */
export function toProbedPod(input: ProbedPodInput): ProbedPod {
  const { pod, terminating } = input;
  const { namespace, name } = pod.metadata;
  const containers = probedContainers(pod).flatMap((container) => {
    const instance = input.status?.containers.find((one) => one.name === container.name);
    return instance?.state === 'running' ? [toProbedContainer(container, instance, input)] : [];
  });
  return { uid: podUID(pod), namespace, name, terminating, containers };
}

/** Returns the containers that have a probe. Init containers that complete and ephemeral containers are never probed. */
export function probedContainers({ spec }: Pod): Container[] {
  const sidecars = spec.initContainers?.filter(isRestartableInitContainer) ?? [];
  return [...spec.containers, ...sidecars].filter((container) => probeTypes.some((type) => probeOf(container, type)));
}

const probeTypes = ['startup', 'readiness', 'liveness'] as const satisfies readonly ProbeType[];

function probeOf(container: Container, type: ProbeType): Probe | undefined {
  // A manifest may have null.
  return container[`${type}Probe`] ?? undefined;
}

function toProbedContainer(container: Container, instance: RuntimeContainerStatus, input: ProbedPodInput): ProbedContainer {
  const { id, name, startedAtMs, createdAtMs } = instance;
  const probes = probeTypes.flatMap((type) => {
    const probe = probeOf(container, type);
    const action = probe && resolveAction(probe, container, input.pod, input.podIP);
    return action ? [toProbeSpec(type, probe, action)] : [];
  });
  const started = !probeOf(container, 'startup') || input.hasStartedUp(id);
  // The start is not known while only the runtime's list is.
  return { name, id, startedAtMs: startedAtMs || createdAtMs, started, probes };
}

/** Fields that are not set, or are below the API's minimum, get the API's default. Upstream: SetDefaults_Probe. */
function toProbeSpec(type: ProbeType, probe: Probe, action: ProbeSpec['action']): ProbeSpec {
  return {
    probe: type,
    action,
    initialDelaySeconds: Math.max(0, probe.initialDelaySeconds ?? 0),
    periodSeconds: positive(probe.periodSeconds, 10),
    timeoutSeconds: positive(probe.timeoutSeconds, 1),
    successThreshold: positive(probe.successThreshold, 1),
    failureThreshold: positive(probe.failureThreshold, 3),
  };
}

function positive(value: number | undefined, otherwise: number): number {
  return value !== undefined && value > 0 ? value : otherwise;
}
