/**
 * Applies the defaults that the API server applies to a pod (upstream pkg/apis/core/v1/defaults.go and its generated caller), because a
 * static pod never passes through the API server. Modifies a pod that no other code references yet.
 */
import type { Draft, Pod } from '../../../../shared/kubernetes/api.ts';
import { completesPodResources, type ManifestGates } from '../manifest-gates.ts';
import { defaultContainer, defaultRequests, type DraftContainer } from './default-container.ts';
import { defaultPodResources } from './default-pod-resources.ts';
import { defaultVolume } from './default-volume.ts';
import { roundToMillis } from './round-to-millis.ts';

export type DraftPod = Draft<Pod>;

/** The API's default. */
const defaultTerminationGracePeriodSeconds = 30;

export function defaultPod(pod: DraftPod, gates: ManifestGates): void {
  const { spec } = pod;
  const containers: DraftContainer[] = [...(spec.initContainers ?? []), ...spec.containers];
  for (const container of containers) defaultRequests(container);
  if (completesPodResources(gates)) defaultPodResources(spec);
  spec.enableServiceLinks ??= true;
  if (spec.hostNetwork) for (const container of containers) defaultHostPorts(container);

  spec.dnsPolicy ??= 'ClusterFirst';
  spec.restartPolicy ??= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= defaultTerminationGracePeriodSeconds;
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  spec.schedulerName ??= 'default-scheduler';
  // `serviceAccount` is the deprecated name of `serviceAccountName`. The new field takes precedence, and the pod shows both.
  spec.serviceAccountName ??= spec.serviceAccount;
  if (spec.serviceAccountName === undefined) delete spec.serviceAccountName;
  else spec.serviceAccount = spec.serviceAccountName;

  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of containers) defaultContainer(container, gates);
  for (const container of spec.ephemeralContainers ?? []) defaultContainer(container, gates);
  for (const list of [spec.overhead, spec.resources?.limits, spec.resources?.requests]) roundToMillis(list);
}

/** In the host network, a container port is a port of the host. */
function defaultHostPorts(container: DraftContainer): void {
  for (const port of container.ports ?? []) port.hostPort ??= port.containerPort;
}
