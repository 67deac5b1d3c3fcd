/**
 * Reads from containerd's log when each call that starts, stops or resizes a pod began and ended. This gives the runtime's share without a proxy
 * between kubelet and runtime, whose own milliseconds would count as the kubelet's.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { monotonicMs } from '../../src/shared/time/clock.ts';
import { parsePreciseMs } from '../harness/timestamps.ts';

export interface RuntimeCall {
  readonly call: string;
  /** Monotonic ms. */
  readonly startMs: number;
  readonly endMs: number;
}

export const startCalls: ReadonlySet<string> = new Set(['RunPodSandbox', 'CreateContainer', 'StartContainer']);
export const stopCalls: ReadonlySet<string> = new Set(['StopContainer', 'StopPodSandbox']);
export const updateCall = 'UpdateContainerResources';

/** `time="2026-11-21T17:48:18.060352444Z" level=info msg="StopContainer for \"3f…\" with timeout 30 (s)"` */
const line = /^time="(?<time>[^"]+)" level=info msg="(?<call>\w+) (?<rest>(?:for|within) .*)"$/;
/** An ID, or a name with its attempt. */
const identity = /\\"[0-9a-f]{64}\\"|&\w+\{[^}]*\}/g;
/** Number of identities that identify the call. Further ones belong to the result. */
const identityCount = (call: string) => (call === 'CreateContainer' ? 2 : 1);

export interface LoggedCall {
  readonly call: string;
  /** Identifies the call among those of its type. */
  readonly subject: string;
  readonly isEnd: boolean;
  /** Wall-clock ms, with fractions. */
  readonly atMs: number;
}

/** Returns undefined for other log lines. */
export function parseLogLine(text: string): LoggedCall | undefined {
  const { time = '', call = '', rest = '' } = line.exec(text)?.groups ?? {};
  if (!startCalls.has(call) && !stopCalls.has(call) && call !== updateCall) return undefined;
  const subject = (rest.match(identity) ?? []).slice(0, identityCount(call)).join(' ');
  return { call, subject, isEnd: rest.includes(' returns '), atMs: parsePreciseMs(time) };
}

export class RuntimeCalls {
  readonly #file: number;
  #rest = '';
  /** Start times of the calls that have not ended, by name and subject. */
  readonly #startTimes = new Map<string, number>();

  /** Reads the log from its beginning. */
  constructor(logFile: string) {
    this.#file = openSync(logFile, 'r');
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Returns the calls that ended since the last call of `take`. */
  take(): readonly RuntimeCall[] {
    const toMonotonicMs = monotonicMs() - (performance.timeOrigin + performance.now());
    const calls: RuntimeCall[] = [];
    for (const text of this.#newLines()) {
      const logged = parseLogLine(text);
      if (!logged) continue;
      const { call, subject, isEnd, atMs } = logged;
      const key = `${call} ${subject}`;
      const startMs = this.#startTimes.get(key);
      if (!isEnd) this.#startTimes.set(key, atMs + toMonotonicMs);
      else if (startMs !== undefined && this.#startTimes.delete(key)) calls.push({ call, startMs, endMs: atMs + toMonotonicMs });
    }
    return calls;
  }

  #newLines(): string[] {
    const chunk = Buffer.alloc(64 * 1024);
    for (let length = 0; (length = readSync(this.#file, chunk, 0, chunk.length, null)) > 0;)
      this.#rest += chunk.toString('utf8', 0, length);
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}
