/**
 * Parses registry credentials in Docker's formats: `config.json` (its `auths`), and the older `.dockercfg` (upstream
 * pkg/credentialprovider/config.go). Pure.
 */

export interface Login {
  readonly username: string;
  readonly password: string;
  readonly email: string;
}

/** Keyed by the registry as written in the config: a URL, a host, or a host with a path. */
export type DockerConfig = ReadonlyMap<string, Login>;

/** Throws an Error without any of the text, which is secret. */
export function parseDockerConfigJSON(text: string): DockerConfig {
  const config = parseObject(text);
  return config['auths'] === undefined || config['auths'] === null ? new Map() : toConfig(config['auths']);
}

/** Throws an Error without any of the text, which is secret. */
export function parseDockercfg(text: string): DockerConfig {
  return toConfig(parseObject(text));
}

function parseObject(text: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The parser's message quotes the text.
    throw new Error('the registry credentials are not JSON');
  }
  return objectOf(parsed, 'the registry credentials are');
}

function toConfig(value: unknown): DockerConfig {
  const entries = Object.entries(objectOf(value, 'the list of registries is'));
  return new Map(entries.map(([registry, entry]) => [registry, toLogin(registry, objectOf(entry, `the entry of ${registry} is`))]));
}

function objectOf(value: unknown, description: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${description} not an object`);
  return value as Record<string, unknown>;
}

function toLogin(registry: string, entry: Record<string, unknown>): Login {
  const textOf = (field: string) => {
    const value = entry[field] ?? '';
    if (typeof value !== 'string') throw new Error(`the field ${field} of ${registry} is not text`);
    return value;
  };
  const [email, auth] = [textOf('email'), textOf('auth').trim()];
  if (auth === '') return { username: textOf('username'), password: textOf('password'), email };
  const decoded = Buffer.from(auth, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  const isBase64 = /^[A-Za-z0-9+/\r\n]*={0,2}$/.test(auth);
  if (!isBase64 || colon === -1)
    throw new Error(`unable to parse auth field of ${registry}, must be formatted as base64(username:password)`);
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1), email };
}
