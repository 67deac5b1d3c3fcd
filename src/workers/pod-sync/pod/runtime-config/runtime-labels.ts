/**
 * Makes the labels and annotations of sandboxes and containers, exactly as upstream (pkg/kubelet/kuberuntime/labels.go): from them a restarted kubelet,
 * or upstream's, learns which pod a sandbox or container belongs to. Values that are too long are omitted (fit-metadata.ts).
 */
import * as names from '../../../../shared/kubernetes/annotations.ts';
import type { ContainerBackoff } from '../../../../shared/contracts/pod-sync/result.ts';
import type { Container, EphemeralContainer, LifecycleHandler, Pod } from '../../../../shared/kubernetes/api.ts';
import { containerHash } from '../../../../shared/kubernetes/container-hash.ts';
import { toGoJSON } from '../../../../shared/kubernetes/go-text.ts';
import { fitAnnotation, fitSandboxMetadata } from './fit-metadata.ts';

type Strings = Record<string, string>;

/** Returns the pod's own labels with its identity, and its annotations. */
export function sandboxMetadata(pod: Pod): { readonly labels: Strings; readonly annotations: Strings } {
  const { labels, annotations } = fitSandboxMetadata(pod.metadata.labels ?? {}, pod.metadata.annotations ?? {});
  return { labels: { ...labels, ...identityLabels(pod) }, annotations: { ...annotations } };
}

export function containerLabels(pod: Pod, containerName: string): Strings {
  return { ...identityLabels(pod), [names.containerNameLabel]: containerName };
}

function identityLabels({ metadata }: Pod): Strings {
  return { [names.podNameLabel]: metadata.name, [names.podNamespaceLabel]: metadata.namespace, [names.podUIDLabel]: metadata.uid };
}

/** The kubelet's annotations win over `extra`, those of device plugins. */
export function containerAnnotations(
  pod: Pod,
  container: Container | EphemeralContainer,
  restartCount: number,
  { extra = {}, restartBackOff }: { readonly extra?: Readonly<Strings>; readonly restartBackOff?: ContainerBackoff } = {},
): Strings {
  const { deletionGracePeriodSeconds } = pod.metadata;
  const { terminationGracePeriodSeconds } = pod.spec;
  const { lifecycle, ports } = container;
  return {
    ...extra,
    [names.containerHashAnnotation]: containerHash(container),
    [names.containerRestartCountAnnotation]: String(restartCount),
    ...optional(names.containerRestartBackOffAnnotation, restartBackOff && `${restartBackOff.backoffMs} ${restartBackOff.key}`),
    [names.containerTerminationMessagePathAnnotation]: fitAnnotation(container.terminationMessagePath) ?? '',
    [names.containerTerminationMessagePolicyAnnotation]: container.terminationMessagePolicy ?? '',
    ...optional(names.podDeletionGracePeriodAnnotation, deletionGracePeriodSeconds?.toString()),
    ...optional(names.podTerminationGracePeriodAnnotation, terminationGracePeriodSeconds?.toString()),
    ...optional(
      names.containerPreStopHandlerAnnotation,
      fitAnnotation(lifecycle?.preStop && toGoJSON(handlerInGoOrder(lifecycle.preStop))),
    ),
    ...optional(
      names.containerPortsAnnotation,
      fitAnnotation(ports?.length ? toGoJSON(ports.map((port) => portInGoOrder(port))) : undefined),
    ),
  };
}

function optional(name: string, value: string | undefined): Strings {
  return value === undefined ? {} : { [name]: value };
}

/** Returns the fields in the order of Go's struct, without the zero values that its `omitempty` tags omit. */
function handlerInGoOrder({ exec, httpGet, tcpSocket, sleep }: LifecycleHandler): unknown {
  return {
    exec: exec && { command: exec.command?.length ? exec.command : undefined },
    httpGet: httpGet && {
      path: httpGet.path || undefined,
      port: httpGet.port,
      host: httpGet.host || undefined,
      scheme: httpGet.scheme || undefined,
      httpHeaders: httpGet.httpHeaders?.length ? httpGet.httpHeaders.map(({ name, value }) => ({ name, value: value ?? '' })) : undefined,
    },
    tcpSocket: tcpSocket && { port: tcpSocket.port, host: tcpSocket.host || undefined },
    sleep: sleep && { seconds: sleep.seconds },
  };
}

function portInGoOrder(port: NonNullable<Container['ports']>[number]): unknown {
  return {
    name: port.name || undefined,
    hostPort: port.hostPort || undefined,
    containerPort: port.containerPort,
    protocol: port.protocol || undefined,
    hostIP: port.hostIP || undefined,
  };
}
