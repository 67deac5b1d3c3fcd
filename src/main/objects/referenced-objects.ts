/** Lists the objects that a pod's spec refers to (upstream podutil.VisitPodSecretNames, VisitPodConfigmapNames; only supported volume types). Pure. */
import type { TokenRef } from '../../shared/contracts/pod-objects.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';

export interface ReferencedObjects {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
}

/** Names in the pod's namespace. */
export function referencedObjects({ spec }: Pod): ReferencedObjects {
  const secrets = (spec.imagePullSecrets ?? []).map(({ name }) => name);
  const configMaps: (string | undefined)[] = [];
  for (const { env = [], envFrom = [] } of [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])]) {
    secrets.push(...envFrom.map(({ secretRef }) => secretRef?.name), ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name));
    configMaps.push(
      ...envFrom.map(({ configMapRef }) => configMapRef?.name),
      ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
    );
  }
  for (const { secret, configMap, projected } of spec.volumes ?? []) {
    secrets.push(secret?.secretName, ...(projected?.sources ?? []).map((source) => source.secret?.name));
    configMaps.push(configMap?.name, ...(projected?.sources ?? []).map((source) => source.configMap?.name));
  }
  return { secrets: named(secrets), configMaps: named(configMaps) };
}

/** Each is a call and a watch of the API server. An ordinary pod has fewer than twenty. */
export const maxPodObjects = 500;

/** Returns why the pod refers to too many objects, or null. */
export function objectCountProblem(pod: Pod, { secrets, configMaps }: ReferencedObjects): string | null {
  const sources = (pod.spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  const credentials = sources.filter(({ serviceAccountToken, podCertificate }) => serviceAccountToken ?? podCertificate).length;
  const count = secrets.size + configMaps.size + credentials;
  if (count <= maxPodObjects) return null;
  return `the pod refers to ${count} secrets, config maps, tokens and certificates, more than the ${maxPodObjects} that a pod may have`;
}

function named(names: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(names.filter((name): name is string => name !== undefined && name !== ''));
}

/** The API server's default for expirationSeconds. */
const defaultExpirationSeconds = 3600;

/** The service account tokens of the pod's projected volumes. */
export function tokenRefs({ metadata, spec }: Pod): TokenRef[] {
  const sources = (spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  return sources.flatMap(({ serviceAccountToken }): TokenRef[] =>
    serviceAccountToken
      ? [
          {
            kind: 'Token',
            namespace: metadata.namespace,
            serviceAccountName: spec.serviceAccountName ?? '',
            podName: metadata.name,
            podUID: metadata.uid,
            audience: serviceAccountToken.audience ?? '',
            expirationSeconds: serviceAccountToken.expirationSeconds ?? defaultExpirationSeconds,
          },
        ]
      : [],
  );
}
