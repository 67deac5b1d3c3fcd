/** A JSON client of the API server with one connection pool, for scripts, tests and benchmarks. */
import { readFileSync } from 'node:fs';
import { Agent, request, type Dispatcher } from 'undici';
import type { CertificateFiles } from './control-plane-certificates.ts';

export interface ApiClientOptions {
  /** `https://host:port`. */
  readonly url: string;
  readonly caFile: string;
  /** Credentials: a certificate, a bearer token, or neither (anonymous). */
  readonly certificate?: CertificateFiles;
  readonly token?: string;
}

/** An error response (`kind: Status`). */
export class ApiError extends Error {
  readonly status: number;
  /** For example `NotFound`, `Forbidden`, `Conflict`, `Invalid`. */
  readonly reason: string;
  constructor(call: string, status: number, reason: string, message: string) {
    super(`${call}: ${status} ${reason}: ${message}`);
    this.status = status;
    this.reason = reason;
  }
}

export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

export type PatchType = 'merge' | 'strategic-merge' | 'json' | 'apply';

const deadlineMs = 15_000;

export class ApiClient {
  readonly url: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ url, caFile, certificate, token }: ApiClientOptions) {
    this.url = url;
    this.#agent = new Agent({
      connect: {
        ca: readFileSync(caFile),
        ...(certificate && { cert: readFileSync(certificate.certFile), key: readFileSync(certificate.keyFile) }),
      },
    });
    this.#headers = { accept: 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) };
  }

  /** @param path includes the query: `/api/v1/namespaces/default/pods?limit=5`. Rejects with ApiError for every status except 2xx. */
  get<T>(path: string): Promise<T> {
    return this.#json('GET', path);
  }
  /** @param path a collection, or a subresource such as `…/pods/web/eviction` */
  create<T>(path: string, body: object): Promise<T> {
    return this.#json('POST', path, body);
  }
  /**
   * For large objects, which are not decoded. Resolves with the bytes that etcd has of the object.
   * @param body the envelope of Kubernetes' protobuf encoding: what is longer as JSON than the API server takes
   */
  async createProtobuf(path: string, body: Uint8Array): Promise<number> {
    const protobuf = 'application/vnd.kubernetes.protobuf';
    const response = await this.#call('POST', path, body, protobuf, undefined, { accept: protobuf });
    return (await response.body.bytes()).length;
  }
  /** For large objects, which do not come back. */
  async remove(path: string, options: object): Promise<void> {
    await (await this.#call('DELETE', path, options, undefined, undefined, metadataOf('PartialObjectMetadata'))).body.dump();
  }
  /** Returns the names of a collection's objects. */
  async names(path: string): Promise<readonly string[]> {
    const { body } = await this.#call('GET', path, undefined, undefined, undefined, metadataOf('PartialObjectMetadataList'));
    const { items } = (await body.json()) as { readonly items: readonly { readonly metadata: { readonly name: string } }[] | null };
    return (items ?? []).map(({ metadata }) => metadata.name);
  }
  replace<T>(path: string, body: object): Promise<T> {
    return this.#json('PUT', path, body);
  }
  patch<T>(path: string, body: object, type: PatchType = 'merge'): Promise<T> {
    return this.#json('PATCH', path, body, type === 'apply' ? 'application/apply-patch+yaml' : `application/${type}-patch+json`);
  }
  /** `options` are DeleteOptions: `{ gracePeriodSeconds: 0 }`. */
  delete<T>(path: string, options?: object): Promise<T> {
    return this.#json('DELETE', path, options);
  }

  /** Returns a plain text response, for example of `/readyz` or of logs. */
  async text(path: string): Promise<string> {
    return (await this.#call('GET', path)).body.text();
  }

  /** Returns a response that is read as fast as the caller reads it. */
  async stream(path: string, signal: AbortSignal): Promise<AsyncIterator<Uint8Array>> {
    return (await this.#call('GET', path, undefined, undefined, signal)).body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  }

  /** Returns undefined when the object does not exist. */
  async find<T>(path: string): Promise<T | undefined> {
    try {
      return await this.get<T>(path);
    } catch (err) {
      if (err instanceof ApiError && err.status === 404) return undefined;
      throw err;
    }
  }

  /** Yields the events of a collection until the signal or the server ends the watch. @param path without `watch=1` */
  async *watch<T>(path: string, signal: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    const { body } = await this.#call('GET', `${path}${path.includes('?') ? '&' : '?'}watch=1`, undefined, undefined, signal);
    let rest = '';
    const decoder = new TextDecoder();
    try {
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) yield JSON.parse(line) as WatchEvent<T>;
      }
    } catch (err) {
      if (!signal.aborted) throw err;
    }
  }

  /** Closes all connections, because idle ones keep the process alive. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #json<T>(method: Dispatcher.HttpMethod, path: string, body?: object, contentType?: string): Promise<T> {
    return (await (await this.#call(method, path, body, contentType)).body.json()) as T;
  }

  async #call(
    method: Dispatcher.HttpMethod,
    path: string,
    body?: object,
    contentType = 'application/json',
    signal: AbortSignal = AbortSignal.timeout(deadlineMs),
    accept: Readonly<Record<string, string>> = {},
  ): Promise<Dispatcher.ResponseData> {
    const response = await request(`${this.url}${path}`, {
      method,
      signal,
      dispatcher: this.#agent,
      headers: { ...this.#headers, ...accept, ...(body && { 'content-type': contentType }) },
      body: body instanceof Uint8Array ? body : body ? JSON.stringify(body) : null,
      // A watch may be without events for any time.
      bodyTimeout: 0,
    });
    if (response.statusCode < 300) return response;
    const text = await response.body.text();
    throw toApiError(`${method} ${path}`, response.statusCode, text);
  }
}

/** Headers that ask for an object without its spec and status. */
function metadataOf(kind: 'PartialObjectMetadata' | 'PartialObjectMetadataList'): Readonly<Record<string, string>> {
  return { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` };
}

function toApiError(call: string, status: number, text: string): ApiError {
  try {
    const { reason = '', message = '' } = JSON.parse(text) as { reason?: string; message?: string };
    return new ApiError(call, status, reason, message);
  } catch {
    return new ApiError(call, status, '', text);
  }
}
