/** An image manager with a fake image store, for tests of pulls. */
import type { EnsureImageRequest, EnsureImageResult } from '../../../src/shared/contracts/images.ts';
import { findCredentials } from '../../../src/shared/registry-credentials/keyring.ts';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import type { CriClient } from '../../../src/shared/cri/client.ts';
import { CriError } from '../../../src/shared/cri/cri-error.ts';
import type { PodSandboxConfig } from '../../../src/shared/cri/generated/cri-v1.ts';
import { ImageUses } from '../../../src/workers/images/image-uses.ts';
import { ImageManager, type ImageManagerOptions } from '../../../src/workers/images/pulls/image-manager.ts';
import { FakeClock } from '../fake-clock.ts';

/** An image store with a set of present and of pullable images. The test decides when a pull ends. */
export class FakeImages {
  readonly present = new Set<string>();
  readonly pulls: string[] = [];
  /** The users of the pulls. Empty for anonymous pulls. */
  readonly pullUsers: string[] = [];
  /** The namespaces of the pods for which the runtime pulls. */
  readonly pullNamespaces: string[] = [];
  /** The users that the registry accepts. Empty for a registry without authentication. */
  readonly acceptedUsers = new Set<string>();
  readonly #open = new Map<string, (err?: Error) => void>();
  failWith: Error | undefined;
  blocksPulls = false;

  readonly call = async (
    method: string,
    request: { image?: { image?: string }; auth?: { username: string }; sandboxConfig?: PodSandboxConfig },
  ): Promise<unknown> => {
    const image = request.image?.image ?? '';
    if (method === 'imageStatus') {
      if (this.failWith) throw this.failWith;
      return { image: this.present.has(image) ? { id: `id-${image}`, size: 20_000_000n } : undefined };
    }
    this.pulls.push(image);
    this.pullNamespaces.push(request.sandboxConfig?.metadata?.namespace ?? '');
    const user = request.auth?.username ?? '';
    this.pullUsers.push(user);
    if (this.acceptedUsers.size > 0 && !this.acceptedUsers.has(user)) throw new CriError('PullImage', 7, `${user} is not allowed`);
    if (this.blocksPulls) await new Promise<void>((resolve, reject) => this.#open.set(image, (err) => (err ? reject(err) : resolve())));
    if (this.failWith) throw this.failWith;
    this.present.add(image);
    return { imageRef: `ref-${image}` };
  };

  finish(image: string, err?: Error): void {
    this.#open.get(image)?.(err);
  }
}

export function aManager(options: Partial<ImageManagerOptions> = {}) {
  const images = new FakeImages();
  const clock = new FakeClock();
  const events: RecordedEvent[] = [];
  const manager = new ImageManager({
    records: null,
    nodeCredentials: { current: async () => new Map() },
    uses: new ImageUses(),
    plugins: { sources: async () => [] },
    onEvent: (event) => events.push(event),
    images: images as unknown as CriClient['images'],
    clock,
    runtimeRequestTimeoutMs: 1000,
    parallelPulls: null,
    pullsPerSecond: 0,
    pullBurst: 0,
    ...options,
  });
  let count = 0;
  /** Returns the events of this request only. */
  const ensure = async (image: string, fields: Partial<EnsureImageRequest> = {}): Promise<Ensured> => {
    const about = { kind: 'Pod', namespace: 'default', name: 'web', uid: `${(count += 1)}`, fieldPath: 'spec.containers{app}' };
    const result = await manager.ensureImage({
      pullCredentials: { credentials: [], problem: null },
      about,
      podUID: 'uid' as never,
      podName: 'web',
      podNamespace: 'default',
      serviceAccountName: '',
      containerName: 'app',
      image,
      imagePullPolicy: 'IfNotPresent',
      runtimeHandler: '',
      podAnnotations: {},
      ...fields,
    });
    return { ...result, events: events.filter(({ object }) => object.uid === about.uid) };
  };
  return { images, clock, ensure, events };
}

export type Ensured = EnsureImageResult & { readonly events: readonly RecordedEvent[] };

export function reasons(result: Ensured): string {
  return [result.outcome === 'present' ? result.imageRef : result.failure.reason, ...result.events.map(({ reason }) => reason)].join(' ');
}

/** The credentials of pull secrets with these names, for the registry r.example. */
export function ofSecrets(
  ...usernames: readonly (readonly [secret: string, username: string])[]
): Pick<EnsureImageRequest, 'pullCredentials'> {
  const config = (username: string) => new Map([['r.example', { username, password: 'geheim', email: '' }]]);
  const sources = usernames.map(([name, username]) => ({ config: config(username), secret: { namespace: 'ns', name, uid: `u-${name}` } }));
  return { pullCredentials: { credentials: findCredentials('r.example/app', sources), problem: null } };
}

export const notFound = new CriError('PullImage', 5, 'failed to pull and unpack image');
