/**
 * A signer of pods' certificates, as a cluster's operator runs one: it watches PodCertificateRequests and writes the chain, or its refusal,
 * into their status. What it does with a request is the test's to say.
 */
import { execFileSync } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import type { ApiClient } from '../../scripts/host/control-plane-api.ts';
import { TestAuthority } from './certificates.ts';

export interface SignedRequest {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly resourceVersion: string };
  readonly spec: {
    readonly signerName: string;
    readonly podName: string;
    readonly serviceAccountName: string;
    readonly nodeName: string;
    readonly maxExpirationSeconds: number;
    /** Base64 of DER. */
    readonly stubPKCS10Request: string;
    readonly unverifiedUserAnnotations?: Readonly<Record<string, string>>;
  };
}

/** `wait`: until the test decides anew. */
export type Decision = 'issue' | 'wait' | { readonly type: 'Denied' | 'Failed'; readonly reason: string; readonly message: string };

const path = '/apis/certificates.k8s.io/v1beta1/podcertificaterequests';
const minuteMs = 60_000;
/** The API server takes a start of five minutes ago, a renewal ten minutes after it, and a life of an hour. */
const validity = { fromMs: -4 * minuteMs, refreshMs: 7 * minuteMs, toMs: 57 * minuteMs };

export class PodCertificateSigner {
  readonly authority = new TestAuthority('pod-signer');
  /** Every request that it has seen, once each, in the order in which it saw them. */
  readonly seen: SignedRequest[] = [];
  /** Whatever fails, for the test to see. */
  readonly errors: unknown[] = [];
  readonly #api: ApiClient;
  readonly #stop = new AbortController();
  /** Names of those that it has answered: an answer is for good. */
  readonly #answered = new Set<string>();
  #decide: (request: SignedRequest) => Decision = () => 'issue';
  #running: Promise<void> = Promise.resolve();

  private constructor(api: ApiClient) {
    this.#api = api;
  }

  static start(api: ApiClient): PodCertificateSigner {
    const signer = new PodCertificateSigner(api);
    signer.#running = signer.#run();
    return signer;
  }

  requestsOf(podName: string): SignedRequest[] {
    return this.seen.filter(({ spec }) => spec.podName === podName);
  }

  /** From now on, and for those that wait. */
  async decide(decide: (request: SignedRequest) => Decision): Promise<void> {
    this.#decide = decide;
    for (const request of this.seen) await this.#answer(request);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const { metadata, items } = await this.#api.get<{ metadata: { resourceVersion: string }; items: SignedRequest[] }>(path);
        for (const request of items) await this.#take(request);
        const changes = `${path}?resourceVersion=${metadata.resourceVersion}`;
        for await (const { type, object } of this.#api.watch<SignedRequest>(changes, signal)) {
          if (type === 'ADDED') await this.#take(object);
        }
      } catch (err) {
        if (signal.aborted) return;
        this.errors.push(err);
        return;
      }
    }
  }

  async #take(request: SignedRequest): Promise<void> {
    if (this.seen.some(({ metadata }) => metadata.name === request.metadata.name)) return;
    this.seen.push(request);
    await this.#answer(request);
  }

  async #answer(request: SignedRequest): Promise<void> {
    const { namespace, name } = request.metadata;
    const decision = this.#decide(request);
    if (decision === 'wait' || this.#answered.has(name)) return;
    this.#answered.add(name);
    const status = decision === 'issue' ? this.#issue(request) : { conditions: [condition(decision.type, decision)] };
    await this.#api.patch(`/apis/certificates.k8s.io/v1beta1/namespaces/${namespace}/podcertificaterequests/${name}/status`, { status });
  }

  #issue({ spec }: SignedRequest): object {
    const input = Buffer.from(spec.stubPKCS10Request, 'base64');
    const publicKey = createPublicKey(execFileSync('openssl', ['req', '-inform', 'DER', '-noout', '-pubkey'], { input, stdio: 'pipe' }));
    const nowMs = Math.floor(Date.now() / 1000) * 1000;
    const [validFromMs, validToMs] = [nowMs + validity.fromMs, nowMs + validity.toMs];
    const leaf = this.authority.certify(publicKey, { commonName: spec.podName, validFromMs, validToMs });
    return {
      conditions: [condition('Issued', { reason: 'Issued', message: 'as asked' })],
      certificateChain: `the pod's own\n${leaf}${this.authority.cert}`,
      notBefore: wireTime(validFromMs),
      beginRefreshAt: wireTime(nowMs + validity.refreshMs),
      notAfter: wireTime(validToMs),
    };
  }
}

function condition(type: string, why: { readonly reason: string; readonly message: string }): object {
  return { type, status: 'True', reason: why.reason, message: why.message, lastTransitionTime: wireTime(Date.now()) };
}

function wireTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
