/** What the simulated runtime can be told at its start (`--config`), and again while it runs (control call `configure`). */
import { containerdContention, type ContentionOptions } from './contention.ts';

/** Time that a call takes alone: log-normal, so that a tail is there as in life. */
export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface RuntimeOptions {
  /** By call name (`RunPodSandbox`); what is absent takes none. */
  readonly latency: Readonly<Record<string, Latency>>;
  /** Null: calls do not slow each other down. */
  readonly contention: ContentionOptions | null;
  /** GetContainerEvents is there, or answers Unimplemented. */
  readonly events: boolean;
  /** StreamPodSandboxes, StreamContainers, StreamImages are there, or answer Unimplemented. */
  readonly streamingLists: boolean;
  /** `refuse` shows a kubelet that removes what still runs; containerd 1.7 kills it and removes it: `stop`. */
  readonly removeRunning: 'refuse' | 'stop';
  /** RuntimeConfig's answer; `unimplemented` as containerd 1.7. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd' | 'unimplemented';
  readonly runtimeHandlers: readonly string[];
  /** Images that are there from the start. Others come by PullImage, unless their name says otherwise. */
  readonly images: readonly { readonly name: string; readonly sizeBytes?: number; readonly pinned?: boolean }[];
  readonly pullMs: number;
  readonly imageSizeBytes: number;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly networkReady: boolean;
  /** Mount point that ImageFsInfo names. */
  readonly imageFsMountpoint: string;
}

/** The calls that start, stop or ask processes: they share the machine's cores (SharedWork). */
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
  images: [],
  pullMs: 0,
  imageSizeBytes: 50 * 1024 * 1024,
  runtimeName: 'simulated',
  runtimeVersion: '1.7.24',
  networkReady: true,
  imageFsMountpoint: '/',
};

/** `preset: "containerd"` brings the measured latencies and contention; what stands beside it wins. */
export type RuntimeOptionsInput = Partial<RuntimeOptions> & { readonly preset?: 'containerd' };

/** Throws on a name that is not an option, so that a misspelt one is not silently without effect. */
export function applyOptions(base: RuntimeOptions, { preset, ...given }: RuntimeOptionsInput): RuntimeOptions {
  const wrong = Object.keys(given).find((name) => !(name in defaultOptions));
  if (wrong !== undefined) throw new Error(`unknown option ${JSON.stringify(wrong)}; known: ${Object.keys(defaultOptions).join(', ')}`);
  if (preset !== undefined && preset !== 'containerd') throw new Error(`unknown preset ${JSON.stringify(preset)}; known: containerd`);
  const measured = preset === 'containerd' ? { latency: containerdLatency, contention: containerdContention, pullMs: 300 } : {};
  return { ...base, ...measured, ...given };
}

/** z of the 99th percentile of a normal distribution. */
const z99 = 2.326;

/** One draw, in ms. `random` gives numbers in [0, 1). */
export function drawLatencyMs({ p50Ms, p99Ms }: Latency, random: () => number): number {
  if (p50Ms <= 0) return 0;
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return p50Ms * Math.exp((Math.log(Math.max(p99Ms, p50Ms) / p50Ms) / z99) * normal);
}
