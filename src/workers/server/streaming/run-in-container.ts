/** `/run`: a command in a container, with all that it wrote as the answer. Upstream: getRun of pkg/kubelet/server/server.go, RunInContainer. */
import type { CriClient } from '../../../shared/cri/client.ts';
import { CriError, grpcCode } from '../../../shared/cri/cri-error.ts';

/** Upstream sets no deadline, but its server ends every answer after four hours. */
const maxRunMs = 4 * 3600 * 1000;

/** stdout, then stderr. Rejects when the command fails, naming it. */
export async function runInContainer(
  cri: Pick<CriClient, 'runtime'>,
  containerID: string,
  cmd: readonly string[],
  signal: AbortSignal,
): Promise<Buffer> {
  const line = cmd.join(' ');
  try {
    const request = { containerId: containerID, cmd, timeout: 0n };
    const { stdout, stderr, exitCode } = await cri.runtime.call('execSync', request, { deadlineMs: maxRunMs, signal });
    if (exitCode !== 0) throw new Error(`command '${line}' exited with ${exitCode}: ${Buffer.from(stderr).toString('utf8')}`);
    return Buffer.concat([stdout, stderr]);
  } catch (err) {
    if (!(err instanceof CriError) || err.code !== grpcCode.DEADLINE_EXCEEDED) throw err;
    throw new Error(`command timed out: ${JSON.stringify(line)} timed out after 0s`, { cause: err });
  }
}
