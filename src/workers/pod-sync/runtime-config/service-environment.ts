/**
 * The variables that tell a container where services are (upstream pkg/kubelet/envvars): `WEB_SERVICE_HOST`, `WEB_SERVICE_PORT`, one for each
 * named port, and those of Docker's links. Pure.
 */
import { isIPv6 } from 'node:net';
import type { ServiceFacts } from '../../../shared/contracts/pod-objects.ts';

/** A later service of the same variable name takes its place. */
export function serviceEnvironment(services: readonly ServiceFacts[]): ReadonlyMap<string, string> {
  return new Map(services.flatMap((service) => [...serviceVariables(service), ...linkVariables(service)]));
}

type Variables = [name: string, value: string][];

function serviceVariables({ name, clusterIP, ports }: ServiceFacts): Variables {
  const prefix = variableName(name);
  const variables: Variables = [[`${prefix}_SERVICE_HOST`, clusterIP]];
  const [first] = ports;
  if (first) variables.push([`${prefix}_SERVICE_PORT`, String(first.port)]);
  for (const port of ports) if (port.name !== '') variables.push([`${prefix}_SERVICE_PORT_${variableName(port.name)}`, String(port.port)]);
  return variables;
}

function linkVariables({ name, clusterIP, ports }: ServiceFacts): Variables {
  const prefix = variableName(name);
  const host = isIPv6(clusterIP) ? `[${clusterIP}]` : clusterIP;
  return ports.flatMap(({ port, protocol }, index): Variables => {
    const url = `${protocol.toLowerCase()}://${host}:${port}`;
    const ofPort = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    return [
      ...(index === 0 ? ([[`${prefix}_PORT`, url]] satisfies Variables) : []),
      [ofPort, url],
      [`${ofPort}_PROTO`, protocol.toLowerCase()],
      [`${ofPort}_PORT`, String(port)],
      [`${ofPort}_ADDR`, clusterIP],
    ];
  });
}

function variableName(text: string): string {
  return text.replaceAll('-', '_').toUpperCase();
}
