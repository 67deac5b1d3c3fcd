/** Pods with probes, as main sends them. */
import type { ProbeAction, ProbedContainer, ProbedPod, ProbeSpec } from '../../../src/shared/contracts/probes.ts';
import type { ContainerID, PodUID } from '../../../src/shared/kubernetes/ids.ts';

export function probeSpec(action: ProbeAction, over: Partial<ProbeSpec> = {}): ProbeSpec {
  return {
    probe: 'readiness',
    action,
    initialDelaySeconds: 0,
    periodSeconds: 1,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 1,
    ...over,
  };
}

/** A container that starts now. */
export function probedContainer(name: string, probes: readonly ProbeSpec[], over: Partial<ProbedContainer> = {}): ProbedContainer {
  return { name, id: `id-${name}` as ContainerID, startedAtMs: Date.now(), started: true, probes, ...over };
}

export function probedPod(name: string, containers: readonly ProbedContainer[], over: Partial<ProbedPod> = {}): ProbedPod {
  return { uid: `uid-${name}` as PodUID, namespace: 'default', name, terminating: false, containers, ...over };
}

export function httpAction(port: number, over: Partial<Extract<ProbeAction, { type: 'http' }>> = {}): ProbeAction {
  return { type: 'http', scheme: 'http', host: '127.0.0.1', port, path: '/healthz', headers: [], ...over };
}
