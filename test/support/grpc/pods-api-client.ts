/** A client of the pods API: its messages with decoded pods. */
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import {
  EventType,
  GetPodRequest,
  GetPodResponse,
  ListPodsResponse,
  WatchPodsEvent,
} from '../../../src/workers/server/pods-api/generated/pods-v1alpha1.ts';
import { decodePod } from './decode-pod.ts';
import { GrpcClient, type Failure } from './grpc-client.ts';

export interface ReceivedEvent {
  readonly type: string;
  /** Undefined for INITIAL_SYNC_COMPLETE. */
  readonly pod: Pod | undefined;
}

export class PodsApiClient {
  readonly grpc: GrpcClient;

  constructor(socketPath: string) {
    this.grpc = new GrpcClient(socketPath);
  }

  async list(): Promise<Pod[]> {
    return ListPodsResponse.decode(await this.grpc.ask('/v1alpha1.Pods/ListPods')).pods.map(decodePod);
  }

  /** Resolves with the pod's bytes, or the failure. */
  async get(podUID: string): Promise<Uint8Array | Failure> {
    const answer = await this.grpc.call('/v1alpha1.Pods/GetPod', GetPodRequest.encode({ podUID }).finish());
    return 'code' in answer ? answer : GetPodResponse.decode(answer).pod;
  }

  /** `events` returns what has arrived so far. */
  watch(): { events: () => ReceivedEvent[]; failure: Promise<Failure>; cancel: () => void } {
    const { messages, failure, cancel } = this.grpc.watch('/v1alpha1.Pods/WatchPods');
    const decoded: ReceivedEvent[] = [];
    const events = () => {
      decoded.push(...messages.slice(decoded.length).map(decodeEvent));
      return decoded;
    };
    return { events, failure, cancel };
  }

  close(): void {
    this.grpc.close();
  }
}

export function decodeEvent(message: Uint8Array): ReceivedEvent {
  const { type, pod } = WatchPodsEvent.decode(message);
  const [name = ''] = Object.entries(EventType).find(([, value]) => value === type) ?? [];
  return { type: name, pod: pod.length > 0 ? decodePod(pod) : undefined };
}
