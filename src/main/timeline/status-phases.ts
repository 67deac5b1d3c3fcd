/**
 * Ends the phases of a start that a pod's API status shows: all containers have started, a container's startup and readiness probes have succeeded,
 * the pod is ready. Called with each change of a status.
 */
import type { Container, ContainerStatus, Pod, PodStatus } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { isTerminalPhase } from '../../shared/kubernetes/pod-phase.ts';
import { isPodReady } from '../../shared/kubernetes/ready-condition.ts';
import type { PodTimelines } from './pod-timelines.ts';

export function recordStatusPhases(timelines: PodTimelines, { pod, status }: { readonly pod: Pod; readonly status: PodStatus }): void {
  const uid = podUID(pod);
  if (isTerminalPhase(status.phase) || hasEveryContainerStarted(pod.spec.containers, status.containerStatuses))
    timelines.end(uid, 'Running');
  if (isPodReady(status)) timelines.end(uid, 'Ready');
  const statuses = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]) {
    if (!container.startupProbe && !container.readinessProbe) continue;
    const ofContainer = statuses.find(({ name }) => name === container.name);
    if (ofContainer) recordProbePhases(timelines, uid, container, ofContainer);
  }
}

function hasEveryContainerStarted(containers: readonly Container[], statuses: readonly ContainerStatus[] = []): boolean {
  return containers.every(({ name }) =>
    statuses.some((one) => one.name === name && (one.state?.running !== undefined || one.state?.terminated !== undefined)),
  );
}

function recordProbePhases(timelines: PodTimelines, uid: PodUID, container: Container, { state, started, ready }: ContainerStatus): void {
  const { name } = container;
  const runs = state?.running !== undefined;
  const phases = [
    { phase: 'Startup', exists: container.startupProbe !== undefined, waits: runs && !started },
    { phase: 'Readiness', exists: container.readinessProbe !== undefined, waits: runs && started === true && !ready },
  ] as const;
  for (const { phase, exists, waits } of phases) {
    if (!exists) continue;
    if (waits) timelines.beginUnlessOpen(uid, phase, { container: name });
    else timelines.end(uid, phase, { container: name, failed: !runs });
  }
}
