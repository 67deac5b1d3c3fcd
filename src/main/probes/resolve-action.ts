/** Converts a probe's handler into what the probes thread executes: ports are numbers, hosts are filled in, commands are expanded. Pure. */
import type { ProbeAction } from '../../shared/contracts/probes.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Container, Pod } from '../../shared/kubernetes/api.ts';
import { expand, resolverFrom } from '../../shared/kubernetes/expansion.ts';
import { toHttpGet } from '../../shared/http-get/request-parts.ts';
import { resolvePort } from '../../shared/http-get/resolve-port.ts';

export type Probe = NonNullable<Container['livenessProbe']>;

/**
 * Returns null while the probe needs the pod's IP and the pod has none: the probe must not reach the node itself. Upstream: runProbe in
 * pkg/kubelet/prober/prober.go.
 */
export function resolveAction(probe: Probe, container: Container, pod: Pod, podIP: string | undefined): ProbeAction | null {
  try {
    const action = toAction(probe, container, podIP);
    return action === undefined ? { type: 'invalid', message: `missing probe handler for ${describe(pod)}:${container.name}` } : action;
  } catch (err) {
    return { type: 'invalid', message: messageOf(err) };
  }
}

function toAction({ exec, httpGet, tcpSocket, grpc }: Probe, container: Container, podIP = ''): ProbeAction | null | undefined {
  if (exec) return { type: 'exec', command: expandCommand(exec.command ?? [], container) };
  if (httpGet) {
    const target = toHttpGet(httpGet, container.ports, podIP, 'probe');
    return withHost(target.host, () => ({ type: 'http', ...target }));
  }
  if (tcpSocket) {
    const port = resolvePort(tcpSocket.port, container.ports);
    return withHost(tcpSocket.host || podIP, (host) => ({ type: 'tcp', host, port }));
  }
  if (grpc) return withHost(podIP, (host) => ({ type: 'grpc', host, port: resolvePort(grpc.port), service: grpc.service ?? '' }));
  return undefined;
}

function withHost(host: string, action: (host: string) => ProbeAction): ProbeAction | null {
  return host === '' ? null : action(host);
}

/** Only literal values of the environment are known here; all others expand to nothing. Upstream: ExpandContainerCommandOnlyStatic. */
function expandCommand(command: readonly string[], { env = [] }: Container): string[] {
  const resolve = resolverFrom(new Map(env.map(({ name, value = '' }) => [name, value])));
  return command.map((part) => expand(part, resolve));
}

/** Upstream: format.Pod. */
function describe({ metadata: { name, namespace, uid } }: Pod): string {
  return `${name}_${namespace}(${uid})`;
}
