/** Requests the API objects that a container's environment needs, in one message: config maps, secrets, services. */
import type { PodObjectRef, PodObjectResult } from '../../../../shared/contracts/pod-objects.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';
import type { EnvironmentObjects } from './config-inputs.ts';

/** A missing object is a failed result, not a rejection. Rejects only when the request does. */
export async function readEnvironmentObjects(
  requestPodObjects: (refs: readonly PodObjectRef[]) => Promise<readonly PodObjectResult[]>,
  { metadata: { namespace }, spec }: Pod,
  container: Container | EphemeralContainer,
): Promise<EnvironmentObjects> {
  const { configMaps, secrets } = referencedNames(container);
  const results = await requestPodObjects([
    // `enableServiceLinks` is true by default in the API.
    { kind: 'Services', namespace, links: spec.enableServiceLinks ?? true },
    ...configMaps.map((name): PodObjectRef => ({ kind: 'ConfigMap', namespace, name })),
    ...secrets.map((name): PodObjectRef => ({ kind: 'Secret', namespace, name })),
  ]);
  const [services, ...objects] = results;
  return {
    services: services ?? { outcome: 'failed', failure: { reason: 'InternalError', message: 'the reply has no services' } },
    configMaps: new Map(configMaps.map((name, index) => [name, objects[index]!])),
    secrets: new Map(secrets.map((name, index) => [name, objects[configMaps.length + index]!])),
  };
}

function referencedNames({ env = [], envFrom = [] }: Container | EphemeralContainer): { configMaps: string[]; secrets: string[] } {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  for (const { configMapRef, secretRef } of envFrom) {
    if (configMapRef) configMaps.add(configMapRef.name ?? '');
    if (secretRef) secrets.add(secretRef.name ?? '');
  }
  for (const { valueFrom } of env) {
    if (valueFrom?.configMapKeyRef) configMaps.add(valueFrom.configMapKeyRef.name ?? '');
    if (valueFrom?.secretKeyRef) secrets.add(valueFrom.secretKeyRef.name ?? '');
  }
  return { configMaps: [...configMaps], secrets: [...secrets] };
}
