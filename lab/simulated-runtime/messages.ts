/** Converts sandboxes and containers to CRI messages, filling the fields as containerd does. */
import type { Container as CriContainer, ContainerStatus, PodSandbox, PodSandboxStatus } from '../../src/shared/cri/generated/cri-v1.ts';
import type { StoredImage } from './image-store.ts';
import type { Container, Sandbox } from './machine.ts';
import { shuffledMap } from './shuffle.ts';

const containerStates = { created: 0, running: 1, exited: 2, unknown: 3 } as const;

export function toPodSandbox(sandbox: Sandbox, random: () => number): PodSandbox {
  return {
    id: sandbox.id,
    metadata: sandbox.config.metadata,
    state: sandbox.state === 'ready' ? 0 : 1,
    createdAt: sandbox.createdAtNs,
    labels: shuffledMap(sandbox.config.labels, random),
    annotations: shuffledMap(sandbox.config.annotations, random),
    runtimeHandler: sandbox.runtimeHandler,
  };
}

export function toPodSandboxStatus(sandbox: Sandbox, random: () => number): PodSandboxStatus {
  return {
    ...toPodSandbox(sandbox, random),
    network: { ip: sandbox.ip, additionalIps: [] },
    linux: { namespaces: { options: sandbox.config.linux?.securityContext?.namespaceOptions } },
  };
}

export function toContainer(container: Container, random: () => number): CriContainer {
  return {
    id: container.id,
    podSandboxId: container.sandbox.id,
    metadata: container.config.metadata,
    image: container.config.image,
    imageRef: container.imageID,
    state: containerStates[container.state],
    createdAt: container.createdAtNs,
    labels: shuffledMap(container.config.labels, random),
    annotations: shuffledMap(container.config.annotations, random),
    imageId: container.imageID,
  };
}

/** @param image null when the image was removed, and only its ID is known */
export function toContainerStatus(container: Container, image: StoredImage | null, random: () => number): ContainerStatus {
  const references = image ? [...image.references] : [];
  const tag = references.find((reference) => !reference.includes('@'));
  const digest = references.find((reference) => reference.includes('@'));
  const { state } = container;
  const exitReason = container.exitCode === 0 ? 'Completed' : 'Error';
  return {
    id: container.id,
    metadata: container.config.metadata,
    state: containerStates[state],
    createdAt: container.createdAtNs,
    startedAt: state === 'created' ? 0n : container.startedAtNs,
    finishedAt: state === 'exited' || state === 'unknown' ? container.finishedAtNs : 0n,
    exitCode: container.exitCode,
    image:
      tag === undefined
        ? container.config.image
        : { image: tag, annotations: {}, userSpecifiedImage: '', runtimeHandler: '', imageRef: '' },
    imageRef: digest ?? container.imageID,
    reason: container.reason === '' && state === 'exited' ? exitReason : container.reason,
    message: container.message,
    labels: shuffledMap(container.config.labels, random),
    annotations: shuffledMap(container.config.annotations, random),
    mounts: container.config.mounts,
    logPath: container.logPath,
    resources: container.resources ? { linux: container.resources, windows: undefined } : undefined,
    imageId: container.imageID,
    user: undefined,
    stopSignal: container.config.stopSignal,
  };
}
