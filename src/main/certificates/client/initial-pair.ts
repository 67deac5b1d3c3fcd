/** Loads the client certificate with which a kubelet with `rotateCertificates` starts (upstream: getCurrentCertificateOrBootstrap). */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { KubeconfigUser } from '../../api/index.ts';
import { parsePair, type CertificatePair } from '../certificate-pair.ts';
import type { CertificateStore } from '../store/certificate-store.ts';
import { contentOf } from './kubeconfig-state.ts';

export interface InitialPair {
  /** May have expired: the API server decides by its own clock. */
  readonly pair: CertificatePair | null;
  /** The pair is renewed at once: it comes from the kubeconfig itself, as kubeadm's on a control plane. */
  readonly mustRotate: boolean;
}

/** Never rejects for a stored certificate that is broken: it is reported, and another one is requested. */
export async function loadInitialPair(
  store: CertificateStore,
  { clientCertificate }: Pick<KubeconfigUser, 'clientCertificate'>,
  nowMs: number,
  logger: Logger,
): Promise<InitialPair> {
  const stored = await store.load().catch((err: unknown) => {
    logger.error({ err: messageOf(err) }, 'The client certificate is broken');
    return null;
  });
  if (stored && nowMs < stored.notAfterMs) return { pair: stored, mustRotate: false };
  if (stored) logger.error({ expiration: new Date(stored.notAfterMs).toISOString() }, 'The client certificate has expired');
  if (!clientCertificate || !('data' in clientCertificate.certificate)) return { pair: stored, mustRotate: true };
  const pair = parsePair(await contentOf(clientCertificate.certificate), await contentOf(clientCertificate.key));
  await store.save(pair, new Date(nowMs)).catch((err: unknown) => {
    logger.error({ err: messageOf(err) }, "Unable to store the kubeconfig's client certificate");
  });
  return { pair, mustRotate: true };
}
