/**
 * Resolves a server request to a container: for logs, by the pod's API status, so that `kubectl get` and `kubectl logs` show the same
 * instance; for all other requests, to the running instance. When the cached status does not have the container or its log path, the pod
 * is inspected again: a pod that has just become ready accepts an exec at once. The messages are upstream's
 * (pkg/kubelet/kubelet_pods.go: validateContainerLogStatus, findContainer, GetExec, …; pkg/kubelet/server/server.go).
 */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { ContainerQuery, ResolveContainer, ResolvedContainer } from '../../shared/contracts/server/calls.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../shared/kubernetes/api.ts';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import { podFullName, podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { imagePullBackOff } from '../../shared/kubernetes/waiting-reasons.ts';

/** The state of a pod in main. */
export interface KnownPod {
  readonly pod: Pod;
  /** Undefined before the first status. */
  readonly apiStatus: PodStatus | undefined;
  /** Null when the runtime has nothing of the pod. */
  readonly runtimeStatus: RuntimePodStatus | null;
}

export interface ContainerSources {
  /** By `<name>_<namespace>`. */
  readonly pod: (fullName: string) => Pod | undefined;
  readonly apiStatus: (uid: PodUID) => PodStatus | undefined;
  readonly runtimeStatus: (uid: PodUID) => RuntimePodStatus | null;
  /** Inspects the pod now. Resolves when `runtimeStatus` has the result. Rejects when the runtime does not answer. */
  readonly inspectPod: (uid: PodUID) => Promise<void>;
  /** Resolves when the pods of all sources are known, or when the signal aborts. */
  readonly untilSourcesReady: (signal: AbortSignal) => Promise<void>;
  /** Translates a mirror pod's UID to the UID of its static pod; returns any other UID unchanged. */
  readonly translateUID: (uid: string) => string;
}

/** How long a request for an unknown pod waits for the sources. After a restart of the kubelet its pods are known within a second. */
const sourcesTimeoutMs = 3000;

type Failure = Extract<ResolvedContainer, { found: false }>;

/** Returns the handler of the server thread's request. */
export function containerResolver(sources: ContainerSources): ResolveContainer {
  return async (request) => {
    const query = request.podUID ? { ...request, podUID: sources.translateUID(request.podUID) } : request;
    const pod = await podOf(query, sources);
    if (!pod) return failure(404, query.purpose === 'logs' ? `pod ${goQuote(query.pod)} does not exist` : 'pod does not exist');
    const uid = podUID(pod);
    const knownPod = { pod, apiStatus: sources.apiStatus(uid), runtimeStatus: sources.runtimeStatus(uid) };
    const resolved = resolveContainer(query, knownPod);
    // The runtime's lists have no log path.
    const isComplete = resolved.found ? query.purpose !== 'logs' || resolved.logPath !== '' : resolved.status !== 500;
    if (isComplete) return resolved;
    // Without an answer of the runtime, the cached status decides.
    await sources.inspectPod(uid).catch(() => {});
    const runtimeStatus = sources.runtimeStatus(uid);
    return runtimeStatus ? resolveContainer(query, { ...knownPod, runtimeStatus }) : resolved;
  };
}

/** A kubelet that has just started does not know its pods yet: the request waits for them. Upstream answers it with 404. */
async function podOf({ pod, namespace }: ContainerQuery, sources: ContainerSources): Promise<Pod | undefined> {
  const fullName = podFullName({ metadata: { name: pod, namespace } });
  const known = sources.pod(fullName);
  if (known) return known;
  await sources.untilSourcesReady(AbortSignal.timeout(sourcesTimeoutMs));
  return sources.pod(fullName);
}

/** Returns the container, or the error for the client. 500: the cached status has no such container. */
export function resolveContainer(query: ContainerQuery, knownPod: KnownPod): ResolvedContainer {
  if (query.purpose === 'portForward') return resolveSandbox(query, knownPod);
  const spec = containerSpec(knownPod.pod, query.container ?? '');
  if (query.purpose === 'logs') return resolveLogs(query, knownPod, spec);
  if (query.purpose === 'checkpoint' && !spec) return failure(404, `container ${query.container} does not exist`);
  const container = isOther(query, knownPod.pod)
    ? undefined
    : knownPod.runtimeStatus?.containers.find(({ name, state }) => name === query.container && state === 'running');
  if (!container || (query.purpose === 'attach' && !spec)) return failure(500, notFoundMessage(query, knownPod.pod));
  return found(knownPod.pod, container, spec?.tty ?? false);
}

/** Upstream: GetAttach, GetExec, RunInContainer and CheckpointContainer. */
function notFoundMessage({ purpose, container = '' }: ContainerQuery, pod: Pod): string {
  if (purpose === 'attach') return `container ${container} not found in pod ${podFullName(pod)}`;
  return purpose === 'checkpoint' ? `container ${container} not found` : `container not found (${goQuote(container)})`;
}

/** Returns the pod's newest sandbox while the sandbox or a container runs. */
function resolveSandbox(query: ContainerQuery, { pod, runtimeStatus }: KnownPod): ResolvedContainer {
  if (isOther(query, pod)) return failure(404, 'pod not found');
  const isRunning =
    runtimeStatus?.sandboxes.some(({ state }) => state === 'ready') || runtimeStatus?.containers.some(({ state }) => state === 'running');
  if (!isRunning) return failure(500, `pod not found (${goQuote(podFullName(pod))})`);
  const sandbox = runtimeStatus?.sandboxes[0];
  if (!sandbox) return failure(500, `failed to find sandboxID for pod ${podFullName(pod)}(${pod.metadata.uid})`);
  return { found: true, podUID: podUID(pod), sandboxID: sandbox.id, containerID: '', logPath: '', tty: false };
}

function resolveLogs(
  query: ContainerQuery,
  { pod, apiStatus, runtimeStatus }: KnownPod,
  spec: { tty?: boolean } | undefined,
): ResolvedContainer {
  const name = query.container ?? '';
  if (!spec) return failure(404, `container ${goQuote(name)} not found in pod ${goQuote(query.pod)}`);
  const instance = logInstance(pod.metadata.name, apiStatus ?? pod.status ?? {}, name, query.previous ?? false);
  if ('message' in instance) return failure(400, instance.message);
  // The API's form is `<runtime>://<id>`.
  const id = instance.containerID.replace(/^.*:\/\//, '');
  const container = runtimeStatus?.containers.find((candidate) => candidate.id === id);
  if (!container) return failure(400, `unable to retrieve container logs for ${instance.containerID}`);
  return found(pod, container, spec.tty ?? false);
}

/** Returns the running instance, or else the last one; with `previous`, the instance before. */
function logInstance(
  pod: string,
  { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] }: PodStatus,
  name: string,
  previous: boolean,
): { readonly containerID: string } | { readonly message: string } {
  const statuses: readonly ContainerStatus[] = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  const status = statuses.find((candidate) => candidate.name === name);
  const description = `container ${goQuote(name)} in pod ${goQuote(pod)}`;
  if (!status) return { message: `${description} is not available` };
  const { running, terminated, waiting } = status.state ?? {};
  const lastTerminated = status.lastState?.terminated;
  const lastID = lastTerminated?.containerID ?? '';
  if (previous) return lastID === '' ? { message: `previous terminated ${description} not found` } : { containerID: lastID };
  if (running) return { containerID: status.containerID ?? '' };
  if (terminated?.containerID) return { containerID: terminated.containerID };
  if (lastID !== '') return { containerID: lastID };
  if (terminated || lastTerminated) return { message: `${description} is terminated` };
  if (waiting) return { message: `${description} is waiting to start: ${waitingText(waiting.reason ?? '')}` };
  return { message: `${description} is waiting to start - no logs yet` };
}

function waitingText(reason: string): string {
  if (reason === 'ErrImagePull') return "image can't be pulled";
  return reason === imagePullBackOff ? 'trying and failing to pull image' : reason;
}

function containerSpec({ spec }: Pod, name: string): { readonly tty?: boolean } | undefined {
  return [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].find(
    (candidate) => candidate.name === name,
  );
}

/** Whether the request is for a pod with another UID. */
function isOther(query: ContainerQuery, pod: Pod): boolean {
  return Boolean(query.podUID) && query.podUID !== pod.metadata.uid;
}

function found(pod: Pod, { id, sandboxID, logPath }: RuntimeContainerStatus, tty: boolean): ResolvedContainer {
  return { found: true, podUID: podUID(pod), sandboxID, containerID: id, logPath, tty };
}

function failure(status: Failure['status'], message: string): Failure {
  return { found: false, status, message };
}
