/**
 * Reads ClusterTrustBundles for pods that project them. The reflector starts with the first such pod, because most nodes have none and the API
 * may not be served (upstream LazyInformerManager in pkg/kubelet/clustertrustbundle).
 */
import type { LabelSelector } from '../../shared/kubernetes/api.ts';
import { KubeletError } from '../../shared/errors/kubelet-error.ts';
import { clusterTrustBundle as bundleSchema } from '../../shared/kubernetes/schema/objects.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { acceptConforming, apiPath, isNotFound, Reflector, type ApiClient, type ApiObject, type ObjectReader } from '../api/index.ts';
import { labelMatcher } from './label-selector.ts';
import { normalizeTrustAnchors } from './trust-anchors.ts';

export interface ClusterTrustBundleManagerOptions {
  readonly client: ApiClient;
  /** Gate ClusterTrustBundleProjection. */
  readonly isEnabled: boolean;
  readonly onChanged: (podUIDs: ReadonlySet<string>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Replaced in tests. */
  readonly normalize?: typeof normalizeTrustAnchors;
}

interface ClusterTrustBundle extends ApiObject {
  readonly metadata: ApiObject['metadata'] & { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly signerName?: string; readonly trustBundle?: string };
}

/** Newest first. */
const versions = ['v1', 'v1beta1', 'v1alpha1'];
const group = 'certificates.k8s.io';
/** How long a sync waits for the first list (upstream: 10 s; here the list requests another sync of the pod). */
const listTimeoutMs = 1000;
/** A working API server responds to discovery within milliseconds, and the pod's next sync retries. */
const discoveryDeadlineMs = 10_000;
/** Upstream's limit for the printed selector. */
const maxSelectorLength = 100 * 1024;
/** Upstream's size of the cache of normalized trust anchors. */
const maxCached = 256;

export class ClusterTrustBundleManager {
  readonly #options: ClusterTrustBundleManagerOptions;
  readonly #podUIDs = new Set<string>();
  readonly #stop = new AbortController();
  /** Normalized trust anchors by request, cleared when a bundle changes: normalizing hundreds of certificates takes milliseconds. */
  readonly #cache = new Map<string, string>();
  #starting: Promise<Reflector<ClusterTrustBundle> | null> | null = null;
  #synced = Promise.withResolvers<void>();

  constructor(options: ClusterTrustBundleManagerOptions) {
    this.#options = options;
  }

  /** Resolves with PEM. Rejects with KubeletError. */
  async getTrustAnchorsByName(name: string, optional: boolean, podUID: string): Promise<string> {
    const bundles = await this.#bundles(podUID);
    const anchors = this.#normalize(`name ${name}`, () => bundles.list().filter(({ metadata }) => metadata.name === name));
    if (anchors !== null) return anchors;
    if (optional) return '';
    const missing = `clustertrustbundle.${group} ${JSON.stringify(name)} not found`;
    throw new KubeletError('NotFound', `while getting ClusterTrustBundle: ${missing}`);
  }

  /** Resolves with the PEM of the signer's bundles that match. Rejects with KubeletError, or with an Error for an invalid selector. */
  async getTrustAnchorsBySigner(
    signerName: string,
    selector: LabelSelector | undefined,
    optional: boolean,
    podUID: string,
  ): Promise<string> {
    const bundles = await this.#bundles(podUID);
    const key = JSON.stringify([signerName, selector]);
    if (key.length > maxSelectorLength) throw new Error(`label selector length (${key.length}) is larger than ${maxSelectorLength}`);
    const matches = labelMatcher(selector);
    const anchors = this.#normalize(`signer ${key}`, () =>
      bundles.list().filter(({ metadata, spec }) => spec?.signerName === signerName && matches(metadata.labels)),
    );
    if (anchors !== null) return anchors;
    if (optional) return '';
    throw new KubeletError('NotFound', 'combination of signerName and labelSelector matched zero ClusterTrustBundles');
  }

  /** Returns the trust anchors of the selected bundles, cached by `key`; null when no bundle is selected. */
  #normalize(key: string, select: () => readonly ClusterTrustBundle[]): string | null {
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    const bundles = select();
    if (bundles.length === 0) return null;
    const { normalize = normalizeTrustAnchors } = this.#options;
    const anchors = normalize(bundles.map(({ spec }) => spec?.trustBundle ?? ''));
    if (this.#cache.size >= maxCached) this.#cache.clear();
    this.#cache.set(key, anchors);
    return anchors;
  }

  forget(podUID: string): void {
    this.#podUIDs.delete(podUID);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    const reflector = await this.#starting?.catch(() => null);
    await reflector?.close();
  }

  async #bundles(podUID: string): Promise<ObjectReader<ClusterTrustBundle>> {
    const { isEnabled, clock } = this.#options;
    this.#starting ??= (isEnabled ? this.#start() : Promise.resolve(null)).catch((err: unknown) => {
      this.#starting = null;
      throw err;
    });
    const reflector = await this.#starting;
    if (!reflector) throw new KubeletError('NotSupported', 'ClusterTrustBundle projection is not supported in static kubelet mode');
    this.#podUIDs.add(podUID);
    if (!reflector.hasSynced()) {
      const stopTimer = new AbortController();
      await Promise.race([this.#synced.promise, clock.sleep(listTimeoutMs, stopTimer.signal).catch(() => {})]);
      stopTimer.abort();
    }
    if (!reflector.hasSynced()) throw new KubeletError('NotSynced', 'ClusterTrustBundle informer has not yet synced');
    return reflector.objects;
  }

  /** Resolves with null when the API server does not serve the API. */
  async #start(): Promise<Reflector<ClusterTrustBundle> | null> {
    const { client, clock, logger } = this.#options;
    const version = await this.#servedVersion();
    if (!version) {
      logger.info('The API server does not serve ClusterTrustBundles');
      return null;
    }
    const onChanged = () => {
      this.#synced.resolve();
      this.#cache.clear();
      this.#options.onChanged(this.#podUIDs);
    };
    return Reflector.start<ClusterTrustBundle>({
      client,
      path: apiPath('apis', group, version, 'clustertrustbundles'),
      trafficClass: 'objects',
      apiVersion: `${group}/${version}`,
      kind: 'ClusterTrustBundle',
      accept: acceptConforming(bundleSchema, logger),
      handler: { onReplace: onChanged, onChange: onChanged },
      clock,
      logger,
    });
  }

  async #servedVersion(): Promise<string | undefined> {
    const common = { method: 'GET', trafficClass: 'objects', deadlineMs: discoveryDeadlineMs, maxAttempts: 1 } as const;
    for (const version of versions) {
      try {
        const call = { ...common, path: apiPath('apis', group, version), signal: this.#stop.signal };
        const { resources = [] } = await this.#options.client.call<{ readonly resources?: readonly { readonly name: string }[] }>(call);
        if (resources.some(({ name }) => name === 'clustertrustbundles')) return version;
      } catch (err) {
        if (!isNotFound(err)) throw err;
      }
    }
    return undefined;
  }
}
