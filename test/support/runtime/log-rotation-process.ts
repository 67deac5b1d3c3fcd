/** The rotation of one container's log as a process that a test kills: `log-rotation-process.ts <endpoint> <podLogsDir> <container ID>`. */
import { CriClient } from '../../../src/shared/cri/client.ts';
import type { ContainerID } from '../../../src/shared/kubernetes/ids.ts';
import type { SnapshotItem } from '../../../src/shared/state/runtime-snapshot.ts';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { ContainerLogManager } from '../../../src/workers/images/log-rotation/index.ts';
import { silentLogger } from '../logger.ts';

const [endpoint = '', podLogsDir = '', id = ''] = process.argv.slice(2);
const container = { kind: 'container', state: 'running', id: id as ContainerID, createdAtMs: Date.now() } as SnapshotItem;
new ContainerLogManager({
  // It removes no log, so that the test sees every line.
  policy: { maxSizeBytes: 20_000, maxFiles: 100_000, maxWorkers: 1, monitorIntervalMs: 5 },
  snapshot: { relistedAtMs: 1, all: () => [container].values() as Generator<SnapshotItem> },
  runtime: new CriClient({ endpoint }).runtime,
  runtimeRequestTimeoutMs: 1000,
  podLogsDir,
  clock: systemClock,
  logger: silentLogger,
}).start();
process.send?.('started');
