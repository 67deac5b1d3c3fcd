/** The name of the Node, and the host name that it shows. Pure. Upstream: GetHostname of component-helpers/node/util. */

/**
 * @param override `--hostname-override`; empty: the host's own name
 * @throws Error when nothing is left of it: a watch for the pods of no node is one for all pods that are bound to none
 */
export function toNodeName(override: string, hostname: string): string {
  const name = (override === '' ? hostname : override).trim().toLowerCase();
  if (name === '') throw new Error('empty hostname is invalid');
  return name;
}
