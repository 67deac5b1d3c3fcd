/**
 * A StatefulSet with two claims on a node that changes over between kubelets. Its pods keep their mounts: of one driver whose volumes are attached first,
 * and of one whose volumes are not.
 */
import { readFileSync } from 'node:fs';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { createBoundClaim } from '../csi-driver/claims.ts';
import { ClusterCsiDriver } from '../csi-driver/cluster-csi-driver.ts';
import type { JournalEntry } from '../csi-driver/options.ts';
import { NodeVolumesWatch } from '../csi-driver/node-volumes-watch.ts';
import { aBusybox } from '../kubelet/test-node.ts';
import type { TestHooks } from '../runtime/simulated-runtime.ts';
import { isReady, readyProbe, type WorkloadHost } from './change-over-workloads.ts';

const drivers = { plain: 'plain.csi.example', attached: 'attached.csi.example' } as const;
type Kind = keyof typeof drivers;
const kinds = ['plain', 'attached'] as const satisfies readonly Kind[];
const startTimeoutMs = 120_000;
const volumeCalls: ReadonlySet<string> = new Set(['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume']);

interface VolumeAttachment {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly attacher: string };
  readonly status?: { readonly attached?: boolean };
}

export interface ClaimsSnapshot {
  readonly mounts: readonly string[];
  /** How many the drivers have got. */
  readonly calls: number;
  /** What the StatefulSets have on the node: names as in the Node's status. */
  readonly inUse: readonly string[];
  readonly watch: NodeVolumesWatch;
}

export class ChangeOverClaims {
  readonly #host: WorkloadHost;
  readonly #drivers: Readonly<Record<Kind, ClusterCsiDriver>>;
  readonly #volumes: { readonly kind: Kind; readonly name: string }[] = [];

  private constructor(host: WorkloadHost, byKind: Readonly<Record<Kind, ClusterCsiDriver>>) {
    this.#host = host;
    this.#drivers = byKind;
  }

  /** Starts the drivers. */
  static async start(t: TestHooks, host: WorkloadHost): Promise<ChangeOverClaims> {
    const create = async (kind: Kind) => {
      const spec = { attachRequired: kind === 'attached' };
      const driver = await ClusterCsiDriver.create({ node: host.node, api: host.cluster.api }, drivers[kind], spec, {
        nodeID: host.nodeName,
      });
      t.after(() => driver.destroy());
      await driver.start();
      return driver;
    };
    const claims = new ChangeOverClaims(host, { plain: await create('plain'), attached: await create('attached') });
    const stop = new AbortController();
    t.after(async () => stop.abort());
    void claims.#attachAll(stop.signal);
    return claims;
  }

  /** Starts a StatefulSet under the running kubelet, and waits until its pod is ready. */
  async createStatefulSet(prefix: string): Promise<void> {
    const { cluster, nodeName, namespace, pods } = this.#host;
    const app = `${prefix}-claims`;
    const sh = 'test -e /plain/born || hostname > /plain/born; test -e /attached/born || hostname > /attached/born; exec sleep 10000';
    const volumeMounts = kinds.map((kind) => ({ name: kind, mountPath: `/${kind}` }));
    await cluster.api.create(`/apis/apps/v1/namespaces/${namespace}/statefulsets`, {
      metadata: { name: app },
      spec: {
        replicas: 1,
        serviceName: app,
        selector: { matchLabels: { app } },
        template: {
          metadata: { labels: { app } },
          spec: { nodeName, terminationGracePeriodSeconds: 1, containers: [aBusybox({ sh, volumeMounts, readinessProbe: readyProbe })] },
        },
        volumeClaimTemplates: kinds.map((kind) => ({
          metadata: { name: kind },
          spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
        })),
      },
    });
    for (const kind of kinds) {
      const claim = { namespace, driver: drivers[kind], name: `${kind}-${app}-0`, isOfPod: true };
      this.#volumes.push({ kind, name: await createBoundClaim(cluster.api, claim) });
    }
    await pods.until(`${app}-0`, 'is ready', isReady, startTimeoutMs);
  }

  async snapshot(): Promise<ClaimsSnapshot> {
    const { cluster, nodeName } = this.#host;
    return {
      mounts: this.#mounts(),
      calls: this.#calls().length,
      inUse: this.#volumes.filter(({ kind }) => kind === 'attached').map(({ name }) => `kubernetes.io/csi/${drivers.attached}^${name}`),
      watch: await NodeVolumesWatch.start(cluster.api, nodeName),
    };
  }

  /** Returns what has changed that must not: a kubelet may stage and publish each volume once more, which changes nothing. */
  async changesSince({ mounts, calls, inUse, watch }: ClaimsSnapshot): Promise<string[]> {
    await watch.stop();
    const problems: string[] = [];
    const now = this.#mounts();
    if (now.join('\n') !== mounts.join('\n')) problems.push(`mounts were ${mounts.join(', ')}, are ${now.join(', ')}`);
    const counts = Map.groupBy(this.#calls().slice(calls), ({ method, volumeID }) => `${method} of ${volumeID}`);
    for (const [call, { length }] of counts) if (length > 1 || call.includes('Un')) problems.push(`${length} × ${call}`);
    for (const { volumesInUse } of watch.versions)
      for (const name of inUse) if (!volumesInUse.includes(name)) problems.push(`${name} is not in use in a version of the Node`);
    return problems;
  }

  /** Deletes the pod, as a drain does. The next one finds its files. */
  async replacePod(prefix: string): Promise<string> {
    const { cluster, namespace, pods } = this.#host;
    const name = `${prefix}-claims-0`;
    const before = pods.get(name)?.metadata.uid;
    await pods.delete(name);
    const isNext = (pod: Pod) => pod.metadata.uid !== before && isReady(pod);
    await pods.until(name, 'is ready again', isNext, startTimeoutMs);
    return cluster.kubectl('-n', namespace, 'exec', name, '--', 'cat', '/plain/born', '/attached/born');
  }

  /** The lines of the mount table, which begin with the mount's ID. */
  #mounts(): string[] {
    return readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(`${this.#host.node.rootDir}/`) && /kubernetes\.io[~/]csi/.test(line));
  }

  #calls(): JournalEntry[] {
    const calls = kinds.flatMap((kind) => this.#drivers[kind].journal()).filter(({ method }) => volumeCalls.has(method));
    return calls.toSorted((a, b) => a.startMs - b.startMs);
  }

  /** Does what external-attacher does, for each attachment that the controller manager makes. */
  async #attachAll(signal: AbortSignal): Promise<void> {
    const { api } = this.#host.cluster;
    const path = '/apis/storage.k8s.io/v1/volumeattachments';
    try {
      for await (const { type, object } of api.watch<VolumeAttachment>(path, signal)) {
        const { metadata, spec, status } = object;
        if (type === 'ADDED' && spec.attacher === drivers.attached && status?.attached !== true)
          await api.patch(`${path}/${metadata.name}/status`, { status: { attached: true } });
      }
    } catch {
      // The test ends. An attachment that is missing before that keeps its pod from being ready.
    }
  }
}
