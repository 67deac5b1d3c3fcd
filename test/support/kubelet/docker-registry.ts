/**
 * Debian's docker-registry with TLS and authentication. It serves one image under each of its repositories. Runtimes reach it by a name
 * that only their `hosts.toml` resolves, with the test's own certificate authority.
 */
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import { stringify } from 'yaml';
import { registriesFolder } from '../../../lab/containerd/containerd-config.ts';
import { TestAuthority } from '../api-server/certificates.ts';
import { waitUntil, type TestHooks } from '../runtime/simulated-runtime.ts';
import { canConnect } from './can-connect.ts';
import type { TestNode } from './test-node.ts';
import { TokenServer } from './token-server.ts';

/** Of registryPassword. */
const bcrypt = '$2b$05$abcdefghijklmnopqrstuuVWu8RjbNovPZWAMRdd7iqaaG0mI53Uu';

export interface DockerRegistryOptions {
  /** The registry's name in images: `basic.test`. */
  readonly name: string;
  /** An OCI archive of one image. */
  readonly archive: string;
  readonly repositories: readonly string[];
  /** `token`: the registry refers clients to a token server, which checks user and password. */
  readonly auth: 'basic' | 'token';
  readonly users: readonly string[];
}

export class DockerRegistry {
  readonly name: string;
  /** The digest of the image's manifest. */
  readonly digest: string;
  readonly #folder: string;
  readonly #port: number;

  private constructor(name: string, digest: string, folder: string, port: number) {
    this.name = name;
    this.digest = digest;
    this.#folder = folder;
    this.#port = port;
  }

  static async start(t: TestHooks, { name, archive, repositories, auth, users }: DockerRegistryOptions): Promise<DockerRegistry> {
    const folder = mkdtempSync(join(tmpdir(), 'docker-registry-'));
    t.after(async () => rmSync(folder, { recursive: true }));
    const digest = fillStorage(join(folder, 'storage'), archive, repositories);
    const authority = new TestAuthority('registry-ca');
    const { cert, key } = authority.issue({ commonName: name, address: '127.0.0.1' });
    for (const [file, text] of Object.entries({ 'ca.pem': authority.cert, 'cert.pem': cert, 'key.pem': key })) {
      writeFileSync(join(folder, file), text);
    }
    writeFileSync(join(folder, 'htpasswd'), users.map((user) => `${user}:${bcrypt}\n`).join(''));
    const tokens = auth === 'token' ? await TokenServer.start(t, { service: name, key, cert, users }) : null;
    const port = await reservePort();
    const config = {
      version: 0.1,
      log: { level: 'info', formatter: 'json' },
      storage: { filesystem: { rootdirectory: join(folder, 'storage') } },
      http: { addr: `127.0.0.1:${port}`, tls: { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem') } },
      auth: tokens
        ? { token: { realm: tokens.realm, service: name, issuer: tokens.issuer, rootcertbundle: join(folder, 'ca.pem') } }
        : { htpasswd: { realm: 'private', path: join(folder, 'htpasswd') } },
    };
    writeFileSync(join(folder, 'config.yml'), stringify(config));
    const log = openSync(join(folder, 'log'), 'a');
    const child = spawn('docker-registry', ['serve', join(folder, 'config.yml')], { stdio: ['ignore', log, log] });
    closeSync(log);
    t.after(async () => {
      if (child.exitCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    await waitUntil(
      () => `docker-registry listens: ${readFileSync(join(folder, 'log'), 'utf8')}`,
      () => canConnect(port),
    );
    return new DockerRegistry(name, digest, folder, port);
  }

  /** Makes the node's containerd reach the registry by its name. Without `ca` it does not trust the registry's certificate. */
  addTo(node: TestNode, { ca = true }: { readonly ca?: boolean } = {}): void {
    const folder = join(registriesFolder(join(node.folder, 'containerd')), this.name);
    mkdirSync(folder, { recursive: true });
    const url = `https://127.0.0.1:${this.#port}`;
    const trust = ca ? `  ca = "${join(this.#folder, 'ca.pem')}"\n` : '';
    writeFileSync(join(folder, 'hosts.toml'), `server = "${url}"\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n${trust}`);
  }

  /** The number of authorized requests for manifests of this repository. */
  requestsFor(repository: string): number {
    const lines = readFileSync(join(this.#folder, 'log'), 'utf8').split('\n');
    const entries = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Record<string, unknown>);
    return entries.filter(
      (entry) => entry['msg'] === 'authorized request' && entry['vars.name'] === repository && 'vars.reference' in entry,
    ).length;
  }
}

/** Writes the files of the registry's filesystem driver. Returns the digest of the manifest. */
function fillStorage(folder: string, archive: string, repositories: readonly string[]): string {
  const layout = mkdtempSync(join(tmpdir(), 'registry-image-'));
  try {
    execFileSync('tar', ['-xf', archive, '-C', layout]);
    const blob = (digest: string) => readFileSync(join(layout, 'blobs/sha256', digest.slice('sha256:'.length)));
    const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as { manifests: [{ digest: string }] };
    const [{ digest }] = index.manifests;
    const manifest = JSON.parse(blob(digest).toString()) as { config: { digest: string }; layers: { digest: string }[] };
    const layers = [manifest.config, ...manifest.layers].map((each) => each.digest);
    const root = join(folder, 'docker/registry/v2');
    const write = (path: string, content: string | Buffer) => {
      mkdirSync(join(root, path, '..'), { recursive: true });
      writeFileSync(join(root, path), content);
    };
    for (const each of [digest, ...layers]) {
      const hex = each.slice('sha256:'.length);
      write(`blobs/sha256/${hex.slice(0, 2)}/${hex}/data`, blob(each));
    }
    for (const repository of repositories) {
      for (const each of layers) write(`repositories/${repository}/_layers/${each.replace(':', '/')}/link`, each);
      const manifests = `repositories/${repository}/_manifests`;
      write(`${manifests}/revisions/${digest.replace(':', '/')}/link`, digest);
      write(`${manifests}/tags/1/current/link`, digest);
      write(`${manifests}/tags/1/index/${digest.replace(':', '/')}/link`, digest);
    }
    return digest;
  } finally {
    rmSync(layout, { recursive: true });
  }
}
