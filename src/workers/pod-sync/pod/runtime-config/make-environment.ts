/** Makes a container's environment, with every reference resolved (upstream Kubelet.makeEnvironmentVariables). */
import type { Container, EnvVar } from '../../../../shared/kubernetes/api.ts';
import { configSourceAnnotation } from '../../../../shared/kubernetes/annotations.ts';
import { expand, checkExpandedLength, resolverFrom } from '../../../../shared/kubernetes/expansion.ts';
import { goQuote } from '../../../../shared/kubernetes/go-text.ts';
import { toConfigError } from './config-error.ts';
import { envFileValue } from './env-file.ts';
import { envField } from './downward-api-fields.ts';
import { referencedObject, type ReferencedKind, type Text } from './referenced-object.ts';
import { envResourceField } from './downward-api-resource-fields.ts';
import { serviceEnvironment } from './service-environment.ts';
import type { EnvironmentInput, EnvValue } from './config-inputs.ts';

/**
 * Returns the variables of envFrom, then those of env in the order of the spec, then those of services. A later value replaces an earlier one
 * of the same name, except that services replace nothing. Throws KubeletError `CreateContainerConfigError` when a value is not available.
 */
export function makeEnvironment(input: EnvironmentInput): EnvValue[] {
  try {
    return resolveVariables(input);
  } catch (err) {
    throw toConfigError(input.container, err);
  }
}

function resolveVariables(input: EnvironmentInput): EnvValue[] {
  const services = serviceVariables(input);
  const values = new Map<string, Text>(envFromValues(input));
  const texts = new Map([...values].map(([name, { value }]) => [name, value]));
  for (const variable of input.container.env ?? []) {
    const value = variable.value
      ? { value: expand(variable.value, resolverFrom(texts, services)) }
      : variable.valueFrom
        ? fromSource(variable.valueFrom, input)
        : { value: '' };
    if (value === undefined) continue;
    values.set(variable.name, value);
    texts.set(variable.name, value.value);
  }
  for (const [name, value] of services) if (!values.has(name)) values.set(name, { value });
  checkExpandedLength(
    [...values].flatMap(([name, { value, bytes }]) => [name, bytes ?? value]),
    'the environment',
  );
  return [...values].map(([name, text]) => ({ name, ...text }));
}

/** A static pod does not wait for services, since it may be the API server itself. */
function serviceVariables({ objects: { services }, pod }: EnvironmentInput): ReadonlyMap<string, string> {
  if (services.outcome === 'value') return serviceEnvironment(services.value.kind === 'Services' ? services.value.services : []);
  const source = pod.metadata.annotations?.[configSourceAnnotation];
  const isStatic = source !== undefined && source !== 'api';
  if (isStatic || services.failure.reason === 'NoClient') return new Map();
  throw new Error(services.failure.message);
}

function envFromValues(input: EnvironmentInput): [name: string, text: Text][] {
  return (input.container.envFrom ?? []).flatMap(({ prefix = '', configMapRef, secretRef }) => {
    const object = configMapRef
      ? requireReferenced('ConfigMap', input, configMapRef)
      : secretRef
        ? requireReferenced('Secret', input, secretRef)
        : undefined;
    return [...(object ?? [])].map(([key, text]): [string, Text] => [`${prefix}${key}`, text]);
  });
}

interface ObjectRef {
  readonly name?: string;
  readonly optional?: boolean;
}

function requireReferenced(kind: ReferencedKind, { objects: values, pod }: EnvironmentInput, { name = '', optional = false }: ObjectRef) {
  const result = (kind === 'ConfigMap' ? values.configMaps : values.secrets).get(name);
  return referencedObject(kind, result, { namespace: pod.metadata.namespace, name, optional });
}

/** Returns undefined when an optional key is missing: then the variable is not set. */
function fromSource(source: NonNullable<EnvVar['valueFrom']>, input: EnvironmentInput): Text | undefined {
  const { pod, container, node, settings } = input;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) return { value: envField(fieldRef, pod, input) };
  if (resourceFieldRef) {
    const containerWithResources = container as Pick<Container, 'resources'>;
    return {
      value: envResourceField(resourceFieldRef, pod, containerWithResources, node.allocatable, settings.featureGates.PodLevelResources),
    };
  }
  if (configMapKeyRef) return valueOfKey('ConfigMap', input, configMapKeyRef);
  if (secretKeyRef) return valueOfKey('Secret', input, secretKeyRef);
  if (!fileKeyRef || !settings.featureGates.EnvFiles) return { value: '' };
  const { volumeName, path, key, optional } = fileKeyRef;
  const file = input.envFiles?.get(envFileKey(fileKeyRef));
  if (!file) throw new Error(`cannot find the volume ${goQuote(volumeName)} referenced by FileKeyRef`);
  const value = envFileValue(file, key);
  if (value !== '') return { value };
  if (optional) return undefined;
  throw new Error(`environment variable key ${goQuote(key)} not found in file ${goQuote(path)}`);
}

function valueOfKey(kind: ReferencedKind, input: EnvironmentInput, ref: ObjectRef & { readonly key: string }): Text | undefined {
  const object = requireReferenced(kind, input, ref);
  const text = object?.get(ref.key);
  if (text !== undefined || !object || ref.optional) return text;
  throw new Error(`couldn't find key ${ref.key} in ${kind} ${input.pod.metadata.namespace}/${ref.name ?? ''}`);
}

/** Returns the file's key in `EnvironmentInput.envFiles`. */
export function envFileKey({ volumeName, path }: { readonly volumeName: string; readonly path: string }): string {
  return `${volumeName}/${path}`;
}
