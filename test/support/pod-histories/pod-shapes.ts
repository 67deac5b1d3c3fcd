/** The pods of random histories: regular containers, init containers, sidecars, hooks and probes in all combinations that decide differently. */
import type { PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { qosClass } from '../../../src/shared/kubernetes/qos-class.ts';
import type { RestartPolicy } from './operations.ts';

export interface ShapedPod {
  readonly name: string;
  readonly uid: string;
  readonly policy: RestartPolicy;
  readonly graceSeconds: number;
  readonly isCritical?: boolean | undefined;
}

const images = {
  run: 'sim/run:1',
  exit: 'sim/exit:0-after-300ms',
  crash: 'sim/exit:1-after-500ms',
  slow: 'sim/slowstop:0-after-1s',
  stubborn: 'sim/stubborn:1',
};
/** What an update of a running container's image changes to. */
export const otherImage = 'sim/run:2';
export const podImages: readonly string[] = [...Object.values(images), otherImage];

function container(name: string, image: keyof typeof images, more: object = {}): object {
  return { name, image: images[image], imagePullPolicy: 'IfNotPresent', ...more };
}

/** An exec probe: the simulated runtime's result for the pod decides. */
function probe(more: object = {}): object {
  return { exec: { command: ['check'] }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 1, ...more };
}

const sidecar = (more: object = {}) => container('sidecar', 'run', { restartPolicy: 'Always', ...more });
const rules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];

export const shapes: readonly object[] = [
  { containers: [container('app', 'run')] },
  { containers: [container('app', 'slow'), container('other', 'run')] },
  { containers: [container('app', 'stubborn')] },
  { containers: [container('app', 'crash'), container('other', 'run')] },
  { containers: [container('app', 'exit')] },
  { initContainers: [container('init', 'exit')], containers: [container('app', 'run')] },
  { initContainers: [container('init', 'crash')], containers: [container('app', 'run')] },
  { initContainers: [sidecar(), container('init', 'exit')], containers: [container('app', 'run')] },
  { initContainers: [sidecar({ startupProbe: probe({ failureThreshold: 3 }) })], containers: [container('app', 'exit')] },
  { containers: [container('app', 'run', { livenessProbe: probe(), readinessProbe: probe() })] },
  {
    containers: [
      container('app', 'run', { startupProbe: probe({ failureThreshold: 2 }), livenessProbe: probe({ terminationGracePeriodSeconds: 1 }) }),
    ],
  },
  { containers: [container('app', 'run', { lifecycle: { preStop: { sleep: { seconds: 1 } } } }), container('other', 'crash')] },
  { containers: [container('app', 'run', { restartPolicy: 'Never', restartPolicyRules: rules }), container('other', 'run')] },
  {
    initContainers: [container('init', 'exit'), sidecar(), container('init-2', 'exit')],
    containers: [container('app', 'run', { readinessProbe: probe() }), container('other', 'exit')],
  },
  {
    initContainers: [
      sidecar({ livenessProbe: probe() }),
      sidecar({ name: 'sidecar-2', lifecycle: { preStop: { sleep: { seconds: 1 } } } }),
    ],
    containers: [container('app', 'slow'), container('other', 'crash')],
  },
  { containers: [container('app', 'run', { lifecycle: { postStart: { exec: { command: ['check'] } } } }), container('other', 'run')] },
  { containers: [container('app', 'run'), container('other', 'exit'), container('third', 'run', { livenessProbe: probe() })] },
];

const sized = (requests: object, limits: object = requests) => ({ resources: { requests, limits } });
const small = sized({ cpu: '100m', memory: '64Mi' });
const restarts = (resourceName: string) => ({ resizePolicy: [{ resourceName, restartPolicy: 'RestartContainer' }] });

/** Pods with resources of all kinds, for resizes. Their indexes follow those of `shapes`. */
export const sizedShapes: readonly object[] = [
  { containers: [container('app', 'run', small)] },
  { containers: [container('app', 'run', { ...small, ...restarts('memory') }), container('other', 'run', small)] },
  { containers: [container('app', 'run', sized({ cpu: '100m', memory: '64Mi' }, { memory: '128Mi' })), container('other', 'run')] },
  { containers: [container('app', 'run', { ...sized({ cpu: '100m' }, {}), ...restarts('cpu') }), container('other', 'crash', small)] },
  { initContainers: [sidecar(small), container('init', 'exit', small)], containers: [container('app', 'run', small)] },
  { containers: [container('app', 'crash', sized({ cpu: '100m', memory: '64Mi' }, { cpu: '200m', memory: '128Mi' }))] },
  {
    ...sized({ cpu: '200m', memory: '128Mi' }, { cpu: '400m', memory: '256Mi' }),
    containers: [container('app', 'run'), container('other', 'run', { ...sized({ cpu: '50m', memory: '32Mi' }), ...restarts('memory') })],
  },
  {
    volumes: [{ name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } }],
    containers: [container('app', 'run', sized({ cpu: '100m', memory: '64Mi' }, { cpu: '200m', memory: '128Mi' }))],
  },
  { containers: [container('app', 'run', sized({ cpu: '100m', memory: '64Mi' }, {})), container('other', 'run')] },
];

/** As the API server would store it. */
export function shapedPod(shape: number, { name, uid, policy, graceSeconds, isCritical }: ShapedPod): Record<string, unknown> {
  const chosen = structuredClone(shapes[shape] ?? withoutRestarts(sizedShapes[shape - shapes.length]!, policy));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid, creationTimestamp: new Date().toISOString().replace(/\.\d+/, ''), generation: 1 },
    spec: {
      nodeName: 'node-1',
      dnsPolicy: 'Default',
      enableServiceLinks: false,
      automountServiceAccountToken: false,
      restartPolicy: policy,
      terminationGracePeriodSeconds: graceSeconds,
      tolerations: [{ operator: 'Exists' }],
      ...(isCritical && { priority: 2_000_000_000, priorityClassName: 'system-cluster-critical' }),
      ...chosen,
    },
    status: { phase: 'Pending', qosClass: qosClass({ spec: chosen as PodSpec }) },
  };
}

/** The API server refuses restarts for a resize of a pod that never restarts. */
function withoutRestarts(spec: object, policy: RestartPolicy): object {
  if (policy !== 'Never') return spec;
  const { containers } = spec as { readonly containers: readonly object[] };
  return { ...spec, containers: containers.map((one) => ({ ...one, resizePolicy: [] })) };
}
