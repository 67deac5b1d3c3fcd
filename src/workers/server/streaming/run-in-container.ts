/** `/run`: runs a command in a container and returns its output. Upstream: getRun of pkg/kubelet/server/server.go, RunInContainer. */
import type { CriClient } from '../../../shared/cri/client.ts';
import { CriError, grpcCode } from '../../../shared/cri/cri-error.ts';

/** Upstream sets no deadline, but its server ends every response after four hours. */
const maxRunMs = 4 * 3600 * 1000;

/** Resolves with stdout followed by stderr. Rejects when the command fails. */
export async function runInContainer(
  cri: Pick<CriClient, 'runtime'>,
  containerID: string,
  cmd: readonly string[],
  signal: AbortSignal,
): Promise<Buffer> {
  const commandLine = cmd.join(' ');
  try {
    const request = { containerId: containerID, cmd, timeout: 0n };
    const { stdout, stderr, exitCode } = await cri.runtime.call('execSync', request, { deadlineMs: maxRunMs, signal });
    if (exitCode !== 0) throw new Error(`command '${commandLine}' exited with ${exitCode}: ${Buffer.from(stderr).toString('utf8')}`);
    return Buffer.concat([stdout, stderr]);
  } catch (err) {
    if (!(err instanceof CriError) || err.code !== grpcCode.DEADLINE_EXCEEDED) throw err;
    throw new Error(`command timed out: ${JSON.stringify(commandLine)} timed out after 0s`, { cause: err });
  }
}
