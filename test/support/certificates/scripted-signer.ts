/** The certificate requests of an API server, over a FakeApi, and a signer that does what the test decides. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { SigningRequest } from '../../../src/main/certificates/request/signing-request.ts';
import * as der from '../../../src/shared/x509/der.ts';
import { elements } from '../../../src/shared/x509/read-der.ts';
import { TestAuthority, type CertificateRequest } from '../api-server/certificates.ts';
import { apiError, FakeApi } from '../api-server/fake-api.ts';

export const requestsPath = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

export class ScriptedSigner {
  readonly api = new FakeApi();
  readonly authority = new TestAuthority('ca');
  /** Every created request, in order. */
  readonly created: SigningRequest[] = [];
  readonly #stored = new Map<string, SigningRequest>();

  constructor() {
    this.api.on('POST', requestsPath, ({ body }: { body: SigningRequest & { metadata: { generateName?: string } } }) => {
      const name = body.metadata.name ?? `${body.metadata.generateName}${this.created.length}`;
      if (this.#stored.has(name)) return apiError(409, 'AlreadyExists');
      const request: SigningRequest = { ...body, metadata: { name, uid: `uid-${this.created.length}` } };
      this.created.push(request);
      this.#stored.set(name, request);
      return request;
    });
    this.api.on('GET', requestsPath, ({ query }: { query: { fieldSelector: string } }) => ({
      metadata: { resourceVersion: '1' },
      items: [...this.#stored.values()].filter(({ metadata }) => query.fieldSelector === `metadata.name=${metadata.name}`),
    }));
    this.api.on('GET', /certificatesigningrequests\//, ({ path }: { path: string }) => this.#stored.get(path.split('/').at(-1)!));
  }

  get last(): SigningRequest {
    return this.created.at(-1)!;
  }

  /** Sets the status of the last request and notifies its open watches. */
  answer(status: SigningRequest['status'], { metadata } = this.last): void {
    const request = { ...this.#stored.get(metadata.name)!, ...(status && { status }) };
    this.#stored.set(metadata.name, request);
    this.#push('MODIFIED', request);
  }

  /** Issues a certificate for the last request. */
  issue(fields: CertificateRequest): void {
    this.answer({ conditions: [{ type: 'Approved' }], certificate: this.certificate(fields) });
  }

  /** Base64 of PEM, for the key of the last request. */
  certificate(fields: CertificateRequest): string {
    return Buffer.from(this.authority.certify(publicKeyOf(this.last), fields)).toString('base64');
  }

  deny(): void {
    this.answer({ conditions: [{ type: 'Denied', reason: 'Policy', message: 'not here' }] });
  }

  delete({ metadata } = this.last): void {
    const request = this.#stored.get(metadata.name);
    this.#stored.delete(metadata.name);
    this.#push('DELETED', request);
  }

  #push(type: 'MODIFIED' | 'DELETED', request: unknown): void {
    for (const watch of this.api.watches) if (watch.isOpen) watch.push(type, request);
  }
}

export function publicKeyOf({ spec }: SigningRequest): KeyObject {
  const [, , spki] = bodyOf(spec.request);
  return createPublicKey({ key: der.sequence(spki!.content), format: 'der', type: 'spki' });
}

/** The bytes of the request, whose strings are readable. */
export function textOf({ spec }: SigningRequest): string {
  return derOf(spec.request).toString('latin1');
}

function bodyOf(request: string) {
  const [outer] = elements(derOf(request));
  const [body] = elements(outer!.content);
  return elements(body!.content);
}

function derOf(request: string): Buffer {
  const pem = Buffer.from(request, 'base64').toString();
  return Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
}
