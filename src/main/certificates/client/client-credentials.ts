/**
 * The kubelet's client certificate from the cluster (upstream: buildKubeletClientConfig of cmd/kubelet/app/server.go):
 *
 *  - bootstrap: without a kubeconfig that has a valid certificate, the credentials of `--bootstrap-kubeconfig` request the first one;
 *  - rotation (`rotateCertificates`): the certificate requests its successor.
 *
 * Both run in the background: static pods start meanwhile, and calls to the API server fail until the first certificate is issued.
 */
import { mkdir, realpath, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { writeDurably } from '../../../shared/linux/write-durably.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { clientCertificateExpiry, clientRenewErrors } from '../../../shared/metrics/definitions/certificates.ts';
import { nextBackoffMs } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { KubeconfigIdentity, loadKubeconfig, type ApiConnection, type IdentitySource, type Kubeconfig } from '../../api/index.ts';
import { ConfigurationError } from '../../config/configuration-error.ts';
import type { CertificatePair } from '../certificate-pair.ts';
import { nodeTemplate } from '../request/request-template.ts';
import { CertificateManager, type RequestAccess } from '../rotation/certificate-manager.ts';
import { CertificateStore } from '../store/certificate-store.ts';
import { PendingKey } from '../store/pending-key.ts';
import { kubeconfigFromBootstrap, renderKubeconfig } from './bootstrap-kubeconfig.ts';
import { ClientIdentity } from './client-identity.ts';
import { loadInitialPair, type InitialPair } from './initial-pair.ts';
import { readKubeconfigState } from './kubeconfig-state.ts';

export interface ClientCredentialsOptions {
  readonly kubeconfigPath: string;
  /** Empty: none. */
  readonly bootstrapPath: string;
  readonly certDirectory: string;
  readonly nodeName: string;
  readonly rotates: boolean;
  /** Connects with the credentials of a kubeconfig. */
  readonly connect: (kubeconfigPath: string) => Promise<ApiConnection>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Parts {
  readonly kubeconfig: Kubeconfig;
  readonly store: CertificateStore;
  readonly initial: InitialPair;
  /** The kubeconfigs whose credentials request the first certificate, in order. */
  readonly requesterPaths: readonly string[];
  /** True when the kubeconfig is to be written. */
  readonly isBootstrap: boolean;
}

const writeRetry = { initialMs: 2_000, maxMs: 5 * 60_000 };

export class ClientCredentials {
  readonly kubeconfig: Kubeconfig;
  readonly #identity = new ClientIdentity();
  readonly #options: ClientCredentialsOptions;
  readonly #parts: Parts;
  readonly #pendingKey: PendingKey;
  readonly #stop = new AbortController();
  #manager: CertificateManager | null = null;
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: ClientCredentialsOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#pendingKey = new PendingKey(options.certDirectory, options.logger);
    this.kubeconfig = parts.kubeconfig;
    if (parts.initial.pair) this.#identity.use(parts.initial.pair);
    else if (isAnonymous(parts.kubeconfig)) this.#identity.allowAnonymous();
  }

  /**
   * Resolves with null when the kubeconfig can be used as it is. Rejects with a ConfigurationError when neither it nor the bootstrap kubeconfig
   * has credentials.
   */
  static async prepare(options: ClientCredentialsOptions): Promise<ClientCredentials | null> {
    const parts = await loadParts(options);
    if (!parts) return null;
    const credentials = new ClientCredentials(options, parts);
    // Upstream writes the kubeconfig before the certificate exists, but only if it will renew that.
    if (parts.isBootstrap && options.rotates) credentials.#writing = credentials.#writeKubeconfig();
    return credentials;
  }

  get identities(): IdentitySource {
    return this.#identity;
  }

  /** Starts requesting. `connection` uses these identities. */
  start(connection: Pick<ApiConnection, 'client' | 'announceRecovery'>): void {
    const { nodeName, rotates, clock, logger } = this.#options;
    const { store, initial } = this.#parts;
    const template = nodeTemplate(nodeName);
    this.#manager = CertificateManager.start({
      purpose: 'client',
      template: () => template,
      store,
      initial: initial.pair,
      mustRotate: initial.mustRotate,
      rotates,
      ...(rotates && { reload: () => store.load() }),
      openAccess: (current) => this.#openAccess(current, connection),
      onIssued: (pair) => {
        this.#identity.use(pair);
        logger.info('Certificate rotation detected, new connections use the new client certificate');
        connection.announceRecovery();
      },
      onStored: () => void (this.#writing = this.#writing.then(() => this.#afterStored())),
      metrics: {
        failed: () => clientRenewErrors.inc(),
        replaced: () => {},
        notAfterMs: (ms) => clientCertificateExpiry.set(ms),
      },
      clock,
      logger,
    });
    this.#identity.onRefused = () => this.#manager?.renewRefused();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#manager?.close(), this.#writing]);
  }

  async #openAccess(current: CertificatePair | null, connection: Pick<ApiConnection, 'client'>): Promise<RequestAccess> {
    if (current) return { client: connection.client, credentials: 'client certificate', pendingKey: null, close: async () => {} };
    const { connect } = this.#options;
    // Read again for each request: a bootstrap token is short-lived, and somebody may have renewed it.
    const [credentials, { client, close }] = await firstThatSucceeds(
      this.#parts.requesterPaths,
      async (path) => [path, await connect(path)] as const,
    );
    return { client, credentials, close, pendingKey: this.#pendingKey };
  }

  async #afterStored(): Promise<void> {
    const { rotates, clock, logger } = this.#options;
    if (rotates) return;
    await this.#writeKubeconfig();
    // From now on the identity reads the certificate from the file that the kubeconfig names, as after a restart.
    this.#identity.handOver(new KubeconfigIdentity({ kubeconfig: this.kubeconfig, environment: process.env, clock, logger }));
  }

  /** Repeats until it succeeds. */
  async #writeKubeconfig(): Promise<void> {
    const { kubeconfigPath, clock, logger } = this.#options;
    const { signal } = this.#stop;
    const content = renderKubeconfig(this.kubeconfig, this.#parts.store.currentPath);
    for (let delayMs: number | undefined; !signal.aborted;) {
      try {
        await mkdir(dirname(resolve(kubeconfigPath)), { recursive: true, mode: 0o755 });
        const path = await realpath(kubeconfigPath).catch(() => resolve(kubeconfigPath));
        await rm(`${path}.tmp`, { force: true });
        await writeDurably(path, `${path}.tmp`, content);
        logger.info({ path: kubeconfigPath }, 'Wrote the kubeconfig');
        return;
      } catch (err) {
        delayMs = nextBackoffMs(delayMs, writeRetry);
        logger.error({ err: messageOf(err), path: kubeconfigPath, retryMs: delayMs }, 'The kubeconfig can not be written');
        await clock.sleep(delayMs, signal).catch(() => {});
      }
    }
  }
}

/** Null when the kubeconfig can be used as it is. */
async function loadParts(options: ClientCredentialsOptions): Promise<Parts | null> {
  const { kubeconfigPath, bootstrapPath, certDirectory, rotates, clock, logger } = options;
  const storeOf = ({ user }: Kubeconfig) => {
    const { certificate, key } = user.clientCertificate ?? {};
    const files = certificate && key && 'path' in certificate && 'path' in key ? { cert: certificate.path, key: key.path } : null;
    return new CertificateStore({ prefix: 'kubelet-client', folder: certDirectory, files, logger });
  };
  const rotating = async (kubeconfig: Kubeconfig, requesterPaths: readonly string[], isBootstrap: boolean): Promise<Parts> => {
    const store = storeOf(kubeconfig);
    // Without rotation, as upstream, a certificate that no kubeconfig names is not used.
    const initial = rotates ? await loadInitialPair(store, kubeconfig.user, clock.now(), logger) : { pair: null, mustRotate: true };
    return { kubeconfig, store, initial, requesterPaths, isBootstrap };
  };
  if (bootstrapPath === '') {
    const kubeconfig = await loadKubeconfig(kubeconfigPath);
    const parts = await rotating(kubeconfig, [kubeconfigPath], false);
    if (!parts.initial.pair && isAnonymous(kubeconfig)) {
      logger.warn(
        { kubeconfig: kubeconfigPath },
        'The kubeconfig has no credentials: requests to the API server are anonymous until a certificate is issued',
      );
    } else if (!parts.initial.pair && !hasOtherCredentials(kubeconfig)) {
      throw new ConfigurationError(
        `kubeconfig "${kubeconfigPath}": has no credentials that can be read, and there is no --bootstrap-kubeconfig`,
      );
    }
    return parts;
  }
  const found = await readKubeconfigState(kubeconfigPath, clock.now());
  if (found.state === 'valid') return rotates ? rotating(found.kubeconfig, [bootstrapPath, kubeconfigPath], false) : null;
  logger.info(
    { kubeconfig: kubeconfigPath, problem: found.state === 'missing' ? 'does not exist' : found.problem, bootstrap: bootstrapPath },
    'Using the bootstrap kubeconfig to request a client certificate',
  );
  let bootstrap: Kubeconfig;
  try {
    bootstrap = await loadKubeconfig(bootstrapPath);
  } catch (err) {
    const kubeconfig = found.state === 'unusable' && rotates ? found.kubeconfig : null;
    if (!kubeconfig) throw new ConfigurationError(`unable to load bootstrap kubeconfig: ${messageOf(err)}`);
    // Upstream exits. Here static pods run, and either file may be repaired meanwhile.
    logger.error({ err: messageOf(err), bootstrap: bootstrapPath }, 'Unable to load the bootstrap kubeconfig');
    return rotating(kubeconfig, [bootstrapPath, kubeconfigPath], false);
  }
  const { currentPath } = new CertificateStore({ prefix: 'kubelet-client', folder: certDirectory, logger });
  return rotating(kubeconfigFromBootstrap(bootstrap, currentPath), [bootstrapPath], true);
}

/** Tries one item after the other. Resolves with the first result; rejects with the error of the first item when all fail. */
async function firstThatSucceeds<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R> {
  let firstError: unknown;
  for (const item of items) {
    try {
      return await act(item);
    } catch (err) {
      firstError ??= err;
    }
  }
  throw firstError;
}

function hasOtherCredentials({ user }: Kubeconfig): boolean {
  return user.token !== '' || user.tokenFile !== '' || user.basic !== null || user.exec !== null;
}

/** The kubeconfig names no credentials, so none of them can be unreadable. */
function isAnonymous(kubeconfig: Kubeconfig): boolean {
  return kubeconfig.user.clientCertificate === null && !hasOtherCredentials(kubeconfig);
}
