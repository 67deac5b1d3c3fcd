/** The calls of the pods API, with their metrics. Upstream: pkg/kubelet/apis/pods/server.go. The request messages have no filters yet. */
import type { Counter } from '../../../shared/metrics/metrics.ts';
import { podsApiRequests, podRequestsGet, podRequestsList, podRequestsWatch } from '../../../shared/metrics/definitions/pods-api.ts';
import { grpcStatusOf, goCodeName, GrpcError, statusCode, type Methods } from '../grpc/index.ts';
import { GetPodRequest, GetPodResponse, ListPodsResponse } from './generated/pods-v1alpha1.ts';
import type { PodMirror } from './pod-mirror.ts';
import { watchPods } from './pod-watch.ts';

export function podsMethods(mirror: PodMirror): Methods {
  /** The last list, while no pod has changed: clients that read slowly share it. */
  let listed = { version: -1, response: new Uint8Array() };
  return {
    '/v1alpha1.Pods/ListPods': {
      kind: 'unary',
      handle: () =>
        counted(podRequestsList, async () => {
          await mirror.ready();
          if (listed.version !== mirror.version) {
            const pods = mirror.pods().map(({ bytes }) => bytes);
            listed = { version: mirror.version, response: ListPodsResponse.encode({ pods }).finish() };
          }
          return listed.response;
        }),
    },
    '/v1alpha1.Pods/GetPod': {
      kind: 'unary',
      handle: (request) =>
        counted(podRequestsGet, async () => {
          const { podUID } = GetPodRequest.decode(request);
          await mirror.ready();
          const pod = mirror.get(podUID);
          if (!pod) throw new GrpcError(statusCode.NOT_FOUND, `pod with UID ${podUID} not found`);
          return GetPodResponse.encode({ pod: pod.bytes }).finish();
        }),
    },
    '/v1alpha1.Pods/WatchPods': {
      kind: 'stream',
      handle: (_, stream) =>
        counted(podRequestsWatch, async () => {
          await mirror.ready();
          await watchPods(mirror, stream);
        }),
    },
  };
}

type RequestCounter = Counter<'server_api_version' | 'status_code'>;

/** Counts the call when it has ended. */
async function counted<T>(methodCounter: RequestCounter, work: () => Promise<T>): Promise<T> {
  const count = (status_code: string) => {
    for (const counter of [podsApiRequests, methodCounter]) counter.inc({ server_api_version: 'v1alpha1', status_code });
  };
  try {
    const result = await work();
    count('OK');
    return result;
  } catch (err) {
    count(goCodeName(grpcStatusOf(err)));
    throw err;
  }
}
