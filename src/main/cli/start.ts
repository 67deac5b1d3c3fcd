/** Starts the kubelet from parsed flags: configuration, logger, lock file, root directory, signals. */
import { stringify } from 'yaml';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { goDuration } from '../../shared/kubernetes/go-text.ts';
import { createLogger } from '../../shared/log/create-logger.ts';
import { journalStreams } from '../../shared/log/journal-priority.ts';
import { createVerbosityCell } from '../../shared/log/live-verbosity.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { systemClock as clock } from '../../shared/time/clock.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { loadCredentialProviders, type CredentialProviders } from '../config/credential-providers/load-credential-providers.ts';
import type { ConfigurationInputs } from '../config/configuration-inputs.ts';
import { toWire } from '../config/configz.ts';
import { LiveConfiguration } from '../config/live-configuration.ts';
import type { LoadedConfiguration } from '../config/load-configuration.ts';
import { toLoggingOptions } from '../config/logging-options.ts';
import { effectiveReservations } from '../config/reservations.ts';
import { findUnsupportedSettings } from '../config/unsupported-settings.ts';
import { toKubeletFlags } from '../config/flags/apply-flags.ts';
import { flagTable } from '../config/flags/flag-table.ts';
import { checkNodeLabels } from '../config/flags/node-labels.ts';
import type { ParsedFlags } from '../config/flags/parse-flags.ts';
import { readCgroupVersion, checkSwap, onlineCPUs, setMaxOpenFiles, setOOMScore } from '../process/host-settings.ts';
import { setUpKernelTunables } from '../process/kernel-tunables.ts';
import { acquireLockFile } from '../process/lock-file.ts';
import { loadValidConfiguration, refuse } from '../config/load-valid-configuration.ts';
import type { KubeletFlags, KubeletOptions } from '../config/options.ts';
import { ensureRootDir } from '../process/root-dir.ts';
import { handleSignals, type HandledSignals } from '../process/signals.ts';
import { handleUncaughtFaults, type UncaughtFaultHandler } from '../process/uncaught-faults.ts';
import { ServiceNotifier } from '../systemd/index.ts';

/** The configuration field of each flag. */
const fieldOf: ReadonlyMap<string, string | undefined> = new Map(flagTable.map(({ name, field }) => [name, field]));

/** Runs the kubelet and returns the exit code. `fail` reports an error before the logger exists. */
export async function start(parsed: ParsedFlags, fail: (message: string) => number): Promise<number> {
  const { values } = parsed;
  const flags = toKubeletFlags(values);
  const online = onlineCPUs();
  const inputs = { values, host: { cgroupVersion: readCgroupVersion(), ...(online !== undefined && { onlineCPUs: online }) } };
  let loaded: LoadedConfiguration;
  let credentialProviders: CredentialProviders;
  try {
    refuse('failed to validate kubelet flags: ', checkNodeLabels(flags.nodeLabels));
    const { minimumContainerTTL } = flags;
    refuse(
      'failed to create kubelet: ',
      minimumContainerTTL < 0 ? [`invalid minimum garbage collection age: ${goDuration(minimumContainerTTL)}`] : [],
    );
    loaded = loadValidConfiguration(inputs, 'lenient');
    credentialProviders = loadCredentialProviders(
      flags.imageCredentialProviderConfig,
      flags.imageCredentialProviderBinDir,
      loaded.featureGates.enabled('KubeletServiceAccountTokenForCredentialProviders'),
    );
  } catch (err) {
    if (!(err instanceof ConfigurationError)) throw err;
    return fail(err.message);
  }
  const options = toOptions(flags, loaded, credentialProviders, inputs);
  const logger = createLogger(options.logging, { component: 'kubelet' });
  const faults = handleUncaughtFaults(logger);
  report(logger, loaded, values);
  try {
    await run(options, logger, faults);
    return 0;
  } catch (err) {
    logger.error({ err: messageOf(err) }, 'command failed');
    return 1;
  }
}

function toOptions(
  flags: KubeletFlags,
  { config, featureGates }: LoadedConfiguration,
  credentialProviders: CredentialProviders,
  reloadInputs: ConfigurationInputs,
): KubeletOptions {
  const live = new LiveConfiguration(config);
  return {
    flags,
    config: live.view,
    featureGates,
    credentialProviders,
    seccompDefault: flags.seccompDefault || config.seccompDefault,
    logging: { ...toLoggingOptions(config.logging), journalStreams: journalStreams(process.env), live: createVerbosityCell() },
    live,
    reloadInputs,
  };
}

/** Logs what an operator should know about the configuration. */
function report(
  logger: Logger,
  { config, warnings, skippedFiles, ignored, explicit }: LoadedConfiguration,
  values: ReadonlyMap<string, unknown>,
): void {
  logger.info({ config: stringify(toWire(config)) }, 'Effective KubeletConfiguration');
  for (const { file, warning } of ignored) logger.warn({ file, warning }, 'Part of the configuration is ignored');
  for (const { message, featureGate, value } of warnings) logger.warn({ featureGate, value }, message);
  const flagFields = new Map([...values.keys()].map((name) => [name, fieldOf.get(name)]));
  const settings = findUnsupportedSettings(explicit, flagFields);
  if (settings.length > 0)
    logger.warn({ settings }, 'These settings are accepted, but their parts are not built yet: they have no effect, or not all of it');
  if (config.kubeletCgroups !== '' && config.kubeReservedCgroup !== '' && !config.kubeletCgroups.startsWith(config.kubeReservedCgroup)) {
    logger.warn('unsupported configuration:KubeletCgroups is not within KubeReservedCgroup');
  }
  if (config.reservedSystemCPUs !== '') {
    const { kubeReserved, systemReserved } = effectiveReservations(config);
    logger.info(
      { kubeReserved, systemReserved },
      'Option --reserved-cpus is specified, it has replaced the CPU in KubeReserved and SystemReserved',
    );
  }
  for (const file of skippedFiles) logger.debug({ file }, 'Skipped file in drop-in directory (does not have .conf extension)');
}

/** Resolves when the kubelet has stopped after a signal. Rejects when it cannot start or run. */
async function run(options: KubeletOptions, logger: Logger, faults: UncaughtFaultHandler): Promise<void> {
  const signals = handleSignals(logger);
  const { signal, stop, release } = signals;
  const { lockFile, exitOnLockContention } = options.flags;
  let service: ServiceNotifier | undefined;
  signal.addEventListener('abort', () => service?.stopping(), { once: true });
  try {
    service = ServiceNotifier.start({ env: process.env, pid: process.pid, clock, logger: logger.child({ component: 'systemd' }) });
    prepareHost(options, logger);
    const lock = await acquireLockFile({
      path: lockFile,
      exitOnContention: exitOnLockContention,
      signal,
      logger: logger.child({ component: 'lock-file' }),
      onContention: stop,
    });
    try {
      await runLocked({ options, logger, signals, faults, service });
    } finally {
      lock.release();
    }
  } catch (err) {
    // The signal may abort while the kubelet starts.
    if (!signal.aborted) throw err;
  } finally {
    service?.close();
    release();
  }
}

function prepareHost({ config }: KubeletOptions, logger: Logger): void {
  const uid = process.getuid?.();
  if (uid !== 0) logger.warn({ uid }, 'Kubelet running with insufficient permissions: it should run as root');
  if (config.failSwapOn) checkSwap();
  setUpKernelTunables({ protect: config.protectKernelDefaults, logger });
  setOOMScore(config.oomScoreAdj, logger);
  setMaxOpenFiles(config.maxOpenFiles, logger);
}

interface LockedRun {
  readonly options: KubeletOptions;
  readonly logger: Logger;
  readonly signals: HandledSignals;
  readonly faults: UncaughtFaultHandler;
  readonly service: ServiceNotifier;
}

async function runLocked({ options, logger, signals, faults, service }: LockedRun): Promise<void> {
  const rootDir = await ensureRootDir({
    rootDir: options.flags.rootDirectory,
    podLogsDir: options.config.podLogsDir,
    checkpoints: options.featureGates.enabled('ContainerCheckpoint'),
    logger: logger.child({ component: 'root-dir' }),
  });
  try {
    // Loaded here and not at the top: `--help` and configuration errors need none of these parts.
    const { startEarlyThreads } = await import('../wiring/early-threads.ts');
    const { isRealTimeWanted, realTimeVariable, ThreadPriorities } = await import('../threads/thread-priorities.ts');
    const priorities = new ThreadPriorities();
    const realTime = isRealTimeWanted(process.env);
    if (realTime === undefined) logger.warn({ [realTimeVariable]: process.env[realTimeVariable] }, 'Not true or false: taken for false');
    logger.info({ main: priorities.raiseMain({ realTime: realTime ?? false }) }, 'Priority of the main thread');
    const threads = startEarlyThreads(options, logger, priorities);
    service.followThreads(threads.state.heartbeats);
    const { runKubelet } = await import('../kubelet.ts');
    const onRunning = (): void => {
      faults.keepRunning();
      service.ready();
    };
    const { signal, setReloadHandler } = signals;
    const { problem: setupProblem } = rootDir;
    await runKubelet({ options, logger, signal, threads, setupProblem, setReloadHandler, reloadObserver: service, onRunning });
  } finally {
    await rootDir.release();
  }
}
