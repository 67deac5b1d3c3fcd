/**
 * An API server without validation: it serves objects as the test sets them, however hostile, and accepts what a kubelet writes. It
 * serves the shipped command over HTTP with what one node needs: watches with initial events, the Node, its
 * lease, statuses, tokens, events. It has no objects of other kinds.
 */
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestHooks } from '../runtime/simulated-runtime.ts';

type Fields = Record<string, unknown>;
interface StoredObject extends Fields {
  metadata: Fields & { name: string; uid: string; namespace?: string };
  status?: Fields;
}

export class OpenApiServer {
  readonly kubeconfig: string;
  /** By UID. */
  readonly #pods = new Map<string, StoredObject>();
  /** By path. */
  readonly #others = new Map<string, StoredObject>();
  readonly #podWatches = new Set<ServerResponse>();
  readonly #server: Server;
  /** Called with each status that a kubelet writes, and with null when it removes the pod. */
  onPodWrite: (uid: string, status: Fields | null) => void = () => {};
  #version = 100;
  #uids = 0;

  private constructor(server: Server, kubeconfig: string) {
    this.#server = server;
    this.kubeconfig = kubeconfig;
  }

  static async start(t: TestHooks, folder: string): Promise<OpenApiServer> {
    const kubeconfig = join(folder, 'kubeconfig');
    const api: OpenApiServer = new OpenApiServer(
      createServer((request, response) => void api.#answer(request, response)),
      kubeconfig,
    );
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve));
    const { port } = api.#server.address() as AddressInfo;
    const cluster = { name: 'c', cluster: { server: `http://127.0.0.1:${port}` } };
    const context = { name: 'c', context: { cluster: 'c', user: 'u' } };
    const users = [{ name: 'u', user: {} }];
    writeFileSync(
      kubeconfig,
      JSON.stringify({ apiVersion: 'v1', kind: 'Config', clusters: [cluster], users, contexts: [context], 'current-context': 'c' }),
    );
    t.after(async () => {
      api.#server.closeAllConnections();
      await new Promise((resolve) => api.#server.close(resolve));
    });
    return api;
  }

  /** Sets the pod, and sends it to every watch. */
  put(pod: Fields): void {
    const uid = String((pod['metadata'] as Fields | null | undefined)?.['uid']);
    const isNew = !this.#pods.has(uid);
    this.#pods.set(uid, this.#versioned(pod as StoredObject));
    this.#broadcast(isNew ? 'ADDED' : 'MODIFIED', this.#pods.get(uid)!);
  }

  /** Deletes the pod gracefully: it disappears when the kubelet has terminated it. A later call may only shorten the grace period. */
  delete(uid: string, graceSeconds = 1): void {
    const pod = this.#pods.get(uid);
    if (!isObject(pod?.metadata)) return this.remove(uid);
    const before = pod.metadata['deletionGracePeriodSeconds'];
    if (typeof before === 'number' && before <= graceSeconds) return;
    const deletionTimestamp = new Date(Date.now() + graceSeconds * 1000).toISOString().replace(/\.\d+/, '');
    this.put({ ...pod, metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds } });
  }

  /** Removes the pod without a grace period. */
  remove(uid: string): void {
    const pod = this.#pods.get(uid);
    if (!pod) return;
    this.#pods.delete(uid);
    this.#broadcast('DELETED', this.#versioned(pod));
  }

  pod(uid: string): StoredObject | undefined {
    return this.#pods.get(uid);
  }

  #versioned(object: StoredObject): StoredObject {
    this.#version += 1;
    const { metadata } = object;
    return isObject(metadata) ? { ...object, metadata: { ...metadata, resourceVersion: String(this.#version) } } : object;
  }

  #broadcast(type: string, object: unknown): void {
    for (const watch of this.#podWatches) watch.write(`${JSON.stringify({ type, object })}\n`);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = text === '' ? {} : (JSON.parse(text) as Fields);
    if (url.searchParams.get('watch') !== null) return this.#watch(url.pathname, response);
    const answer = url.pathname.includes('/pods')
      ? this.#pod(request.method ?? '', url.pathname, body)
      : this.#other(request.method ?? '', url.pathname, body);
    const { code, object } = answer ?? {
      code: 404,
      object: { kind: 'Status', status: 'Failure', code: 404, reason: 'NotFound', message: 'not found' },
    };
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(object));
  }

  #watch(path: string, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    const isPods = path === '/api/v1/pods';
    const initial = isPods
      ? [...this.#pods.values()]
      : [...this.#others].filter(([key]) => key.startsWith(`${path}/`)).map(([, object]) => object);
    const metadata = { resourceVersion: String(this.#version), annotations: { 'k8s.io/initial-events-end': 'true' } };
    for (const object of initial) response.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
    response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`);
    if (!isPods) return;
    this.#podWatches.add(response);
    response.on('close', () => this.#podWatches.delete(response));
  }

  #pod(method: string, path: string, body: Fields): { code: number; object: unknown } | null {
    const name = decodeURIComponent(path.split('/')[6] ?? '');
    if (method === 'POST' && name === '') return { code: 201, object: this.#create(body) };
    const pod = [...this.#pods.values()].find(({ metadata }) => metadata?.name === name);
    if (!pod) return null;
    if (method === 'GET') return { code: 200, object: pod };
    if (method === 'DELETE') {
      this.remove(pod.metadata.uid);
      this.onPodWrite(pod.metadata.uid, null);
      return { code: 200, object: pod };
    }
    const status = mergeStatus(pod.status ?? {}, (body['status'] ?? {}) as Fields);
    this.put({ ...pod, status });
    this.onPodWrite(pod.metadata.uid, status);
    return { code: 200, object: this.#pods.get(pod.metadata.uid) };
  }

  #create(body: Fields): StoredObject {
    this.#uids += 1;
    const uid = `created-${this.#uids}`;
    this.put({ ...body, metadata: { ...(body['metadata'] as Fields), uid } });
    return this.#pods.get(uid)!;
  }

  /** Stores every written object under the path from which it is read. */
  #other(method: string, path: string, body: Fields): { code: number; object: unknown } | null {
    if (path.endsWith('/token')) {
      const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString();
      return { code: 201, object: { ...body, status: { token: 'a-token', expirationTimestamp } } };
    }
    if (path.endsWith('/events')) return { code: 201, object: body };
    const metadata = body['metadata'] as StoredObject['metadata'] | undefined;
    const key = method === 'POST' ? `${path}/${metadata?.name ?? ''}` : path.replace(/\/status$/, '');
    const known = this.#others.get(key);
    if (method === 'GET') return known ? { code: 200, object: known } : null;
    if (method === 'DELETE' || (method !== 'POST' && !known)) return null;
    const merged = { ...known, ...body, metadata: { uid: `uid-of-${key}`, ...known?.metadata, ...metadata } } as StoredObject;
    if (known) merged.status = { ...known.status, ...(body['status'] as Fields | undefined) };
    this.#others.set(key, this.#versioned(merged));
    return { code: method === 'POST' ? 201 : 200, object: this.#others.get(key) };
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mergeStatus(before: Fields, patch: Fields): Fields {
  const next = typeof before === 'object' && !Array.isArray(before) ? { ...before } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete next[field];
    else if (field === 'conditions') next[field] = mergeByType(next[field], value as Fields[]);
    else next[field] = Array.isArray(value) ? value.filter((element: Fields) => element['$patch'] === undefined) : value;
  }
  return next;
}

function mergeByType(before: unknown, patch: readonly Fields[]): Fields[] {
  const merged = new Map((Array.isArray(before) ? (before as Fields[]) : []).map((entry) => [entry?.['type'], entry]));
  for (const entry of patch) merged.set(entry['type'], { ...merged.get(entry['type']), ...entry });
  return [...merged.values()];
}
