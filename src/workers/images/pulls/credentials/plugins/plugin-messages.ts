/**
 * The request to a credential plugin and its response, in the versions of credentialprovider.kubelet.k8s.io (upstream staging
 * k8s.io/kubelet/pkg/apis/credentialprovider). Pure.
 */
import { messageOf } from '../../../../../shared/errors/kubelet-error.ts';
import { parseDuration } from '../../../../../shared/kubernetes/duration.ts';
import { toGoJSON } from '../../../../../shared/kubernetes/go-text.ts';
import type { DockerConfig } from '../../../../../shared/registry-credentials/docker-config.ts';

export interface PluginRequest {
  /** The repository, with its host and without tag and digest. */
  readonly image: string;
  /** Empty: none. */
  readonly serviceAccountToken: string;
  readonly serviceAccountAnnotations: Readonly<Record<string, string>>;
}

export interface PluginResponse {
  readonly cacheKeyType: 'Image' | 'Registry' | 'Global';
  /** Undefined: the provider's default. */
  readonly cacheDurationMs: number | undefined;
  readonly logins: DockerConfig;
}

export function encodeRequest({ image, serviceAccountToken, serviceAccountAnnotations }: PluginRequest, apiVersion: string): string {
  const hasAnnotations = Object.keys(serviceAccountAnnotations).length > 0;
  return `${toGoJSON({
    kind: 'CredentialProviderRequest',
    apiVersion,
    image,
    ...(serviceAccountToken !== '' && { serviceAccountToken }),
    ...(hasAnnotations && { serviceAccountAnnotations }),
  })}\n`;
}

/** The response may contain credentials, so no message quotes it. */
const undecodable = 'error decoding credential provider plugin response from stdout';
const fields: ReadonlySet<string> = new Set(['kind', 'apiVersion', 'cacheKeyType', 'cacheDuration', 'auth']);
const loginFields: ReadonlySet<string> = new Set(['username', 'password']);
const keyTypes: ReadonlySet<unknown> = new Set(['Image', 'Registry', 'Global']);

/** Throws an Error without any of the response's credentials. */
export function parseResponse(stdout: string, expectedVersion: string): PluginResponse {
  const response = parseObject(stdout);
  const { apiVersion = '', kind, cacheKeyType = '', cacheDuration, auth } = response;
  if (apiVersion !== expectedVersion) {
    const actual = typeof apiVersion === 'string' ? apiVersion.slice(0, 100) : '';
    throw new Error(
      `apiVersion from credential plugin response did not match expected apiVersion:${expectedVersion}, actual apiVersion:${actual}`,
    );
  }
  if (kind !== 'CredentialProviderResponse' || !hasOnly(response, fields)) throw new Error(undecodable);
  if (!keyTypes.has(cacheKeyType)) {
    const shown = typeof cacheKeyType === 'string' ? cacheKeyType.slice(0, 100) : typeof cacheKeyType;
    throw new Error(`credential provider plugin did not return a valid cacheKeyType: ${shown}`);
  }
  return {
    cacheKeyType: cacheKeyType as PluginResponse['cacheKeyType'],
    cacheDurationMs: toDurationMs(cacheDuration),
    logins: toLogins(auth),
  };
}

function parseObject(stdout: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(stdout);
  } catch {
    // The parser's message quotes the text.
  }
  if (!isObject(parsed)) throw new Error("error reading GVK from response: couldn't get version/kind; json parse error");
  return parsed;
}

function toDurationMs(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new Error(undecodable);
  try {
    return parseDuration(value);
  } catch (err) {
    throw new Error(`${undecodable}: ${messageOf(err)}`, { cause: err });
  }
}

function toLogins(auth: unknown): DockerConfig {
  if (auth === undefined || auth === null) return new Map();
  if (!isObject(auth)) throw new Error(undecodable);
  return new Map(
    Object.entries(auth).map(([registry, entry]) => {
      if (!isObject(entry) || !hasOnly(entry, loginFields)) throw new Error(undecodable);
      const { username = '', password = '' } = entry;
      if (typeof username !== 'string' || typeof password !== 'string') throw new Error(undecodable);
      return [registry, { username, password, email: '' }];
    }),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasOnly(value: Record<string, unknown>, known: ReadonlySet<string>): boolean {
  return Object.keys(value).every((name) => known.has(name));
}
