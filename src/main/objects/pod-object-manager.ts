/** Registers the API server objects that pods refer to, answers the syncs' requests for them, and requests a sync of pods whose objects changed. */
import type { PullTokenReply, PullTokenRequest } from '../../shared/contracts/credential-providers.ts';
import type { GrantedToken, PodObject, PodObjectRef, PodObjectResult, TokenRef } from '../../shared/contracts/pod-objects.ts';
import { KubeletError, toFailure } from '../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { ApiClient } from '../api/index.ts';
import { isStaticPod } from '../../shared/kubernetes/static-pod.ts';
import { CacheBasedSource } from './cache-based-source.ts';
import { configMapKind, secretKind, type SecretOrConfigMap, type ObjectKind, type ObjectSource } from './object-source.ts';
import { PodCertificates, type PodCertificatesOptions } from './pod-certificates/index.ts';
import { PullTokens } from './pull-tokens.ts';
import { objectCountProblem, referencedObjects, tokenRefs, type ReferencedObjects } from './referenced-objects.ts';
import { ServiceLister } from './service-lister.ts';
import { TokenManager } from './token-manager.ts';
import { ClusterTrustBundleManager } from './cluster-trust-bundle-manager.ts';
import { WatchBasedSource } from './watch-based-source.ts';

export interface PodObjectManagerOptions {
  readonly client: ApiClient;
  /** configMapAndSecretChangeDetectionStrategy: `Watch`, `Cache` or `Get`. */
  readonly strategy: string;
  readonly syncFrequencyMs: number;
  /** How long a config map without references is retained for the next pod. Default: 0. */
  readonly configMapRetentionMs?: number;
  /** The TTL under `Cache` from the Node's annotation `node.alpha.kubernetes.io/ttl`; undefined when the annotation is absent. */
  readonly objectTTLSeconds: () => number | undefined;
  /** Gate ClusterTrustBundleProjection. */
  readonly projectsTrustBundles: boolean;
  /** Null while the gate PodCertificateRequest is off. */
  readonly certificates: Pick<PodCertificatesOptions, 'nodeName' | 'nodeUID' | 'events'> | null;
  /** True when the runtime already runs the pod: its volumes hold valid tokens, so tokens of new pods are requested first. */
  readonly isRunning: (podUID: PodUID) => boolean;
  /** Called when objects of these pods have changed or become available. */
  readonly onChanged: (podUIDs: ReadonlySet<PodUID>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
}

/** Upstream's defaultTTL. */
const defaultTTLMs = 60_000;
/** Upstream closes the watch of an object that was not read for five syncs and at least a minute. */
const idleSyncs = 5;
const minIdleMs = 60_000;

/** Config maps that the controller manager creates in every namespace: the start of a namespace's first pod does not wait for them. */
const existsInEveryNamespace: ReadonlySet<string> = new Set(['kube-root-ca.crt']);

/** A registered pod and the names of the objects that it refers to. */
interface RegisteredPod {
  readonly pod: Pod;
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  /** Why no object of the pod is read; else null. */
  readonly problem: string | null;
}

const certificatesAreOff = 'podCertificate projection is not supported: the feature gate PodCertificateRequest is off on this node';

const noObjects = { secrets: new Set<string>(), configMaps: new Set<string>() };

export class PodObjectManager {
  readonly #isRunning: PodObjectManagerOptions['isRunning'];
  readonly #secrets: ObjectSource;
  readonly #configMaps: ObjectSource;
  readonly #tokens: TokenManager;
  readonly #pullTokens: PullTokens;
  readonly #trustBundles: ClusterTrustBundleManager;
  readonly #certificates: PodCertificates | null;
  readonly #services: ServiceLister;
  readonly #pods = new Map<string, RegisteredPod>();

  private constructor(options: PodObjectManagerOptions) {
    const { client, clock, logger, random = Math.random, projectsTrustBundles, certificates } = options;
    const onChanged = (uids: ReadonlySet<string>) => options.onChanged(new Set(uids) as Set<PodUID>);
    this.#isRunning = options.isRunning;
    this.#secrets = objectSource(secretKind, options, onChanged);
    this.#configMaps = objectSource(configMapKind, options, onChanged);
    this.#tokens = new TokenManager({ client, clock, logger, random, onDue: (uid) => onChanged(new Set([uid])) });
    this.#pullTokens = new PullTokens(client, {
      get: async (ref) => {
        // The pod may have gone while its account was read.
        this.#requireTokens(ref.podUID);
        return await this.#tokens.get(ref);
      },
    });
    this.#trustBundles = new ClusterTrustBundleManager({ client, isEnabled: projectsTrustBundles, onChanged, clock, logger });
    this.#certificates = certificates && new PodCertificates({ ...certificates, client, onChanged, clock, logger, random });
    this.#services = ServiceLister.start({ client, clock, logger });
  }

  static start(options: PodObjectManagerOptions): PodObjectManager {
    return new PodObjectManager(options);
  }

  /** Called when the pod is added or its spec has changed. Adds references to its objects and starts to read them. */
  registerPod(pod: Pod): void {
    const { uid } = pod.metadata;
    const previousEntry = this.#pods.get(uid);
    if (previousEntry?.pod === pod) return;
    const referenced = referencedObjects(pod);
    const problem = objectCountProblem(pod, referenced);
    const objects = problem === null ? referenced : noObjects;
    this.#pods.set(uid, { pod, ...objects, problem });
    this.#updateReferences(pod, previousEntry ?? noObjects, objects);
    if (problem !== null) return;
    const isRunning = this.#isRunning(uid as PodUID);
    this.#certificates?.trackPod(pod, { isRunning });
    if (previousEntry || isRunning) return;
    for (const ref of tokenRefs(pod)) this.#tokens.prefetch(ref);
  }

  /** Called when the pod has terminated and its volumes are removed. */
  unregisterPod(podUID: PodUID): void {
    const previousEntry = this.#pods.get(podUID);
    if (!previousEntry) return;
    this.#pods.delete(podUID);
    this.#updateReferences(previousEntry.pod, previousEntry, noObjects);
    this.#tokens.forget(podUID);
    this.#trustBundles.forget(podUID);
    this.#certificates?.forgetPod(podUID);
  }

  /** True when the pod's certificates are issued and its secrets and config maps are cached, except those that exist in every namespace. */
  dependenciesReady({ metadata: { namespace, uid } }: Pod): boolean {
    const registered = this.#pods.get(uid);
    if (!registered || registered.problem !== null) return false;
    const areCached = (source: ObjectSource, names: ReadonlySet<string>) => [...names].every((name) => source.has(namespace, name));
    return (
      areCached(this.#secrets, registered.secrets) &&
      areCached(this.#configMaps, registered.configMaps.difference(existsInEveryNamespace)) &&
      (this.#certificates?.areIssued(uid) ?? true)
    );
  }

  /** Resolves with one result per ref, in order. Never rejects. */
  get(refs: readonly PodObjectRef[], pod: Pod): Promise<PodObjectResult[]> {
    this.registerPod(pod);
    return Promise.all(
      refs.map((ref) =>
        this.#value(ref, pod).then(
          (value): PodObjectResult => ({ outcome: 'value', value }),
          (err: unknown): PodObjectResult => ({ outcome: 'failed', failure: toFailure(err, 'InternalError') }),
        ),
      ),
    );
  }

  /** Returns a token of the pod's service account for a credential plugin. Never rejects. */
  async pullToken(request: PullTokenRequest): Promise<PullTokenReply> {
    try {
      this.#requireTokens(request.podUID);
      return await this.#pullTokens.get(request);
    } catch (err) {
      return { outcome: 'failed', failure: toFailure(err, 'InternalError') };
    }
  }

  /** Resolves with a token for a CSI driver. Rejects with KubeletError. */
  async volumeToken(ref: TokenRef): Promise<GrantedToken> {
    this.#requireTokens(ref.podUID);
    const { token, expiresAtMs } = await this.#tokens.grant(ref);
    return { token, expiresAtMs };
  }

  /** Throws when a token of this pod would never be dropped: a pull may outlive its pod. */
  #requireTokens(podUID: string): void {
    const pod = this.#pods.get(podUID)?.pod;
    if (!pod || isStaticPod(pod)) throw new KubeletError('NotFound', `pod ${podUID} is gone, or is a static pod`);
  }

  async close(): Promise<void> {
    this.#pods.clear();
    this.#tokens.close();
    await Promise.all([
      this.#secrets.close(),
      this.#configMaps.close(),
      this.#trustBundles.close(),
      this.#services.close(),
      this.#certificates?.close(),
    ]);
  }

  #updateReferences({ metadata: { namespace, uid } }: Pod, previousRefs: ReferencedObjects, currentRefs: ReferencedObjects): void {
    for (const kind of ['secrets', 'configMaps'] as const) {
      const source = kind === 'secrets' ? this.#secrets : this.#configMaps;
      // Only new references: a change of the pod's status must not read its objects again.
      for (const name of currentRefs[kind]) if (!previousRefs[kind].has(name)) source.addReference(namespace, name, uid);
      for (const name of previousRefs[kind]) if (!currentRefs[kind].has(name)) source.deleteReference(namespace, name, uid);
    }
  }

  async #value(ref: PodObjectRef, pod: Pod): Promise<PodObject> {
    const { uid } = pod.metadata;
    const problem = this.#pods.get(uid)?.problem;
    if (problem && ref.kind !== 'Services') throw new KubeletError('TooManyObjects', problem);
    switch (ref.kind) {
      case 'Secret': {
        const { metadata, type, data } = await this.#secrets.get(ref.namespace, ref.name);
        return { kind: 'Secret', uid: metadata.uid, type: type ?? '', data: data ?? {} };
      }
      case 'ConfigMap':
        return configMapValue(await this.#configMaps.get(ref.namespace, ref.name));
      case 'Token':
        return { kind: 'Token', token: await this.#tokens.get(ref) };
      case 'TrustBundle':
        return { kind: 'TrustAnchors', pem: await this.#trustBundles.getTrustAnchorsByName(ref.name, ref.optional, uid) };
      case 'SignerTrustBundles':
        return {
          kind: 'TrustAnchors',
          pem: await this.#trustBundles.getTrustAnchorsBySigner(ref.signerName, ref.labelSelector, ref.optional, uid),
        };
      case 'PodCertificate': {
        if (!this.#certificates) throw new KubeletError('NotSupported', certificatesAreOff);
        return { kind: 'Credentials', ...(await this.#certificates.getCredentialBundle(uid, ref.volume, ref.sourceIndex)) };
      }
      case 'Services':
        return { kind: 'Services', services: await this.#services.list(ref, !isStaticPod(pod)) };
      default:
        return ref satisfies never;
    }
  }
}

function configMapValue({ data, binaryData }: SecretOrConfigMap): PodObject {
  return { kind: 'ConfigMap', data: data ?? {}, binaryData: binaryData ?? {} };
}

function objectSource(
  kind: ObjectKind,
  { strategy, client, syncFrequencyMs, configMapRetentionMs, objectTTLSeconds, clock, logger }: PodObjectManagerOptions,
  onChanged: (uids: ReadonlySet<string>) => void,
): ObjectSource {
  if (strategy === 'Get') return new CacheBasedSource({ client, kind, ttlMs: null, clock, logger });
  if (strategy === 'Cache') {
    const ttlMs = () => {
      const seconds = objectTTLSeconds();
      return seconds === undefined ? defaultTTLMs : seconds * 1000;
    };
    return new CacheBasedSource({ client, kind, ttlMs, clock, logger });
  }
  const maxIdleMs = Math.max(idleSyncs * syncFrequencyMs, minIdleMs);
  // A secret is never retained without a reference.
  const retentionMs = kind === configMapKind ? (configMapRetentionMs ?? 0) : 0;
  return new WatchBasedSource({ client, kind, maxIdleMs, retentionMs, onChanged, clock, logger });
}
