/** Main's side of a task channel, for tests: records the task's messages, and grants every request unless a test configures other replies. */
import type { EnsureImageResult } from '../../../src/shared/contracts/images.ts';
import type { MessageToTask, MessageToMain } from '../../../src/shared/contracts/pod-sync/channel.ts';
import type { PodObjectResult } from '../../../src/shared/contracts/pod-objects.ts';
import type { ChannelPort } from '../../../src/workers/pod-sync/pod/task-channel-client.ts';

export class FakeTaskChannel implements ChannelPort {
  /** All requests and notifications of the task, in order, without the phases. */
  readonly requests: MessageToMain[] = [];
  /** The reported phases, formatted like `begin Start app`. */
  readonly phases: string[] = [];
  /** The types in each posted message without the phases, joined by commas. The last one is the task's final notifications. */
  readonly messages: string[] = [];
  /** The replies to `ensureImage`, by image. An image that is not listed is present. */
  readonly images: ReadonlyMap<string, EnsureImageResult>;
  /** The API server's objects, by kind and name. Any other object fails as on a standalone kubelet. */
  readonly podObjects: ReadonlyMap<string, PodObjectResult>;
  /** If true, no start permit is granted. */
  readonly withholdsPermits: boolean;
  /** The reply to `beginRestart`. */
  allowsRestarts = true;
  #onMessage: (message: MessageToTask) => void = () => {};
  #onClose: () => void = () => {};
  readonly #awaited = new Map<MessageToMain['type'], PromiseWithResolvers<void>>();

  constructor(
    images: ReadonlyMap<string, EnsureImageResult>,
    withholdsPermits: boolean,
    podObjects: ReadonlyMap<string, PodObjectResult> = new Map(),
  ) {
    this.images = images;
    this.podObjects = podObjects;
    this.withholdsPermits = withholdsPermits;
  }

  on(event: 'message' | 'close', listener: ((message: MessageToTask) => void) & (() => void)): void {
    if (event === 'message') this.#onMessage = listener;
    else this.#onClose = listener;
  }

  postMessage(requests: readonly MessageToMain[]): void {
    const types = requests.map(({ type }) => type);
    this.messages.push(types.filter((type) => type !== 'phase').join());
    for (const request of requests) this.#receive(request);
  }

  #receive(request: MessageToMain): void {
    if (request.type === 'phase') {
      const { edge, phase, container } = request.report;
      return void this.phases.push([edge, phase, container].filter(Boolean).join(' '));
    }
    this.requests.push(request);
    this.#awaited.get(request.type)?.resolve();
    if (request.type === 'startPermit' && !this.withholdsPermits)
      queueMicrotask(() => this.#onMessage({ type: 'startPermit', id: request.id }));
    if (request.type === 'podObjects') {
      const noClient: PodObjectResult = { outcome: 'failed', failure: { reason: 'NoClient', message: 'no client' } };
      const results = request.refs.map((ref) => this.podObjects.get(`${ref.kind} ${'name' in ref ? ref.name : ''}`.trim()) ?? noClient);
      queueMicrotask(() => this.#onMessage({ type: 'podObjects', id: request.id, results, bytes: 0 }));
    }
    if (request.type === 'beginRestart')
      queueMicrotask(() => this.#onMessage({ type: 'beginRestart', id: request.id, allowed: this.allowsRestarts }));
    if (request.type === 'recordActuated') queueMicrotask(() => this.#onMessage({ type: 'recordActuated', id: request.id }));
    if (request.type === 'ensureImage') {
      const present: EnsureImageResult = { outcome: 'present', imageRef: `sha256:${request.image.image}` };
      const result = this.images.get(request.image.image) ?? present;
      queueMicrotask(() => this.#onMessage({ type: 'ensureImage', id: request.id, result }));
    }
  }

  /** Resolves when the task has sent a request of this type. */
  requested(type: MessageToMain['type']): Promise<void> {
    const awaited = Promise.withResolvers<void>();
    this.#awaited.set(type, awaited);
    if (this.requests.some((request) => request.type === type)) awaited.resolve();
    return awaited.promise;
  }

  post(message: MessageToTask): void {
    this.#onMessage(message);
  }

  close(): void {
    this.#onClose();
  }

  /** The recorded events, formatted like `Started spec.containers{app}: Container started`. */
  get events(): string[] {
    return this.requests.flatMap((request) =>
      request.type === 'event' ? [`${request.event.reason} ${request.event.object.fieldPath ?? 'pod'}: ${request.event.message}`] : [],
    );
  }
}
