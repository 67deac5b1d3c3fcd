/** Which images a registry's credentials are for (upstream pkg/credentialprovider/keyring.go, URLsMatch). Pure. */

interface Place {
  readonly host: string;
  readonly port: string;
  readonly path: string;
}

/**
 * A registry as it is written in a config, as the start of an image's name: without scheme, without Docker's `/v1/` and `/v2/`. Undefined
 * when it is no registry.
 */
export function registryKey(written: string): string | undefined {
  const rest = written.replace(/^https?:\/\//, '').replace(/[?#].*$/, '');
  const slash = rest.indexOf('/');
  const authority = slash === -1 ? rest : rest.slice(0, slash);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (!/^(?:[^\s:/\\^"<>`{|}]*|\[[0-9a-fA-F:.]+\])(?::\d*)?$/.test(host)) return undefined;
  const path = (slash === -1 ? '' : rest.slice(slash)).replace(/^\/v[12](?=\/)/, '');
  return path === '/' ? host : `${host}${path}`;
}

/** Whether the key stands for the image's repository: same port, each part of the host alike (with wildcards), a path that begins so. */
export function registryMatches(key: string, repository: string): boolean {
  const [wanted, found] = [placeOf(key), placeOf(repository)];
  if (wanted.port !== found.port || !found.path.startsWith(wanted.path)) return false;
  const [patterns, parts] = [wanted.host.split('.'), found.host.split('.')];
  return patterns.length === parts.length && patterns.every((pattern, index) => globMatches(pattern, parts[index] ?? ''));
}

function placeOf(text: string): Place {
  const slash = text.indexOf('/');
  const authority = slash === -1 ? text : text.slice(0, slash);
  const [, host = authority, port = ''] = /^(.*):(\d*)$/.exec(authority) ?? [];
  return { host, port, path: slash === -1 ? '' : text.slice(slash) };
}

/** A shell pattern without `/`: `*`, `?`, `[a-z]`. One that is none matches nothing. */
function globMatches(pattern: string, text: string): boolean {
  if (!/[*?[\\]/.test(pattern)) return pattern === text;
  const source = pattern.replaceAll(/\[[^\]]*\]|\\.|[^\w\s]/g, (token) => {
    if (token === '*') return '.*';
    if (token === '?') return '.';
    return token.length > 1 ? token : `\\${token}`;
  });
  try {
    return new RegExp(`^${source}$`, 'su').test(text);
  } catch {
    return false;
  }
}

const defaultRegistry = 'index.docker.io';

/** The key whose credentials are taken for the default registry's images when no other is for them. */
export function defaultRegistryKey(repository: string): string | undefined {
  const [first = ''] = repository.split('/', 1);
  if (first === '') return undefined;
  const isDefault = !repository.includes('/') || first === 'docker.io' || first === defaultRegistry || !/[.:]/.test(first);
  return isDefault ? defaultRegistry : undefined;
}
