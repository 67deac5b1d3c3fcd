/** The cached logins of one plugin, until their time is over (upstream getCachedCredentials). */
import type { Clock } from '../../../../../shared/time/clock.ts';
import type { DockerConfig } from '../../../../../shared/registry-credentials/docker-config.ts';
import type { PluginResponse } from './plugin-messages.ts';

/** Bounds the memory for a plugin that caches by image. The oldest entry is dropped. */
const maxEntries = 1000;

export class CredentialCache {
  readonly #clock: Clock;
  readonly #entries = new Map<string, { readonly logins: DockerConfig; readonly expiresAtMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `account` distinguishes the service accounts of a plugin with tokens; it is empty for other plugins. */
  get(image: string, account: string): DockerConfig | undefined {
    for (const type of ['Image', 'Registry', 'Global'] as const) {
      const key = keyOf(type, image, account);
      const entry = this.#entries.get(key);
      if (entry && this.#clock.monotonic() <= entry.expiresAtMs) return entry.logins;
      this.#entries.delete(key);
    }
    return undefined;
  }

  add(type: PluginResponse['cacheKeyType'], image: string, account: string, logins: DockerConfig, durationMs: number): void {
    const nowMs = this.#clock.monotonic();
    const key = keyOf(type, image, account);
    this.#entries.delete(key);
    if (this.#entries.size >= maxEntries) {
      for (const [other, { expiresAtMs }] of this.#entries) if (expiresAtMs < nowMs) this.#entries.delete(other);
      const [oldest] = this.#entries.keys();
      if (this.#entries.size >= maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    }
    this.#entries.set(key, { logins, expiresAtMs: nowMs + durationMs });
  }
}

function keyOf(type: PluginResponse['cacheKeyType'], image: string, account: string): string {
  const subject = { Image: image, Registry: image.split('/', 1)[0], Global: '' }[type];
  return JSON.stringify([type, subject, account]);
}
