/**
 * A container's environment, with every reference resolved (upstream Kubelet.makeEnvironmentVariables). Standalone there are no
 * services to tell of, and what lies in the API server (config maps, secrets) cannot be had.
 */
import type { Container, EnvVar } from '../../../shared/kubernetes/api.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import { expand, resolveIn } from '../../../shared/kubernetes/expansion.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { envFileValue } from './env-file.ts';
import { envField } from './fields.ts';
import { isEnabled } from './gates.ts';
import { envResourceField } from './resource-fields.ts';
import type { EnvironmentInput, EnvValue } from './types.ts';

/** In the order of the spec; of a name that stands twice the last value counts. Throws KubeletError `CreateContainerConfigError` when a value cannot be had. */
export function makeEnvironment(input: EnvironmentInput): EnvValue[] {
  try {
    return resolveAll(input);
  } catch (err) {
    throw new KubeletError('CreateContainerConfigError', messageOf(err), { cause: err });
  }
}

function resolveAll(input: EnvironmentInput): EnvValue[] {
  const { pod, container } = input;
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef) throw needsServer('configMap', pod.metadata.namespace, configMapRef.name);
    if (secretRef) throw needsServer('secret', pod.metadata.namespace, secretRef.name);
  }
  const values = new Map<string, string>();
  for (const variable of container.env ?? []) {
    const value = variable.value
      ? expand(variable.value, resolveIn(values))
      : variable.valueFrom
        ? fromSource(variable.valueFrom, input)
        : '';
    if (value !== undefined) values.set(variable.name, value);
  }
  return [...values].map(([name, value]) => ({ name, value }));
}

/** Undefined: an optional key that is not there leaves the variable out. */
function fromSource(source: NonNullable<EnvVar['valueFrom']>, input: EnvironmentInput): string | undefined {
  const { pod, container, node, settings } = input;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) return envField(fieldRef, pod, input);
  if (resourceFieldRef) {
    const own = container as Pick<Container, 'resources'>;
    return envResourceField(resourceFieldRef, pod, own, node.allocatable, isEnabled(settings, 'PodLevelResources'));
  }
  if (configMapKeyRef) throw needsServer('configMap', pod.metadata.namespace, configMapKeyRef.name);
  if (secretKeyRef) throw needsServer('secret', pod.metadata.namespace, secretKeyRef.name);
  if (!fileKeyRef || !isEnabled(settings, 'EnvFiles')) return '';
  const { volumeName, path, key, optional } = fileKeyRef;
  const content = input.envFiles?.get(envFileKey(fileKeyRef));
  if (content === undefined) throw new Error(`cannot find the volume ${goQuote(volumeName)} referenced by FileKeyRef`);
  const value = envFileValue(content, key);
  if (value !== '') return value;
  if (optional) return undefined;
  throw new Error(`environment variable key ${goQuote(key)} not found in file ${goQuote(path)}`);
}

/** Where a file's content stands in `EnvironmentInput.envFiles`. */
export function envFileKey({ volumeName, path }: { readonly volumeName: string; readonly path: string }): string {
  return `${volumeName}/${path}`;
}

function needsServer(kind: 'configMap' | 'secret', namespace: string, name: string | undefined): Error {
  return new Error(
    `couldn't get ${kind} ${namespace}/${name ?? ''}, no kubeClient defined: it lies in the API server, and this kubelet runs standalone`,
  );
}
