/** Reads systemd's watchdog settings from the environment. Pure. Upstream: SdWatchdogEnabled in go-systemd, NewHealthChecker in pkg/kubelet/watchdog. */
import { goDuration } from '../../shared/kubernetes/go-text.ts';

/** Upstream's minimalNotifyInterval. */
const minimumTimeoutMs = 1000;

/**
 * Returns the unit's WatchdogSec in ms; null without a watchdog, and when it is meant for another process. Throws for settings that
 * are not valid: the kubelet does not start then.
 */
export function watchdogTimeoutMs(env: Readonly<Record<string, string | undefined>>, pid: number): number | null {
  const { WATCHDOG_USEC: timeout = '', WATCHDOG_PID: watchedPid = '' } = env;
  if (timeout === '') return null;
  const timeoutUs = toInteger('WATCHDOG_USEC', timeout);
  if (timeoutUs <= 0) throw new Error('configure watchdog: error WATCHDOG_USEC must be a positive number');
  if (watchedPid !== '' && toInteger('WATCHDOG_PID', watchedPid) !== pid) return null;
  const timeoutMs = timeoutUs / 1000;
  if (timeoutMs <= minimumTimeoutMs) throw new Error(`configure watchdog timeout too small: ${goDuration(timeoutMs)}`);
  return timeoutMs;
}

function toInteger(name: string, text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`configure watchdog: error converting ${name}: ${JSON.stringify(text)} is not an integer`);
  return Number(text);
}
