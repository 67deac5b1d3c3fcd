/** Records which volumes each version of a Node lists as in use. */
import type { ApiClient } from '../../../lab/control-plane/control-plane-api.ts';

interface Node {
  readonly metadata: { readonly resourceVersion: string };
  readonly status?: { readonly volumesInUse?: readonly string[] };
}

export interface NodeVersion {
  /** Epoch milliseconds at which the test has seen it. */
  readonly seenAtMs: number;
  readonly volumesInUse: readonly string[];
}

export class NodeVolumesWatch {
  readonly versions: NodeVersion[] = [];
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  static async start(api: ApiClient, nodeName: string): Promise<NodeVolumesWatch> {
    const watch = new NodeVolumesWatch();
    const node = await api.get<Node>(`/api/v1/nodes/${nodeName}`);
    watch.#add(node);
    watch.#running = watch.#run(api, nodeName, node.metadata.resourceVersion);
    return watch;
  }

  /** Rejects when the watch has failed. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #add({ status }: Node): void {
    this.versions.push({ seenAtMs: Date.now(), volumesInUse: status?.volumesInUse ?? [] });
  }

  async #run(api: ApiClient, nodeName: string, version: string): Promise<void> {
    const path = `/api/v1/nodes?fieldSelector=metadata.name%3D${nodeName}&resourceVersion=${version}`;
    try {
      for await (const { object } of api.watch<Node>(path, this.#stop.signal)) this.#add(object);
    } catch (err) {
      if (!this.#stop.signal.aborted) throw err;
    }
  }
}
