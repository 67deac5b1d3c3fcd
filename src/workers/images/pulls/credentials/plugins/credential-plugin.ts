/**
 * One credential provider: runs its plugin for the images that it matches, and caches the logins (upstream pkg/credentialprovider/plugin,
 * pluginProvider and execPlugin). A failure is an error in the log; the pull continues with the other credentials.
 */
import { createHash } from 'node:crypto';
import type { CredentialProvider, PullTokenReply, PullTokenRequest } from '../../../../../shared/contracts/credential-providers.ts';
import { messageOf } from '../../../../../shared/errors/kubelet-error.ts';
import { registryMatches } from '../../../../../shared/registry-credentials/registry-match.ts';
import type { PluginCommand, PluginExit } from '../../../../../shared/linux/run-plugin.ts';
import type { Logger } from '../../../../../shared/log/logger.ts';
import { pluginDuration, pluginErrors } from '../../../../../shared/metrics/definitions/images.ts';
import type { Clock } from '../../../../../shared/time/clock.ts';
import { SharedQueue } from '../../shared-queue.ts';
import type { DockerConfig } from '../../../../../shared/registry-credentials/docker-config.ts';
import type { CredentialSource, ObjectCoordinates } from '../../../../../shared/registry-credentials/keyring.ts';
import { CredentialCache } from './credential-cache.ts';
import { encodeRequest, parseResponse, type PluginRequest, type PluginResponse } from './plugin-messages.ts';

/** The pod that a pull is for. */
export interface PullingPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Empty: none, as for static pods. */
  readonly serviceAccountName: string;
}

export interface CredentialPluginOptions {
  readonly provider: CredentialProvider;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly run: (command: PluginCommand, signal: AbortSignal) => Promise<PluginExit>;
  readonly pullToken: (request: PullTokenRequest) => Promise<PullTokenReply>;
  /** Ends the running plugins. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The service account for which a plugin runs. */
interface Account {
  readonly coordinates: ObjectCoordinates;
  readonly annotations: Readonly<Record<string, string>>;
  readonly token: string;
  readonly tokenHash: string;
  readonly cacheKey: string;
}

/** Bounds the processes of a plugin that hangs: for each image, it occupies one for a minute. */
const maxProcesses = 16;
/** For a plugin that gets no service account. */
const noAccount = { token: '', tokenHash: '', annotations: {}, cacheKey: '' };

export class CredentialPlugin {
  readonly #options: CredentialPluginOptions;
  readonly #cache: CredentialCache;
  readonly #runs: SharedQueue<PluginResponse>;

  constructor(options: CredentialPluginOptions) {
    const { clock } = options;
    this.#options = options;
    this.#cache = new CredentialCache(clock);
    this.#runs = new SharedQueue({ limit: maxProcesses, maxHoldMs: null, clock });
  }

  /** Returns the logins for the repository. Undefined: none. Never rejects. */
  async provide(image: string, pod: PullingPod): Promise<CredentialSource | undefined> {
    const { provider, logger } = this.#options;
    if (!provider.matchImages.some((pattern) => registryMatches(pattern, image))) return undefined;
    try {
      return await this.#provide(image, pod);
    } catch (err) {
      const fields = { provider: provider.name, image, pod: `${pod.namespace}/${pod.name}`, err: messageOf(err) };
      logger.error(fields, 'Failed to provide credentials for image');
      return undefined;
    }
  }

  async #provide(image: string, pod: PullingPod): Promise<CredentialSource | undefined> {
    const { tokens } = this.#options.provider;
    if (tokens?.requireServiceAccount && pod.serviceAccountName === '') return undefined;
    if (!tokens || pod.serviceAccountName === '') return { config: await this.#logins(image, undefined) };
    const account = await this.#account(pod, tokens);
    return account && { config: await this.#logins(image, account), serviceAccount: account.coordinates };
  }

  /** Undefined: the service account has not opted in by an annotation. */
  async #account(
    { namespace, name, uid, serviceAccountName }: PullingPod,
    { audience, cacheType, requiredAnnotations, optionalAnnotations }: NonNullable<CredentialProvider['tokens']>,
  ): Promise<Account | undefined> {
    const { pullToken, logger, provider } = this.#options;
    const pod = { namespace, serviceAccountName, podName: name, podUID: uid };
    const reply = await pullToken({ ...pod, audience, requiredAnnotations, optionalAnnotations });
    if (reply.outcome === 'failed') throw new Error(reply.failure.message);
    if (reply.outcome === 'missing annotation') {
      logger.debug({ provider: provider.name, ...pod, annotation: reply.annotation }, 'The service account lacks a required annotation');
      return undefined;
    }
    const { token, annotations, serviceAccountUID } = reply;
    const tokenHash = createHash('sha256').update(token).digest('hex');
    const sorted = Object.entries(annotations).sort(([a], [b]) => (a < b ? -1 : 1));
    const identity = [namespace, serviceAccountName, serviceAccountUID, sorted, ...(cacheType === 'Token' ? [tokenHash] : [])];
    return {
      coordinates: { uid: serviceAccountUID, namespace, name: serviceAccountName },
      annotations: Object.fromEntries(sorted),
      token,
      tokenHash,
      cacheKey: JSON.stringify(identity),
    };
  }

  async #logins(image: string, account: Account | undefined): Promise<DockerConfig> {
    const { provider } = this.#options;
    const { token, tokenHash, annotations, cacheKey } = account ?? noAccount;
    const cached = this.#cache.get(image, cacheKey);
    if (cached) return cached;
    const request = { image, serviceAccountToken: token, serviceAccountAnnotations: annotations };
    const response = await this.#runs.run(JSON.stringify([image, tokenHash, annotations]), () => this.#run(request));
    if (token !== '' && provider.tokens?.cacheType !== 'Token') refuseEchoedToken(response, token);
    const durationMs = response.cacheDurationMs ?? provider.defaultCacheDurationMs;
    if (durationMs > 0) this.#cache.add(response.cacheKeyType, image, cacheKey, response.logins, durationMs);
    return response.logins;
  }

  async #run(request: PluginRequest): Promise<PluginResponse> {
    const { provider, environment, run, signal, clock } = this.#options;
    const { name, command, args, apiVersion } = provider;
    const startedMs = clock.monotonic();
    const stdin = encodeRequest(request, apiVersion);
    const exit = await run({ command, args, env: { ...environment, ...provider.env }, stdin }, signal);
    pluginDuration.observe((clock.monotonic() - startedMs) / 1000, { plugin_name: name });
    const problem = problemOf(exit, command);
    if (exit.result === 'exited' && problem === undefined) return parseResponse(exit.stdout, apiVersion);
    pluginErrors.inc({ plugin_name: name });
    throw new Error(`error execing credential provider plugin ${name} for image ${request.image}: ${problem}`);
  }
}

function problemOf(exit: PluginExit, command: string): string | undefined {
  if (exit.result === 'not found') return `fork/exec ${command}: no such file or directory`;
  if (exit.result === 'failed') return exit.message;
  return exit.code === 0 ? undefined : `exit status ${exit.code}: ${exit.stderr}`;
}

/** Only a plugin that is cached by token may use the token itself as a password: others would share it between pods. */
function refuseEchoedToken({ logins }: PluginResponse, token: string): void {
  if (![...logins.values()].some(({ password }) => password === token)) return;
  throw new Error(
    "credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'",
  );
}
