/**
 * Compares the version of the API server with this kubelet's, as the version skew policy has it: a kubelet is never newer than its API server, and at
 * most three minor releases older. Upstream's kubelet does not compare them.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { kubernetesVersion } from '../../../shared/kubernetes/version.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { ApiClient } from '../../api/index.ts';

const maxMinorsOlder = 3;
/** Limits what the message quotes of the version, because any text may come from the server. */
const maxVersionLength = 100;

/** Returns why the two do not belong together, or null. A server without a known version is not judged. */
export function computeVersionSkew(server: unknown, kubelet: string = kubernetesVersion): string | null {
  const [serverMinor, kubeletMinor] = [minorOf(server), minorOf(kubelet)];
  if (serverMinor === null || kubeletMinor === null) return null;
  const subject = `The API server (${String(server).slice(0, maxVersionLength)}) is`;
  if (serverMinor < kubeletMinor) return `${subject} older than this kubelet (${kubelet}): upgrade the control plane first`;
  if (serverMinor <= kubeletMinor + maxMinorsOlder) return null;
  return `${subject} more than ${maxMinorsOlder} minor releases newer than this kubelet (${kubelet}): upgrade the kubelet`;
}

/** Resolves with null also when the version cannot be read. Never rejects. */
export async function readVersionSkew(options: {
  readonly client: ApiClient;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly logger: Logger;
}): Promise<string | null> {
  const { client, deadlineMs, signal, logger } = options;
  try {
    const call = { method: 'GET', path: '/version', trafficClass: 'node', deadlineMs, maxAttempts: 1, signal } as const;
    return computeVersionSkew((await client.call<{ readonly gitVersion?: unknown } | null>(call))?.gitVersion);
  } catch (err) {
    if (!signal.aborted) logger.debug({ err: messageOf(err) }, 'Reading the version of the API server failed');
    return null;
  }
}

/** Null for other major versions than 1: no policy exists for them. */
function minorOf(version: unknown): number | null {
  const [, minor] = typeof version === 'string' ? (/^v1\.(\d{1,6})(?:\D|$)/.exec(version) ?? []) : [];
  return minor === undefined ? null : Number(minor);
}
