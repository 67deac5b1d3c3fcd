/**
 * Requests one certificate: creates the CertificateSigningRequest, or takes up an existing one, and waits until it is issued (upstream:
 * client-go/util/certificate/csr).
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { certificateRequest, signatureAlgorithmOf, type RequestTemplate } from '../../../shared/x509/certificate-request.ts';
import { ApiError, apiPath, fieldEquals, isAlreadyExists, type ApiClient } from '../../api/index.ts';
import type { CertificatePair } from '../certificate-pair.ts';
import { checkIssued } from './check-issued.ts';
import { signers, usagesOf, type CertificatePurpose } from './request-template.ts';
import { asksForTheSame, digestedName, outcomeOf, toSigningRequest, type SigningRequest } from './signing-request.ts';

export interface CertificateOrder {
  readonly purpose: CertificatePurpose;
  readonly template: RequestTemplate;
  readonly key: KeyObject;
  /** The request's name follows from its content, so that a restarted kubelet finds it. */
  readonly isResumable: boolean;
}

export interface RequestDependencies {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The signer has denied or failed the request, or issued another certificate. The same request will not succeed any more. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** How long a request may be pending before it is made again (upstream: certificateWaitTimeout, and 3600 s in its bootstrap). */
const waitMs = { anew: 15 * 60_000, resumable: 60 * 60_000 };
/** A controller that approves does so within seconds. */
const pendingWarning = { firstMs: 30_000, periodMs: 5 * 60_000 };
/** The pause after a watch that ended or failed. */
const pauseMs = 1_000;
/** A watch is renewed this often, so that a lost connection is noticed. */
const watchSeconds = 300;
const path = apiPath('apis', 'certificates.k8s.io', 'v1', 'certificatesigningrequests');
/** A renewal must not wait behind the pods' statuses. */
const trafficClass = 'node';

/** Rejects with a RefusedError, an ApiError, or the signal's reason. */
export async function requestNodeCertificate(
  order: CertificateOrder,
  deps: RequestDependencies,
  signal: AbortSignal,
): Promise<CertificatePair> {
  const { logger, clock } = deps;
  const submitted = await submit(order, deps, signal);
  logger.info({ csr: submitted.name, reused: submitted.isReused }, 'Waiting for the certificate to be issued');
  const certificate = await untilIssued(submitted, order.isResumable ? waitMs.resumable : waitMs.anew, deps, signal);
  logger.info({ csr: submitted.name }, 'Certificate signing request is issued');
  const { template, purpose, key } = order;
  try {
    const { isReused } = submitted;
    return checkIssued(certificate, { privateKey: key, template, purpose, isReused, nowMs: clock.now() });
  } catch (err) {
    throw new RefusedError(`csr "${submitted.name}": ${messageOf(err)}`, { cause: err });
  }
}

interface Submitted {
  readonly name: string;
  readonly uid: string;
  readonly isReused: boolean;
}

async function submit(
  { purpose, template, key, isResumable }: CertificateOrder,
  { client, logger }: RequestDependencies,
  signal: AbortSignal,
): Promise<Submitted> {
  const algorithm = signatureAlgorithmOf(key);
  if (!algorithm) throw new Error('the private key is of a type that no signer accepts');
  const publicKey = createPublicKey(key);
  const usages = usagesOf(purpose, key.asymmetricKeyType === 'rsa');
  const ours = {
    name: isResumable ? digestedName(publicKey, template, usages) : null,
    signerName: signers[purpose],
    usages,
    request: await certificateRequest(template, { publicKey, privateKey: key }, algorithm),
  };
  try {
    const { metadata } = await client.call<SigningRequest>({ method: 'POST', path, body: toSigningRequest(ours), trafficClass, signal });
    return { name: metadata.name, uid: metadata.uid, isReused: false };
  } catch (err) {
    if (ours.name === null || !isAlreadyExists(err)) throw err;
  }
  const existing = await client.call<SigningRequest>({ method: 'GET', path: `${path}/${ours.name}`, trafficClass, signal });
  if (!asksForTheSame(existing, ours)) throw new RefusedError(`csr "${ours.name}" exists and asks for another certificate`);
  logger.info({ csr: ours.name }, 'csr for this node already exists, reusing');
  return { name: ours.name, uid: existing.metadata.uid, isReused: true };
}

/** Resolves with PEM. */
async function untilIssued({ name, uid }: Submitted, limitMs: number, deps: RequestDependencies, signal: AbortSignal): Promise<string> {
  const { clock, logger } = deps;
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  const cancel = clock.after(limitMs, () => {
    controller.abort(new Error(`csr "${name}" was not signed within ${limitMs / 60_000} minutes`));
  });
  const stopWarning = warnWhilePending(name, deps);
  try {
    for (;;) {
      try {
        const certificate = await watchUntilIssued(name, uid, deps.client, controller.signal);
        if (certificate !== null) return certificate;
      } catch (err) {
        // After a 401 or 403 the attempt ends, because the next attempt may have other credentials.
        if (err instanceof RefusedError || controller.signal.aborted || isUnauthorized(err)) throw err;
        logger.debug({ csr: name, err: messageOf(err) }, 'The certificate signing request can not be watched, trying again');
      }
      await clock.sleep(pauseMs, controller.signal);
    }
  } finally {
    cancel();
    stopWarning();
    signal.removeEventListener('abort', abort);
  }
}

/** Call the result to stop. */
function warnWhilePending(csr: string, { clock, logger }: RequestDependencies): () => void {
  const startMs = clock.monotonic();
  const warnAfter = (delayMs: number): (() => void) =>
    clock.after(delayMs, () => {
      const pendingSeconds = Math.round((clock.monotonic() - startMs) / 1000);
      logger.warn({ csr, pendingSeconds }, 'The certificate signing request has not been approved and signed yet');
      cancel = warnAfter(pendingWarning.periodMs);
    });
  let cancel = warnAfter(pendingWarning.firstMs);
  return () => cancel();
}

/** Resolves with null when the watch has ended before. */
async function watchUntilIssued(name: string, uid: string, client: ApiClient, signal: AbortSignal): Promise<string | null> {
  const query = { fieldSelector: fieldEquals('metadata.name', name) };
  const list = await client.call<{ readonly metadata: { readonly resourceVersion: string }; readonly items: readonly SigningRequest[] }>({
    method: 'GET',
    path,
    query,
    trafficClass,
    signal,
  });
  const listed = list.items.find(({ metadata }) => metadata.name === name);
  if (!listed) throw new RefusedError(`csr "${name}" was deleted`);
  const certificate = certificateOf(listed, uid);
  if (certificate !== null) return certificate;
  const { resourceVersion } = list.metadata;
  const watch = client.watch<SigningRequest>({
    path,
    query: { ...query, resourceVersion, timeoutSeconds: watchSeconds },
    trafficClass,
    signal,
  });
  for await (const { type, object } of watch) {
    if (type === 'ERROR') return null;
    if (type === 'BOOKMARK' || object.metadata.name !== name) continue;
    if (type === 'DELETED') throw new RefusedError(`csr "${name}" was deleted`);
    const issued = certificateOf(object, uid);
    if (issued !== null) return issued;
  }
  signal.throwIfAborted();
  return null;
}

function certificateOf(request: SigningRequest, uid: string): string | null {
  const outcome = outcomeOf(request, uid);
  if (outcome.state === 'refused') throw new RefusedError(outcome.message);
  return outcome.state === 'issued' ? outcome.certificate : null;
}

function isUnauthorized(err: unknown): boolean {
  return err instanceof ApiError && (err.code === 401 || err.code === 403);
}
