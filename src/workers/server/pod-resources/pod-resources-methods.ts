/**
 * The PodResources API: which devices, CPUs, memory and dynamic resources the containers of pods have for themselves (upstream
 * pkg/kubelet/apis/podresources). Main answers; this part encodes the answers and counts the calls. Loaded with the first call to its socket.
 */
import type { MainApi } from '../../../shared/contracts/server/calls.ts';
import {
  AllocatableResourcesResponse,
  GetPodResourcesRequest,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
} from '../../../shared/pod-resources/generated/podresources-v1.ts';
import {
  podResourcesErrorsGet,
  podResourcesErrorsGetAllocatable,
  podResourcesErrorsList,
  podResourcesRequests,
  podResourcesRequestsGet,
  podResourcesRequestsGetAllocatable,
  podResourcesRequestsList,
} from '../../../shared/metrics/definitions/pod-resources.ts';
import type { Counter } from '../../../shared/metrics/metrics.ts';
import { GrpcError, statusCode, type Method, type Methods } from '../grpc/index.ts';

export type PodResourcesSource = Pick<MainApi, 'listPodResources' | 'getPodResources' | 'allocatableResources'>;

export function podResourcesMethods(main: PodResourcesSource): Methods {
  return {
    '/v1.PodResourcesLister/List': method(podResourcesRequestsList, podResourcesErrorsList, async () => {
      const podResources = [...(await main.listPodResources('v1'))];
      return ListPodResourcesResponse.encode({ podResources }).finish();
    }),
    '/v1.PodResourcesLister/Get': method(podResourcesRequestsGet, podResourcesErrorsGet, async (request) => {
      const { podName, podNamespace } = GetPodResourcesRequest.decode(request);
      const podResources = await main.getPodResources(podNamespace, podName);
      if (!podResources) throw new GrpcError(statusCode.UNKNOWN, `pod ${podName} in namespace ${podNamespace} not found`);
      return GetPodResourcesResponse.encode({ podResources }).finish();
    }),
    '/v1.PodResourcesLister/GetAllocatableResources': method(
      podResourcesRequestsGetAllocatable,
      podResourcesErrorsGetAllocatable,
      async () => AllocatableResourcesResponse.encode(await main.allocatableResources()).finish(),
    ),
    // The messages of v1alpha1 are subsets of v1's, with the same field numbers. v1alpha1 has no metrics per method.
    '/v1alpha1.PodResourcesLister/List': {
      kind: 'unary',
      handle: async () => {
        podResourcesRequests.inc({ server_api_version: 'v1alpha1' });
        const podResources = [...(await main.listPodResources('v1alpha1'))];
        return ListPodResourcesResponse.encode({ podResources }).finish();
      },
    },
  };
}

type VersionCounter = Counter<'server_api_version'>;

function method(requests: VersionCounter, errors: VersionCounter, handle: (request: Uint8Array) => Promise<Uint8Array>): Method {
  const labels = { server_api_version: 'v1' };
  return {
    kind: 'unary',
    handle: async (request) => {
      podResourcesRequests.inc(labels);
      requests.inc(labels);
      try {
        return await handle(request);
      } catch (err) {
        errors.inc(labels);
        throw err;
      }
    },
  };
}
