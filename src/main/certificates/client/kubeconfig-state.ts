/** Decides whether the kubeconfig has a client certificate that is still valid, so that no bootstrap is needed (upstream: isClientConfigStillValid). */
import { access } from 'node:fs/promises';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { loadKubeconfig, type FileOrData, type Kubeconfig } from '../../api/index.ts';
import { readBoundedFile } from '../../../shared/files/read-bounded-file.ts';
import { maxPairBytes, parseCertificates, parsePair } from '../certificate-pair.ts';

export type KubeconfigState =
  | { readonly state: 'missing' }
  /** `kubeconfig` is null when the file itself can't be read. */
  | { readonly state: 'unusable'; readonly problem: string; readonly kubeconfig: Kubeconfig | null }
  | { readonly state: 'valid'; readonly kubeconfig: Kubeconfig };

/** Rejects when it can't be known whether the file exists. */
export async function readKubeconfigState(path: string, nowMs: number): Promise<KubeconfigState> {
  try {
    await access(path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return { state: 'missing' };
    throw err;
  }
  let kubeconfig: Kubeconfig | null = null;
  try {
    kubeconfig = await loadKubeconfig(path);
    const { clientCertificate } = kubeconfig.user;
    if (!clientCertificate) throw new Error('has no client certificate');
    const [cert, key] = await Promise.all([clientCertificate.certificate, clientCertificate.key].map(contentOf));
    const problem = certificateProblem(cert!, key!, nowMs);
    return problem === null ? { state: 'valid', kubeconfig } : { state: 'unusable', problem, kubeconfig };
  } catch (err) {
    return { state: 'unusable', problem: messageOf(err), kubeconfig };
  }
}

/** Why a bootstrap is needed, or null. Every certificate of the chain must be valid still. Throws for unreadable PEM. */
export function certificateProblem(cert: string, key: string, nowMs: number): string | null {
  parsePair(cert, key);
  const expired = parseCertificates(cert).find(({ validToDate }) => validToDate.getTime() < nowMs);
  return expired ? `part of the client certificate is expired: ${expired.validToDate.toISOString()}` : null;
}

export async function contentOf(source: FileOrData): Promise<string> {
  return ('data' in source ? source.data : await readBoundedFile(source.path, maxPairBytes)).toString('latin1');
}
