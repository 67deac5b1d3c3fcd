/**
 * Reads the IDs that the host's administrator has assigned to the user `kubelet`. Upstream: getKubeletMappings in pkg/kubelet/kubelet_pods.go.
 * The tool `getsubids` knows /etc/subuid and every other source of the host.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { defaultIDRange, parseSubordinateIDs, type IDRange } from './id-range.ts';

const kubeletUser = 'kubelet';
/** The tool may ask a remote service. Upstream has no limit. */
const deadlineMs = 30_000;

export interface KubeletIDsOptions {
  /** Replaced in tests. */
  readonly passwdFile?: string;
  /** Runs `getsubids` and returns its output. Rejects with the code ENOENT when it is not installed. */
  readonly getsubids?: (...args: string[]) => Promise<string>;
}

/** Returns the default range without such a user or tool. Rejects when the user exists and the tool fails or has no single answer. */
export async function readKubeletIDs(
  idsPerPod: number,
  { passwdFile = '/etc/passwd', getsubids = runGetsubids }: KubeletIDsOptions = {},
): Promise<IDRange> {
  const users = await readFile(passwdFile, 'utf8').catch(() => '');
  if (!users.split('\n').some((line) => line.startsWith(`${kubeletUser}:`))) return defaultIDRange(idsPerPod);
  let uids: string;
  try {
    uids = await getsubids(kubeletUser);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return defaultIDRange(idsPerPod);
    throw new Error(`error retrieving additional uids for user ${goQuote(kubeletUser)}`, { cause: err });
  }
  const gids = await getsubids('-g', kubeletUser).catch((err: unknown) => {
    throw new Error(`error retrieving additional gids for user ${goQuote(kubeletUser)}`, { cause: err });
  });
  if (uids !== gids) throw new Error(`mismatched subuids and subgids for user ${goQuote(kubeletUser)}`);
  return parseSubordinateIDs(uids);
}

async function runGetsubids(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('getsubids', args, { timeout: deadlineMs, maxBuffer: 64 * 1024 });
  return stdout;
}
