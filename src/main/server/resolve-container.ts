/**
 * Which container a request to the server means: for logs, by the pod's API status, so that what `kubectl get` shows and what
 * `kubectl logs` reads are the same instance; for all else, the instance that runs. Pure but for the second look, which is taken when
 * what was last seen shows no such container, or not where its log is: a pod that became ready this moment can be entered at once. The messages
 * are upstream's
 * (pkg/kubelet/kubelet_pods.go: validateContainerLogStatus, findContainer, GetExec, …; pkg/kubelet/server/server.go).
 */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { ContainerQuery, ResolveContainer, ResolvedContainer } from '../../shared/contracts/server/calls.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../shared/kubernetes/api.ts';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import { podFullName, podUID, type PodUID } from '../../shared/kubernetes/ids.ts';

/** What main knows of the pod. */
export interface KnownPod {
  readonly pod: Pod;
  /** Absent: none was made yet. */
  readonly apiStatus: PodStatus | undefined;
  /** Null: the runtime has nothing of it. */
  readonly runtimeStatus: RuntimePodStatus | null;
}

export interface ContainerSources {
  /** By `<name>_<namespace>`. */
  readonly pod: (fullName: string) => Pod | undefined;
  readonly apiStatus: (uid: PodUID) => PodStatus | undefined;
  readonly runtimeStatus: (uid: PodUID) => RuntimePodStatus | null;
  /** Asks the runtime now. Rejects when it does not answer. */
  readonly inspectPod: (uid: PodUID) => Promise<RuntimePodStatus | null>;
  /** A mirror pod's UID to that of its static pod; any other stays. */
  readonly translateUID: (uid: string) => string;
}

type Failure = Extract<ResolvedContainer, { found: false }>;

/** Main's half of the server thread's upcall. */
export function containerResolver(sources: ContainerSources): ResolveContainer {
  return async (asked) => {
    const query = asked.podUID ? { ...asked, podUID: sources.translateUID(asked.podUID) } : asked;
    const pod = sources.pod(podFullName({ metadata: { name: query.pod, namespace: query.namespace } }));
    if (!pod) return failure(404, query.purpose === 'logs' ? `pod ${goQuote(query.pod)} does not exist` : 'pod does not exist');
    const uid = podUID(pod);
    const known = { pod, apiStatus: sources.apiStatus(uid), runtimeStatus: sources.runtimeStatus(uid) };
    const answer = resolveContainer(query, known);
    // Where its log is no list says.
    const isKnown = answer.found ? query.purpose !== 'logs' || answer.logPath !== '' : answer.status !== 500;
    if (isKnown) return answer;
    const runtimeStatus = await sources.inspectPod(uid).catch(() => null);
    return runtimeStatus ? resolveContainer(query, { ...known, runtimeStatus }) : answer;
  };
}

/** The container, or the answer that the client gets. 500: the runtime shows no such container, as far as is known. */
export function resolveContainer(query: ContainerQuery, known: KnownPod): ResolvedContainer {
  if (query.purpose === 'portForward') return resolveSandbox(query, known);
  const spec = containerSpec(known.pod, query.container ?? '');
  if (query.purpose === 'logs') return resolveLogs(query, known, spec);
  if (query.purpose === 'checkpoint' && !spec) return failure(404, `container ${query.container} does not exist`);
  const container = isOther(query, known.pod)
    ? undefined
    : known.runtimeStatus?.containers.find(({ name, state }) => name === query.container && state === 'running');
  if (!container || (query.purpose === 'attach' && !spec)) return failure(500, notFoundMessage(query, known.pod));
  return found(known.pod, container, spec?.tty ?? false);
}

/** As GetAttach, GetExec and RunInContainer, CheckpointContainer. */
function notFoundMessage({ purpose, container = '' }: ContainerQuery, pod: Pod): string {
  if (purpose === 'attach') return `container ${container} not found in pod ${podFullName(pod)}`;
  return purpose === 'checkpoint' ? `container ${container} not found` : `container not found (${goQuote(container)})`;
}

/** The pod's newest sandbox, as long as anything of the pod runs. */
function resolveSandbox(query: ContainerQuery, { pod, runtimeStatus }: KnownPod): ResolvedContainer {
  if (isOther(query, pod)) return failure(404, 'pod not found');
  const runs =
    runtimeStatus?.sandboxes.some(({ state }) => state === 'ready') || runtimeStatus?.containers.some(({ state }) => state === 'running');
  if (!runs) return failure(500, `pod not found (${goQuote(podFullName(pod))})`);
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
  // The API names it `<runtime>://<id>`.
  const id = instance.containerID.replace(/^.*:\/\//, '');
  const container = runtimeStatus?.containers.find((one) => one.id === id);
  if (!container) return failure(400, `unable to retrieve container logs for ${instance.containerID}`);
  return found(pod, container, spec.tty ?? false);
}

/** The instance whose log is shown: the one that runs, else the last that ran; with `previous` the one before. */
function logInstance(
  pod: string,
  { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] }: PodStatus,
  name: string,
  previous: boolean,
): { readonly containerID: string } | { readonly message: string } {
  const statuses: readonly ContainerStatus[] = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  const status = statuses.find((one) => one.name === name);
  const what = `container ${goQuote(name)} in pod ${goQuote(pod)}`;
  if (!status) return { message: `${what} is not available` };
  const { running, terminated, waiting } = status.state ?? {};
  const last = status.lastState?.terminated;
  const lastID = last?.containerID ?? '';
  if (previous) return lastID === '' ? { message: `previous terminated ${what} not found` } : { containerID: lastID };
  if (running) return { containerID: status.containerID ?? '' };
  if (terminated?.containerID) return { containerID: terminated.containerID };
  if (lastID !== '') return { containerID: lastID };
  if (terminated || last) return { message: `${what} is terminated` };
  if (waiting) return { message: `${what} is waiting to start: ${waitingText(waiting.reason ?? '')}` };
  return { message: `${what} is waiting to start - no logs yet` };
}

function waitingText(reason: string): string {
  if (reason === 'ErrImagePull') return "image can't be pulled";
  return reason === 'ImagePullBackOff' ? 'trying and failing to pull image' : reason;
}

function containerSpec({ spec }: Pod, name: string): { readonly tty?: boolean } | undefined {
  return [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].find((one) => one.name === name);
}

/** The path names a UID that this pod has not. */
function isOther(query: ContainerQuery, pod: Pod): boolean {
  return Boolean(query.podUID) && query.podUID !== pod.metadata.uid;
}

function found(pod: Pod, { id, sandboxID, logPath }: RuntimeContainerStatus, tty: boolean): ResolvedContainer {
  return { found: true, podUID: podUID(pod), sandboxID, containerID: id, logPath, tty };
}

function failure(status: Failure['status'], message: string): Failure {
  return { found: false, status, message };
}
