/** Adds running pods directly, with the labels and annotations that a kubelet sets (upstream: kuberuntime/labels.go). */
import { createHash } from 'node:crypto';
import { ContainerConfig, PodSandboxConfig } from '../../src/shared/cri/generated/cri-v1.ts';
import * as names from '../../src/shared/kubernetes/annotations.ts';
import { containerBehaviour } from './image-behaviour.ts';
import type { Container, Sandbox } from './machine.ts';
import type { SimulatedRuntime } from './runtime.ts';

export interface SeedOptions {
  readonly pods: number;
  readonly containersPerPod: number;
  /** Default: `seeded`, for `seeded-0`, `seeded-1`, … */
  readonly namePrefix?: string;
  readonly namespace?: string;
  readonly image?: string;
}

export interface SeededPod {
  readonly podUID: string;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxID: string;
  readonly containerIDs: readonly string[];
}

/** Adds running pods without events and latencies. Their containers have no log files. */
export function seed(runtime: SimulatedRuntime, options: SeedOptions): readonly SeededPod[] {
  const { pods, containersPerPod, namePrefix = 'seeded', namespace = 'default', image = 'registry.example/team/service:v1.0.0' } = options;
  if (!Number.isInteger(pods) || !Number.isInteger(containersPerPod) || pods < 0 || containersPerPod < 0) {
    throw new Error('seed needs whole numbers of pods and containersPerPod');
  }
  const stored = runtime.images.add(image, runtime.options.imageSizeBytes);
  return Array.from({ length: pods }, (_, index) => {
    const pod = { name: `${namePrefix}-${index}`, namespace, uid: uidOf(`${namespace}/${namePrefix}-${index}`) };
    const sandbox = addSandbox(runtime, pod);
    const containers = Array.from({ length: containersPerPod }, (_, number) =>
      addContainer(runtime, sandbox, `app-${number}`, image, stored.id),
    );
    return { podUID: pod.uid, name: pod.name, namespace, sandboxID: sandbox.id, containerIDs: containers.map(({ id }) => id) };
  });
}

interface PodName {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** Derives a UID from the name, so that it is the same in every run. */
function uidOf(text: string): string {
  const hex = createHash('md5').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

function podLabels({ name, namespace, uid }: PodName): Record<string, string> {
  return { [names.podNameLabel]: name, [names.podNamespaceLabel]: namespace, [names.podUIDLabel]: uid };
}

function addSandbox(runtime: SimulatedRuntime, pod: PodName): Sandbox {
  const { machine } = runtime;
  const config = PodSandboxConfig.fromPartial({
    metadata: { ...pod, attempt: 0 },
    hostname: pod.name,
    labels: { ...podLabels(pod), app: 'service', 'app.kubernetes.io/managed-by': 'static' },
    annotations: {
      [names.configHashAnnotation]: pod.uid.replaceAll('-', ''),
      [names.configSeenAnnotation]: '2026-01-01T00:00:00.000000000Z',
      [names.configSourceAnnotation]: 'file',
    },
    linux: { cgroupParent: `/kubepods/besteffort/pod${pod.uid}` },
  });
  const sandbox = machine.reserveSandbox(config, '');
  machine.commitSandbox(sandbox, runtime.nowNs());
  return sandbox;
}

/** Adds a container with ports and a preStop hook, which has a realistic size of 1.5 KB in a list. */
function addContainer(runtime: SimulatedRuntime, sandbox: Sandbox, name: string, image: string, imageID: string): Container {
  const { machine } = runtime;
  const pod = sandbox.config.metadata!;
  const ports = [
    { name: 'http', containerPort: 8080, protocol: 'TCP' },
    { name: 'https', containerPort: 8443, protocol: 'TCP' },
    { name: 'metrics', containerPort: 9090, protocol: 'TCP' },
    { name: 'admin', hostPort: 30_901, containerPort: 9091, protocol: 'TCP' },
  ];
  const config = ContainerConfig.fromPartial({
    metadata: { name, attempt: 0 },
    image: { image: imageID, userSpecifiedImage: image },
    labels: { ...podLabels(pod), [names.containerNameLabel]: name },
    annotations: {
      [names.containerHashAnnotation]: '8cc09462',
      [names.containerRestartCountAnnotation]: '0',
      [names.containerTerminationMessagePathAnnotation]: '/dev/termination-log',
      [names.containerTerminationMessagePolicyAnnotation]: 'File',
      [names.podTerminationGracePeriodAnnotation]: '30',
      [names.containerPortsAnnotation]: JSON.stringify(ports),
      [names.containerPreStopHandlerAnnotation]: JSON.stringify({
        exec: {
          command: ['/bin/sh', '-c', 'curl -fsS -X POST http://127.0.0.1:9091/drain; sleep 5; /app/bin/drain --timeout=20s --wait --quiet'],
        },
      }),
    },
  });
  const container = machine.reserveContainer(sandbox.id, config, () => imageID);
  machine.commitContainer(container, runtime.nowNs());
  machine.beginStart(container.id);
  runtime.processes.start(container, containerBehaviour(image, new Map()));
  machine.markStarted(container, runtime.nowNs());
  return container;
}
