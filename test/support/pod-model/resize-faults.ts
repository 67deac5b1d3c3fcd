/** Does the operations of resizes on the parts of a modelled node. */
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { ModelApi } from './model-api.ts';
import type { ModelCgroups } from './model-cgroups.ts';
import type { ModelCheckpoints } from './model-checkpoints.ts';
import type { ModelClock } from './model-clock.ts';
import type { ModelRuntime } from './model-runtime.ts';
import type { ModelMachine } from './model-machine.ts';
import { nodeCPUs, nodeMemory, resizedPod, withVolumeSize, type Resized, type ResizeOperation } from './resize-operation.ts';
import type { RuntimeCalls } from './runtime-calls.ts';

export interface ResizedNode {
  readonly clock: ModelClock;
  readonly api: ModelApi;
  readonly runtime: ModelRuntime;
  readonly calls: RuntimeCalls;
  readonly cgroups: ModelCgroups;
  readonly checkpoints: ModelCheckpoints;
  readonly machine: ModelMachine;
  /** Asks for other resources of a static pod. */
  readonly resizeStatic: (slot: number, change: (pod: Pod) => Resized | null) => void;
  readonly killLater: (points: number, downMs: number) => void;
  /** @param restarted the container that its resize policy restarts */
  readonly onResize: (pod: Pod, restarted: string | undefined) => void;
}

export function applyResizeOperation(node: ResizedNode, operation: ResizeOperation): void {
  const { clock, runtime, calls, cgroups, checkpoints } = node;
  switch (operation.type) {
    case 'resize':
      return resize(node, node.api.pods.pods.get(`pod-${operation.slot}`), operation);
    case 'resizeStatic':
      return node.resizeStatic(operation.slot, (pod) => resizedPod(pod, operation));
    case 'resizeVolume': {
      const pod = node.api.pods.pods.get(`pod-${operation.slot}`);
      const resized = pod && withVolumeSize(pod, operation.memory);
      if (!resized) return;
      node.onResize(resized, undefined);
      return node.api.put(resized);
    }
    case 'nodeChanges':
      return node.machine.change({ cpu: nodeCPUs[operation.cpu]!, memory: nodeMemory[operation.memory]! });
    case 'use': {
      const running = runtime.running();
      const container = running[operation.pick % running.length];
      if (!container) return;
      container.usageBytes = Math.floor(container.resources.memoryLimit * operation.share);
      container.usedSinceMs = clock.now();
      return;
    }
    case 'killAt':
      return node.killLater(operation.points, operation.downMs);
    case 'diskFull':
      checkpoints.fullUntilMs = clock.monotonic() + operation.ms;
      return;
    case 'cgroupFault':
      cgroups.failures = operation.times;
      return;
    case 'sandboxUpdates':
      calls.sandboxUpdates = operation.answer;
      return;
    case 'loseCheckpoint': {
      const lose = (name: 'allocated_pods_state' | 'actuated_pods_state') =>
        operation.how === 'removed' ? checkpoints.remove(name) : checkpoints.spoil(name);
      if (operation.which !== 'actuated') lose('allocated_pods_state');
      if (operation.which !== 'allocated') lose('actuated_pods_state');
      return;
    }
    default:
      operation satisfies never;
  }
}

function resize({ api, onResize }: ResizedNode, pod: Pod | undefined, operation: ResizeOperation & { type: 'resize' }): void {
  const resized = pod && resizedPod(pod, operation);
  if (!resized) return;
  onResize(resized.pod, resized.restarted);
  api.put(resized.pod);
}
