/**
 * A registry with authentication and one image: the local busybox, under every requested repository. On 127.0.0.1 runtimes use plain HTTP
 * without configuration.
 */
import { execFileSync } from 'node:child_process';
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestHooks } from '../runtime/simulated-runtime.ts';

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
}

const pathPattern = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/;

export class PrivateRegistry {
  /** `127.0.0.1:5000` */
  readonly host: string;
  /** Requests for manifests by tag, with the user: `me team/app:1`. */
  readonly pulls: string[] = [];
  readonly #folder: string;
  readonly #logins: ReadonlyMap<string, string>;
  #delay: Promise<unknown> = Promise.resolve();
  readonly #openRequests = new Map<string, number>();
  #maxConcurrentPulls = 0;

  private constructor(host: string, folder: string, logins: Readonly<Record<string, string>>) {
    this.host = host;
    this.#folder = folder;
    this.#logins = new Map(Object.entries(logins));
  }

  /** `archive` is an OCI archive of one image. `logins` maps users to passwords. */
  static async start(t: TestHooks, archive: string, logins: Readonly<Record<string, string>>): Promise<PrivateRegistry> {
    const folder = mkdtempSync(join(tmpdir(), 'registry-'));
    execFileSync('tar', ['-xf', archive, '-C', folder]);
    const server = createServer((request, response) => {
      registry.#count(request, response);
      void registry.#answer(request, response).catch(() => response.destroy());
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const registry = new PrivateRegistry(`127.0.0.1:${(server.address() as AddressInfo).port}`, folder, logins);
    t.after(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    });
    return registry;
  }

  /** Delays all responses until the promise settles. */
  delayUntil(promise: Promise<unknown>): void {
    this.#delay = promise;
  }

  /** The highest number of repositories with concurrent pulls. */
  get maxConcurrentPulls(): number {
    return this.#maxConcurrentPulls;
  }

  #count({ url }: IncomingMessage, response: ServerResponse): void {
    const repository = pathPattern.exec(url ?? '')?.[1];
    if (repository === undefined) return;
    this.#openRequests.set(repository, (this.#openRequests.get(repository) ?? 0) + 1);
    this.#maxConcurrentPulls = Math.max(this.#maxConcurrentPulls, this.#openRequests.size);
    response.once('close', () => {
      const remaining = (this.#openRequests.get(repository) ?? 1) - 1;
      if (remaining > 0) this.#openRequests.set(repository, remaining);
      else this.#openRequests.delete(repository);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await this.#delay;
    const user = this.#userOf(request);
    if (user === undefined) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="private"' }).end();
      return;
    }
    const [, repository = '', kind, reference = ''] = pathPattern.exec(request.url ?? '') ?? [];
    if (kind === undefined) {
      response.writeHead(request.url === '/v2/' ? 200 : 404).end();
      return;
    }
    const isTag = kind === 'manifests' && !reference.startsWith('sha256:');
    if (isTag) this.pulls.push(`${user} ${repository}:${reference}`);
    const { digest, mediaType } = isTag ? this.#manifest() : { digest: reference, mediaType: 'application/octet-stream' };
    const path = join(this.#folder, 'blobs/sha256', digest.replace(/^sha256:/, ''));
    if (!/^sha256:[0-9a-f]{64}$/.test(digest) || !existsSync(path)) {
      response.writeHead(404).end();
      return;
    }
    // The image has one manifest, so a request by digest is for this manifest.
    const type = kind === 'manifests' ? this.#manifest().mediaType : mediaType;
    response.writeHead(200, { 'content-type': type, 'content-length': statSync(path).size, 'docker-content-digest': digest });
    if (request.method === 'HEAD') response.end();
    else createReadStream(path).pipe(response);
  }

  #manifest(): Descriptor {
    const index = JSON.parse(readFileSync(join(this.#folder, 'index.json'), 'utf8')) as { manifests: [Descriptor] };
    return index.manifests[0];
  }

  #userOf({ headers }: IncomingMessage): string | undefined {
    const [scheme, credentials = ''] = (headers.authorization ?? '').split(' ');
    const [user = '', password = ''] = Buffer.from(credentials, 'base64').toString().split(':');
    return scheme === 'Basic' && this.#logins.get(user) === password && password !== '' ? user : undefined;
  }
}
