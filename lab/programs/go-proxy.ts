/** Determines Go's module proxies on this host as Go does: GOPROXY of the environment, of `go env -w`, or the default. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface GoProxy {
  /** Without a trailing slash; may be a `file:` URL. */
  readonly url: string;
  /** True: the next proxy is used after any error. False: only when this proxy does not have the module (404, 410). */
  readonly fallsBackOnError: boolean;
}

/** Go's default. */
export const defaultGoProxy = 'https://proxy.golang.org,direct';

/** The origin that `direct` means for toolchains: see https://golang.org/toolchain?go-get=1. */
const toolchainOrigin = 'https://go.dev/dl/mod';

/** Returns the proxies in order. Entries after `off` or `direct` are ignored. */
export function parseGoProxies(list: string): GoProxy[] {
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

/** Returns a Go setting from the environment, else from the file of `go env -w`, else undefined. */
export function readGoSetting(name: string, environment: NodeJS.ProcessEnv = process.env): string | undefined {
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
