/**
 * When containerd began and ended each call that starts or stops a pod, by its own log: what a kubelet took beyond its runtime is then known
 * without asking either, and with nobody in between, who would cost each call some milliseconds that nobody could tell from the kubelet's.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { monotonicMs } from '../../src/shared/time/clock.ts';

export interface RuntimeCall {
  readonly call: string;
  /** Monotonic ms. */
  readonly startMs: number;
  readonly endMs: number;
}

export const startCalls: ReadonlySet<string> = new Set(['RunPodSandbox', 'CreateContainer', 'StartContainer']);
export const stopCalls: ReadonlySet<string> = new Set(['StopContainer', 'StopPodSandbox']);

/** `time="2026-11-21T17:48:18.060352444Z" level=info msg="StopContainer for \"3f…\" with timeout 30 (s)"` */
const line = /^time="(?<second>[^".]+)\.(?<fraction>\d+)Z" level=info msg="(?<call>\w+) (?<rest>(?:for|within) .*)"$/;
/** An ID, or a name with its attempt. */
const identity = /\\"[0-9a-f]{64}\\"|&\w+\{[^}]*\}/g;
/** So many of them say which call it is; what follows is the answer. */
const identitiesOf = (call: string) => (call === 'CreateContainer' ? 2 : 1);

export interface LoggedCall {
  readonly call: string;
  /** What tells it from others of its kind. */
  readonly subject: string;
  readonly isEnd: boolean;
  /** Wall-clock ms, with fractions. */
  readonly atMs: number;
}

/** Undefined: the line is about something else. */
export function parseLogLine(text: string): LoggedCall | undefined {
  const { second, fraction, call = '', rest = '' } = line.exec(text)?.groups ?? {};
  if (!startCalls.has(call) && !stopCalls.has(call)) return undefined;
  const about = (rest.match(identity) ?? []).slice(0, identitiesOf(call)).join(' ');
  return { call, subject: about, isEnd: rest.includes(' returns '), atMs: Date.parse(`${second}Z`) + Number(`0.${fraction}`) * 1000 };
}

export class RuntimeCalls {
  readonly #file: number;
  #rest = '';
  /** When each call began that has not ended, by what it is about. */
  readonly #begun = new Map<string, number>();

  /** From the log's beginning. */
  constructor(logFile: string) {
    this.#file = openSync(logFile, 'r');
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Those that ended since the last time. */
  take(): readonly RuntimeCall[] {
    const toMonotonicMs = monotonicMs() - (performance.timeOrigin + performance.now());
    const calls: RuntimeCall[] = [];
    for (const text of this.#newLines()) {
      const logged = parseLogLine(text);
      if (!logged) continue;
      const { call, subject: about, isEnd, atMs } = logged;
      const key = `${call} ${about}`;
      const startMs = this.#begun.get(key);
      if (!isEnd) this.#begun.set(key, atMs + toMonotonicMs);
      else if (startMs !== undefined && this.#begun.delete(key)) calls.push({ call, startMs, endMs: atMs + toMonotonicMs });
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
