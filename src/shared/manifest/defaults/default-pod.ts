/**
 * What the API server fills in for a pod (upstream pkg/apis/core/v1/defaults.go and its generated caller): a static pod never passes
 * it, so the kubelet does the same. Runs on a pod that was just decoded and that nobody else holds: it is changed in place.
 */
import type { Draft, Pod } from '../../kubernetes/api.ts';
import { isOn, type ManifestGates } from '../gates.ts';
import { defaultContainer, defaultRequests, type DraftContainer } from './default-container.ts';
import { defaultPodResources } from './default-pod-resources.ts';
import { defaultVolume } from './default-volume.ts';
import { roundToMillis } from './round-to-millis.ts';

export type DraftPod = Draft<Pod>;

/** 30 s, as every pod has that says nothing. */
const defaultTerminationGracePeriodSeconds = 30;

export function defaultPod(pod: DraftPod, gates: ManifestGates = {}): void {
  const { spec } = pod;
  const containers: DraftContainer[] = [...(spec.initContainers ?? []), ...spec.containers];
  for (const container of containers) defaultRequests(container);
  if (isOn(gates, 'PodLevelResources')) defaultPodResources(spec);
  spec.enableServiceLinks ??= true;
  if (spec.hostNetwork) for (const container of containers) defaultHostPorts(container);

  spec.dnsPolicy ??= 'ClusterFirst';
  spec.restartPolicy ??= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= defaultTerminationGracePeriodSeconds;
  // Below zero there is no meaning; the API's conversion makes it one.
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  spec.schedulerName ??= 'default-scheduler';
  // The old name of the field; the new one wins where both are given, and both are shown.
  spec.serviceAccountName ??= spec.serviceAccount;
  if (spec.serviceAccountName === undefined) delete spec.serviceAccountName;
  else spec.serviceAccount = spec.serviceAccountName;

  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of containers) defaultContainer(container);
  for (const container of spec.ephemeralContainers ?? []) defaultContainer(container);
  for (const list of [spec.overhead, spec.resources?.limits, spec.resources?.requests]) roundToMillis(list);
}

/** In the host's network a container's port is the host's. */
function defaultHostPorts(container: DraftContainer): void {
  for (const port of container.ports ?? []) port.hostPort ??= port.containerPort;
}
