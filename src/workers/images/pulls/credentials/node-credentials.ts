/**
 * Reads the node's registry credentials, which apply to every pod, from a Docker config in one of the standard directories (upstream
 * defaultDockerConfigProvider).
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../../shared/log/logger.ts';
import type { Clock } from '../../../../shared/time/clock.ts';
import { parseDockerConfigJSON, parseDockercfg, type DockerConfig } from '../../../../shared/registry-credentials/docker-config.ts';

export interface NodeCredentialsOptions {
  readonly rootDir: string;
  /** Defaults to the home directory of the daemon's user. */
  readonly homeDir?: string;
  readonly workingDir?: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Bounds the delay until a changed file takes effect. */
const lifetimeMs = 5 * 60_000;
const maxFileBytes = 10 * 1024 * 1024;

export class NodeCredentials {
  readonly #locations: readonly { readonly path: string; readonly parse: (text: string) => DockerConfig }[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  #config: DockerConfig = new Map();
  #expiresAtMs = -Infinity;
  #reading: Promise<DockerConfig> | null = null;

  constructor({ rootDir, homeDir = homedir(), workingDir = process.cwd(), clock, logger }: NodeCredentialsOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#locations = [
      ...[rootDir, workingDir, join(homeDir, '.docker'), '/.docker'].map((dir) => ({
        path: join(dir, 'config.json'),
        parse: parseDockerConfigJSON,
      })),
      ...[rootDir, workingDir, homeDir, '/'].map((dir) => ({ path: join(dir, '.dockercfg'), parse: parseDockercfg })),
    ];
  }

  /** Empty on most nodes. Never rejects. */
  async current(): Promise<DockerConfig> {
    if (this.#clock.monotonic() < this.#expiresAtMs) return this.#config;
    this.#reading ??= this.#read().finally(() => (this.#reading = null));
    return this.#reading;
  }

  /** Uses the first readable file. */
  async #read(): Promise<DockerConfig> {
    this.#config = new Map();
    for (const { path, parse } of this.#locations) {
      try {
        const content = await readFile(path);
        if (content.length > maxFileBytes) throw new Error(`it has more than ${maxFileBytes} bytes`);
        this.#config = parse(content.toString('utf8'));
        break;
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code !== 'ENOENT')
          this.#logger.warn({ path, err: messageOf(err) }, 'Failed to read registry credentials of the node');
      }
    }
    this.#expiresAtMs = this.#clock.monotonic() + lifetimeMs;
    return this.#config;
  }
}
