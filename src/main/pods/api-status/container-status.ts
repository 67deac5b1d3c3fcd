/** One container as the API shows it, from the runtime's view of one instance of it. */
import { posix } from 'node:path';
import type { RuntimeContainerResources, RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, ContainerState, ContainerStatus, ResourceRequirements, VolumeMount } from '../../../shared/kubernetes/api.ts';
import { formatQuantity, milliValue, quantityOf } from '../../../shared/kubernetes/quantity.ts';
import { recursiveReadOnly } from '../../../shared/kubernetes/recursive-read-only.ts';
import { restartingAllContainers } from './restart-all.ts';
import { toOptionalApiTime } from '../../../shared/kubernetes/api-time.ts';

export interface ContainerContext {
  readonly container: Container;
  readonly before: ContainerStatus | undefined;
  readonly runtimeName: string;
  /** The pod's runtime handler can make what is below a read-only mount read-only too. */
  readonly supportsRecursiveReadOnly: boolean;
  /** All containers of its pod are to be restarted (isRestartingAll). */
  readonly restarting: boolean;
  /** Gate ContainerStopSignals. */
  readonly stopSignals: boolean;
  /** Gate ImageVolumeWithDigest: the names of the pod's image volumes; empty while it is off. */
  readonly imageVolumes: ReadonlySet<string>;
}

export function toContainerStatus(seen: RuntimeContainerStatus, context: ContainerContext): ContainerStatus {
  const { container, before, runtimeName, restarting, stopSignals } = context;
  const containerID = `${runtimeName}://${seen.id}`;
  const lost = seen.state === 'unknown' && before?.state?.running !== undefined;
  return {
    name: seen.name,
    state: lost ? lostState(restarting) : toState(seen, containerID),
    lastState: {},
    ready: false,
    restartCount: lost ? before.restartCount + 1 : restartCountOf(seen, before),
    image: seen.image,
    imageID: seen.imageRef,
    containerID,
    ...(container.resources?.requests ? { allocatedResources: container.resources.requests } : {}),
    resources: shownResources(container, seen),
    ...withImageRefs(volumeMountsOf(context), seen, context),
    ...(seen.user ? { user: { linux: { ...seen.user } } } : {}),
    ...(stopSignals && seen.stopSignal ? { stopSignal: seen.stopSignal } : {}),
  };
}

/**
 * It ran when it was last seen, and the runtime cannot say what became of it: that is an end, not a wait (upstream). 137: an error, since
 * nobody knows how it ended.
 */
export function lostState(restarting: boolean): ContainerState {
  const reason = restarting ? restartingAllContainers : 'ContainerStatusUnknown';
  return { terminated: { exitCode: 137, reason, message: 'The container could not be located when the pod was terminated' } };
}

/** Never less than was said; one that runs after its end is one more, also where the runtime has forgotten the one before. */
function restartCountOf({ state, restartCount }: RuntimeContainerStatus, before: ContainerStatus | undefined): number {
  const said = before?.restartCount ?? 0;
  return state === 'running' && before?.state?.terminated && said >= restartCount ? said + 1 : Math.max(restartCount, said);
}

function toState(seen: RuntimeContainerStatus, containerID: string): ContainerState {
  switch (seen.state) {
    case 'running':
      return { running: optional({ startedAt: toOptionalApiTime(seen.startedAtMs) }) };
    case 'exited':
      return {
        terminated: {
          exitCode: seen.exitCode,
          containerID,
          ...optional({
            reason: seen.reason || undefined,
            message: seen.message || undefined,
            startedAt: toOptionalApiTime(seen.startedAtMs),
            finishedAt: toOptionalApiTime(seen.finishedAtMs),
          }),
        },
      };
    case 'created':
    case 'unknown':
      return { waiting: {} };
    default:
      return seen.state satisfies never;
  }
}

function optional<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

type MountContext = Pick<ContainerContext, 'container' | 'before' | 'supportsRecursiveReadOnly'>;

/** They never change once there is a container; until then the handler that it will run with is not known for certain. */
export function volumeMountsOf(context: MountContext): Pick<ContainerStatus, 'volumeMounts'> {
  const { container, before } = context;
  if (!container.volumeMounts?.length) return {};
  const shown = before?.containerID ? before.volumeMounts : undefined;
  return { volumeMounts: shown ?? container.volumeMounts.map((mount) => toMountStatus(mount, context)) };
}

/** Which image each image volume is, by where it is mounted. Upstream asks the runtime for the ID behind the reference, which is that ID already. */
function withImageRefs(
  shown: Pick<ContainerStatus, 'volumeMounts'>,
  { mounts }: RuntimeContainerStatus,
  { imageVolumes }: ContainerContext,
): Pick<ContainerStatus, 'volumeMounts'> {
  if (imageVolumes.size === 0 || !shown.volumeMounts) return shown;
  const pathOf = (path: string) => posix.resolve('/', path);
  return {
    volumeMounts: shown.volumeMounts.map((mount) => {
      if (!imageVolumes.has(mount.name)) return mount;
      const imageRef = mounts.find(({ containerPath }) => pathOf(containerPath) === pathOf(mount.mountPath))?.image;
      return imageRef === undefined ? mount : { ...mount, volumeStatus: { image: { imageRef } } };
    }),
  };
}

function toMountStatus(mount: VolumeMount, context: MountContext): NonNullable<ContainerStatus['volumeMounts']>[number] {
  const { name, mountPath, readOnly } = mount;
  return { name, mountPath, ...(readOnly ? { readOnly, recursiveReadOnly: recursiveMode(mount, context) } : {}) };
}

/** A container that asks for what cannot be does not start, and its waiting reason says why. */
function recursiveMode(mount: VolumeMount, { supportsRecursiveReadOnly }: MountContext): 'Enabled' | 'Disabled' {
  try {
    return recursiveReadOnly(mount, supportsRecursiveReadOnly) ? 'Enabled' : 'Disabled';
  } catch {
    return 'Disabled';
  }
}

/** Below these, what the runtime has says less than what was asked for (upstream cm.MinMilliCPULimit, cm.MinShares). */
const minMilliCPULimit = 10;
const minShares = 2;

/** What was asked for, corrected by what the runtime really gave a running container (upstream convertContainerStatusResources). */
function shownResources({ resources = {} }: Container, seen: RuntimeContainerStatus): ResourceRequirements {
  if (seen.state !== 'running' || !seen.resources) return resources;
  return {
    ...resources,
    ...(resources.limits ? { limits: { ...resources.limits, ...actualLimits(resources.limits, seen.resources) } } : {}),
    ...(resources.requests ? { requests: { ...resources.requests, ...actualRequests(resources.requests, seen.resources) } } : {}),
  };
}

type Amounts = Readonly<Record<string, string>>;

function actualLimits(asked: Amounts, { cpuQuota, cpuPeriod, memoryLimitBytes }: RuntimeContainerResources): Amounts {
  const milliCPU = cpuPeriod > 0 ? Math.floor((cpuQuota * 1000) / cpuPeriod) : 0;
  const askedMilliCPU = milliValue(asked.cpu);
  return {
    ...(milliCPU > 0 && milliCPU !== askedMilliCPU && Math.max(milliCPU, askedMilliCPU) > minMilliCPULimit
      ? { cpu: formatMilliCPU(milliCPU) }
      : {}),
    ...(memoryLimitBytes > 0 && 'memory' in asked ? { memory: formatQuantity(quantityOf(memoryLimitBytes, 'BinarySI')) } : {}),
  };
}

function actualRequests(asked: Amounts, { cpuShares }: RuntimeContainerResources): Amounts {
  // Shares are coarser than milli-CPUs: only a value that the asked one does not make is news.
  const askedShares = Math.max(minShares, Math.floor((milliValue(asked.cpu) * 1024) / 1000));
  if (cpuShares <= minShares || cpuShares === askedShares || !('cpu' in asked)) return {};
  return { cpu: formatMilliCPU(Math.ceil((cpuShares * 1000) / 1024)) };
}

function formatMilliCPU(milli: number): string {
  return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
}
