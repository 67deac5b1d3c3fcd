/**
 * Makes the environment variables of services (upstream pkg/kubelet/envvars): `WEB_SERVICE_HOST`, `WEB_SERVICE_PORT`, one for each named port,
 * and the Docker link variables. Pure.
 */
import { isIPv6 } from 'node:net';
import type { ServiceInfo } from '../../../../shared/contracts/pod-objects.ts';

/** A later service replaces the variables of an earlier one. */
export function serviceEnvironment(services: readonly ServiceInfo[]): ReadonlyMap<string, string> {
  return new Map(services.flatMap((service) => [...serviceVariables(service), ...linkVariables(service)]));
}

type Variables = [name: string, value: string][];

function serviceVariables({ name, clusterIP, ports }: ServiceInfo): Variables {
  const prefix = variableName(name);
  const variables: Variables = [[`${prefix}_SERVICE_HOST`, clusterIP]];
  const [first] = ports;
  if (first) variables.push([`${prefix}_SERVICE_PORT`, String(first.port)]);
  for (const port of ports) if (port.name !== '') variables.push([`${prefix}_SERVICE_PORT_${variableName(port.name)}`, String(port.port)]);
  return variables;
}

/** The variables that Docker's container links had. */
function linkVariables({ name, clusterIP, ports }: ServiceInfo): Variables {
  const prefix = variableName(name);
  const host = isIPv6(clusterIP) ? `[${clusterIP}]` : clusterIP;
  return ports.flatMap(({ port, protocol }, index): Variables => {
    const url = `${protocol.toLowerCase()}://${host}:${port}`;
    const portPrefix = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    return [
      ...(index === 0 ? ([[`${prefix}_PORT`, url]] satisfies Variables) : []),
      [portPrefix, url],
      [`${portPrefix}_PROTO`, protocol.toLowerCase()],
      [`${portPrefix}_PORT`, String(port)],
      [`${portPrefix}_ADDR`, clusterIP],
    ];
  });
}

function variableName(text: string): string {
  return text.replaceAll('-', '_').toUpperCase();
}
