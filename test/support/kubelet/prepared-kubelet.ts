/** Prepares the compiled command: a simulated runtime, a folder, and a configuration file with additional fields of the test. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import type { RuntimeOptionsInput } from '../../../lab/simulated-runtime/options.ts';
import { aFolder } from './kubelet-command.ts';
import { startSimulatedRuntime, waitUntil, type TestHooks, type SimulatedRuntimeProcess } from '../runtime/simulated-runtime.ts';

export interface PreparedKubelet {
  readonly runtime: SimulatedRuntimeProcess;
  readonly folder: string;
  readonly healthzPort: number;
  readonly args: readonly string[];
  /** Rewrites the configuration file with additional fields. */
  readonly configure: (more: Record<string, unknown>) => void;
}

export async function prepareKubelet(
  t: TestHooks,
  fields: Record<string, unknown> = {},
  options: RuntimeOptionsInput = {},
): Promise<PreparedKubelet> {
  const runtime = await startSimulatedRuntime(t, options);
  const folder = aFolder(t);
  const healthzPort = await reservePort();
  mkdirSync(join(folder, 'manifests'));
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath: join(folder, 'manifests'),
    podLogsDir: join(folder, 'logs/pods'),
    containerRuntimeEndpoint: runtime.endpoint,
    healthzPort,
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    // The chains would stay in the host's packet filter.
    makeIPTablesUtilChains: false,
    failSwapOn: false,
    // A full disk of the test host must cost no pod.
    evictionHard: {},
    ...fields,
  };
  const file = join(folder, 'kubelet.json');
  const configure = (more: Record<string, unknown>) => writeFileSync(file, JSON.stringify({ ...config, ...more }));
  configure({});
  const args = ['--config', file, '--root-dir', join(folder, 'root'), '--cert-dir', join(folder, 'pki')];
  return { runtime, folder, healthzPort, args, configure };
}

export async function waitUntilHealthy({ healthzPort }: PreparedKubelet): Promise<void> {
  await waitUntil(
    'the kubelet is healthy',
    () =>
      fetch(`http://127.0.0.1:${healthzPort}/healthz`).then(
        (response) => response.ok,
        () => false,
      ),
    20_000,
  );
}
