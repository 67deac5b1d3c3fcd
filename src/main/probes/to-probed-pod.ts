/**
 * Computes what the probes thread probes of a pod: the newest running instance of each regular container and sidecar, with its probes. Pure.
 * Upstream: AddPod in pkg/kubelet/prober/prober_manager.go and doProbe in worker.go.
 */
import type { ProbeAction, ProbedContainer, ProbedPod, ProbeSpec, ProbeType } from '../../shared/contracts/probes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Container, Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type ContainerID } from '../../shared/kubernetes/ids.ts';
import { isRestartableInitContainer } from '../../shared/kubernetes/restart-policy.ts';
import { resolveAction, type Probe, type ProbeGates } from './resolve-action.ts';

/**
 * The text that the probes of one pod may have together: commands, paths and headers. The thread keeps the probes of all pods in memory, and a
 * command can expand to any size.
 */
const maxTextLength = 256 * 1024;

export interface ProbedPodInput {
  readonly pod: Pod;
  /** Null when the runtime has nothing of the pod. */
  readonly status: RuntimePodStatus | null;
  /** The pod's first IP, the node's for a pod in the host's network. Undefined until it is known. */
  readonly podIP: string | undefined;
  readonly terminating: boolean;
  readonly gates: ProbeGates;
  /** Whether the startup probe of this instance has succeeded. */
  readonly hasStartedUp: (id: ContainerID) => boolean;
  /** Whether the postStart hook of this instance may still run. */
  readonly isStarting: (container: Container, id: ContainerID) => boolean;
}

/** The result has no `lastResult`. */
export function toProbedPod(input: ProbedPodInput): ProbedPod {
  const { pod, terminating } = input;
  const { namespace, name } = pod.metadata;
  const budget = { textLength: maxTextLength };
  const containers = probedContainers(pod).flatMap((container) => {
    const instance = input.status?.containers.find((one) => one.name === container.name);
    const isProbed = instance?.state === 'running' && !input.isStarting(container, instance.id);
    return isProbed ? [toProbedContainer(container, instance, input, budget)] : [];
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
  // A manifest may have null instead of a probe.
  return container[`${type}Probe`] ?? undefined;
}

/** The text length that is left for further probes of the pod. */
interface Budget {
  textLength: number;
}

function toProbedContainer(container: Container, instance: RuntimeContainerStatus, input: ProbedPodInput, budget: Budget): ProbedContainer {
  const { id, name, startedAtMs, createdAtMs } = instance;
  const probes = probeTypes.flatMap((type) => {
    const probe = probeOf(container, type);
    const action = probe && cachedAction(probe, container, input);
    return action ? [toProbeSpec(type, probe, withinBudget(action, budget))] : [];
  });
  const started = !probeOf(container, 'startup') || input.hasStartedUp(id);
  // Until the runtime has answered a status request, only its list is known, which has no start times.
  return { name, id, startedAtMs: startedAtMs || createdAtMs, started, probes };
}

interface CachedAction {
  readonly podIP: string | undefined;
  readonly action: ProbeAction | null;
}

/** Each version of a pod has its own Probe objects, so a cached action is never outdated. Actions may be large, and pods are converted often. */
const cache = new WeakMap<Probe, CachedAction>();

function cachedAction(probe: Probe, container: Container, { pod, podIP, gates }: ProbedPodInput): ProbeAction | null {
  const cached = cache.get(probe);
  if (cached && cached.podIP === podIP) return cached.action;
  const action = resolveAction(probe, { container, pod, podIP, gates });
  cache.set(probe, { podIP, action });
  return action;
}

function withinBudget(action: ProbeAction, budget: Budget): ProbeAction {
  budget.textLength -= textLength(action);
  if (budget.textLength >= 0) return action;
  return { type: 'invalid', message: `the probes of the pod have more than ${maxTextLength} characters together` };
}

function textLength(action: ProbeAction): number {
  const sum = (texts: readonly string[]) => texts.reduce((total, text) => total + text.length, 0);
  switch (action.type) {
    case 'exec':
      return sum(action.command);
    case 'http':
      return sum([action.host, action.path, ...action.headers.flatMap(({ name, value }) => [name, value])]);
    case 'tcp':
      return action.host.length;
    case 'grpc':
      return action.host.length + action.service.length;
    case 'invalid':
      return action.message.length;
    default:
      return action satisfies never;
  }
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
