/**
 * A cluster for tests: the run's control plane, and a real node that has joined it, with its own namespace. Tests observe the API and kubectl.
 *
 *   const node = await ClusterNode.start('node-a', { config, flags });
 *   after(() => node.destroy());
 *   await node.create('web', { restartPolicy: 'Never' });     // bound to the node, without the scheduler
 *   const pod = await node.until('web', 'has ended', ({ status }) => status?.phase === 'Succeeded');   // woken by a watch
 */
import type { Pod, PodSpec, PodStatus } from '../../../src/shared/kubernetes/api.ts';
import type { AuditEvent, ControlPlaneAccess } from '../../../lab/control-plane/control-plane-access.ts';
import { Cleanups } from '../cleanups.ts';
import { sharedCluster, type TestCluster } from './control-plane.ts';
import { waitUntil } from '../runtime/simulated-runtime.ts';
import { aManifest, TestNode, type TestNodeOptions } from '../kubelet/test-node.ts';

/** The fields of an Event that tests use. */
export interface ApiEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
  readonly involvedObject: { readonly kind: string; readonly name: string; readonly fieldPath?: string };
  readonly source: { readonly component?: string; readonly host?: string };
}

/** Long, because other processes may use the same two cores. */
const defaultTimeoutMs = 90_000;

export class TestClusterNode {
  readonly cluster: TestCluster;
  readonly node: TestNode;
  readonly nodeName: string;
  readonly namespace: string;
  readonly #hooks: Cleanups;

  private constructor(parts: Pick<TestClusterNode, 'cluster' | 'node' | 'nodeName' | 'namespace'>, hooks: Cleanups) {
    this.cluster = parts.cluster;
    this.node = parts.node;
    this.nodeName = parts.nodeName;
    this.namespace = parts.namespace;
    this.#hooks = hooks;
  }

  /**
   * Starts a node and waits until it is Ready. The options are added to those of a member.
   * @param options.cluster replaces the run's cluster; the test closes it
   */
  static async start<C extends ControlPlaneAccess>(
    nodeName: string,
    { cluster: given, ...options }: TestNodeOptions & { readonly cluster?: TestCluster<C> } = {},
  ): Promise<TestClusterNode> {
    const hooks = new Cleanups();
    try {
      const cluster = given ?? (await sharedCluster());
      if (given === undefined) hooks.after(() => cluster.close());
      const member = await cluster.member(hooks, nodeName);
      const namespace = await cluster.namespace(hooks);
      const node = await TestNode.start(hooks, {
        containerd: options.containerd ?? '1.7',
        config: { ...member.config, ...options.config },
        flags: [...member.flags, ...(options.flags ?? [])],
        ...(options.env && { env: options.env }),
        ...(options.runcScript !== undefined && { runcScript: options.runcScript }),
        ...(options.imagePullProgressTimeout !== undefined && { imagePullProgressTimeout: options.imagePullProgressTimeout }),
        ...(options.imageFilesystemBytes !== undefined && { imageFilesystemBytes: options.imageFilesystemBytes }),
      });
      const joined = new TestClusterNode({ cluster, node, nodeName, namespace }, hooks);
      await node.startKubelet();
      await joined.untilReady();
      return joined;
    } catch (err) {
      await hooks.run();
      throw err;
    }
  }

  get api(): TestCluster['api'] {
    return this.cluster.api;
  }
  get podsPath(): string {
    return `/api/v1/namespaces/${this.namespace}/pods`;
  }
  get nodePath(): string {
    return `/api/v1/nodes/${this.nodeName}`;
  }
  kubectl(...args: string[]): Promise<string> {
    return this.cluster.kubectl('-n', this.namespace, ...args);
  }
  /** Returns the output of a shell command in the container. */
  exec(name: string, sh: string): Promise<string> {
    return this.kubectl('exec', name, '--', 'sh', '-c', sh);
  }

  /** Creates a pod that is bound to this node. */
  create(name: string, spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Promise<Pod> {
    return this.api.create<Pod>(this.podsPath, aManifest(name, { nodeName: this.nodeName, ...spec }, metadata));
  }
  get(name: string): Promise<Pod> {
    return this.api.get<Pod>(`${this.podsPath}/${name}`);
  }
  delete(name: string, options?: { readonly gracePeriodSeconds?: number }): Promise<Pod> {
    return this.api.delete<Pod>(`${this.podsPath}/${name}`, options);
  }

  /** Checks the current and every later version of the pod. */
  until(name: string, what: string, condition: (pod: Pod) => boolean, timeoutMs = defaultTimeoutMs): Promise<Pod> {
    return this.#waitFor(name, what, (pod) => pod !== null && condition(pod), timeoutMs) as Promise<Pod>;
  }
  untilRunning(name: string): Promise<Pod> {
    return this.until(name, 'is running and ready', ({ status }) => status?.phase === 'Running' && conditionOf(status, 'Ready') === 'True');
  }
  untilEnded(name: string): Promise<Pod> {
    return this.until(name, 'has ended', ({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed');
  }
  async untilGone(name: string, timeoutMs = defaultTimeoutMs): Promise<void> {
    await this.#waitFor(name, 'is gone', (pod) => pod === null, timeoutMs);
  }

  /** Runs a pod to its end and returns its output. */
  async outputOf(name: string, spec: Partial<PodSpec>, metadata: Partial<Pod['metadata']> = {}): Promise<string> {
    await this.create(name, { restartPolicy: 'Never', ...spec }, metadata);
    const { status } = await this.untilEnded(name);
    const output = await this.kubectl('logs', name);
    if (status?.phase !== 'Succeeded') throw new Error(`pod ${name} failed: ${JSON.stringify(status)}; it printed ${output}`);
    return output.trimEnd();
  }

  /** Returns the Events of an object, oldest first. */
  async events(name: string, namespace = this.namespace): Promise<ApiEvent[]> {
    const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=involvedObject.name%3D${name}`;
    const { items } = await this.api.get<{ items: (ApiEvent & { lastTimestamp?: string; metadata: { creationTimestamp: string } })[] }>(
      path,
    );
    return items.toSorted((a, b) => Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp));
  }
  untilEvent(name: string, reason: string, message: RegExp, namespace = this.namespace): Promise<ApiEvent> {
    return waitUntil(
      `${name} has the event ${reason} ${String(message)}`,
      async () => (await this.events(name, namespace)).find((event) => event.reason === reason && message.test(event.message)),
      defaultTimeoutMs,
    );
  }

  /** Returns this kubelet's answered requests, such as `patch pods/status`. The audit log has a short delay. */
  requests(filter: (event: AuditEvent) => boolean = () => true): string[] {
    return this.cluster.controlPlane
      .auditEvents(this.nodeName)
      .filter(filter)
      .map(
        ({ verb, objectRef }) => `${verb} ${objectRef?.resource}${objectRef?.subresource === undefined ? '' : `/${objectRef.subresource}`}`,
      );
  }

  /** Waits until the Node is Ready. After a restart the Node may still have the status of the previous kubelet. */
  async untilReady(): Promise<void> {
    await waitUntil(
      `${this.nodeName} is Ready`,
      async () => conditionOf((await this.api.find<{ status?: PodStatus }>(this.nodePath))?.status, 'Ready') === 'True',
      defaultTimeoutMs,
    ).catch((err: unknown) => {
      throw new Error(`${String(err)}\n${this.#endOfLog()}`, { cause: err });
    });
  }

  /** Restarts the kubelet and waits until it is healthy. It may not have synced its pods yet. */
  async restartKubelet(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.node.stopKubelet(signal);
    await this.node.startKubelet();
  }

  async destroy(): Promise<void> {
    await this.#hooks.run();
  }

  /** Waits until the pod fulfils the condition. Null means that the pod does not exist. */
  async #waitFor(name: string, what: string, condition: (pod: Pod | null) => boolean, timeoutMs: number): Promise<Pod | null> {
    const signal = AbortSignal.timeout(timeoutMs);
    const path = `${this.podsPath}?fieldSelector=metadata.name%3D${name}`;
    let last: Pod | null = null;
    while (!signal.aborted) {
      const { metadata, items } = await this.api.get<{ metadata: { resourceVersion: string }; items: Pod[] }>(path);
      last = items[0] ?? null;
      if (condition(last)) return last;
      for await (const { type, object } of this.api.watch<Pod>(`${path}&resourceVersion=${metadata.resourceVersion}`, signal)) {
        if (type === 'ERROR') break;
        last = type === 'DELETED' ? null : object;
        if (condition(last)) return last;
      }
    }
    throw new Error(
      `timed out after ${timeoutMs} ms waiting until pod ${name} ${what}; it was ${JSON.stringify(last?.status)}\n${this.#endOfLog()}`,
    );
  }

  #endOfLog(): string {
    return this.node.log().split('\n').slice(-30).join('\n');
  }
}

/** Returns the status of a condition of a pod or node. */
export function conditionOf(status: Pick<PodStatus, 'conditions'> | undefined, type: string): string | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}
