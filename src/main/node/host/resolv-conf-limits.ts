/** Whether pods can inherit the node's resolv.conf as it is; told as an event when the kubelet starts (upstream CheckLimitsForResolvConf). */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import {
  maxSearchListChars,
  maxSearchPathChars,
  maxSearchPaths,
  parseResolvConf,
  readResolvConf,
} from '../../../shared/linux/resolv-conf.ts';

/** The search paths that come before the node's: of the pod's namespace, of services, of the cluster. */
const clusterSearchPaths = 3;

/** What is wrong with the file; null: nothing, or there is none to inherit. Never throws. */
export function resolvConfProblem(path: string, clusterDomain: string): string | null {
  if (path === '') return null;
  try {
    return searchProblem(path, parseResolvConf(readResolvConf(path)).searches, clusterDomain);
  } catch (err) {
    return messageOf(err);
  }
}

export function searchProblem(path: string, searches: readonly string[], clusterDomain: string): string | null {
  const maxPaths = clusterDomain === '' ? maxSearchPaths : maxSearchPaths - clusterSearchPaths;
  if (searches.length > maxPaths) return `Resolv.conf file '${path}' contains search line consisting of more than ${maxPaths} domains!`;
  if (searches.some((search) => search.length > maxSearchPathChars)) {
    return `Resolv.conf file ${goQuote(path)} contains a search path which length is more than allowed ${maxSearchPathChars} chars!`;
  }
  if (searches.join(' ').length > maxSearchListChars) {
    return `Resolv.conf file '${path}' contains search line which length is more than allowed ${maxSearchListChars} chars!`;
  }
  return null;
}
