/**
 * Names of the labels and annotations that the kubelet writes or reads (upstream pkg/kubelet/types and
 * pkg/kubelet/kuberuntime/labels.go).
 */
export const configSourceAnnotation = 'kubernetes.io/config.source';
export const configHashAnnotation = 'kubernetes.io/config.hash';
export const configSeenAnnotation = 'kubernetes.io/config.seen';
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';

export const podNameLabel = 'io.kubernetes.pod.name';
export const podNamespaceLabel = 'io.kubernetes.pod.namespace';
export const podUIDLabel = 'io.kubernetes.pod.uid';
export const containerNameLabel = 'io.kubernetes.container.name';

export const containerHashAnnotation = 'io.kubernetes.container.hash';
export const containerRestartCountAnnotation = 'io.kubernetes.container.restartCount';
export const containerTerminationMessagePathAnnotation = 'io.kubernetes.container.terminationMessagePath';
export const containerTerminationMessagePolicyAnnotation = 'io.kubernetes.container.terminationMessagePolicy';
export const containerPreStopHandlerAnnotation = 'io.kubernetes.container.preStopHandler';
export const containerPortsAnnotation = 'io.kubernetes.container.ports';
/** Not upstream's: the back-off after the container's next exit, which upstream keeps in memory only. */
export const containerRestartBackOffAnnotation = 'io.kubernetes.container.restartBackOff';
export const podDeletionGracePeriodAnnotation = 'io.kubernetes.pod.deletionGracePeriod';
export const podTerminationGracePeriodAnnotation = 'io.kubernetes.pod.terminationGracePeriod';
