/** Resolves the port of a probe. Pure. Upstream: ResolveContainerPort in pkg/probe/util.go. */
import type { Container } from '../kubernetes/api.ts';
import { goQuote } from '../kubernetes/go-text.ts';

/** Accepts a number, the name of one of the container's ports, or a number as text. Throws an Error with upstream's message. */
export function resolvePort(port: unknown, ports: Container['ports'] = []): number {
  const resolved = typeof port === 'string' ? (ports.find(({ name }) => name === port)?.containerPort ?? parsePort(port)) : Number(port);
  if (!Number.isInteger(resolved) || resolved <= 0 || resolved > 65_535) throw new Error(`invalid port number: ${resolved}`);
  return resolved;
}

/** Upstream: Go's strconv.Atoi. */
function parsePort(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`);
  return Number(text);
}
