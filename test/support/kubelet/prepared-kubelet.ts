/** Prepares the compiled command: a simulated runtime, a folder, and a configuration file with additional fields of the test. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import { noEvictions, nodeConfiguration, writeConfiguration } from '../../../lab/kubelet/node-configuration.ts';
import type { RuntimeOptionsInput } from '../../../lab/simulated-runtime/options.ts';
import { aFolder } from './kubelet-command.ts';
import { startSimulatedRuntime, waitUntil, type TestHooks, type SimulatedRuntimeProcess } from '../runtime/simulated-runtime.ts';

export interface PreparedKubelet {
  readonly runtime: SimulatedRuntimeProcess;
  readonly folder: string;
  readonly configFile: string;
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
    ...nodeConfiguration({
      runtimeEndpoint: runtime.endpoint,
      manifests: join(folder, 'manifests'),
      podLogs: join(folder, 'logs/pods'),
      cgroupRoot: null,
    }),
    healthzPort,
    ...noEvictions,
    ...fields,
  };
  const configFile = join(folder, 'kubelet.yaml');
  const configure = (more: Record<string, unknown>) => writeConfiguration(configFile, { ...config, ...more });
  configure({});
  const args = ['--config', configFile, '--root-dir', join(folder, 'root'), '--cert-dir', join(folder, 'pki')];
  return { runtime, folder, configFile, healthzPort, args, configure };
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
