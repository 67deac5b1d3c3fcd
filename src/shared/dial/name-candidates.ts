/** Computes the names that DNS is asked for, as Go's resolver does (net/dnsclient_unix.go nameList). Pure. */
import { parseResolvConf } from '../linux/resolv-conf.ts';

/** The default and the maximum of the option `ndots`, in Go and in glibc. */
const defaultDots = 1;
const maxDots = 15;

/** A name with at least `ndots` dots is itself the first candidate, before the names in the domains of the search list. A name with fewer dots is the last. */
export function nameCandidates(resolvConf: string, name: string): string[] {
  if (name.endsWith('.')) return [name];
  const { searches, dots } = settingsOf(resolvConf);
  const namesInDomains = searches.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= dots ? [name, ...namesInDomains] : [...namesInDomains, name];
}

function settingsOf(resolvConf: string): { readonly searches: readonly string[]; readonly dots: number } {
  try {
    const { searches, options } = parseResolvConf(resolvConf);
    const [, dots = defaultDots] = options.find((option) => /^ndots:\d+$/.test(option))?.split(':') ?? [];
    return { searches, dots: Math.min(maxDots, Number(dots)) };
  } catch {
    return { searches: [], dots: defaultDots };
  }
}
