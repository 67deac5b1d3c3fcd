/** Validates a container's ports, and the host ports of all containers of a pod. */
import type { Container } from '../../../../shared/kubernetes/api.ts';
import { portNameErrors, portNumberErrors } from '../../../../shared/kubernetes/names.ts';
import { checkName, checkRequiredEnum } from './checks.ts';
import { duplicate, invalid, required } from '../../../../shared/kubernetes/field-error.ts';

type Port = NonNullable<Container['ports']>[number];

export function validatePorts(ports: readonly Port[], path: string, errors: string[]): void {
  const names = new Set<string>();
  for (const [index, { name, containerPort, hostPort, protocol }] of ports.entries()) {
    const portPath = `${path}[${index}]`;
    if (name) {
      if (names.has(name)) errors.push(duplicate(`${portPath}.name`, name));
      else if (portNameErrors(name).length === 0) names.add(name);
      else checkName(name, `${portPath}.name`, portNameErrors, errors);
    }
    if (containerPort === 0) errors.push(required(`${portPath}.containerPort`));
    else checkPortNumber(containerPort, `${portPath}.containerPort`, errors);
    if (hostPort) checkPortNumber(hostPort, `${portPath}.hostPort`, errors);
    checkRequiredEnum(protocol, `${portPath}.protocol`, ['TCP', 'UDP', 'SCTP'], errors);
  }
}

export function checkPortNumber(port: number, path: string, errors: string[]): void {
  for (const each of portNumberErrors(port)) errors.push(invalid(path, port, each));
}

/** Two of these containers must not use the same host port. */
export function validateHostPortConflicts(containers: readonly Container[], path: string, errors: string[]): void {
  const usedHostPorts = new Set<string>();
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [portIndex, { hostPort, hostIP = '', protocol = '' }] of ports.entries()) {
      if (!hostPort) continue;
      const hostPortKey = `${protocol}/${hostIP}/${hostPort}`;
      if (usedHostPorts.has(hostPortKey)) errors.push(duplicate(`${path}[${index}].ports[${portIndex}].hostPort`, hostPortKey));
      usedHostPorts.add(hostPortKey);
    }
  }
}
