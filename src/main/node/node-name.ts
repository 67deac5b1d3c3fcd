/** Derives the Node's name, which is also its host name. Pure. Upstream: GetHostname of component-helpers/node/util. */

/**
 * @param override `--hostname-override`; empty: the host's own name
 * @throws Error for an empty name: a watch for pods with an empty spec.nodeName would select all unscheduled pods
 */
export function toNodeName(override: string, hostname: string): string {
  const name = (override === '' ? hostname : override).trim().toLowerCase();
  if (name === '') throw new Error('empty hostname is invalid');
  return name;
}
