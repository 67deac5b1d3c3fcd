/**
 * Turns SIGTERM and SIGINT into an abort signal with a deadline, and SIGHUP into a request to reload the configuration. Signals that mean nothing to a kubelet
 * are ignored, as by Go's runtime.
 */
import type { Logger } from '../../shared/log/logger.ts';

/** The shutdown order has a shorter deadline (kubelet.ts). A call that hangs in the kernel, on a dead NFS server, is abandoned. */
const stopDeadlineMs = 5000;

/**
 * Signals that Go's runtime ignores (os/signal, and the table of runtime/sigtab_linux_generic.go) although their default action ends a process.
 * SIGUSR1 is another one; a flag of Node (bin/kubelet) makes Node ignore it.
 */
const ignoredSignals = ['SIGUSR2', 'SIGALRM', 'SIGVTALRM', 'SIGIO', 'SIGPWR', 'SIGXCPU'] as const;

export interface HandledSignals {
  readonly signal: AbortSignal;
  /** Stops the kubelet as SIGTERM does. */
  readonly stop: (reason: string) => void;
  /** Sets the only handler of SIGHUP. A signal that came earlier is handled now. */
  readonly setReloadHandler: (handler: () => void) => void;
  /** Removes the signal handlers. */
  readonly release: () => void;
}

/** The first signal stops the kubelet in order; a second one exits at once with code 1. */
export function handleSignals(logger: Logger): HandledSignals {
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;
  const stop = (reason: string): void => {
    if (controller.signal.aborted) return;
    logger.info({ reason }, 'Stopping');
    deadline = setTimeout(() => {
      logger.error({ reason, afterMs: stopDeadlineMs }, 'Could not stop in time: exiting');
      process.exit(1);
    }, stopDeadlineMs).unref();
    controller.abort(new Error(`the kubelet is stopping: ${reason}`));
  };
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      logger.warn({ signal: name }, 'Received a second signal: exiting at once');
      process.exit(1);
    }
    stop(name);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  const ignore = (): void => {};
  for (const name of ignoredSignals) process.on(name, ignore);
  let reload: (() => void) | null = null;
  let isReloadWanted = false;
  const onHangup = (): void => {
    logger.info({ signal: 'SIGHUP', isStarting: reload === null }, 'Reloading the configuration');
    if (reload) reload();
    else isReloadWanted = true;
  };
  process.on('SIGHUP', onHangup);
  return {
    signal: controller.signal,
    stop,
    setReloadHandler: (handler) => {
      reload = handler;
      if (isReloadWanted) handler();
    },
    release: () => {
      clearTimeout(deadline);
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
      process.off('SIGHUP', onHangup);
      for (const name of ignoredSignals) process.off(name, ignore);
    },
  };
}
