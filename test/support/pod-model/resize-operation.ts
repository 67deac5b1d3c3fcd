/** The operations of resizes on a modelled node, and what a pod asks for after one. Pure. */
import type { Container, Pod, ResourceRequirements } from '../../../src/shared/kubernetes/api.ts';
import { isRestartableInitContainer } from '../../../src/shared/kubernetes/restart-policy.ts';

export type ResizeOperation =
  | {
      readonly type: 'resize';
      readonly slot: number;
      readonly pick: number;
      readonly cpu: number;
      readonly memory: number;
      readonly parts: 'cpu' | 'memory' | 'both';
    }
  /** A manifest of a static pod that keeps its UID asks for other resources. */
  | {
      readonly type: 'resizeStatic';
      readonly slot: number;
      readonly pick: number;
      readonly cpu: number;
      readonly memory: number;
      readonly parts: 'cpu' | 'memory' | 'both';
    }
  /** Of a volume in memory. */
  | { readonly type: 'resizeVolume'; readonly slot: number; readonly memory: number }
  /** The machine, or what is reserved of it, has changed. */
  | { readonly type: 'nodeChanges'; readonly cpu: number; readonly memory: number }
  /** A container uses memory. */
  | { readonly type: 'use'; readonly pick: number; readonly share: number }
  /** The kubelet dies when this many kill points have passed. */
  | { readonly type: 'killAt'; readonly points: number; readonly downMs: number }
  | { readonly type: 'diskFull'; readonly ms: number }
  | { readonly type: 'cgroupFault'; readonly times: number }
  | { readonly type: 'sandboxUpdates'; readonly answer: 'works' | 'unimplemented' | 'unknown' | 'refuses' | 'hangs' }
  /** The kubelet dies, and a checkpoint is missing or broken when it starts again. */
  | { readonly type: 'loseCheckpoint'; readonly which: 'allocated' | 'actuated' | 'both'; readonly how: 'removed' | 'broken' };

export const milliCPUs = [1, 50, 100, 300, 700, 1500, 9000] as const;
export const mebibytes = [32, 64, 128, 512, 1024] as const;

/** What the node may have. */
export const nodeCPUs = ['1', '2', '4'] as const;
export const nodeMemory = ['1Gi', '2Gi', '4Gi'] as const;

export interface Resized {
  readonly pod: Pod;
  /** The container that its resize policy restarts. */
  readonly restarted: string | undefined;
}

export type AskedAmounts = Pick<ResizeOperation & { type: 'resize' }, 'pick' | 'cpu' | 'memory' | 'parts'>;

/** The pod with another size of its volume in memory; null when it has none. */
export function withVolumeSize(pod: Pod, memory: number): Pod | null {
  const { spec, metadata } = pod;
  if (!spec.volumes?.some(({ emptyDir }) => emptyDir?.medium === 'Memory')) return null;
  const volumes = spec.volumes.map((volume) =>
    volume.emptyDir?.medium === 'Memory' ? { ...volume, emptyDir: { ...volume.emptyDir, sizeLimit: `${mebibytes[memory]!}Mi` } } : volume,
  );
  return { ...pod, metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 }, spec: { ...spec, volumes } };
}

/** The pod with the resources that the operation asks for; null when it has none to change. */
export function resizedPod(pod: Pod, operation: AskedAmounts): Resized | null {
  const { spec, metadata } = pod;
  const generation = (metadata.generation ?? 0) + 1;
  const change = (resources: ResourceRequirements) => changed(resources, operation);
  if (spec.resources)
    return {
      pod: { ...pod, metadata: { ...metadata, generation }, spec: { ...spec, resources: change(spec.resources) } },
      restarted: undefined,
    };
  const candidates = [...(spec.initContainers ?? []).filter(isRestartableInitContainer), ...spec.containers].filter(hasAmounts);
  const chosen = candidates[operation.pick % candidates.length];
  if (!chosen) return null;
  const resources = change(chosen.resources ?? {});
  const replace = (container: Container) => (container.name === chosen.name ? { ...container, resources } : container);
  const initContainers = spec.initContainers?.map(replace);
  const next = { ...spec, containers: spec.containers.map(replace), ...(initContainers && { initContainers }) };
  const isRestarted = (chosen.resizePolicy ?? []).some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === 'RestartContainer' && (operation.parts === 'both' || operation.parts === resourceName),
  );
  return { pod: { ...pod, metadata: { ...metadata, generation }, spec: next }, restarted: isRestarted ? chosen.name : undefined };
}

const hasAmounts = ({ resources = {} }: Container) => Object.keys({ ...resources.requests, ...resources.limits }).length > 0;

/** Keeps the QoS class, and which amounts there are: the API server refuses other changes. */
function changed({ requests = {}, limits = {}, ...others }: ResourceRequirements, { cpu, memory, parts }: AskedAmounts) {
  const isGuaranteed = Object.keys(requests).length === 2 && Object.entries(requests).every(([name, amount]) => limits[name] === amount);
  const amountOf = (name: string, factor: number) => (name === 'cpu' ? `${milliCPUs[cpu]! * factor}m` : `${mebibytes[memory]! * factor}Mi`);
  const list = (before: Readonly<Record<string, string>>, factor: number) =>
    Object.fromEntries(
      Object.entries(before).map(([name, amount]) => [name, parts === 'both' || parts === name ? amountOf(name, factor) : amount]),
    );
  return { ...others, requests: list(requests, 1), limits: list(limits, isGuaranteed ? 1 : 2) };
}
