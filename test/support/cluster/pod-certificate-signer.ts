/**
 * A signer of pod certificates, as a cluster's operator runs one: it watches PodCertificateRequests and writes the certificate chain, a denial or a
 * failure into their status. The test decides about each request.
 */
import { execFileSync } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import type { ApiClient } from '../../../lab/control-plane/control-plane-api.ts';
import { TestAuthority } from '../api-server/certificates.ts';

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

/** `wait` leaves the request pending until the next call of `decide`. */
export type Decision = 'issue' | 'wait' | { readonly type: 'Denied' | 'Failed'; readonly reason: string; readonly message: string };

const path = '/apis/certificates.k8s.io/v1/podcertificaterequests';
const minuteMs = 60_000;
/** Within the API server's limits: a start at most five minutes ago, a renewal at least ten minutes later, a lifetime of at least an hour. */
const validity = { fromMs: -4 * minuteMs, refreshMs: 7 * minuteMs, toMs: 57 * minuteMs };

export class PodCertificateSigner {
  readonly authority = new TestAuthority('pod-signer');
  /** Every received request once, in order. */
  readonly received: SignedRequest[] = [];
  /** Errors of the signer, which the test asserts. */
  readonly errors: unknown[] = [];
  readonly #api: ApiClient;
  readonly #stop = new AbortController();
  /** Names of the requests with a final status. */
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
    return this.received.filter(({ spec }) => spec.podName === podName);
  }

  /** Sets the decision for new and pending requests. */
  async decide(decide: (request: SignedRequest) => Decision): Promise<void> {
    this.#decide = decide;
    for (const request of this.received) await this.#answer(request);
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
    if (this.received.some(({ metadata }) => metadata.name === request.metadata.name)) return;
    this.received.push(request);
    await this.#answer(request);
  }

  async #answer(request: SignedRequest): Promise<void> {
    const { namespace, name } = request.metadata;
    const decision = this.#decide(request);
    if (decision === 'wait' || this.#answered.has(name)) return;
    this.#answered.add(name);
    const status = decision === 'issue' ? this.#issue(request) : { conditions: [condition(decision.type, decision)] };
    await this.#api.patch(`/apis/certificates.k8s.io/v1/namespaces/${namespace}/podcertificaterequests/${name}/status`, { status });
  }

  #issue({ spec }: SignedRequest): object {
    const input = Buffer.from(spec.stubPKCS10Request, 'base64');
    const publicKey = createPublicKey(execFileSync('openssl', ['req', '-inform', 'DER', '-noout', '-pubkey'], { input, stdio: 'pipe' }));
    const nowMs = Math.floor(Date.now() / 1000) * 1000;
    const [validFromMs, validToMs] = [nowMs + validity.fromMs, nowMs + validity.toMs];
    const leaf = this.authority.certify(publicKey, { commonName: spec.podName, validFromMs, validToMs });
    return {
      conditions: [condition('Issued', { reason: 'Issued', message: 'as requested' })],
      certificateChain: `the pod's own\n${leaf}${this.authority.cert}`,
      notBefore: wireTime(validFromMs),
      beginRefreshAt: wireTime(nowMs + validity.refreshMs),
      notAfter: wireTime(validToMs),
    };
  }
}

function condition(type: string, { reason, message }: { readonly reason: string; readonly message: string }): object {
  return { type, status: 'True', reason, message, lastTransitionTime: wireTime(Date.now()) };
}

function wireTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
