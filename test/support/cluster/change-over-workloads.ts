/** The pods of a node that changes over between kubelets: a pod of each kind, each in the state in which the change-over shall find it. */
import type { Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { aBusybox, aManifest, type TestNode } from '../kubelet/test-node.ts';
import { conditionOf } from './cluster-node.ts';
import type { TestCluster } from './control-plane.ts';
import type { PodWatch } from './pod-watch.ts';

/** Of a Deployment of one kubelet; with the other pods the node has 100. */
const replicas = 31;
const startTimeoutMs = 120_000;
export const readyProbe = { exec: { command: ['true'] }, periodSeconds: 5 };

export interface WorkloadHost {
  readonly cluster: TestCluster;
  readonly node: TestNode;
  readonly nodeName: string;
  readonly namespace: string;
  readonly pods: PodWatch;
  /** A folder of the host, which pods of both kubelets mount. */
  readonly shared: string;
}

/** Starts a pod of each kind under the running kubelet and waits until each is where the change-over shall find it. `prefix` is in all names. */
export async function startWorkloads({ cluster, node, nodeName, namespace, pods, shared }: WorkloadHost, prefix: string): Promise<void> {
  const template = (app: string, spec: Partial<PodSpec> = {}) => ({
    metadata: { labels: { app } },
    spec: { nodeName, terminationGracePeriodSeconds: 1, containers: [aBusybox({ readinessProbe: readyProbe })], ...spec },
  });
  const createOwner = (path: string, name: string, spec: object) =>
    cluster.api.create(`/apis/${path.replace('/', `/v1/namespaces/${namespace}/`)}`, { metadata: { name }, spec });
  const selector = (app: string) => ({ matchLabels: { app } });

  await createOwner('apps/deployments', `${prefix}-web`, {
    replicas,
    selector: selector(`${prefix}-web`),
    template: template(`${prefix}-web`, { containers: [aBusybox()] }),
  });
  await createOwner('apps/deployments', `${prefix}-probed`, {
    replicas: 4,
    selector: selector(`${prefix}-probed`),
    template: template(`${prefix}-probed`),
  });
  await createOwner('apps/statefulsets', `${prefix}-db`, {
    replicas: 2,
    serviceName: `${prefix}-db`,
    podManagementPolicy: 'Parallel',
    selector: selector(`${prefix}-db`),
    template: template(`${prefix}-db`, withVolumes(shared)),
  });
  // Ends when the file appears.
  const work = `until test -e /shared/${prefix}-done; do sleep 0.2; done`;
  const volumes = [{ name: 'shared', hostPath: { path: shared } }];
  const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
  await createOwner('batch/jobs', `${prefix}-job`, {
    completions: 2,
    parallelism: 2,
    template: { spec: { nodeName, restartPolicy: 'Never', volumes, containers: [aBusybox({ sh: `${work}; echo done`, volumeMounts })] } },
  });
  const create = (name: string, spec: Partial<PodSpec>) =>
    pods.create(aManifest(`${prefix}-${name}`, { nodeName, ...spec }, { namespace }));
  const sidecar = aBusybox({ name: 'sidecar', restartPolicy: 'Always', startupProbe: readyProbe, readinessProbe: readyProbe });
  await create('sidecar', {
    initContainers: [aBusybox({ name: 'first', sh: 'echo first' }), sidecar, aBusybox({ name: 'last', sh: 'echo last' })],
    containers: [aBusybox({ readinessProbe: readyProbe, livenessProbe: readyProbe })],
  });
  const resources = { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '50m', memory: '32Mi' } };
  // A kubelet that took the container for one with other resources would restart it.
  const resizePolicy = ['cpu', 'memory'].map((resourceName) => ({ resourceName, restartPolicy: 'RestartContainer' }));
  await create('guaranteed', { containers: [aBusybox({ resources, resizePolicy })] });
  await create('burstable', { containers: [aBusybox({ resources: { requests: { cpu: '20m', memory: '16Mi' } } })] });
  await create('host-network', { hostNetwork: true, containers: [aBusybox()] });
  await create('succeeded', { restartPolicy: 'Never', containers: [aBusybox({ sh: 'echo the last words > /dev/termination-log' })] });
  await create('restarted', {
    containers: [
      aBusybox({
        sh: 'test -e /data/once || { touch /data/once; exit 1; }; sleep 10000',
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      }),
    ],
    volumes: [{ name: 'data', emptyDir: {} }],
  });
  await create('initializing', { volumes, initContainers: [aBusybox({ name: 'init', sh: work, volumeMounts })], containers: [aBusybox()] });
  await create('crashing', { containers: [aBusybox({ sh: 'echo crashed; exit 3' })] });
  await create('terminating', {
    volumes,
    terminationGracePeriodSeconds: 600,
    containers: [aBusybox({ sh: `trap "" TERM; ${work}`, volumeMounts })],
  });
  for (const name of [`${prefix}-static`, `${prefix}-static-volumes`])
    node.apply(
      aManifest(name, name.endsWith('volumes') ? withHostVolumes(shared) : { containers: [aBusybox({ readinessProbe: readyProbe })] }, {
        namespace,
      }),
    );

  await pods.untilAll(
    'all pods are where they shall be',
    (all) => {
      const own = all.filter(({ metadata }) => metadata.name.startsWith(prefix));
      return own.length === replicas + 19 && own.every((pod) => isArranged(pod));
    },
    startTimeoutMs,
  );
  await pods.delete(`${prefix}-terminating`);
  await pods.until(`${prefix}-terminating`, 'terminates', ({ metadata }) => metadata.deletionTimestamp !== undefined);
}

export const kindOf = ({ metadata: { name } }: Pod) => name.split('-').slice(1).join('-');
export const isReady = ({ status }: Pod) => conditionOf(status, 'Ready') === 'True';

/** Whether the pod is in the state in which the change-over shall find it. */
function isArranged(pod: Pod): boolean {
  const [app] = pod.status?.containerStatuses ?? [];
  switch (kindOf(pod)) {
    case 'succeeded':
      return pod.status?.phase === 'Succeeded';
    case 'restarted':
      return isReady(pod) && app?.restartCount === 1;
    case 'initializing':
      return pod.status?.initContainerStatuses?.[0]?.state?.running !== undefined;
    case 'crashing':
      return (app?.restartCount ?? 0) >= 1 && app?.state?.waiting?.reason === 'CrashLoopBackOff';
    default:
      return isReady(pod);
  }
}

/** Every kind of volume that a cluster's pods commonly have. */
function withVolumes(shared: string): Partial<PodSpec> {
  const mounts = ['data', 'memory', 'shared', 'settings', 'secret', 'projected'].map((name) => ({ name, mountPath: `/${name}` }));
  const write = 'echo kept > /data/file; echo kept > /memory/file; mkdir -p /data/sub';
  return {
    securityContext: { fsGroup: 3000 },
    containers: [
      aBusybox({
        readinessProbe: readyProbe,
        sh: `${write}; trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done`,
        volumeMounts: [
          ...mounts,
          { name: 'settings', mountPath: '/colour', subPath: 'colour' },
          { name: 'data', mountPath: '/part', subPath: 'part' },
        ],
      }),
    ],
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } },
      { name: 'shared', hostPath: { path: shared, type: 'Directory' } },
      { name: 'settings', configMap: { name: 'settings' } },
      { name: 'secret', secret: { secretName: 'secret', defaultMode: 0o400 } },
      {
        name: 'projected',
        projected: {
          sources: [
            { serviceAccountToken: { path: 'token', audience: 'vault', expirationSeconds: 3600 } },
            { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
            { configMap: { name: 'settings', items: [{ key: 'level', path: 'nested/level' }] } },
          ],
        },
      },
    ],
  };
}

function withHostVolumes(shared: string): Partial<PodSpec> {
  return {
    containers: [
      aBusybox({
        volumeMounts: [
          { name: 'shared', mountPath: '/shared' },
          { name: 'data', mountPath: '/data' },
        ],
        sh: 'echo kept > /data/file; exec sleep 10000',
      }),
    ],
    volumes: [
      { name: 'shared', hostPath: { path: shared } },
      { name: 'data', emptyDir: {} },
    ],
  };
}
