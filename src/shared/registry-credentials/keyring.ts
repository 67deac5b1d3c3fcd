/**
 * Finds the credentials for pulling an image in the configs of pull secrets, of the node or of plugins (upstream
 * pkg/credentialprovider/keyring.go). Pure.
 */
import { createHash } from 'node:crypto';
import { toGoJSON } from '../kubernetes/go-text.ts';
import { parseDockerConfigJSON, parseDockercfg, type DockerConfig, type Login } from './docker-config.ts';
import { defaultRegistryKey, registryKey, registryMatches } from './registry-match.ts';

export interface ObjectCoordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** An image pull secret. */
export interface PullSecret {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly type: string;
  /** Base64, by key. */
  readonly data: Readonly<Record<string, string>>;
}

/** The pull secret that contains a credential, or the service account whose token a plugin got. Credentials of the node have neither. */
interface Origin {
  readonly secret?: ObjectCoordinates;
  readonly serviceAccount?: ObjectCoordinates;
}

export interface Credential extends Origin {
  readonly login: Login;
  /** SHA-256 in hex, for comparisons without the secret itself. */
  readonly hash: string;
}

export interface CredentialSource extends Origin {
  readonly config: DockerConfig;
}

/** Throws an Error with the name of an unreadable secret. */
export function credentialsOfSecrets(repository: string, secrets: readonly PullSecret[]): Credential[] {
  return findCredentials(repository, fromSecrets(secrets));
}

const types = {
  'kubernetes.io/dockerconfigjson': { key: '.dockerconfigjson', parse: parseDockerConfigJSON },
  'kubernetes.io/dockercfg': { key: '.dockercfg', parse: parseDockercfg },
} as const;

/** Secrets of other types hold no registry credentials. */
function fromSecrets(secrets: readonly PullSecret[]): CredentialSource[] {
  return secrets.flatMap(({ type, data, uid, namespace, name }): CredentialSource[] => {
    const format = Object.hasOwn(types, type) ? types[type as keyof typeof types] : undefined;
    const content = format && data[format.key];
    if (!content) return [];
    try {
      return [{ config: format.parse(Buffer.from(content, 'base64').toString('utf8')), secret: { uid, namespace, name } }];
    } catch (err) {
      throw new Error(`image pull secret ${namespace}/${name} cannot be used`, { cause: err });
    }
  });
}

/** Returns the credentials of the most specific registry first. The order of the sources decides between equal registries. */
export function findCredentials(repository: string, sources: readonly CredentialSource[]): Credential[] {
  const defaultKey = defaultRegistryKey(repository);
  const byKey = new Map<string, Credential[]>();
  const defaultCredentials: Credential[] = [];
  for (const { config, ...origin } of sources) {
    for (const [registry, login] of config) {
      const key = registryKey(registry);
      const isMatch = key !== undefined && registryMatches(key, repository);
      // Skips unrelated registries early: a secret may list thousands.
      if (key === undefined || (!isMatch && key !== defaultKey)) continue;
      const credential = { login, hash: hashOf(login), ...origin };
      const list = isMatch ? (byKey.get(key) ?? []) : defaultCredentials;
      list.push(credential);
      if (isMatch) byKey.set(key, list);
    }
  }
  if (byKey.size === 0) return defaultCredentials;
  // Descending order puts `host/path` before `host`.
  const keys = [...byKey.keys()].sort((a, b) => Buffer.compare(Buffer.from(b), Buffer.from(a)));
  return keys.flatMap((key) => byKey.get(key) ?? []);
}

/** Equals upstream's hashAuthConfig, because records on disk survive a switch between kubelets. */
function hashOf({ username, password, email }: Login): string {
  const fields = Object.entries({ username, password, email }).filter(([, value]) => value !== '');
  return createHash('sha256')
    .update(toGoJSON(Object.fromEntries(fields)))
    .digest('hex');
}
