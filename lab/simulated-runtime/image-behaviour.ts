/**
 * The behaviour of a simulated container, given by its image name, so that an ordinary pod manifest is a test script:
 *
 *   sim/exit:1-after-5s        exits with code 1 after 5 s (`sim/exit:0` immediately)
 *   sim/oom:after-5s           is OOM-killed after 5 s: code 137, reason OOMKilled
 *   sim/stubborn:any           ignores the stop signal and is killed after the grace period
 *   sim/slowstop:0-after-3s    exits with code 0, 3 s after the stop signal
 *   sim/createfails:any        CreateContainer fails
 *   sim/startfails:any         StartContainer fails, and leaves the container exited with 128 StartError
 *   sim/pull:after-5s          runs; its pull takes 5 s
 *   sim/unpullable:not-found   its pull fails; also `unauthorized`, `unavailable`, `unknown`
 *   sim/run:any, other names   run until the stop signal: code 143
 *
 * Any registry may precede `sim/`. Environment variables of the container set the behaviour for any image:
 * SIM_EXIT_CODE, SIM_EXIT_AFTER (`5s`), SIM_STOP_CODE, SIM_STOP_AFTER (`never` ignores the signal), SIM_LOG_LINES (at start), SIM_LOG_EVERY (`100ms`),
 * SIM_LOG_BATCH (lines at a time), SIM_LOG_TEXT, SIM_TERMINATION_MESSAGE.
 */
import { grpcCode, type GrpcCode } from '../../src/shared/cri/cri-error.ts';

export interface ContainerBehaviour {
  /** Null: the container runs until it is stopped. */
  readonly exit: { readonly code: number; readonly afterMs: number; readonly reason: '' | 'OOMKilled' } | null;
  /** Reaction to the stop signal; null: the signal is ignored. */
  readonly stop: { readonly code: number; readonly afterMs: number } | null;
  readonly createFails: boolean;
  readonly startFails: boolean;
  readonly logLines: number;
  /** 0: no lines after the first ones. */
  readonly logEveryMs: number;
  readonly logBatch: number;
  readonly logText: string;
  readonly terminationMessage: string;
}

export interface PullBehaviour {
  /** Null: the runtime's default pull time. */
  readonly pullMs: number | null;
  readonly failure: { readonly code: GrpcCode; readonly message: string } | null;
}

/** Exit codes after SIGTERM and SIGKILL: 128 + signal number. */
const sigtermExitCode = 143;
export const sigkillExitCode = 137;

/** Parses `5s`, `100ms`, `2m` or a number of ms. Throws for anything else. */
export function parseDurationMs(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|)$/.exec(text);
  if (!match) throw new Error(`not a duration: ${JSON.stringify(text)} (want 5s, 100ms or 2m)`);
  const unit = { ms: 1, '': 1, s: 1000, m: 60_000 }[match[2]!]!;
  return Number(match[1]) * unit;
}

/** Returns the word after `sim/` and the tag. Null for other images. */
function simName(image: string): { word: string; tag: string } | null {
  const match = /(?:^|\/)sim\/([a-z]+)(?::([\w.-]+))?(?:@.*)?$/.exec(image);
  return match ? { word: match[1]!, tag: match[2] ?? 'latest' } : null;
}

/** Parses `1-after-5s`, `1` or `after-5s`. Missing parts have defaults. */
function codeAndTime(tag: string, code: number): { code: number; afterMs: number } {
  const match = /^(\d+)?-?(?:after-(.+))?$/.exec(tag);
  if (!match) return { code, afterMs: 0 };
  return { code: match[1] === undefined ? code : Number(match[1]), afterMs: match[2] === undefined ? 0 : parseDurationMs(match[2]) };
}

function fromImage(image: string): Pick<ContainerBehaviour, 'exit' | 'stop' | 'createFails' | 'startFails'> {
  const runs = { exit: null, stop: { code: sigtermExitCode, afterMs: 0 }, createFails: false, startFails: false };
  const name = simName(image);
  switch (name?.word) {
    case 'exit':
      return { ...runs, exit: { ...codeAndTime(name.tag, 0), reason: '' } };
    case 'oom':
      return { ...runs, exit: { ...codeAndTime(name.tag, sigkillExitCode), code: sigkillExitCode, reason: 'OOMKilled' } };
    case 'stubborn':
      return { ...runs, stop: null };
    case 'slowstop':
      return { ...runs, stop: codeAndTime(name.tag, 0) };
    case 'createfails':
      return { ...runs, createFails: true };
    case 'startfails':
      return { ...runs, startFails: true };
    case undefined:
    default:
      return runs;
  }
}

/** Returns the behaviour of a container. Throws when an environment variable is invalid. */
export function containerBehaviour(image: string, env: ReadonlyMap<string, string>): ContainerBehaviour {
  const base = fromImage(image);
  const code = env.get('SIM_EXIT_CODE');
  const after = env.get('SIM_EXIT_AFTER');
  const exit =
    code === undefined && after === undefined
      ? base.exit
      : { code: Number(code ?? 0), afterMs: after === undefined ? 0 : parseDurationMs(after), reason: '' as const };
  const stopAfter = env.get('SIM_STOP_AFTER');
  const stop =
    stopAfter === 'never'
      ? null
      : {
          code: Number(env.get('SIM_STOP_CODE') ?? base.stop?.code ?? sigtermExitCode),
          afterMs: stopAfter === undefined ? (base.stop?.afterMs ?? 0) : parseDurationMs(stopAfter),
        };
  const overridesStop = stopAfter !== undefined || env.has('SIM_STOP_CODE');
  return {
    ...base,
    exit,
    stop: overridesStop ? stop : base.stop,
    logLines: Number(env.get('SIM_LOG_LINES') ?? 1),
    logEveryMs: env.has('SIM_LOG_EVERY') ? parseDurationMs(env.get('SIM_LOG_EVERY')!) : 0,
    logBatch: Number(env.get('SIM_LOG_BATCH') ?? 1),
    logText: env.get('SIM_LOG_TEXT') ?? 'simulated output',
    terminationMessage: env.get('SIM_TERMINATION_MESSAGE') ?? '',
  };
}

const pullFailures: Readonly<Record<string, { code: GrpcCode; message: (image: string) => string }>> = {
  'not-found': { code: grpcCode.NOT_FOUND, message: (image) => `failed to resolve reference "${image}": ${image}: not found` },
  unauthorized: {
    code: grpcCode.UNKNOWN,
    message: (image) =>
      `failed to resolve reference "${image}": pull access denied, repository does not exist or may require authorization`,
  },
  unavailable: {
    code: grpcCode.UNAVAILABLE,
    message: (image) => `failed to resolve reference "${image}": failed to do request: dial tcp: connect: connection refused`,
  },
  unknown: { code: grpcCode.UNKNOWN, message: (image) => `failed to copy "${image}": unexpected EOF` },
};

/** Returns the behaviour of a pull. */
export function pullBehaviour(image: string): PullBehaviour {
  const name = simName(image);
  if (name?.word === 'pull') return { pullMs: codeAndTime(name.tag, 0).afterMs, failure: null };
  if (name?.word !== 'unpullable') return { pullMs: null, failure: null };
  const failure = pullFailures[name.tag] ?? pullFailures['not-found']!;
  return {
    pullMs: null,
    failure: { code: failure.code, message: `failed to pull and unpack image "${image}": ${failure.message(image)}` },
  };
}
