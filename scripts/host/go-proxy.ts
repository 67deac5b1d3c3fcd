/** From where Go fetches its modules on this host, as Go itself decides it: GOPROXY of the environment, of `go env -w`, or the default. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface GoProxy {
  /** Without a slash at its end; `file:` too. */
  readonly url: string;
  /** The next one is asked after any failure of this one; else only where this one has no such module (404, 410). */
  readonly fallsBackOnError: boolean;
}

/** What Go names when nobody else does. */
export const defaultGoProxy = 'https://proxy.golang.org,direct';

/** `direct` means a module's own origin, and this is the toolchains': what https://golang.org/toolchain?go-get=1 names. */
const toolchainOrigin = 'https://go.dev/dl/mod';

/** In the order in which they are asked; none where the list begins with `off`, after which nothing counts, as after `direct`. */
export function goProxies(list: string): GoProxy[] {
  const proxies: GoProxy[] = [];
  for (const [, word = '', separator] of list.matchAll(/([^,|]*)([,|]|$)/g)) {
    const url = word.trim();
    if (url === '') continue;
    if (url === 'off') break;
    proxies.push({ url: url === 'direct' ? toolchainOrigin : toUrl(url), fallsBackOnError: separator === '|' });
    if (url === 'direct') break;
  }
  return proxies;
}

function toUrl(word: string): string {
  if (isAbsolute(word)) return pathToFileURL(word).href;
  return (word.includes(':/') ? word : `https://${word}`).replace(/\/+$/, '');
}

/** A setting of Go's: from the environment, else from the file that `go env -w` writes, else undefined. */
export function goSetting(name: string, environment: NodeJS.ProcessEnv = process.env): string | undefined {
  if (environment[name]) return environment[name];
  const file = environment.GOENV || join(environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), '.config'), 'go/env');
  if (file === 'off') return undefined;
  return settingIn(textOf(file), name);
}

function settingIn(text: string, name: string): string | undefined {
  const line = text.split('\n').findLast((each) => each.trimStart().startsWith(`${name}=`));
  return line?.slice(line.indexOf('=') + 1).trim() || undefined;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new Error(`Go's settings in ${file} cannot be read`, { cause: err });
  }
}
