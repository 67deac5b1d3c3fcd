/** Computes the pod's phase from its containers' statuses (upstream kubelet_pods.go getPhase). */
import type { Container, ContainerState, ContainerStatus, Pod, PodSpec } from '../../../shared/kubernetes/api.ts';
import type { PodPhase } from '../../../shared/kubernetes/pod-phase.ts';
import { isRestartableInitContainer, shouldRestartContainer, type RestartGates } from '../../../shared/kubernetes/restart-policy.ts';
import { isStaticPod } from '../../../shared/kubernetes/static-pod.ts';
import { restartingAllContainers } from './restart-all.ts';

export interface PhaseContext {
  /** No container of the pod is started again. */
  readonly terminating: boolean;
  /** A regular container was started in the current sandbox, so a restarting sidecar does not make the pod Pending. */
  readonly hasInitialized: boolean;
  /**
   * The pod is restarting all of its containers: no exit is permanent, not even the exit of a container that the kubelet kills for the restart. Upstream
   * generates no status between the kill and the removal of such a container.
   */
  readonly restarting: boolean;
  readonly gates: RestartGates;
}

export function computePhase(pod: Pod, statuses: readonly ContainerStatus[], context: PhaseContext): PodPhase {
  const { terminating, hasInitialized, restarting, gates } = context;
  const isPermanent: IsPermanentlyTerminated = (container, { exitCode, reason }) =>
    !restarting && reason !== restartingAllContainers && !shouldRestartContainer(container, pod.spec, exitCode, gates);
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const initContainers = pod.spec.initContainers ?? [];
  const init = countInit(
    initContainers.filter((container) => !isRestartableInitContainer(container)),
    byName,
    isPermanent,
  );
  const sidecars = countSidecars(initContainers.filter(isRestartableInitContainer), byName);
  const regular = countRegular(pod.spec, byName, isPermanent);
  const running = sidecars.running + regular.running;
  const unknown = sidecars.unknown + regular.unknown;

  if (init.permanentlyFailed > 0) return 'Failed';
  if (init.pending > 0 || (sidecars.pending > 0 && !hasInitialized)) return 'Pending';
  if (sidecars.waiting + regular.waiting > 0) return 'Pending';
  if (unknown > 0) return 'Pending';
  if (running > 0) return 'Running';
  if (regular.stopped === 0) return 'Pending';
  const terminalPhase = regular.stopped === regular.succeeded ? 'Succeeded' : 'Failed';
  if (terminating && !isStaticPod(pod)) return terminalPhase;
  return regular.stopped === regular.permanentlyStopped ? terminalPhase : 'Running';
}

type ByName = ReadonlyMap<string, ContainerStatus>;

/** The last termination of a container that is not running; undefined when it never ran. */
function lastEnd(status: ContainerStatus): NonNullable<ContainerState['terminated']> | undefined {
  return status.state?.terminated ?? status.lastState?.terminated;
}

/** True when the container's restart policies and rules do not restart it, and no restart of all containers terminated it. */
type IsPermanentlyTerminated = (container: Container, end: NonNullable<ContainerState['terminated']>) => boolean;

function countInit(containers: readonly Container[], byName: ByName, isPermanent: IsPermanentlyTerminated) {
  const count = { pending: 0, permanentlyFailed: 0 };
  for (const container of containers) {
    const status = byName.get(container.name);
    const end = status && !status.state?.running ? lastEnd(status) : undefined;
    if (!end) count.pending += 1;
    else if (end.exitCode !== 0 && isPermanent(container, end)) count.permanentlyFailed += 1;
  }
  return count;
}

/** A terminated sidecar does not count: it does not end the pod. */
function countSidecars(containers: readonly Container[], byName: ByName) {
  const count = { pending: 0, running: 0, waiting: 0, unknown: 0 };
  for (const { name } of containers) {
    const status = byName.get(name);
    if (!status) count.unknown += 1;
    else if (status.state?.running) {
      count.running += 1;
      if (!status.started) count.pending += 1;
    } else if (!lastEnd(status)) {
      count.pending += 1;
      if (status.state?.waiting) count.waiting += 1;
      else count.unknown += 1;
    }
  }
  return count;
}

function countRegular(spec: PodSpec, byName: ByName, isPermanent: IsPermanentlyTerminated) {
  const count = { running: 0, waiting: 0, stopped: 0, permanentlyStopped: 0, succeeded: 0, unknown: 0 };
  for (const container of spec.containers) {
    const status = byName.get(container.name);
    if (status?.state?.running) {
      count.running += 1;
      continue;
    }
    const end = status && lastEnd(status);
    if (end) {
      count.stopped += 1;
      if (isPermanent(container, end)) count.permanentlyStopped += 1;
      // A container that waits for its restart has not succeeded, whatever its last exit code was.
      if (status.state?.terminated && end.exitCode === 0) count.succeeded += 1;
    } else if (status?.state?.waiting) count.waiting += 1;
    else count.unknown += 1;
  }
  return count;
}
