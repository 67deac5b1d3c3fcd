/** Computes the names that DNS is asked for, as Go's resolver does (net/dnsclient_unix.go nameList). Pure. */
import { parseResolvConf } from '../linux/resolv-conf.ts';

const defaultDots = 1;

/** A name with as many dots as `ndots` is asked for first as it is, then in the domains of the search list; another one last. */
export function nameCandidates(resolvConf: string, name: string): string[] {
  if (name.endsWith('.')) return [name];
  const { searches, dots } = settingsOf(resolvConf);
  const found = searches.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= dots ? [name, ...found] : [...found, name];
}

function settingsOf(resolvConf: string): { readonly searches: readonly string[]; readonly dots: number } {
  try {
    const { searches, options } = parseResolvConf(resolvConf);
    const [, dots = defaultDots] = options.find((option) => /^ndots:\d+$/.test(option))?.split(':') ?? [];
    return { searches, dots: Math.min(15, Number(dots)) };
  } catch {
    return { searches: [], dots: defaultDots };
  }
}
