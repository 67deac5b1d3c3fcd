/** Checks whether pods can inherit the node's resolv.conf within the resolver's limits (upstream: CheckLimitsForResolvConf). */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import {
  maxSearchListChars,
  maxSearchPathChars,
  maxSearchPaths,
  parseResolvConf,
  readResolvConf,
} from '../../../shared/linux/resolv-conf.ts';

/** The search paths that a pod has before the node's: its namespace's, the services' and the cluster's. */
const clusterSearchPaths = 3;

/** Returns the problem of the file, or null if there is no problem or no file to inherit. Never throws. */
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
