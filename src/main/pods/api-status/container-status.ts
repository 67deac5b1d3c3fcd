/** Converts the runtime's status of one container instance to the API's container status (upstream convertContainerStatus). */
import { posix } from 'node:path';
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, ContainerState, ContainerStatus, ResourceRequirements, VolumeMount } from '../../../shared/kubernetes/api.ts';
import { actualResources } from '../../allocation/index.ts';
import { recursiveReadOnly } from '../../../shared/runtime/recursive-read-only.ts';
import { restartingAllContainers } from './restart-all.ts';
import { shownImage } from './shown-image.ts';
import { toApiTime, toOptionalApiTime } from '../../../shared/kubernetes/api-time.ts';

export interface ContainerContext {
  readonly container: Container;
  /** The resources in force of the running container; undefined when these are the allocated ones. */
  readonly actuated: ResourceRequirements | undefined;
  readonly previousStatus: ContainerStatus | undefined;
  readonly runtimeName: string;
  /** The pod's runtime handler supports recursive read-only mounts. */
  readonly supportsRecursiveReadOnly: boolean;
  /** The pod is restarting all of its containers (isRestartingAll). */
  readonly restarting: boolean;
  /** Gate ContainerStopSignals. */
  readonly stopSignals: boolean;
  /** The names of the pod's image volumes; empty while the gate ImageVolumeWithDigest is off. */
  readonly imageVolumes: ReadonlySet<string>;
}

export function toContainerStatus(instance: RuntimeContainerStatus, context: ContainerContext): ContainerStatus {
  const { container, previousStatus, runtimeName, restarting, stopSignals } = context;
  const containerID = `${runtimeName}://${instance.id}`;
  const lost = instance.state === 'unknown' && previousStatus?.state?.running !== undefined;
  return {
    name: instance.name,
    state: lost ? lostState(restarting) : toState(instance, containerID),
    lastState: {},
    ready: false,
    restartCount: lost ? previousStatus.restartCount + 1 : restartCountOf(instance, previousStatus),
    image: shownImage(instance, container, previousStatus),
    imageID: instance.imageRef,
    containerID,
    ...(container.resources?.requests ? { allocatedResources: container.resources.requests } : {}),
    resources: shownResources(context, instance),
    ...withImageRefs(volumeMountsOf(context), instance, context),
    ...(instance.user ? { user: { linux: { ...instance.user } } } : {}),
    ...(stopSignals && instance.stopSignal ? { stopSignal: instance.stopSignal } : {}),
  };
}

/** The state of a container that ran before and that the runtime has lost: terminated, not waiting (upstream). 137 stands for an unknown exit code. */
export function lostState(restarting: boolean): ContainerState {
  const reason = restarting ? restartingAllContainers : 'ContainerStatusUnknown';
  return { terminated: { exitCode: 137, reason, message: 'The container could not be located when the pod was terminated' } };
}

/** The count never decreases. A container that runs after a reported termination counts as restarted even if the runtime has lost the previous instance. */
function restartCountOf({ state, restartCount }: RuntimeContainerStatus, previousStatus: ContainerStatus | undefined): number {
  const reported = previousStatus?.restartCount ?? 0;
  return state === 'running' && previousStatus?.state?.terminated && reported >= restartCount
    ? reported + 1
    : Math.max(restartCount, reported);
}

function toState(instance: RuntimeContainerStatus, containerID: string): ContainerState {
  switch (instance.state) {
    case 'running':
      return { running: optional({ startedAt: toOptionalApiTime(instance.startedAtMs) }) };
    case 'exited':
      // A container that could not be started has the start time 0 in the runtime, and 1970-01-01T00:00:00Z in the API (upstream). A container that is
      // known only from the runtime's list has no times.
      return {
        terminated: {
          exitCode: instance.exitCode,
          containerID,
          ...optional({
            reason: instance.reason || undefined,
            message: instance.message || undefined,
            ...(!instance.listedOnly && { startedAt: toApiTime(instance.startedAtMs), finishedAt: toApiTime(instance.finishedAtMs) }),
          }),
        },
      };
    case 'created':
    case 'unknown':
      return { waiting: {} };
    default:
      return instance.state satisfies never;
  }
}

function optional<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

type MountContext = Pick<ContainerContext, 'container' | 'previousStatus' | 'supportsRecursiveReadOnly'>;

/** The mounts are fixed once the container exists. Until then the runtime handler may still change. */
export function volumeMountsOf(context: MountContext): Pick<ContainerStatus, 'volumeMounts'> {
  const { container, previousStatus } = context;
  if (!container.volumeMounts?.length) return {};
  const reportedMounts = previousStatus?.containerID ? previousStatus.volumeMounts : undefined;
  return { volumeMounts: reportedMounts ?? container.volumeMounts.map((mount) => toMountStatus(mount, context)) };
}

/** Adds the image of each image volume, found by its mount path. Upstream looks up the image ID, which `mounts` has already. */
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

/** A container with an unsupported recursive read-only mount does not start: its waiting reason names the error. */
function recursiveMode(mount: VolumeMount, { supportsRecursiveReadOnly }: MountContext): 'Enabled' | 'Disabled' {
  try {
    return recursiveReadOnly(mount, supportsRecursiveReadOnly) ? 'Enabled' : 'Disabled';
  } catch {
    return 'Disabled';
  }
}

/** The spec's resources, replaced by the runtime's actual values for a running container (upstream convertContainerStatusResources). */
function shownResources({ container, actuated }: ContainerContext, instance: RuntimeContainerStatus): ResourceRequirements {
  const { resources = {} } = container;
  if (instance.state !== 'running' || !instance.resources) return resources;
  return actualResources(resources, instance.resources, actuated?.requests?.['memory']);
}
