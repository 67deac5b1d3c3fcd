/** The room's offer: registers what pods refer to, answers what syncs ask for, and wakes the pods for which something has changed. */
import type { PodObject, PodObjectRef, PodObjectResult } from '../../shared/contracts/pod-objects.ts';
import { KubeletError, toFailure } from '../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { ApiClient } from '../api/index.ts';
import { isStaticPod } from '../pods/static/static-pod.ts';
import { CacheBasedSource } from './cache-based-source.ts';
import { configMapKind, secretKind, type SecretOrConfigMap, type ObjectKind, type ObjectSource } from './object-source.ts';
import { PodCertificates, type PodCertificatesOptions } from './pod-certificates/index.ts';
import { referencedObjects, tokenRefs } from './referenced-objects.ts';
import { ServiceLister } from './service-lister.ts';
import { TokenManager } from './token-manager.ts';
import { ClusterTrustBundleManager } from './cluster-trust-bundle-manager.ts';
import { WatchBasedSource } from './watch-based-source.ts';

export interface PodObjectManagerOptions {
  readonly client: ApiClient;
  /** configMapAndSecretChangeDetectionStrategy: `Watch`, `Cache` or `Get`. */
  readonly strategy: string;
  readonly syncFrequencyMs: number;
  /** How long a config map is kept for the next pod that needs it, once the last one has gone. Default: not at all. */
  readonly configMapRetentionMs?: number;
  /** How long objects are good under `Cache`: the annotation `node.alpha.kubernetes.io/ttl` of the Node; undefined: not said. */
  readonly objectTTLSeconds: () => number | undefined;
  /** Gate ClusterTrustBundleProjection. */
  readonly projectsTrustBundles: boolean;
  /** Who asks for pods' certificates; null: the gate PodCertificateRequest is off. */
  readonly certificates: Pick<PodCertificatesOptions, 'nodeName' | 'nodeUID' | 'events'> | null;
  /** The runtime has it already: its volumes hold tokens that are good, those of new pods go before. */
  readonly isRunning: (podUID: PodUID) => boolean;
  /** What these pods use has changed, or has come: they are to be synced. */
  readonly onChanged: (podUIDs: ReadonlySet<PodUID>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
}

/** Upstream's defaultTTL. */
const defaultTTLMs = 60_000;
/** Upstream closes watches of what was not read for five syncs, but not within a minute. */
const idleSyncs = 5;
const minIdleMs = 60_000;

/** The controller manager's: the first pod that a node has of a namespace need not see it before its sandbox is made. */
const inEveryNamespace: ReadonlySet<string> = new Set(['kube-root-ca.crt']);

interface Registration {
  readonly pod: Pod;
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
}

const certificatesAreOff = 'podCertificate projection is not supported: the feature gate PodCertificateRequest is off on this node';

const noObjects = { secrets: new Set<string>(), configMaps: new Set<string>() };

export class PodObjectManager {
  readonly #isRunning: PodObjectManagerOptions['isRunning'];
  readonly #secrets: ObjectSource;
  readonly #configMaps: ObjectSource;
  readonly #tokens: TokenManager;
  readonly #trustBundles: ClusterTrustBundleManager;
  readonly #certificates: PodCertificates | null;
  readonly #services: ServiceLister;
  readonly #pods = new Map<string, Registration>();

  private constructor(options: PodObjectManagerOptions) {
    const { client, clock, logger, random = Math.random, projectsTrustBundles, certificates } = options;
    const onChanged = (uids: ReadonlySet<string>) => options.onChanged(new Set(uids) as Set<PodUID>);
    this.#isRunning = options.isRunning;
    this.#secrets = objectSource(secretKind, options, onChanged);
    this.#configMaps = objectSource(configMapKind, options, onChanged);
    this.#tokens = new TokenManager({ client, clock, logger, random, onDue: (uid) => onChanged(new Set([uid])) });
    this.#trustBundles = new ClusterTrustBundleManager({ client, isEnabled: projectsTrustBundles, onChanged, clock, logger });
    this.#certificates = certificates && new PodCertificates({ ...certificates, client, onChanged, clock, logger, random });
    this.#services = ServiceLister.start({ client, clock, logger });
  }

  static start(options: PodObjectManagerOptions): PodObjectManager {
    return new PodObjectManager(options);
  }

  /** The pod is to run, or its spec has changed: what it refers to is kept at hand from now on, and asked for at once. */
  registerPod(pod: Pod): void {
    const { uid } = pod.metadata;
    const before = this.#pods.get(uid);
    if (before?.pod === pod) return;
    const objects = referencedObjects(pod);
    this.#pods.set(uid, { pod, ...objects });
    this.#refer(pod, before ?? noObjects, objects);
    const isRunning = this.#isRunning(uid as PodUID);
    this.#certificates?.trackPod(pod, { isRunning });
    if (before || isRunning) return;
    for (const ref of tokenRefs(pod)) this.#tokens.prefetch(ref);
  }

  /** The pod has ended, and its volumes are gone. */
  unregisterPod(podUID: PodUID): void {
    const before = this.#pods.get(podUID);
    if (!before) return;
    this.#pods.delete(podUID);
    this.#refer(before.pod, before, noObjects);
    this.#tokens.forget(podUID);
    this.#trustBundles.forget(podUID);
    this.#certificates?.forgetPod(podUID);
  }

  /** Every secret and config map that it refers to is known, and there, or is sure to be soon; and its certificates are issued. */
  dependenciesReady({ metadata: { namespace, uid } }: Pod): boolean {
    const registration = this.#pods.get(uid);
    if (!registration) return false;
    const areKnown = (source: ObjectSource, names: ReadonlySet<string>) => [...names].every((name) => source.has(namespace, name));
    return (
      areKnown(this.#secrets, registration.secrets) &&
      areKnown(this.#configMaps, registration.configMaps.difference(inEveryNamespace)) &&
      (this.#certificates?.areIssued(uid) ?? true)
    );
  }

  /** What a sync of this pod asks for: a result for each ref, in order. Never rejects. */
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

  #refer({ metadata: { namespace, uid } }: Pod, before: Omit<Registration, 'pod'>, now: Omit<Registration, 'pod'>): void {
    for (const kind of ['secrets', 'configMaps'] as const) {
      const source = kind === 'secrets' ? this.#secrets : this.#configMaps;
      // Only what is new to it: a pod whose status alone has changed must not have its objects read anew.
      for (const name of now[kind]) if (!before[kind].has(name)) source.addReference(namespace, name, uid);
      for (const name of before[kind]) if (!now[kind].has(name)) source.deleteReference(namespace, name, uid);
    }
  }

  async #value(ref: PodObjectRef, pod: Pod): Promise<PodObject> {
    const { uid } = pod.metadata;
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
  { strategy, client, syncFrequencyMs, configMapRetentionMs: configMapLingerMs, objectTTLSeconds, clock, logger }: PodObjectManagerOptions,
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
  // A secret is kept no longer than a pod needs it.
  const lingerMs = kind === configMapKind ? (configMapLingerMs ?? 0) : 0;
  return new WatchBasedSource({ client, kind, maxIdleMs, retentionMs: lingerMs, onChanged, clock, logger });
}
