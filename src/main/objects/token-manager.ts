/**
 * Requests and caches service account tokens of pods until they are due for renewal (upstream pkg/kubelet/token). Upstream checks the token in
 * each sync; here a timer requests a sync of the pod when its token is due.
 */
import type { GrantedToken, TokenRef } from '../../shared/contracts/pod-objects.ts';
import { KubeletError, messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { withJitter } from '../../shared/time/backoff.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { ApiError, apiPath, type ApiClient } from '../api/index.ts';
import { reusableTokenExpiryMs } from './token-claims.ts';
import { renewAtMs } from './token-lifetime.ts';

export interface TokenManagerOptions {
  readonly client: ApiClient;
  /** Called when a token of the pod is due for renewal: the pod's next sync renews it. */
  readonly onDue: (podUID: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1). */
  readonly random: () => number;
}

interface TokenRequest {
  readonly spec?: { readonly expirationSeconds?: number };
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}

interface Token {
  readonly token: string;
  readonly expiresAtMs: number;
  readonly renewAtMs: number;
}

interface Entry {
  readonly ref: TokenRef;
  token?: Token;
  pendingRequest?: Promise<Token>;
  cancelTimer: () => void;
}

const deadlineMs = 10_000;
/** The API server may not know the pod or its binding to this node yet; that usually takes milliseconds. */
const retryDelaysMs = [50, 150, 400];
/** The delay before the next renewal while the current token is valid. */
const renewRetryMs = 60_000;
/** Tokens that were adopted from disk are renewed within this time, so that a start does not cause all renewals at once: about one a second. */
const adoptedForMs = { min: 60_000, max: 300_000 };
/** If the node's clock is ahead, every new token is due at once: a shorter timer than this is replaced by `renewRetryMs`. */
const minTimerMs = 10_000;

export class TokenManager {
  readonly #options: TokenManagerOptions;
  /** By pod UID, then by the requested token's properties. */
  readonly #pods = new Map<string, Map<string, Entry>>();

  constructor(options: TokenManagerOptions) {
    this.#options = options;
  }

  /** Requests the token before the pod's sync needs it. */
  prefetch(ref: TokenRef): void {
    this.get(ref).catch((err: unknown) =>
      this.#options.logger.debug({ podUID: ref.podUID, err: messageOf(err) }, 'Could not prefetch a token'),
    );
  }

  /** Resolves with a valid token; with the current one if the renewal fails. Rejects with KubeletError with the API server's reason. */
  async get(ref: TokenRef): Promise<string> {
    return (await this.grant(ref)).token;
  }

  /** As `get`, with the token's expiry. */
  async grant(ref: TokenRef): Promise<GrantedToken> {
    const { clock, logger } = this.#options;
    const entry = this.#entry(ref);
    const token = entry.token ?? this.#adopt(entry, ref);
    if (token && clock.now() <= token.renewAtMs) return token;
    try {
      entry.pendingRequest ??= this.#requestWithRetries(entry, token ? [] : retryDelaysMs).finally(() => delete entry.pendingRequest);
      return await entry.pendingRequest;
    } catch (err) {
      const reason = err instanceof KubeletError ? err.reason : 'InternalError';
      if (!token) throw new KubeletError(reason, `failed to fetch token: ${messageOf(err)}`, { cause: err });
      if (clock.now() > token.expiresAtMs) {
        const name = `${JSON.stringify(ref.serviceAccountName)}/${JSON.stringify(ref.namespace)}`;
        throw new KubeletError(reason, `token ${name} expired and refresh failed: ${messageOf(err)}`, { cause: err });
      }
      logger.warn({ podUID: ref.podUID, serviceAccount: ref.serviceAccountName, err: messageOf(err) }, "Couldn't update token");
      this.#setTimer(entry, clock.now() + withJitter(renewRetryMs, 0.5, this.#options.random));
      return token;
    }
  }

  /** Called when the pod is gone: drops its tokens. */
  forget(podUID: string): void {
    for (const { cancelTimer } of this.#pods.get(podUID)?.values() ?? []) cancelTimer();
    this.#pods.delete(podUID);
  }

  close(): void {
    for (const podUID of this.#pods.keys()) this.forget(podUID);
  }

  /**
   * Adopts the token that an earlier kubelet wrote to the volume, unless it is due for renewal. It is renewed in the next minutes: its service account may have
   * been created again meanwhile, and then the API server refuses it.
   */
  #adopt(entry: Entry, ref: TokenRef): Token | undefined {
    const { clock, random } = this.#options;
    const expiresAtMs = ref.onDisk === undefined || entry.pendingRequest ? undefined : reusableTokenExpiryMs(ref.onDisk, ref);
    if (ref.onDisk === undefined || expiresAtMs === undefined) return undefined;
    const dueAtMs = renewAtMs({ expiresAtMs, expirationSeconds: ref.expirationSeconds }, random());
    if (clock.now() > dueAtMs) return undefined;
    const soonMs = clock.now() + adoptedForMs.min + random() * (adoptedForMs.max - adoptedForMs.min);
    const token = { token: ref.onDisk, expiresAtMs, renewAtMs: Math.min(dueAtMs, soonMs) };
    entry.token = token;
    this.#setTimer(entry, token.renewAtMs + 1);
    return token;
  }

  #entry(ref: TokenRef): Entry {
    const entries = this.#pods.get(ref.podUID) ?? new Map<string, Entry>();
    this.#pods.set(ref.podUID, entries);
    const key = JSON.stringify([
      ref.namespace,
      ref.serviceAccountName,
      ref.podName,
      ref.audience,
      ref.expirationSeconds,
      ref.serviceAccountUID,
    ]);
    const entry = entries.get(key) ?? { ref, cancelTimer: () => {} };
    entries.set(key, entry);
    return entry;
  }

  async #requestWithRetries(entry: Entry, delaysMs: readonly number[]): Promise<Token> {
    const { clock } = this.#options;
    for (const delayMs of delaysMs) {
      try {
        return await this.#request(entry);
      } catch (err) {
        if (!(err instanceof ApiError) || (err.code !== 403 && err.code !== 404)) throw err;
        await clock.sleep(delayMs);
      }
    }
    return this.#request(entry);
  }

  async #request(entry: Entry): Promise<Token> {
    const { client, random } = this.#options;
    const { namespace, serviceAccountName, podName, podUID, audience, expirationSeconds, serviceAccountUID } = entry.ref;
    const response = await client.call<TokenRequest>({
      method: 'POST',
      path: apiPath('api', 'v1', 'namespaces', namespace, 'serviceaccounts', serviceAccountName, 'token'),
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        ...(serviceAccountUID !== undefined && { metadata: { uid: serviceAccountUID } }),
        spec: {
          audiences: audience === '' ? [] : [audience],
          expirationSeconds,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: podName, uid: podUID },
        },
      },
      trafficClass: 'objects',
      podUID,
      deadlineMs,
      maxAttempts: 1,
    });
    const { token = '', expirationTimestamp = '' } = response.status ?? {};
    const expiresAtMs = Date.parse(expirationTimestamp);
    if (token === '' || Number.isNaN(expiresAtMs)) throw new Error('the API server answered a token request without a token');
    const granted = { expiresAtMs, expirationSeconds: response.spec?.expirationSeconds ?? expirationSeconds };
    entry.token = { token, expiresAtMs, renewAtMs: renewAtMs(granted, random()) };
    this.#setTimer(entry, entry.token.renewAtMs + 1);
    return entry.token;
  }

  /** Calls `onDue` at this time, unless the pod was forgotten during the request, or the token is for image pulls. */
  #setTimer(entry: Entry, atMs: number): void {
    const { clock, onDue, random } = this.#options;
    entry.cancelTimer();
    const { podUID, serviceAccountUID } = entry.ref;
    if (serviceAccountUID !== undefined) return;
    if (![...(this.#pods.get(podUID)?.values() ?? [])].includes(entry)) return;
    const waitMs = atMs - clock.now();
    entry.cancelTimer = clock.after(waitMs < minTimerMs ? withJitter(renewRetryMs, 0.5, random) : waitMs, () => onDue(podUID));
  }
}
