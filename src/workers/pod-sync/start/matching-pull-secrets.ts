/**
 * Reduces pull secrets to the entries that an image can use. A request for an image may wait long in the images thread, and a tenant's secrets have up
 * to 1 MiB each: the requests of a few dozen pods must not fill the thread's memory. Pure.
 */
import type { PullSecret } from '../../../shared/contracts/pod-objects.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import { parseImageName } from '../../../shared/kubernetes/image-name.ts';
import { defaultRegistryKey, registryKey, registryMatches } from '../../../shared/kubernetes/registry-match.ts';

/** Base64 characters of all entries for one image. The tokens of registries have a few KiB. */
const maxLength = 128 * 1024;

/** Where the registries of a type of secret are: the key of the data, and the field of its JSON. */
const formats = {
  'kubernetes.io/dockerconfigjson': { key: '.dockerconfigjson', field: 'auths' },
  'kubernetes.io/dockercfg': { key: '.dockercfg', field: null },
} as const;

/** Replaces content that is no JSON object: the images thread reports the secret. */
const unreadable = toBase64('?');

/** Secrets without an entry for the image are left out. Throws KubeletError when the entries are too large. */
export function matchingPullSecrets(image: string, secrets: readonly PullSecret[]): PullSecret[] {
  if (secrets.length === 0) return [];
  const isUsable = usableRegistries(image);
  const matching = secrets.flatMap((secret): PullSecret[] => {
    const format = Object.hasOwn(formats, secret.type) ? formats[secret.type as keyof typeof formats] : undefined;
    const content = format && secret.data[format.key];
    if (!format || !content) return [];
    const reduced = reduceContent(content, format.field, isUsable);
    return reduced === null ? [] : [{ ...secret, data: { [format.key]: reduced } }];
  });
  const length = matching.reduce((sum, { data }) => sum + Object.values(data).reduce((all, text) => all + text.length, 0), 0);
  if (length > maxLength) {
    throw new KubeletError('ErrImagePull', `the image pull secrets have more than ${maxLength} bytes of credentials for image "${image}"`);
  }
  return matching;
}

function usableRegistries(image: string): (registry: string) => boolean {
  let repository: string;
  try {
    ({ repository } = parseImageName(image));
  } catch {
    // The images thread refuses the name.
    return () => false;
  }
  const defaultKey = defaultRegistryKey(repository);
  return (registry) => {
    const key = registryKey(registry);
    return key !== undefined && (key === defaultKey || registryMatches(key, repository));
  };
}

/** Returns null when no registry is usable. */
function reduceContent(content: string, field: string | null, isUsable: (registry: string) => boolean): string | null {
  const config = parse(content);
  const registries = field === null ? config : (config?.[field] ?? {});
  if (config === null) return unreadable;
  if (!isObject(registries)) return toBase64(JSON.stringify({ [field ?? '']: 0 }));
  const usable = Object.entries(registries).filter(([registry]) => isUsable(registry));
  if (usable.length === 0) return null;
  const entries = Object.fromEntries(usable);
  return toBase64(JSON.stringify(field === null ? entries : { [field]: entries }));
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function parse(content: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(content, 'base64').toString('utf8'));
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
