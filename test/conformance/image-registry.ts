/** A read-only registry on loopback that stands in for registry.k8s.io, with the images that were built here. containerd really pulls them. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}
interface Index {
  readonly manifests: readonly [Descriptor];
}
interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

const pathPattern = /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)$/;

export class ImageRegistry {
  /** `http://127.0.0.1:5000` */
  readonly url: string;
  readonly #server: Server;

  private constructor(url: string, server: Server) {
    this.url = url;
    this.#server = server;
  }

  /**
   * @param folder OCI layouts are unpacked here
   * @param images OCI archives by reference without the registry: `e2e-test-images/agnhost:2.66.1`
   */
  static async start(folder: string, images: ReadonlyMap<string, string>): Promise<ImageRegistry> {
    mkdirSync(folder, { recursive: true });
    const manifests = new Map<string, Descriptor>();
    for (const [reference, archive] of images) {
      execFileSync('tar', ['-xf', archive, '-C', folder]);
      const [manifest] = (readJson(join(folder, 'index.json')) as Index).manifests;
      const repository = reference.slice(0, reference.lastIndexOf(':'));
      manifests.set(reference, manifest).set(`${repository}:${manifest.digest}`, manifest);
    }
    const server = createServer((request, response) => answer(folder, manifests, request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ImageRegistry(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function answer(folder: string, manifests: ReadonlyMap<string, Descriptor>, request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '').replace(/\?.*$/, '');
  const [, repository, kind, reference = ''] = pathPattern.exec(path) ?? [];
  const manifest = manifests.get(`${repository}:${reference}`);
  const digest = kind === 'manifests' ? manifest?.digest : reference;
  const blob = digest !== undefined && /^sha256:[0-9a-f]{64}$/.test(digest) ? blobPath(folder, digest) : '';
  if (kind === undefined || !existsSync(blob)) {
    response.writeHead(path === '/v2/' ? 200 : 404).end();
    return;
  }
  const type = kind === 'manifests' ? manifest?.mediaType : 'application/octet-stream';
  response.writeHead(200, { 'content-type': type, 'content-length': statSync(blob).size, 'docker-content-digest': digest });
  if (request.method === 'HEAD') response.end();
  else
    createReadStream(blob)
      .on('error', () => response.destroy())
      .pipe(response);
}

/**
 * Writes an image as the files that agnhost's fake-registry-server serves: a list of manifests with one for this platform, named by
 * `<kind>/sha256/<first two digits>/<digest>/data`, and a file per tag that contains a digest.
 */
export function writeRegistryTree(archive: string, work: string, tree: string, tag: string): void {
  mkdirSync(work, { recursive: true });
  execFileSync('tar', ['-xf', archive, '-C', work]);
  const [descriptor] = (readJson(join(work, 'index.json')) as Index).manifests;
  // umoci leaves out the media type, from which the server takes the content type.
  const manifest = { ...(readJson(blobPath(work, descriptor.digest)) as Manifest), mediaType: descriptor.mediaType };
  const { digest, size } = writeTreeFile(join(tree, 'manifests'), JSON.stringify(manifest));
  const platform = { os: 'linux', architecture: { x64: 'amd64' }[process.arch as string] ?? process.arch };
  const mediaType = 'application/vnd.oci.image.index.v1+json';
  const list = { schemaVersion: 2, mediaType, manifests: [{ mediaType: descriptor.mediaType, digest, size, platform }] };
  writeFileSync(join(tree, 'manifests', tag), writeTreeFile(join(tree, 'manifests'), JSON.stringify(list)).digest);
  for (const each of [manifest.config, ...manifest.layers]) writeTreeFile(join(tree, 'blobs'), readFileSync(blobPath(work, each.digest)));
}

function writeTreeFile(folder: string, content: string | Buffer): { readonly digest: string; readonly size: number } {
  const hash = createHash('sha256').update(content).digest('hex');
  const target = join(folder, 'sha256', hash.slice(0, 2), hash);
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'data'), content);
  return { digest: `sha256:${hash}`, size: Buffer.byteLength(content) };
}

function blobPath(folder: string, digest: string): string {
  return join(folder, 'blobs/sha256', digest.replace(/^sha256:/, ''));
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
