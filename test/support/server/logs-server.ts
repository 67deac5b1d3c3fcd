/** Serves container logs from real files over a real listener. The test controls the container's log path and state. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { createContainerLogs } from '../../../src/workers/server/logs/index.ts';
import type { ResolvedContainer } from '../../../src/shared/contracts/server/calls.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';
import type { SnapshotState } from '../../../src/shared/state/runtime-snapshot.ts';
import { monotonicMs } from '../../../src/shared/time/clock.ts';
import { aLogger } from '../logger.ts';

/** Has one container, `c`, whose log is `<podLogsDir>/pod/app/0.log` by default. */
export async function aLogsServer() {
  const podLogsDir = await mkdtemp(join(tmpdir(), 'pod-logs-'));
  const { logger, lines } = aLogger();
  const container: { logPath: string; state: SnapshotState | 'gone' } = {
    logPath: join(podLogsDir, 'pod', 'app', '0.log'),
    state: 'running',
  };
  const logs = createContainerLogs({
    resolveContainer: async ({ pod }): Promise<ResolvedContainer> =>
      pod === 'web'
        ? {
            found: true,
            podUID: 'uid' as PodUID,
            sandboxID: 's' as SandboxID,
            containerID: 'c' as ContainerID,
            logPath: container.logPath,
            tty: false,
          }
        : { found: false, status: 404, message: `pod "${pod}" does not exist` },
    settings: { podLogsDir, splitLogStreams: false },
    snapshot: {
      get relistedAtMs() {
        return monotonicMs();
      },
      all: () => (container.state === 'gone' ? [] : [{ kind: 'container', id: 'c' as ContainerID, state: container.state }]),
    },
    logger,
  });
  const responses: ServerResponse[] = [];
  const server = createServer((request, response) => {
    responses.push(response);
    const { pathname, searchParams } = new URL(request.url!, 'http://server');
    const [pod = '', namespace = 'default'] = pathname.slice(1).split('/');
    void logs.serve(request, response, { namespace, pod, container: 'app' }, searchParams);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  after(async () => {
    logs.close();
    server.closeAllConnections();
    server.close();
    await rm(podLogsDir, { recursive: true });
  });
  return { url: `http://127.0.0.1:${port}/web`, port, podLogsDir, container, logs, lines, responses };
}
