/** The one link from main to the threads' code: the URL of a thread's entry, beside this file's own tree, `.ts` or compiled. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

export function entryUrl(thread: 'pleg' | 'images' | 'stats' | 'probes' | 'server' | 'health' | 'pod-sync'): URL {
  return new URL(`../../workers/${thread}/index.${extension}`, import.meta.url);
}
