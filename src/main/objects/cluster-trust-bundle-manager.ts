/**
 * ClusterTrustBundles, known from the first pod on that projects one: few nodes have any, and the API may not be served (upstream
 * pkg/kubelet/clustertrustbundle, LazyInformerManager).
 */
import type { LabelSelector } from '../../shared/contracts/pod-objects.ts';
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
  /** Another one in tests. */
  readonly normalize?: typeof normalizeTrustAnchors;
}

interface ClusterTrustBundle extends ApiObject {
  readonly metadata: ApiObject['metadata'] & { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly signerName?: string; readonly trustBundle?: string };
}

/** Newest first. */
const versions = ['v1beta1', 'v1alpha1'];
const group = 'certificates.k8s.io';
/** How long the first who asks waits for all bundles (upstream: 10 s; here the pod is woken when they come). */
const patienceMs = 1000;
/** Which version is served is told in milliseconds or not at all; the pod's next sync asks again. */
const discoveryDeadlineMs = 10_000;
/** Upstream's, of the selector as it prints it. */
const maxSelectorLength = 100 * 1024;
/** Questions whose answers are kept (upstream's size of its cache). */
const maxAnswers = 256;

export class ClusterTrustBundleManager {
  readonly #options: ClusterTrustBundleManagerOptions;
  readonly #podUIDs = new Set<string>();
  readonly #stop = new AbortController();
  /** By question, since the bundles changed: a bundle of hundreds of certificates takes milliseconds to go through. */
  readonly #answers = new Map<string, string>();
  #starting: Promise<Reflector<ClusterTrustBundle> | null> | null = null;
  #synced = Promise.withResolvers<void>();

  constructor(options: ClusterTrustBundleManagerOptions) {
    this.#options = options;
  }

  /** PEM. Rejects with KubeletError. */
  async getTrustAnchorsByName(name: string, optional: boolean, podUID: string): Promise<string> {
    const bundles = await this.#bundles(podUID);
    const anchors = this.#answer(`name ${name}`, () => bundles.list().filter(({ metadata }) => metadata.name === name));
    if (anchors !== null) return anchors;
    if (optional) return '';
    const missing = `clustertrustbundle.${group} ${JSON.stringify(name)} not found`;
    throw new KubeletError('NotFound', `while getting ClusterTrustBundle: ${missing}`);
  }

  /** PEM of all that a signer has under the selector. Rejects with KubeletError, or an Error that names what is wrong with the selector. */
  async getTrustAnchorsBySigner(
    signerName: string,
    selector: LabelSelector | undefined,
    optional: boolean,
    podUID: string,
  ): Promise<string> {
    const bundles = await this.#bundles(podUID);
    const written = JSON.stringify([signerName, selector]);
    if (written.length > maxSelectorLength)
      throw new Error(`label selector length (${written.length}) is larger than ${maxSelectorLength}`);
    const matches = labelMatcher(selector);
    const anchors = this.#answer(`signer ${written}`, () =>
      bundles.list().filter(({ metadata, spec }) => spec?.signerName === signerName && matches(metadata.labels)),
    );
    if (anchors !== null) return anchors;
    if (optional) return '';
    throw new KubeletError('NotFound', 'combination of signerName and labelSelector matched zero ClusterTrustBundles');
  }

  /** Null: there are none. */
  #answer(question: string, select: () => readonly ClusterTrustBundle[]): string | null {
    const known = this.#answers.get(question);
    if (known !== undefined) return known;
    const bundles = select();
    if (bundles.length === 0) return null;
    const { normalize = normalizeTrustAnchors } = this.#options;
    const anchors = normalize(bundles.map(({ spec }) => spec?.trustBundle ?? ''));
    if (this.#answers.size >= maxAnswers) this.#answers.clear();
    this.#answers.set(question, anchors);
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
      const late = new AbortController();
      await Promise.race([this.#synced.promise, clock.sleep(patienceMs, late.signal).catch(() => {})]);
      late.abort();
    }
    if (!reflector.hasSynced()) throw new KubeletError('NotSynced', 'ClusterTrustBundle informer has not yet synced');
    return reflector.objects;
  }

  /** Null: the API server has no such API. */
  async #start(): Promise<Reflector<ClusterTrustBundle> | null> {
    const { client, clock, logger } = this.#options;
    const version = await this.#servedVersion();
    if (!version) {
      logger.info('The API server has no ClusterTrustBundles');
      return null;
    }
    const changed = () => {
      this.#synced.resolve();
      this.#answers.clear();
      this.#options.onChanged(this.#podUIDs);
    };
    return Reflector.start<ClusterTrustBundle>({
      client,
      path: apiPath('apis', group, version, 'clustertrustbundles'),
      trafficClass: 'objects',
      apiVersion: `${group}/${version}`,
      kind: 'ClusterTrustBundle',
      accept: acceptConforming(bundleSchema, logger),
      handler: { onReplace: changed, onChange: changed },
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
