/** Makes the CRI config of a container (upstream kuberuntime_container.go, generateContainerConfig). */
import { type ContainerConfig, type LinuxContainerConfig, NamespaceMode, Signal } from '../../../../shared/cri/generated/cri-v1.ts';
import { expand, checkExpandedLength, resolverFrom } from '../../../../shared/kubernetes/expansion.ts';
import { containerLogPath } from '../../../../shared/kubernetes/paths.ts';
import { toConfigError } from './config-error.ts';
import { containerAnnotations, containerLabels } from './runtime-labels.ts';
import { containerResources } from './linux-resources.ts';
import { containerSecurityContext, verifyRunAsNonRoot } from './container-security-context.ts';
import type { Container, EphemeralContainer } from '../../../../shared/kubernetes/api.ts';
import type { ContainerConfigInput, EnvValue } from './config-inputs.ts';

const utf8 = new TextEncoder();

/**
 * Throws KubeletError `CreateContainerConfigError` when the spec is invalid or violates its own non-root policy, or when the node could not allocate what
 * the container needs.
 */
export function makeContainerConfig(input: ContainerConfigInput): ContainerConfig {
  try {
    if (input.problem !== undefined) throw new Error(input.problem);
    verifyRunAsNonRoot(input.pod, input.container, input.imageUser);
    return toContainerConfig(input);
  } catch (err) {
    throw toConfigError(input.container, err);
  }
}

function toContainerConfig(input: ContainerConfigInput): ContainerConfig {
  const { pod, container, restartCount, imageRef, env } = input;
  const resolve = resolverFrom(new Map(env.map(({ name, value }) => [name, value])));
  const { command, args } = expandCommand(container, resolve);
  const linux = linuxConfig(input);
  const { uids: uidMappings = [], gids: gidMappings = [] } = linux.securityContext?.namespaceOptions?.usernsOptions ?? {};
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: imageRef, userSpecifiedImage: container.image ?? '', annotations: {}, runtimeHandler: '', imageRef: '' },
    command,
    args,
    workingDir: container.workingDir ?? '',
    envs: env.map(({ name, value, bytes }) => ({ key: name, value: bytes ?? utf8.encode(value) })),
    // The runtime maps the owners of the volumes' files: root's files on the host are root's files in the pod.
    mounts: input.mounts.map((mount) => ({ ...mount, uidMappings, gidMappings })),
    devices: [...(input.devices ?? [])],
    labels: containerLabels(pod, container.name),
    annotations: containerAnnotations(pod, container, restartCount, {
      ...(input.annotations && { extra: input.annotations }),
      ...(input.restartBackOff && { restartBackOff: input.restartBackOff }),
    }),
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    linux,
    windows: undefined,
    CDIDevices: (input.cdiDeviceNames ?? []).map((name) => ({ name })),
    stopSignal: stopSignal(input),
  };
}

function expandCommand(
  { command = [], args = [] }: Pick<Container, 'command' | 'args'>,
  resolve: (name: string) => string,
): { readonly command: string[]; readonly args: string[] } {
  const expanded = { command: command.map((part) => expand(part, resolve)), args: args.map((part) => expand(part, resolve)) };
  checkExpandedLength([...expanded.command, ...expanded.args], 'command and arguments');
  return expanded;
}

/** Returns the length of all environment values and of the expanded command, before they are copied into a config. Throws an Error for a command that is too long. */
export function expandedLength(container: Container | EphemeralContainer, env: readonly EnvValue[]): number {
  const { command, args } = expandCommand(container, resolverFrom(new Map(env.map(({ name, value }) => [name, value]))));
  const texts = [...command, ...args, ...env.map(({ value, bytes }) => bytes ?? value)];
  return texts.reduce((sum, { length }) => sum + length, 0);
}

function linuxConfig(input: ContainerConfigInput): LinuxContainerConfig {
  const securityContext = containerSecurityContext(input);
  const namespaces = securityContext.namespaceOptions;
  // An ephemeral container joins the PID namespace of its target, unless the pod shares one.
  const targeted = input.targetContainerID !== undefined && namespaces?.pid === NamespaceMode.CONTAINER;
  return {
    resources: containerResources(input),
    securityContext: targeted
      ? { ...securityContext, namespaceOptions: { ...namespaces, pid: NamespaceMode.TARGET, targetId: input.targetContainerID ?? '' } }
      : securityContext,
  };
}

/** The CRI spells `SIGRTMIN+3` as SIGNAL_SIGRTMINPLUS3. */
function stopSignal({ container, settings }: ContainerConfigInput): Signal {
  const name = container.lifecycle?.stopSignal;
  if (!name || !settings.featureGates.ContainerStopSignals) return Signal.SIGNAL_RUNTIME_DEFAULT;
  const constant = `SIGNAL_${name.replace('+', 'PLUS').replace('-', 'MINUS')}`;
  return Object.hasOwn(Signal, constant) ? Signal[constant as keyof typeof Signal] : Signal.SIGNAL_RUNTIME_DEFAULT;
}
