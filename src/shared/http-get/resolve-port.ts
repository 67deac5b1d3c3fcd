/** Resolves the port of a probe. Pure. Upstream: ResolveContainerPort in pkg/probe/util.go. */
import type { Container } from '../kubernetes/api.ts';
import { goQuote } from '../kubernetes/go-text.ts';

/** Accepts a number, or the name of one of the container's ports. Throws an Error with upstream's message. */
export function resolvePort(port: unknown, ports: Container['ports'] = []): number {
  const resolved = typeof port === 'string' ? portOf(port, ports) : Number(port);
  if (!Number.isInteger(resolved) || resolved <= 0 || resolved > 65_535) throw new Error(`invalid port number: ${resolved}`);
  return resolved;
}

function portOf(name: string, ports: NonNullable<Container['ports']>): number {
  const port = ports.find((one) => one.name === name);
  if (!port) throw new Error(`port ${goQuote(name)} not found`);
  return port.containerPort;
}
