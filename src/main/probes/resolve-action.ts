/** Converts a probe's handler into what the probes thread executes: ports are numbers, hosts are filled in, commands are expanded. Pure. */
import type { ProbeAction } from '../../shared/contracts/probes.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Container, Pod } from '../../shared/kubernetes/api.ts';
import { expand, resolverFrom } from '../../shared/kubernetes/expansion.ts';
import { toHttpGet } from '../../shared/http-get/request-parts.ts';
import { resolvePort } from '../../shared/http-get/resolve-port.ts';

/** Feature gates of what a probe may do. Without them the fields have no effect. */
export interface ProbeGates {
  readonly H2CContainerProbe: boolean;
  readonly GRPCContainerProbeTLS: boolean;
}

export type Probe = NonNullable<Container['livenessProbe']>;

/**
 * Returns null while the probe needs the pod's IP and the pod has none: the probe must not reach the node itself. Upstream: runProbe in
 * pkg/kubelet/prober/prober.go.
 */
export function resolveAction(
  probe: Probe,
  {
    container,
    pod,
    podIP,
    gates,
  }: { readonly container: Container; readonly pod: Pod; readonly podIP: string | undefined; readonly gates: ProbeGates },
): ProbeAction | null {
  try {
    const action = toAction(probe, container, gates, podIP);
    return action === undefined ? { type: 'invalid', message: `missing probe handler for ${describe(pod)}:${container.name}` } : action;
  } catch (err) {
    return { type: 'invalid', message: messageOf(err) };
  }
}

function toAction(
  { exec, httpGet, tcpSocket, grpc }: Probe,
  container: Container,
  gates: ProbeGates,
  podIP = '',
): ProbeAction | null | undefined {
  if (exec) return { type: 'exec', command: expandCommand(exec.command ?? [], container) };
  if (httpGet) {
    const target = toHttpGet(httpGet, container.ports, podIP, 'probe');
    const isHttp2 = gates.H2CContainerProbe && httpGet.protocol === 'HTTP2';
    return withHost(target.host, () => ({ type: 'http', ...target, ...(isHttp2 && { protocol: 'HTTP2' }) }));
  }
  if (tcpSocket) {
    const port = resolvePort(tcpSocket.port, container.ports);
    return withHost(tcpSocket.host || podIP, (host) => ({ type: 'tcp', host, port }));
  }
  if (grpc) {
    const isTLS = gates.GRPCContainerProbeTLS && grpc.mode === 'TLS';
    return withHost(podIP, (host) => ({
      type: 'grpc',
      host,
      port: resolvePort(grpc.port),
      service: grpc.service ?? '',
      ...(isTLS && { tls: true }),
    }));
  }
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
