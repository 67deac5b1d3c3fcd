/** The options of the simulated runtime, set at its start (`--config`) and at run time (control call `configure`). */
import { containerdContention, type ContentionOptions } from './contention.ts';

/** Latency of a call that runs alone, log-normally distributed to have a realistic tail. */
export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface RuntimeOptions {
  /** By call name (`RunPodSandbox`). Other calls have no latency. */
  readonly latency: Readonly<Record<string, Latency>>;
  /** Null: concurrent calls do not slow each other down. */
  readonly contention: ContentionOptions | null;
  /** Whether GetContainerEvents is implemented. */
  readonly events: boolean;
  /** Whether StreamPodSandboxes, StreamContainers and StreamImages are implemented. */
  readonly streamingLists: boolean;
  /** RemoveContainer of a running container: `refuse` reveals a kubelet that does this; `stop` kills and removes it, as containerd 1.7 does. */
  readonly removeRunning: 'refuse' | 'stop';
  /** The reply of RuntimeConfig; `unimplemented` as in containerd 1.7. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd' | 'unimplemented';
  readonly runtimeHandlers: readonly string[];
  /** Whether Status reports the feature `mount_options`, which no containerd does so far. */
  readonly mountOptions: boolean;
  /** Images that exist from the start. Others are added by PullImage. */
  readonly images: readonly { readonly name: string; readonly sizeBytes?: number; readonly pinned?: boolean }[];
  readonly pullMs: number;
  readonly imageSizeBytes: number;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly networkReady: boolean;
  /** Mount point in the reply of ImageFsInfo. */
  readonly imageFsMountpoint: string;
  /**
   * The replies about containers: `kata` as containerd's for a virtual machine. Its agent measures few values of cgroup v2 (metrics.go of containerd-shim-v2 of Kata
   * Containers), containerd makes 0 of the others, and a machine that still boots has measured nothing.
   */
  readonly containerStats: 'full' | 'kata';
}

/** The calls that work with processes. They share the simulated cores (SharedWork). */
export const heavyCalls: ReadonlySet<string> = new Set([
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'RemoveContainer',
  'ExecSync',
  'ListContainerStats',
  'ListPodSandboxStats',
]);

/** Measured on containerd 1.7.24 on 2 cores, one call at a time. */
const containerdLatency: Readonly<Record<string, Latency>> = {
  RunPodSandbox: { p50Ms: 75, p99Ms: 110 },
  CreateContainer: { p50Ms: 9, p99Ms: 20 },
  StartContainer: { p50Ms: 38, p99Ms: 60 },
  StopContainer: { p50Ms: 22, p99Ms: 60 },
  StopPodSandbox: { p50Ms: 100, p99Ms: 180 },
  RemovePodSandbox: { p50Ms: 20, p99Ms: 50 },
  RemoveContainer: { p50Ms: 10, p99Ms: 25 },
  ContainerStatus: { p50Ms: 0.6, p99Ms: 2 },
  PodSandboxStatus: { p50Ms: 0.6, p99Ms: 2 },
  ImageStatus: { p50Ms: 0.5, p99Ms: 2 },
  ExecSync: { p50Ms: 60, p99Ms: 120 },
  ListContainerStats: { p50Ms: 346, p99Ms: 500 },
  ListPodSandboxStats: { p50Ms: 346, p99Ms: 500 },
};

export const defaultOptions: RuntimeOptions = {
  latency: {},
  contention: null,
  events: true,
  streamingLists: false,
  removeRunning: 'refuse',
  cgroupDriver: 'cgroupfs',
  runtimeHandlers: ['', 'runc'],
  mountOptions: false,
  images: [],
  pullMs: 0,
  imageSizeBytes: 50 * 1024 * 1024,
  runtimeName: 'simulated',
  runtimeVersion: '1.7.24',
  networkReady: true,
  imageFsMountpoint: '/',
  containerStats: 'full',
};

/** `preset: "containerd"` sets the measured latencies and contention. Explicit options override it. */
export type RuntimeOptionsInput = Partial<RuntimeOptions> & { readonly preset?: 'containerd' };

/** Throws for an unknown option name, so that misspelled options are not ignored. */
export function applyOptions(base: RuntimeOptions, { preset, ...given }: RuntimeOptionsInput): RuntimeOptions {
  const wrong = Object.keys(given).find((name) => !(name in defaultOptions));
  if (wrong !== undefined) throw new Error(`unknown option ${JSON.stringify(wrong)}; known: ${Object.keys(defaultOptions).join(', ')}`);
  if (preset !== undefined && preset !== 'containerd') throw new Error(`unknown preset ${JSON.stringify(preset)}; known: containerd`);
  const presetOptions = preset === 'containerd' ? { latency: containerdLatency, contention: containerdContention, pullMs: 300 } : {};
  return { ...base, ...presetOptions, ...given };
}

/** z of the 99th percentile of a normal distribution. */
const z99 = 2.326;

/** Draws a latency in ms. @param random returns numbers in [0, 1) */
export function drawLatencyMs({ p50Ms, p99Ms }: Latency, random: () => number): number {
  if (p50Ms <= 0) return 0;
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return p50Ms * Math.exp((Math.log(Math.max(p99Ms, p50Ms) / p50Ms) / z99) * normal);
}
