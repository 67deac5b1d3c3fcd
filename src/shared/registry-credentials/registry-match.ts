/** Matches registry keys of a Docker config against image names (upstream pkg/credentialprovider/keyring.go, URLsMatch). Pure. */

interface RegistryAddress {
  readonly host: string;
  readonly port: string;
  readonly path: string;
}

/**
 * Normalizes a registry of a config to a prefix of image names: without scheme and without Docker's `/v1/` and `/v2/`. Undefined for an
 * invalid registry.
 */
export function registryKey(written: string): string | undefined {
  const [hostAndPath = ''] = written.replace(/^https?:\/\//, '').split(/[?#]/, 1);
  const slash = hostAndPath.indexOf('/');
  const authority = slash === -1 ? hostAndPath : hostAndPath.slice(0, slash);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (!/^(?:[^\s:/\\^"<>`{|}]*|\[[0-9a-fA-F:.]+\])(?::\d*)?$/.test(host)) return undefined;
  const path = (slash === -1 ? '' : hostAndPath.slice(slash)).replace(/^\/v[12](?=\/)/, '');
  return path === '/' ? host : `${host}${path}`;
}

/** Whether the key applies to the repository: equal ports, matching host labels (with wildcards), and a path prefix. */
export function registryMatches(key: string, repository: string): boolean {
  const [pattern, image] = [parseAddress(key), parseAddress(repository)];
  if (pattern.port !== image.port || !image.path.startsWith(pattern.path)) return false;
  const [patterns, parts] = [pattern.host.split('.'), image.host.split('.')];
  return patterns.length === parts.length && patterns.every((part, index) => globMatches(part, parts[index] ?? ''));
}

function parseAddress(text: string): RegistryAddress {
  const slash = text.indexOf('/');
  const authority = slash === -1 ? text : text.slice(0, slash);
  const [, host = authority, port = ''] = /^(.*):(\d*)$/.exec(authority) ?? [];
  return { host, port, path: slash === -1 ? '' : text.slice(slash) };
}

type Token = '*' | ((char: string) => boolean);

/**
 * Matches a shell pattern without `/`: `*`, `?`, `[a-z]`, `[^a]`. An invalid pattern matches nothing. Both arguments are user input:
 * backtracking only to the last star bounds the cost for many stars.
 */
function globMatches(pattern: string, text: string): boolean {
  if (!/[*?[\\]/.test(pattern)) return pattern === text;
  const tokens = tokenize(Array.from(pattern));
  if (!tokens) return false;
  const chars = Array.from(text);
  let [charIndex, tokenIndex] = [0, 0];
  let star: { tokenIndex: number; charIndex: number } | undefined;
  while (charIndex < chars.length) {
    const next = tokens[tokenIndex];
    if (next === '*') {
      star = { tokenIndex: (tokenIndex += 1), charIndex };
    } else if (next?.(chars[charIndex] ?? '')) {
      tokenIndex += 1;
      charIndex += 1;
    } else if (star) {
      star.charIndex += 1;
      [charIndex, tokenIndex] = [star.charIndex, star.tokenIndex];
    } else return false;
  }
  return tokens.slice(tokenIndex).every((rest) => rest === '*');
}

/** Undefined for an invalid pattern: an unclosed class, or a trailing backslash. */
function tokenize(pattern: readonly string[]): Token[] | undefined {
  const tokens: Token[] = [];
  for (let index = 0; index < pattern.length; index += 1) {
    const char = pattern[index];
    if (char === '*') tokens.push('*');
    else if (char === '?') tokens.push(() => true);
    else if (char === '[') {
      const charClass = parseCharacterClass(pattern, index + 1);
      if (!charClass) return undefined;
      tokens.push(charClass.matches);
      index = charClass.end;
    } else {
      const literal = char === '\\' ? pattern[(index += 1)] : char;
      if (literal === undefined) return undefined;
      tokens.push((other) => other === literal);
    }
  }
  return tokens;
}

/** Parses a character class after its opening bracket (`a-z]`). `end` is the index of the closing bracket. */
function parseCharacterClass(pattern: readonly string[], from: number): { matches: (char: string) => boolean; end: number } | undefined {
  const isNegated = pattern[from] === '^';
  const ranges: [low: number, high: number][] = [];
  let index = isNegated ? from + 1 : from;
  const bound = () => {
    const char = pattern[index];
    const isBare = char === undefined || char === '-' || char === ']';
    const literal = isBare ? undefined : char === '\\' ? pattern[(index += 1)] : char;
    index += 1;
    return literal?.codePointAt(0);
  };
  while (ranges.length === 0 || pattern[index] !== ']') {
    const low = bound();
    const hasHigh = pattern[index] === '-';
    if (hasHigh) index += 1;
    const high = hasHigh ? bound() : low;
    if (low === undefined || high === undefined) return undefined;
    ranges.push([low, high]);
  }
  const isInRange = (code: number) => ranges.some(([low, high]) => low <= code && code <= high);
  return { matches: (char) => isInRange(char.codePointAt(0) ?? 0) !== isNegated, end: index };
}

const defaultRegistry = 'index.docker.io';

/** Returns the key of the default registry for images of that registry. Its credentials are the fallback when no other key matches. */
export function defaultRegistryKey(repository: string): string | undefined {
  const [first = ''] = repository.split('/', 1);
  if (first === '') return undefined;
  const isDefault = !repository.includes('/') || first === 'docker.io' || first === defaultRegistry || !/[.:]/.test(first);
  return isDefault ? defaultRegistry : undefined;
}
